/**
 * Decodes a command's output as UTF-8. Invalid bytes and NUL bytes become U+FFFD.
 *
 * @param cut true if the bytes are the end of a longer output: a code point that was split at the cut is then removed
 */
export function decodeOutput(bytes: Uint8Array, { cut = false }: { cut?: boolean } = {}): string {
  let start = 0;
  while (cut && start < Math.min(3, bytes.length) && ((bytes[start] ?? 0) & 0xc0) === 0x80) start++;
  return new TextDecoder("utf-8", { ignoreBOM: true }).decode(bytes.subarray(start)).replaceAll("\0", "\ufffd");
}
