/**
 * Bytes of a command's output as text: what is none (not UTF-8, or a NUL byte) shows as U+FFFD.
 *
 * @param cut True when the bytes are the end of more: what is left of a code point that the cut split is left out.
 */
export function decodeOutput(bytes: Uint8Array, { cut = false }: { cut?: boolean } = {}): string {
  let start = 0;
  while (cut && start < Math.min(3, bytes.length) && ((bytes[start] ?? 0) & 0xc0) === 0x80) start++;
  return new TextDecoder("utf-8", { ignoreBOM: true }).decode(bytes.subarray(start)).replaceAll("\0", "\ufffd");
}
