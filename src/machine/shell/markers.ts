/** Longer than any marker, in bytes. */
const LONGEST = 4_096;

/**
 * Returns a function that splits the chunks of a stream into data and markers. A marker is a message of our shell: the
 * byte 1, the shell's secret, a colon, the script's number and words, up to the end of the line: `\x01SECRET:7 exited
 * 0\n`. Any other bytes may come between two markers.
 */
export function readMarkers(
  secret: string,
  found: { data(chunk: Buffer): void; marker(about: number, words: string): void },
): (chunk: Buffer) => void {
  const sign = Buffer.from(`\x01${secret}:`, "latin1");
  let held: Buffer = Buffer.alloc(0);

  return (chunk) => {
    let rest = held.length === 0 ? chunk : Buffer.concat([held, chunk]);
    for (let start = rest.indexOf(sign); start !== -1; start = rest.indexOf(sign)) {
      const end = rest.indexOf(10, start);
      if (start > 0) found.data(rest.subarray(0, start));
      held = rest.subarray(start);
      if (end === -1 && held.length <= LONGEST) return;
      const line = rest.toString("latin1", start + sign.length, end === -1 ? start + LONGEST : end);
      const space = line.indexOf(" ");
      rest = rest.subarray(end === -1 ? rest.length : end + 1);
      found.marker(Number(line.slice(0, space)), line.slice(space + 1));
    }
    const from = beginning(rest, sign);
    if (from > 0) found.data(rest.subarray(0, from));
    held = rest.subarray(from);
  };
}

/** The index where a possible beginning of the sign starts at the end of the bytes, or their length. */
function beginning(bytes: Buffer, sign: Buffer): number {
  for (
    let at = bytes.indexOf(1, Math.max(0, bytes.length - sign.length + 1));
    at !== -1;
    at = bytes.indexOf(1, at + 1)
  ) {
    if (sign.subarray(0, bytes.length - at).equals(bytes.subarray(at))) return at;
  }
  return bytes.length;
}
