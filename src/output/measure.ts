/**
 * Lines of a text. A newline ends a line and starts none: "a\n" has 1 line, "a\nb" has 2, "" has 0.
 * A carriage return alone ends no line.
 */
export function countLines(text: string): number {
  if (text === "") return 0;
  let lines = text.endsWith("\n") ? 0 : 1;
  for (let at = text.indexOf("\n"); at >= 0; at = text.indexOf("\n", at + 1)) lines += 1;
  return lines;
}

/** Unicode code points of a text. A lone surrogate is one. */
export function countCharacters(text: string): number {
  let characters = 0;
  for (let at = 0; at < text.length; at = next(text, at)) characters += 1;
  return characters;
}

/** Where the first `lines` lines end. Positions here are UTF-16 units. */
export function afterLines(text: string, lines: number): number {
  if (text.length <= lines) return text.length;
  let position = 0;
  for (let line = 0; line < lines; line += 1) {
    position = text.indexOf("\n", position) + 1;
    if (position === 0) return text.length;
  }
  return position;
}

/** Where the last `lines` lines start; 0 when that is before `lowest`, so that no more of the text is looked at. */
export function beforeLines(text: string, lines: number, lowest: number): number {
  if (lines < 1) return text.length;
  if (text.length <= lines) return 0;
  // The newline that ends the last line is not the one before it.
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

/** Where the longest beginning of at most `bytes` bytes of UTF-8 ends, never inside a code point. */
export function afterBytes(text: string, bytes: number): number {
  let position = 0;
  let room = bytes;
  // Whole blocks are measured natively; only the one in which the limit lies is walked through.
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

/** Where the longest end of at most `bytes` bytes of UTF-8 starts, never inside a code point. */
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

/** Where the first `characters` code points end. */
export function afterCharacters(text: string, characters: number): number {
  if (text.length <= characters) return text.length;
  let position = 0;
  for (let count = 0; count < characters && position < text.length; count += 1) position = next(text, position);
  return position;
}

/** Where the last `characters` code points start. */
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

/** `position`, or one less where that would split a surrogate pair. */
function wholeCodePoint(text: string, position: number): number {
  return isInsidePair(text, position) ? position - 1 : position;
}

function next(text: string, position: number): number {
  return isInsidePair(text, position + 1) ? position + 2 : position + 1;
}

function previous(text: string, position: number): number {
  return isInsidePair(text, position - 1) ? position - 2 : position - 1;
}

/** Of one code point, as UTF-8; a lone surrogate becomes U+FFFD, which has 3. */
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
