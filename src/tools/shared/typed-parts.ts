import { isCharacter, strokesOfKey, strokesOfText } from "../../util/keys.ts";

/** What is typed at once: the text, then the keys. */
export interface TypedPart {
  readonly text: string;
  readonly keys: readonly string[];
  /** What stands in the pane afterwards is not just what was typed. */
  readonly isUnseen: boolean;
}

/**
 * Strokes that put nothing on a line but what they are. Any other (history, completion, what was cut, moving about in the line and editing it) makes
 * it a line that only the screen shows.
 */
const PLAIN: ReadonlySet<string> = new Set("Enter C-c C-d C-g C-k C-l C-o C-u C-x C-z Escape".split(" "));

/** Behind Escape these bring back earlier lines and words (readline(3), Meta commands). */
const META: ReadonlySet<string> = new Set("< > . _ ^ n p y".split(" "));

/**
 * What is typed, cut where what a line end or a key does depends on what nobody has seen: before the Enter of `Up Enter`, behind the Tab of
 * `"rebo\t\n"`. Each part but the first is to be judged when the one before it is seen. Nothing to type is one empty part.
 */
export function typedParts(text: string, keys: readonly string[]): readonly TypedPart[] {
  const parts: TypedPart[] = [];
  let part: TypedPart = { text: "", keys: [], isUnseen: false };
  let last = "";
  const add = (strokes: readonly string[], typed: { readonly text?: string; readonly key?: string }) => {
    const [first = ""] = strokes;
    if (part.isUnseen && !isCharacter(first) && PLAIN.has(first)) {
      parts.push(part);
      part = { text: "", keys: [], isUnseen: false };
    }
    let { isUnseen } = part;
    for (const stroke of strokes) {
      isUnseen ||= isCharacter(stroke) ? last === "Escape" && META.has(stroke) : !PLAIN.has(stroke);
      last = stroke;
    }
    const { text: more = "", key } = typed;
    part = { text: part.text + more, keys: key === undefined ? part.keys : [...part.keys, key], isUnseen };
  };
  for (const piece of text.match(/\r\n|[^]/gu) ?? []) add(strokesOfText(piece), { text: piece });
  for (const key of keys) add(strokesOfKey(key) ?? [], { key });
  return [...parts, part];
}
