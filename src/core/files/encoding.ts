import { isUtf8 } from "node:buffer";

/** The encoding of a text file. */
export interface Encoding {
  /** "utf-8", "utf-16le", "utf-16be", or a name that both iconv-lite and the iconv program know. */
  readonly name: string;
  /** The length of its byte order mark in bytes; 0 if there is none. */
  readonly mark: number;
}

export const UTF_8: Encoding = { name: "utf-8", mark: 0 };

/** How much of a file is used to detect its encoding. More would rarely change the result. */
export const SAMPLE_BYTES = 64 * 1024;

const MARKS: readonly { readonly bytes: readonly number[]; readonly name: string }[] = [
  { bytes: [0xef, 0xbb, 0xbf], name: "utf-8" },
  { bytes: [0xff, 0xfe], name: "utf-16le" },
  { bytes: [0xfe, 0xff], name: "utf-16be" },
];

/**
 * The fallback for text in no other encoding. The second one has a character for every byte, the first one does not.
 */
const LATIN = "windows-1252";
const LATIN_OF_ALL_BYTES = "iso-8859-1";

// The encodings used for chardet's guesses. It cannot tell the Latin encodings apart; files with such text are nearly
// always windows-1252.
const GUESSES: { readonly [guess: string]: string } = {
  Shift_JIS: "shift_jis",
  "EUC-JP": "euc-jp",
  "EUC-KR": "euc-kr",
  Big5: "big5",
  GB18030: "gb18030",
  "KOI8-R": "koi8-r",
  "windows-1250": LATIN,
  "windows-1251": "windows-1251",
  "windows-1252": LATIN,
  "windows-1253": "windows-1253",
  "windows-1254": "windows-1254",
  "windows-1255": "windows-1255",
  "windows-1256": "windows-1256",
  "ISO-8859-1": LATIN,
  "ISO-8859-2": LATIN,
  "ISO-8859-5": "iso-8859-5",
  "ISO-8859-6": "iso-8859-6",
  "ISO-8859-7": "iso-8859-7",
  "ISO-8859-8": "iso-8859-8",
  "ISO-8859-9": "windows-1254",
};

/** Encodings in which every byte above 127 is a letter of a script other than Latin. */
const OTHER_SCRIPTS: ReadonlySet<string> = new Set([
  "koi8-r",
  "windows-1251",
  "windows-1253",
  "windows-1255",
  "windows-1256",
  "iso-8859-5",
  "iso-8859-6",
  "iso-8859-7",
  "iso-8859-8",
]);

/**
 * Confidence in percent. From `SURE` on, a non-Latin guess is accepted. Below `CONFIDENT`, a guess is no better than
 * Latin.
 */
const SURE = 40;
const CONFIDENT = 30;

/** How many bytes the guess uses, from the first non-ASCII line on. More bytes make guesses slower, not better. */
const GUESSED_BYTES = 16 * 1024;

/**
 * The byte pairs (as Latin-1 characters) of common characters: kana, punctuation, hangul, and the ideographs that each
 * standard lists first because they are common. Earlier entries are less likely to match by chance.
 */
const COMMON_PAIRS: readonly (readonly [name: string, pair: string])[] = [
  ["shift_jis", "[\\x81-\\x83\\x88-\\x98][\\x40-\\x7e\\x80-\\xfc]"],
  ["euc-kr", "[\\xa1\\xb0-\\xc8][\\xa1-\\xfe]"],
  ["euc-jp", "[\\xa1\\xa4\\xa5\\xb0-\\xcf][\\xa1-\\xfe]|\\xa3[\\xb0-\\xb9\\xc1-\\xda\\xe1-\\xfa]"],
  ["gb18030", "[\\xa1\\xa3\\xb0-\\xd7][\\xa1-\\xfe]"],
  ["big5", "[\\xa1\\xa4-\\xc6][\\x40-\\x7e\\xa1-\\xfe]"],
];

const UTF_8_SEQUENCES = /[\xc2-\xdf][\x80-\xbf]|[\xe0-\xef][\x80-\xbf]{2}|[\xf0-\xf4][\x80-\xbf]{3}/g;

