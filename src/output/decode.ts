/** Bytes as text when they are UTF-8 without a NUL byte; else `undefined`. A byte order mark stays in the text. */
export function decodeUtf8(bytes: Uint8Array): string | undefined {
  if (bytes.includes(0)) return undefined;
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    return undefined;
  }
}

/** Bytes of a command's output as text: what is not UTF-8 shows as U+FFFD, and code points cut at either end are left out. */
export function decodeOutput(bytes: Uint8Array): string {
  let start = 0;
  while (start < Math.min(3, bytes.length) && ((bytes[start] ?? 0) & 0xc0) === 0x80) start++;
  // Streaming holds back an unfinished code point at the end.
  return new TextDecoder("utf-8", { ignoreBOM: true }).decode(bytes.subarray(start), { stream: true });
}
