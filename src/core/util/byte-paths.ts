import { isUtf8 } from "node:buffer";

/**
 * Decodes a file name or path. Each byte that is not UTF-8 becomes a lone surrogate (U+DC80 to U+DCFF), so that
 * `bytesOf` returns the same bytes again. Source: PEP 383.
 */
export function pathFrom(bytes: Buffer): string {
  if (isUtf8(bytes)) return bytes.toString();
  let text = "";
  for (let at = 0; at < bytes.length;) {
    const length = [1, 2, 3, 4].find((each) => at + each <= bytes.length && isUtf8(bytes.subarray(at, at + each)));
    text +=
      length === undefined ? String.fromCharCode(0xdc00 + (bytes[at] ?? 0)) : bytes.toString("utf8", at, at + length);
    at += length ?? 1;
  }
  return text;
}

/** Encodes a path from `pathFrom`. Returns the same string if its UTF-8 form has the same bytes. */
export function bytesOf(path: string): string | Buffer {
  const parts = path.split(NOT_UTF8);
  if (parts.length === 1) return path;
  return Buffer.concat(
    parts.map((part, index) => (index % 2 === 1 ? Buffer.from([part.charCodeAt(0) & 0xff]) : Buffer.from(part))),
  );
}

/** Returns a path for people: each byte that is not UTF-8 as the replacement character. */
export function readablePath(path: string): string {
  return path.replaceAll(new RegExp(NOT_UTF8, "gu"), "\ufffd");
}

/** A lone surrogate of `pathFrom`. */
const NOT_UTF8 = /([\udc80-\udcff])/u;