/**
 * Detects the encoding of a text from its beginning: a byte order mark, otherwise valid UTF-8, otherwise UTF-16 by its
 * zero bytes, otherwise the best guess. Returns `undefined` for non-text: NUL characters or many control characters.
 *
 * @param atEnd true if the sample is the whole text
 */
export async function detectEncoding(sample: Uint8Array, atEnd: boolean): Promise<Encoding | undefined> {
  const marked = MARKS.find(({ bytes }) => bytes.every((byte, index) => sample[index] === byte));
  const encoding = marked
    ? { name: marked.name, mark: marked.bytes.length }
    : { name: wideEncoding(sample) ?? "utf-8", mark: 0 };
  const start = sample.subarray(0, SAMPLE_BYTES);
  if (encoding.name !== "utf-8") return controls(await decodePart(start, encoding)) > 0.1 ? undefined : encoding;
  if (sample.includes(0)) return undefined;
  const valid = marked !== undefined || isUtf8(atEnd ? sample : withoutCutCodePoint(sample));
  // In some older encodings every byte is a character, so fewer control characters count as non-text here. Compressed
  // data has 9%.
  if (controlsIn(start) > (valid ? 0.1 : 0.02)) return undefined;
  return valid ? encoding : { name: await guess(sample), mark: 0 };
}

async function guess(sample: Uint8Array): Promise<string> {
  const first = sample.findIndex((byte) => byte >= 0x80);
  const from = sample.lastIndexOf(0x0a, first) + 1;
  const bytes = sample.subarray(from, from + GUESSED_BYTES);
  const text = latin1(bytes);
  if (share(text, UTF_8_SEQUENCES) > 0.9) return "utf-8"; // UTF-8 with some damage
  const { analyse } = await import("chardet");
  const best = analyse(bytes).find(({ name }) => name in GUESSES);
  const guessed = (best !== undefined && best.confidence >= CONFIDENT && GUESSES[best.name]) || LATIN;
  const words = share(text, /[\x80-\xff]{2,}/g) >= 0.5;
  // Letters of other scripts form words; accented Latin letters are between others. A guess against that is wrong,
  // however confident.
  const plausible = words || !OTHER_SCRIPTS.has(guessed);
  if (best !== undefined && best.confidence >= SURE && guessed !== LATIN && plausible) return guessed;
  const name = bestPairs(text) ?? (plausible ? guessed : LATIN);
  return name === LATIN && /[\x81\x8d\x8f\x90\x9d]/.test(latin1(sample)) ? LATIN_OF_ALL_BYTES : name;
}

/**
 * Returns the double-byte encoding in which nearly all of the text is common characters. If there are several, returns
 * the one with the largest share.
 */
function bestPairs(text: string): string | undefined {
  let best: { readonly name: string; readonly share: number } | undefined;
  for (const [name, pair] of COMMON_PAIRS) {
    const common = share(text, new RegExp(pair, "g"));
    if (common < 0.95 || common <= (best?.share ?? 0)) continue;
    // In Latin text such pairs are accidental and isolated.
    if (share(text, new RegExp(`(?:${pair}){2,}`, "g")) >= 0.8) best = { name, share: common };
  }
  return best?.name;
}

/** Returns the share of bytes above 127 that match the pattern, 0 to 1; 0 if there are fewer than four such bytes. */
function share(text: string, pattern: RegExp): number {
  const all = countHigh(text);
  return all < 4 ? 0 : 1 - countHigh(text.replaceAll(pattern, "")) / all;
}

function countHigh(text: string): number {
  return text.match(/[\x80-\xff]/g)?.length ?? 0;
}

/** Decodes bytes in this encoding, including any byte order mark. Invalid bytes become U+FFFD. */
export async function decodeText(bytes: Uint8Array, { name }: Encoding): Promise<string> {
  if (isUnicode(name)) return decoderOf(name).decode(bytes);
  return (await legacy()).decode(asBuffer(bytes), name);
}

const decoders = new Map<string, TextDecoder>();

