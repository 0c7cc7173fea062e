/** A part of a text, in UTF-16 units: `start` (inclusive) to `end` (exclusive). */
export interface Span {
  readonly start: number;
  readonly end: number;
}

const BEL = 0x07;
const ESC = 0x1b;
const C1_CSI = 0x9b;
const C1_ST = 0x9c;
const BACKSLASH = 0x5c;
const OPEN_BRACKET = 0x5b;

/**
 * The longest escape sequence, in UTF-16 units. Longer ones count as plain text, which bounds the search for their
 * ends. Terminals do not accept them either: tmux, for example, drops sequences of more than 1 MiB (its
 * `input-buffer-size`).
 */
export const LONGEST_SEQUENCE = 1_048_576;

/**
 * Returns the escape sequence that a cut at `position` would split; `undefined` if it splits none.
 *
 * Sequences are those of ECMA-48: CSI (`ESC [` or U+009B), the strings DCS, SOS, OSC, PM and APC (7-bit or C1) up to
 * BEL or ST, two-character escapes, and escapes with intermediate characters (`ESC ( B`). A sequence without its end is
 * plain text. A string extends to the first terminator, whatever is between, including newlines and other escapes.
 */
export function sequenceAround(text: string, position: number): Span | undefined {
  if (position <= 0 || position >= text.length) return undefined;
  return stringAround(text, position) ?? controlAround(text, position);
}

/** A string starts after the last terminator before `position`, so only that part is searched. */
function stringAround(text: string, position: number): Span | undefined {
  const end = terminatorEnd(text, position);
  if (end === undefined) return undefined;
  let start: number | undefined;
  const earliest = Math.max(0, end - LONGEST_SEQUENCE);
  for (let at = position - 1; at >= earliest; at -= 1) {
    const code = text.charCodeAt(at);
    if (code === BEL || code === C1_ST) break;
    if (isC1String(code)) start = at;
    if (code !== ESC) continue;
    const next = text.charCodeAt(at + 1);
    if (next === BACKSLASH && at + 1 < position) break;
    if (opensString(next)) start = at;
  }
  return start === undefined ? undefined : { start, end };
}

/** Returns the end of the first BEL or ST that ends after `position`. */
function terminatorEnd(text: string, position: number): number | undefined {
  const from =
    text.charCodeAt(position - 1) === ESC && text.charCodeAt(position) === BACKSLASH ? position - 1 : position;
  // Searches growing windows: the native search of a large window for three terminators is wasted if one of them is
  // near.
  for (let size = 128; ; size *= 4) {
    const window = text.slice(from, from + Math.min(size, LONGEST_SEQUENCE));
    const ends = [endOf(window, "\x07"), endOf(window, "\x1b\\"), endOf(window, "\x9c")].filter((end) => end > 0);
    if (ends.length > 0) return from + Math.min(...ends);
    if (size >= LONGEST_SEQUENCE || from + size >= text.length) return undefined;
  }
}

function endOf(text: string, terminator: string): number {
  const at = text.indexOf(terminator);
  return at < 0 ? 0 : at + terminator.length;
}

/** Finds CSI sequences and escapes. All their characters except the last are 0x20 to 0x3f, so it walks backwards. */
function controlAround(text: string, position: number): Span | undefined {
  let at = position - 1;
  const earliest = Math.max(0, position - LONGEST_SEQUENCE);
  while (at > earliest && isBetween(text.charCodeAt(at), 0x20, 0x3f)) at -= 1;
  const start = text.charCodeAt(at) === OPEN_BRACKET && text.charCodeAt(at - 1) === ESC ? at - 1 : at;
  const end = controlEnd(text, start);
  return end > position ? { start, end } : undefined;
}

/** Returns the end of the CSI sequence or escape that begins at `start`; `start` if there is none. */
function controlEnd(text: string, start: number): number {
  const first = text.charCodeAt(start);
  if (first === C1_CSI) return endAfter(text, start, start + 1, 0x20, 0x3f);
  if (first !== ESC) return start;
  const second = text.charCodeAt(start + 1);
  if (second === OPEN_BRACKET) return endAfter(text, start, start + 2, 0x20, 0x3f);
  if (isBetween(second, 0x20, 0x2f)) return endAfter(text, start, start + 2, 0x20, 0x2f);
  return isBetween(second, 0x30, 0x7e) && !opensString(second) ? start + 2 : start;
}

/** Skips characters of `low` to `high` from `at`; then one more character up to 0x7e must end the sequence. */
function endAfter(text: string, start: number, at: number, low: number, high: number): number {
  const latest = Math.min(text.length, start + LONGEST_SEQUENCE - 1);
  while (at < latest && isBetween(text.charCodeAt(at), low, high)) at += 1;
  return isBetween(text.charCodeAt(at), high + 1, 0x7e) ? at + 1 : start;
}

/** Returns true for the characters that open DCS, SOS, OSC, PM and APC after ESC: `P X ] ^ _`. */
function opensString(code: number): boolean {
  return code === 0x50 || code === 0x58 || code === 0x5d || code === 0x5e || code === 0x5f;
}

function isC1String(code: number): boolean {
  return code === 0x90 || code === 0x98 || code === 0x9d || code === 0x9e || code === 0x9f;
}

function isBetween(code: number, low: number, high: number): boolean {
  return code >= low && code <= high;
}
