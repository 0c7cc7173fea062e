/** The last text of this length whose lines were counted: a result's text is measured by its tool and by the engine. */
const counted = { text: "", lines: 0, from: 1_024, to: 262_144 };

/** Counts lines. A newline ends a line and starts none: "a\n" has 1 line, "" has 0. A lone CR ends none. */
export function countLines(text: string): number {
  if (text === counted.text) return counted.lines;
  const lines = linesIn(text);
  if (text.length >= counted.from && text.length <= counted.to) Object.assign(counted, { text, lines });
  return lines;
}

function linesIn(text: string): number {
  let lines = text === "" || text.endsWith("\n") ? 0 : 1;
  for (let at = text.indexOf("\n"); at >= 0; at = text.indexOf("\n", at + 1)) lines += 1;
  return lines;
}

/** Counts Unicode code points. A lone surrogate counts as one. */
export function countCharacters(text: string): number {
  let characters = 0;
  for (let at = 0; at < text.length; at = next(text, at)) characters += 1;
  return characters;
}

/** Returns the end of the first `lines` lines. Positions here are UTF-16 units. */
export function afterLines(text: string, lines: number): number {
  if (text.length <= lines) return text.length;
  let position = 0;
  for (let line = 0; line < lines; line += 1) {
    position = text.indexOf("\n", position) + 1;
    if (position === 0) return text.length;
  }
  return position;
}

/** Returns the start of the last `lines` lines; 0 if that is before `lowest`. Does not search before `lowest`. */
export function beforeLines(text: string, lines: number, lowest: number): number {
  if (lines < 1) return text.length;
  if (text.length <= lines) return 0;
  // The newline at the end of the text ends the last line and does not precede it.
  let newline = text.endsWith("\n") ? text.length - 1 : text.length;
  const kept = text.slice(lowest);
  for (let line = 0; line < lines; line += 1) {
    if (newline <= lowest) return 0;
    const at = kept.lastIndexOf("\n", newline - lowest - 1);
    if (at < 0) return 0;
    newline = lowest + at;
  }
  return newline + 1;
}

/** Returns the end of the longest beginning with at most `bytes` bytes of UTF-8, never inside a code point. */
export function afterBytes(text: string, bytes: number): number {
  let position = 0;
  let room = bytes;
  // Whole blocks are measured natively; only the block with the limit is scanned.
  while (position < text.length) {
    const end = wholeCodePoint(text, Math.min(text.length, position + BLOCK));
    const size = Buffer.byteLength(text.slice(position, end));
    if (size > room) break;
    room -= size;
    position = end;
  }
  while (position < text.length) {
    const end = next(text, position);
    room -= byteLength(text, position, end);
    if (room < 0) break;
    position = end;
  }
  return position;
}

/** Returns the start of the longest end with at most `bytes` bytes of UTF-8, never inside a code point. */
export function beforeBytes(text: string, bytes: number): number {
  let position = text.length;
  let room = bytes;
  while (position > 0) {
    const start = wholeCodePoint(text, Math.max(0, position - BLOCK));
    const size = Buffer.byteLength(text.slice(start, position));
    if (size > room) break;
    room -= size;
    position = start;
  }
  while (position > 0) {
    const start = previous(text, position);
    room -= byteLength(text, start, position);
    if (room < 0) break;
    position = start;
  }
  return position;
}

/** Returns the end of the first `characters` code points. */
export function afterCharacters(text: string, characters: number): number {
  if (text.length <= characters) return text.length;
  let position = 0;
  for (let count = 0; count < characters && position < text.length; count += 1) position = next(text, position);
  return position;
}

/** Returns the start of the last `characters` code points. */
export function beforeCharacters(text: string, characters: number): number {
  if (text.length <= characters) return 0;
  let position = text.length;
  for (let count = 0; count < characters && position > 0; count += 1) position = previous(text, position);
  return position;
}

/** True when a cut at `position` would split a surrogate pair. */
export function isInsidePair(text: string, position: number): boolean {
  return isLow(text.charCodeAt(position)) && isHigh(text.charCodeAt(position - 1));
}

const BLOCK = 8192;

/** Returns `position`, or one less if it would split a surrogate pair. */
function wholeCodePoint(text: string, position: number): number {
  return isInsidePair(text, position) ? position - 1 : position;
}

function next(text: string, position: number): number {
  return isInsidePair(text, position + 1) ? position + 2 : position + 1;
}

function previous(text: string, position: number): number {
  return isInsidePair(text, position - 1) ? position - 2 : position - 1;
}

/** Returns the length of one code point in UTF-8. A lone surrogate becomes U+FFFD, which has 3 bytes. */
function byteLength(text: string, start: number, end: number): number {
  if (end - start === 2) return 4;
  const code = text.charCodeAt(start);
  if (code < 0x80) return 1;
  return code < 0x800 ? 2 : 3;
}

function isHigh(code: number): boolean {
  return code >= 0xd800 && code <= 0xdbff;
}

function isLow(code: number): boolean {
  return code >= 0xdc00 && code <= 0xdfff;
}