/** One per encoding: making one takes as long as decoding a page of text. It keeps nothing between whole texts. */
function decoderOf(name: string): TextDecoder {
  const known = decoders.get(name) ?? new TextDecoder(name, { ignoreBOM: true });
  decoders.set(name, known);
  return known;
}

/** Like `decodeText`, for bytes that may end inside a character: the incomplete character is removed. */
export async function decodePart(bytes: Uint8Array, { name }: Encoding): Promise<string> {
  if (isUnicode(name)) return new TextDecoder(name, { ignoreBOM: true }).decode(bytes, { stream: true });
  return (await legacy()).getDecoder(name).write(asBuffer(bytes));
}

/**
 * Returns the text of bytes in this encoding as UTF-8; the bytes themselves if they are. `undefined` if encoding the
 * text would not give the same bytes.
 */
export async function inUtf8(bytes: Uint8Array, encoding: Encoding): Promise<Buffer | undefined> {
  if (encoding.name === "utf-8") return isUtf8(bytes) ? asBuffer(bytes) : undefined;
  const text = await decodeText(bytes, encoding);
  const back = await encodeText(text, encoding);
  return back !== undefined && Buffer.compare(back, bytes) === 0 ? Buffer.from(text) : undefined;
}

/**
 * Encodes a text, without adding a byte order mark. Returns `undefined` if it has characters that the encoding lacks.
 */
export async function encodeText(text: string, { name }: Encoding): Promise<Uint8Array | undefined> {
  if (isUnicode(name)) {
    if (LONE_SURROGATE.test(text)) return undefined;
    if (name === "utf-8") return Buffer.from(text);
    const bytes = Buffer.from(text, "utf16le");
    return name === "utf-16be" ? bytes.swap16() : bytes;
  }
  const iconv = await legacy();
  const bytes = iconv.encode(text, name);
  return iconv.decode(bytes, name) === text ? bytes : undefined;
}

/** A byte that is invalid in the encoding of its file. */
export interface InvalidByte {
  /** From the beginning of the bytes, counted from 0, and the line, counted from 1. */
  readonly offset: number;
  readonly line: number;
  readonly byte: number;
}

/** Finds the first byte that encoding the decoded text does not give back. `undefined`: there is none. */
export async function invalidByte(bytes: Uint8Array, encoding: Encoding): Promise<InvalidByte | undefined> {
  const { name } = encoding;
  const text = await decodeText(bytes, encoding);
  const back =
    name === "utf-8"
      ? Buffer.from(text)
      : isUnicode(name)
        ? Buffer.from(text, "utf16le")
        : (await legacy()).encode(text, name);
  if (name === "utf-16be") back.swap16();
  const offset = bytes.findIndex((byte, index) => back[index] !== byte);
  if (offset === -1) return undefined;
  let line = 1;
  for (let at = 0; at < offset; at += 1) if (bytes[at] === 10) line += 1;
  return { offset, line, byte: bytes[offset] ?? 0 };
}

/** Returns the name of UTF-32, which is not read: by its mark, or by its zero bytes. `undefined` for anything else. */
export function utf32Label(start: Uint8Array): "UTF-32LE" | "UTF-32BE" | undefined {
  const [a, b, c, d] = start;
  if (start.length < 8) return undefined;
  if (a === 0xff && b === 0xfe && c === 0 && d === 0) return "UTF-32LE";
  if (a === 0 && b === 0 && c === 0xfe && d === 0xff) return "UTF-32BE";
  const units = Math.min(start.length, SAMPLE_BYTES) >> 2;
  const isZero = (at: number) => {
    for (let unit = 0; unit < units; unit++) if (start[4 * unit + at] !== 0) return false;
    return true;
  };
  for (let unit = 0; unit < units; unit++)
    if (start.subarray(4 * unit, 4 * unit + 4).every((byte) => byte === 0)) return undefined; // no text has that character
  // Each character is below U+110000, and few texts have none below U+0100.
  const isText = (low: number) => [9, 10, 13].includes(start[low] ?? 0) || (start[low] ?? 0) >= 32;
  if (isZero(3) && isZero(2) && isText(0)) return "UTF-32LE";
  return isZero(0) && isZero(1) && isText(3) ? "UTF-32BE" : undefined;
}

