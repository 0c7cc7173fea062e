/** Longer than any message of ours. */
const LONGEST = 4_096;

/** Takes markers out of a stream of bytes. */
export interface MarkerReader {
  push(chunk: Buffer): void;
}

/**
 * A marker is what a shell of ours writes among the bytes of others: the byte 1, a secret of that shell, a colon, the number of what it is about, and words, up to the
 * line's end. `\x01SECRET:7 exited 0\n`. Nobody else knows the secret, so any bytes may stand between two markers.
 */
export function readMarkers(
  secret: string,
  found: { data(chunk: Buffer): void; marker(about: number, words: string): void },
): MarkerReader {
  const sign = Buffer.from(`\x01${secret}:`, "latin1");
  let held: Buffer = Buffer.alloc(0);

  return {
    push(chunk) {
      let rest = held.length === 0 ? chunk : Buffer.concat([held, chunk]);
      held = Buffer.alloc(0);
      for (;;) {
        const start = rest.indexOf(sign);
        if (start === -1) break;
        const end = rest.indexOf(10, start);
        if (end === -1 && rest.length - start <= LONGEST) {
          if (start > 0) found.data(rest.subarray(0, start));
          held = rest.subarray(start);
          return;
        }
        if (start > 0) found.data(rest.subarray(0, start));
        const line = rest.toString("latin1", start + sign.length, end === -1 ? start + LONGEST : end);
        const space = line.indexOf(" ");
        rest = rest.subarray(end === -1 ? rest.length : end + 1);
        found.marker(Number(line.slice(0, space)), line.slice(space + 1));
      }
      const from = beginning(rest, sign);
      if (from > 0) found.data(rest.subarray(0, from));
      held = rest.subarray(from);
    },
  };
}

/** Where the bytes end in what may be the beginning of the sign; their length when they do not. */
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
