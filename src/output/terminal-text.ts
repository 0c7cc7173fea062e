import type { Span } from "./escape-sequence.ts";
import { afterCharacters, beforeCharacters, countCharacters } from "./measure.ts";

/**
 * Makes text of a model, a file or a command fit to be shown to a person at a terminal: it can neither act on the terminal nor
 * look like something else than it is.
 *
 * Colours (plain SGR sequences), newlines and tabs stay; CR LF becomes LF. Everything else that is not seen becomes a visible
 * escape such as `\x1b`, `\r`, `\u202e`: control characters, escape sequences, bidi controls, zero-width and invisible
 * characters. A zero-width joiner stays between two emoji, a variation selector behind what it can vary.
 *
 * A colour may be left on at the end: print a reset (`ESC [ 0 m`) behind text that has some.
 */
export function terminalSafe(text: string): string {
  return text.replace(UNSEEN, (found: string, parameters: string | undefined) => {
    if (parameters !== undefined && isColour(parameters)) return found;
    return visible(found);
  });
}

/**
 * Text in one line for a person: terminal-safe, without colours, newlines shown as `\n` and tabs as `\t`. When it is longer
 * than `maxCharacters` code points the middle is left out, and a mark such as `[…1234 characters…]` says how much of what would
 * be shown; beginning and end stay, because what matters of a command may be at either.
 *
 * @param maxCharacters The result has at most so many code points, the mark included; where the mark does not fit, the text
 *   is cut at the end, with `…`.
 */
export function oneLine(text: string, maxCharacters: number): string {
  const uncoloured = text.replace(UNSEEN, (found: string, parameters: string | undefined) => {
    if (parameters !== undefined && isColour(parameters)) return "";
    return visible(found);
  });
  const line = uncoloured.replace(/[\n\t]/g, (space) => (space === "\n" ? "\\n" : "\\t"));
  return withoutMiddle(line, Math.floor(maxCharacters));
}

/**
 * What is not seen, or not as what it is: CR LF, SGR sequences, controls, and Unicode's default ignorable code points with the
 * line separators and interlinear annotations. https://www.unicode.org/reports/tr44/#Default_Ignorable_Code_Point
 * A joiner between emoji and a selector behind a base are not found.
 */
const UNSEEN = new RegExp(
  [
    String.raw`\r\n`,
    String.raw`\x1b\[([0-9;:]{0,64})m`,
    // The character first and what stands before it second: a look back at every place would be slow.
    String.raw`\u200d(?:(?!\p{Extended_Pictographic})|(?<!\p{Extended_Pictographic}\ufe0f?\p{Emoji_Modifier}?\u200d))`,
    String.raw`[\ufe00-\ufe0f](?<![\p{Emoji}\p{Symbol}\p{Script=Han}][\ufe00-\ufe0f])`,
    String.raw`[\x00-\x08\x0b-\x1f\x7f-\x9f\xad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f]`,
    String.raw`[\u200b\u200c\u200e\u200f\u2028-\u202e\u2060-\u206f\u3164\ufeff\uffa0\ufff0-\ufffb]`,
    String.raw`[\u{1bca0}-\u{1bca3}\u{1d173}-\u{1d17a}\u{e0000}-\u{e0fff}]`,
  ].join("|"),
  "gu",
);

function visible(found: string): string {
  if (found === "\r\n") return "\n";
  if (found === "\r") return "\\r";
  const code = found.codePointAt(0) ?? 0;
  // An SGR sequence that is not let through: behind the ESC all of it is seen.
  if (code === 0x1b) return `\\x1b${found.slice(1)}`;
  const digits = code.toString(16);
  if (code <= 0xff) return `\\x${digits.padStart(2, "0")}`;
  return code <= 0xffff ? `\\u${digits.padStart(4, "0")}` : `\\u{${digits}}`;
}

/** Colours and weights (ECMA-48 8.3.117, xterm for 38, 48, 58 and 90 to 107). What blinks, hides text or changes the font is none. */
function isColour(parameters: string): boolean {
  const codes = parameters.split(";");
  for (let at = 0; at < codes.length; at += 1) {
    const code = codes[at] ?? "";
    // With colons a colour's parts are inside one parameter: 38:2::255:0:0.
    if (/^(?:[345]8|4):/.test(code)) continue;
    const number = Number(code);
    if (Number.isNaN(number) || (number >= 5 && number <= 20 && ![7, 9].includes(number)) || number > 107) return false;
    if (number !== 38 && number !== 48 && number !== 58) continue;
    if (codes[at + 1] !== "2" && codes[at + 1] !== "5") return false;
    at += codes[at + 1] === "2" ? 4 : 2;
    if (at >= codes.length) return false;
  }
  return true;
}

function withoutMiddle(line: string, most: number): string {
  const total = countCharacters(line);
  if (total <= most) return line;
  const room = most - countCharacters(mark(total));
  if (room < 2) return most < 1 ? "" : `${beginning(line, most - 1)}…`;
  const head = beginning(line, Math.ceil(room / 2));
  const tail = ending(line, Math.floor(room / 2));
  return head + mark(total - countCharacters(head) - countCharacters(tail)) + tail;
}

function mark(leftOut: number): string {
  return `[…${leftOut} characters…]`;
}

/** At most so many characters, without half an escape or a joiner that has nothing to join. */
function beginning(line: string, characters: number): string {
  const cut = afterCharacters(line, characters);
  return line.slice(0, escapeAround(line, cut)?.start ?? cut).replace(/\u200d$/, "");
}

/** At most so many characters, without half an escape or what would change the look of the mark before it. */
function ending(line: string, characters: number): string {
  const cut = beforeCharacters(line, characters);
  return line.slice(escapeAround(line, cut)?.end ?? cut).replace(/^[\p{Mark}\p{Emoji_Modifier}\u200d]+/u, "");
}

/** The visible escape that a cut at `position` would split. */
function escapeAround(line: string, position: number): Span | undefined {
  const first = Math.max(0, position - LONGEST_ESCAPE);
  for (const { index, 0: found } of line.slice(first, position + LONGEST_ESCAPE).matchAll(ESCAPE)) {
    const start = first + index;
    const end = start + found.length;
    if (start < position && position < end) return { start, end };
  }
  return undefined;
}

const ESCAPE = /\\(?:[nrt]|x[0-9a-f]{2}|u[0-9a-f]{4}|u\{[0-9a-f]{5,6}\})/g;
const LONGEST_ESCAPE = 10;