const LONE_SURROGATE = /\p{Surrogate}/u;

/** Returns the number of bytes of a code unit. A match in the bytes must start at a multiple of it. */
export function unitOf({ name }: Encoding): 1 | 2 {
  return name.startsWith("utf-16") ? 2 : 1;
}

/** Returns a name for people: "UTF-16 (little-endian)". */
export function encodingLabel({ name, mark }: Encoding): string {
  const plain =
    name === "utf-16le"
      ? "UTF-16 (little-endian)"
      : name === "utf-16be"
        ? "UTF-16 (big-endian)"
        : name === "utf-8"
          ? "UTF-8"
          : name;
  return mark > 0 && name === "utf-8" ? `${plain} with a byte order mark` : plain;
}

function isUnicode(name: string): boolean {
  return name.startsWith("utf-");
}

/** Loads iconv-lite: Node has no encoders for older encodings, and its decoders differ between versions of Node. */
async function legacy() {
  return (await import("iconv-lite")).default;
}

/** Detects UTF-16 without a byte order mark: in mostly ASCII text, nearly every second byte is zero. */
function wideEncoding(sample: Uint8Array): "utf-16le" | "utf-16be" | undefined {
  const pairs = Math.min(sample.length, SAMPLE_BYTES) >> 1;
  if (pairs < 2 || !sample.includes(0)) return undefined;
  let even = 0;
  let odd = 0;
  for (let pair = 0; pair < pairs; pair++) {
    if (sample[2 * pair] === 0) even++;
    if (sample[2 * pair + 1] === 0) odd++;
  }
  // The other byte is zero in few characters, such as U+0100 or U+4E00.
  if (odd > 0.7 * pairs && even < 0.05 * pairs) return "utf-16le";
  if (even > 0.7 * pairs && odd < 0.05 * pairs) return "utf-16be";
  return undefined;
}

function withoutCutCodePoint(sample: Uint8Array): Uint8Array {
  let end = sample.length;
  while (end > sample.length - 4 && end > 0 && ((sample[end - 1] ?? 0) & 0xc0) === 0x80) end--;
  return (sample[end - 1] ?? 0) >= 0xc0 ? sample.subarray(0, end - 1) : sample;
}

/**
 * Returns the share of control characters that do not occur in text, 0 to 1; 1 if there is a NUL. Ignores escape
 * (colours), form feed and backspace.
 */
function controls(start: string): number {
  if (start.includes("\0")) return 1;
  return (start.match(/[\x01-\x06\x0e-\x19\x1c-\x1f]/g)?.length ?? 0) / Math.max(1, start.length);
}

/** Does the same for bytes without a NUL. Looks at four bytes at once, which takes a third of the time. */
function controlsIn(bytes: Uint8Array): number {
  const aligned = bytes.byteOffset % 4 === 0 ? bytes : Uint8Array.from(bytes);
  const words = new Int32Array(aligned.buffer, aligned.byteOffset, aligned.length >> 2);
  let found = 0;
  const count = (from: number, to: number) => {
    for (let at = from; at < to; at++) if ((aligned[at] ?? 32) < 32) found += (CONTROLS >>> (aligned[at] ?? 0)) & 1;
  };
  for (let at = 0; at < words.length; at++) {
    const word = words[at] ?? 0;
    // True if one of its bytes is below 32.
    if (((word - 0x20202020) & ~word & 0x80808080) !== 0) count(4 * at, 4 * at + 4);
  }
  count(4 * words.length, aligned.length);
  return found / Math.max(1, bytes.length);
}

/** A bit for each of these control characters: 1 to 6, 14 to 25, 28 to 31. */
const CONTROLS = 0xf3ffc07e;

function latin1(bytes: Uint8Array): string {
  return asBuffer(bytes).toString("latin1");
}

function asBuffer(bytes: Uint8Array): Buffer {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}
