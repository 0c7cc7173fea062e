import { UNSEEN_CHARACTER } from "../util/unseen.ts";
import type { Span } from "./escape-sequence.ts";
import { afterCharacters, beforeCharacters, countCharacters } from "./measure.ts";

/**
 * Makes text of a model, a file or a command safe to show to a person at a terminal. It cannot control the terminal, or
 * look like something else than it is.
 *
 * Colours (plain SGR sequences), newlines and tabs are kept; CR LF becomes LF. All other invisible characters become
 * visible escapes such as `\x1b`, `\r`, `\u202e`: control characters, escape sequences, bidi controls, zero-width and
 * invisible characters. A zero-width joiner is kept between two emoji, one that joins or separates between letters of a
 * script that needs it (Persian, Hindi), and a variation selector after a character that it can vary.
 *
 * A colour may still be on at the end: print a reset (`ESC [ 0 m`) after text that contains some.
 */
export function terminalSafe(text: string): string {
  return text.replace(UNSEEN, (found: string, parameters: string | undefined) => {
    if (parameters !== undefined && isColour(parameters)) return found;
    return visible(found);
  });
}

/**
 * Returns text as one line for people: terminal-safe, without colours, newlines shown as `\n` and tabs as `\t`. If it
 * is longer than `maxCharacters` code points, the middle is replaced with a mark such as `[…1234 characters…]`, which
 * counts the omitted characters. The beginning and the end are kept, because either may matter most in a command.
 *
 * @param maxCharacters The maximum length in code points, including the mark. If the mark does not fit, the text is cut
 * at the end, with `…`.
 */
export function oneLine(text: string, maxCharacters: number): string {
  const uncoloured = text.replace(UNSEEN, (found: string, parameters: string | undefined) => {
    if (parameters !== undefined && isColour(parameters)) return "";
    return visible(found);
  });
  const line = uncoloured.replace(/[\n\t]/g, (space) => (space === "\n" ? "\\n" : "\\t"));
  return withoutMiddle(line, Math.floor(maxCharacters));
}

/** What is invisible or misleading: CR LF, SGR sequences, and the characters of `UNSEEN_CHARACTER`. */
const UNSEEN = new RegExp([String.raw`\r\n`, String.raw`\x1b\[([0-9;:]{0,64})m`, UNSEEN_CHARACTER].join("|"), "gu");

function visible(found: string): string {
  if (found === "\r\n") return "\n";
  if (found === "\r") return "\\r";
  const code = found.codePointAt(0) ?? 0;
  // An SGR sequence that is not allowed: everything after its ESC is visible.
  if (code === 0x1b) return `\\x1b${found.slice(1)}`;
  const digits = code.toString(16);
  if (code <= 0xff) return `\\x${digits.padStart(2, "0")}`;
  return code <= 0xffff ? `\\u${digits.padStart(4, "0")}` : `\\u{${digits}}`;
}

/**
 * Returns true for colours and weights (ECMA-48 8.3.117, xterm for 38, 48, 58, 90 to 107), not for blinking, hiding or
 * fonts.
 */
function isColour(parameters: string): boolean {
  const codes = parameters.split(";");
  for (let at = 0; at < codes.length; at += 1) {
    const code = codes[at] ?? "";
    // With colons, the parts of a colour are inside one parameter: 38:2::255:0:0.
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

/** Returns the beginning, without half an escape or a dangling joiner. */
function beginning(line: string, characters: number): string {
  const cut = afterCharacters(line, characters);
  return line.slice(0, escapeAround(line, cut)?.start ?? cut).replace(/[\u200c\u200d]$/, "");
}

/** Returns the end, without half an escape or a character that would change the mark before it. */
function ending(line: string, characters: number): string {
  const cut = beforeCharacters(line, characters);
  return line.slice(escapeAround(line, cut)?.end ?? cut).replace(/^[\p{Mark}\p{Emoji_Modifier}\u200c\u200d]+/u, "");
}

/** Returns the visible escape that a cut at `position` would split. */
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
