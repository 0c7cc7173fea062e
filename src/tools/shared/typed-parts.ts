import { isCharacter, strokesOfKey, strokesOfText } from "../../core/util/keys.ts";

/** Text and keys that are typed together, the text first. */
export interface TypedPart {
  readonly text: string;
  readonly keys: readonly string[];
  /** Whether the line in the pane may differ from the typed text, because a key such as Up or Tab has changed it. */
  readonly isUnseen: boolean;
}

/**
 * Keys after which the line is still known. After other keys (history, completion, paste, moving and editing in the
 * line) only the screen shows the line.
 */
const PLAIN: ReadonlySet<string> = new Set("Enter C-c C-d C-g C-k C-l C-o C-u C-x C-z Escape".split(" "));

/** After Escape, these keys recall earlier lines and words (readline(3), Meta commands). */
const META: ReadonlySet<string> = new Set("< > . _ ^ n p y".split(" "));

/**
 * Splits what is typed where the effect of a line end or key depends on a line that is still unknown: before the Enter
 * of `Up Enter`, after the Tab of `"rebo\t\n"`. Each part but the first must be judged after the previous part is on
 * the screen. If there is nothing to type, the result is one empty part.
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
