import { isUtf8 } from "node:buffer";

/** How a text file's bytes are read and written. */
export interface Encoding {
  /** A WHATWG label, which both `TextDecoder` and iconv-lite take. */
  readonly name: string;
  /** Bytes of its byte order mark; 0 where there is none. */
  readonly mark: number;
}

export const UTF_8: Encoding = { name: "utf-8", mark: 0 };

/** Enough of a file to tell its encoding: what distinguishes encodings shows early or not at all. */
export const SAMPLE_BYTES = 64 * 1024;

const MARKS: readonly { readonly bytes: readonly number[]; readonly name: string }[] = [
  { bytes: [0xef, 0xbb, 0xbf], name: "utf-8" },
  { bytes: [0xff, 0xfe], name: "utf-16le" },
  { bytes: [0xfe, 0xff], name: "utf-16be" },
];

/** What text is in that is in nothing else: every byte stands for a character. */
const LATIN = "windows-1252";

// What chardet says, and what is then used. Its guesses among the Latin encodings are a coin toss; windows-1252 is what such
// files nearly always are, and as a decoder never loses a byte.
const GUESSES: { readonly [guess: string]: string } = {
  Shift_JIS: "shift_jis",
  "EUC-JP": "euc-jp",
  "EUC-KR": "euc-kr",
  Big5: "big5",
  GB18030: "gb18030",
  "KOI8-R": "koi8-r",
  "windows-1250": "windows-1252",
  "windows-1251": "windows-1251",
  "windows-1252": "windows-1252",
  "windows-1253": "windows-1253",
  "windows-1254": "windows-1254",
  "windows-1255": "windows-1255",
  "windows-1256": "windows-1256",
  "ISO-8859-1": "windows-1252",
  "ISO-8859-2": "windows-1252",
  "ISO-8859-5": "iso-8859-5",
  "ISO-8859-6": "iso-8859-6",
  "ISO-8859-7": "iso-8859-7",
  "ISO-8859-8": "iso-8859-8",
  "ISO-8859-9": "windows-1254",
};

/** Of 100: below this a guess at a non-Latin encoding is no better than Latin. */
const CONFIDENT = 30;

/**
 * The encoding of a text, from its beginning (`atEnd`: from all of it): byte order mark, else valid UTF-8, else UTF-16 by its zero
 * bytes, else the best guess. `undefined` for what is no text: NUL bytes or many control characters.
 */
export async function detectEncoding(sample: Uint8Array, atEnd: boolean): Promise<Encoding | undefined> {
  const marked = MARKS.find(({ bytes }) => bytes.every((byte, index) => sample[index] === byte));
  if (marked) return { name: marked.name, mark: marked.bytes.length };
  const wide = wideEncoding(sample);
  if (wide !== undefined) return { name: wide, mark: 0 };
  if (sample.includes(0)) return undefined;
  if (isUtf8(atEnd ? sample : withoutCutCodePoint(sample))) return hasManyControls(sample) ? undefined : UTF_8;
  if (hasManyControls(sample)) return undefined;
  const { analyse } = await import("chardet");
  const best = analyse(sample).find(({ name }) => name in GUESSES);
  const confident = best !== undefined && best.confidence >= CONFIDENT;
  return { name: (confident && GUESSES[best.name]) || LATIN, mark: 0 };
}

/** The text of bytes in this encoding, byte order mark included where it stands. What cannot be decoded shows as U+FFFD. */
export function decodeText(bytes: Uint8Array, { name }: Encoding): string {
  return new TextDecoder(name, { ignoreBOM: true }).decode(bytes);
}

/** Like `decodeText`, for bytes that may end inside a character: that one is left out. */
export function decodePart(bytes: Uint8Array, { name }: Encoding): string {
  return new TextDecoder(name, { ignoreBOM: true }).decode(bytes, { stream: true });
}

/** The text of bytes that stand for exactly this text in this encoding and no other bytes do; else `undefined`. */
export async function decodeExactly(bytes: Uint8Array, encoding: Encoding): Promise<string | undefined> {
  if (encoding.name === "utf-8") return isUtf8(bytes) ? decodeText(bytes, encoding) : undefined;
  const text = decodeText(bytes, encoding);
  const back = await encodeText(text, encoding);
  return back !== undefined && Buffer.compare(back, bytes) === 0 ? text : undefined;
}

/** The bytes of a text in this encoding (no byte order mark is added); `undefined` when it has characters that are not in it. */
export async function encodeText(text: string, { name }: Encoding): Promise<Uint8Array | undefined> {
  if (name.startsWith("utf-")) {
    if (LONE_SURROGATE.test(text)) return undefined;
    if (name === "utf-8") return Buffer.from(text);
    const bytes = Buffer.from(text, "utf16le");
    return name === "utf-16be" ? bytes.swap16() : bytes;
  }
  const { default: iconv } = await import("iconv-lite");
  const bytes = iconv.encode(text, name);
  return decodeText(bytes, { name, mark: 0 }) === text ? bytes : undefined;
}

const LONE_SURROGATE = /\p{Surrogate}/u;

/** Bytes a character unit takes: a match in the bytes must start at a multiple of it. */
export function unitOf({ name }: Encoding): 1 | 2 {
  return name.startsWith("utf-16") ? 2 : 1;
}

/** For people: "UTF-16 (little-endian)". */
export function encodingLabel({ name, mark }: Encoding): string {
  const plain = name === "utf-16le" ? "UTF-16 (little-endian)" : name === "utf-16be" ? "UTF-16 (big-endian)" : name === "utf-8" ? "UTF-8" : name;
  return mark > 0 && name === "utf-8" ? `${plain} with a byte order mark` : plain;
}

/** Text in UTF-16 without a mark: nearly every second byte is zero, as long as it is mostly ASCII. */
function wideEncoding(sample: Uint8Array): "utf-16le" | "utf-16be" | undefined {
  const pairs = Math.min(sample.length, 4_096) >> 1;
  if (pairs < 2) return undefined;
  let even = 0;
  let odd = 0;
  for (let pair = 0; pair < pairs; pair++) {
    if (sample[2 * pair] === 0) even++;
    if (sample[2 * pair + 1] === 0) odd++;
  }
  if (odd > 0.7 * pairs && even === 0) return "utf-16le";
  if (even > 0.7 * pairs && odd === 0) return "utf-16be";
  return undefined;
}

function withoutCutCodePoint(sample: Uint8Array): Uint8Array {
  let end = sample.length;
  while (end > sample.length - 4 && end > 0 && ((sample[end - 1] ?? 0) & 0xc0) === 0x80) end--;
  return (sample[end - 1] ?? 0) >= 0xc0 ? sample.subarray(0, end - 1) : sample;
}

/** More than one byte in ten is a control character that no text has. Escape (colours), form feed and backspace are let through. */
function hasManyControls(sample: Uint8Array): boolean {
  let controls = 0;
  for (const byte of sample) if (byte < 32 && !(byte >= 7 && byte <= 13) && byte !== 27) controls++;
  return controls > sample.length / 10;
}
