/** Returns pseudo-random integers from 0 to `below` - 1, the same in each run (mulberry32). */
export function randomNumbers(seed: number): (below: number) => number {
  let state = seed >>> 0;
  return (below) => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return Math.floor((((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32) * below);
  };
}

/** This many random bytes. */
export function randomBytes(length: number, seed: number): Buffer {
  const next = randomNumbers(seed);
  const bytes = Buffer.alloc(length);
  for (let index = 0; index < length; index++) bytes[index] = next(256);
  return bytes;
}

/** Characters that are special to shells, protocols and file systems. No NUL byte, which arguments cannot contain. */
const ODD = [
  ..."'\"`$\\!*?[]{}()<>|&;#~=%^@:,. -_/\n\t\r\u0001\u0007\u001b\u007f".split(""),
  ...["é", "e\u0301", "漢", "\u202e", "\ufeff", "\u2028", "😀", "a", "Z", "0", "n"],
  ...["$(id)", "`id`", "${HOME}", "$'\\n'", "\\n", "\\0", "--", "-n", "-e", "..", "EOF", "%s", "\r\n", "  "],
] as const;

/** Text of up to this many odd pieces. */
export function oddText(next: (below: number) => number, most: number): string {
  return Array.from({ length: next(most + 1) }, () => ODD[next(ODD.length)]).join("");
}
