const TABLE = Uint32Array.from({ length: 256 }, (_, index) => {
  let rest = index << 24;
  for (let bit = 0; bit < 8; bit++) rest = rest & 0x8000_0000 ? (rest << 1) ^ 0x04c1_1db7 : rest << 1;
  return rest >>> 0;
});

/** The output of the program cksum for this stdin: checksum and length, separated by a space (POSIX, cksum). */
export function cksum(bytes: Uint8Array): string {
  let sum = 0;
  const add = (byte: number) => {
    sum = ((sum << 8) ^ (TABLE[(sum >>> 24) ^ byte] ?? 0)) >>> 0;
  };
  for (const byte of bytes) add(byte);
  for (let length = bytes.length; length > 0; length = Math.floor(length / 256)) add(length & 255);
  return `${~sum >>> 0} ${bytes.length}`;
}
