import { Fragment, type VNode, h } from "preact";
import { UNSEEN_CHARACTER } from "../../src/core/util/unseen.ts";
import { type Look, parseAnsi } from "./ansi.ts";

/** Longer lines are cut. In characters (UTF-16 units). */
export const MAX_LINE = 2_000;

const UNSEEN = new RegExp(`(${UNSEEN_CHARACTER})`, "u");
const NAMES: { readonly [code: number]: string } = {
  0x09: "Tab",
  0x0d: "Carriage return",
  0x1b: "Escape",
  0xa0: "No-break space",
  0x200b: "Zero-width space",
  0x200e: "Left-to-right mark",
  0x200f: "Right-to-left mark",
  0x202a: "Left-to-right embedding",
  0x202b: "Right-to-left embedding",
  0x202c: "End of direction",
  0x202d: "Left-to-right override",
  0x202e: "Right-to-left override",
  0x2066: "Left-to-right isolate",
  0x2067: "Right-to-left isolate",
  0xfeff: "Byte order mark",
};

/** Shows an invisible or control character as its code point. */
function Chip({ character }: { readonly character: string }) {
  const code = character.codePointAt(0) ?? 0;
  const name = `U+${code.toString(16).toUpperCase().padStart(4, "0")}`;
  return (
    <span class="esc" title={`${NAMES[code] ?? "Control or invisible character"}. Shown, not obeyed.`}>
      {name}
    </span>
  );
}

interface SafeProps {
  readonly text: string;
  readonly class?: string;
  readonly title?: string;
  readonly href?: string;
  readonly role?: "alert";
  /** The element that encloses the text. Default: none. */
  readonly in?: "a" | "b" | "code" | "dt" | "mark" | "p" | "small" | "span" | "strong";
}

/** Renders untrusted text as text nodes. Invisible characters become chips. */
export function Safe({ text, in: element, ...rest }: SafeProps): VNode {
  const pieces = text.split(UNSEEN);
  const shown = pieces.map((piece, index) => (index % 2 === 1 ? <Chip key={index} character={piece} /> : piece));
  return h((element ?? Fragment) as "span", rest, pieces.length === 1 ? text : shown);
}

/** Spaces other than U+0020. */
const SPACES = new RegExp(String.raw`([\t\u00a0\u1680\u2000-\u200a\u202f\u205f\u3000])`);

/** Renders text that a person approves. Unusual spaces become chips too. */
export function Exact({ text, in: element, ...rest }: SafeProps): VNode {
  const shown = text
    .split(SPACES)
    .map((piece, index) =>
      index % 2 === 1 ? <Chip key={index} character={piece} /> : <Safe key={index} text={piece} />,
    );
  return h((element ?? Fragment) as "span", rest, shown);
}

/** Returns untrusted text for attributes, with invisible characters in brackets. */
export function safeText(text: string): string {
  if (!UNSEEN.test(text)) return text;
  const name = (found: string) => `[U+${(found.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, "0")}]`;
  return text.replaceAll(new RegExp(UNSEEN_CHARACTER, "gu"), name);
}

interface OutputProps {
  readonly lines: readonly string[];
  /** The maximum number of characters shown of a line. Default 2,000. */
  readonly most?: number;
}

/** Renders the output of a program: colours as classes, long lines cut, other escape sequences removed and counted. */
export function Output({ lines, most = MAX_LINE }: OutputProps): VNode {
  let look: Look = {};
  let dropped = 0;
  const shown = lines.map((line, index) => {
    const cut = line.length > most ? line.slice(0, most) : line;
    const parsed = parseAnsi(cut, look);
    look = parsed.look;
    dropped += parsed.dropped;
    return (
      <Fragment key={index}>
        {parsed.segments.map((segment, at) =>
          segment.look === "" ? (
            <Safe key={at} text={segment.text} />
          ) : (
            <span key={at} class={segment.look}>
              <Safe text={segment.text} />
            </span>
          ),
        )}
        {cut.length < line.length && (
          <span class="esc">
            line cut at {most.toLocaleString("en")} of {line.length.toLocaleString("en")} characters
          </span>
        )}
        {"\n"}
      </Fragment>
    );
  });
  return (
    <>
      {shown}
      {dropped > 0 && (
        <span class="esc">
          {dropped.toLocaleString("en")} escape {dropped === 1 ? "sequence" : "sequences"} dropped
        </span>
      )}
    </>
  );
}
