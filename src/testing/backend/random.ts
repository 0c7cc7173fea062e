/**
 * Numbers that look random and are the same in each run, so that what failed once fails again: mulberry32.
 *
 * @returns a function that gives the next whole number from 0 to `below` - 1.
 */
export function randomNumbers(seed: number): (below: number) => number {
  let state = seed >>> 0;
  return (below) => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return Math.floor((((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32) * below);
  };
}

/** So many bytes of any value. */
export function randomBytes(length: number, seed: number): Buffer {
  const next = randomNumbers(seed);
  const bytes = Buffer.alloc(length);
  for (let index = 0; index < length; index++) bytes[index] = next(256);
  return bytes;
}

/** What shells, protocols and file systems may trip over. No NUL byte, which no argument can have. */
const ODD = [
  ..."'\"`$\\!*?[]{}()<>|&;#~=%^@:,. -_/\n\t\r\u0001\u0007\u001b\u007f".split(""),
  ...["é", "e\u0301", "漢", "\u202e", "\ufeff", "\u2028", "😀", "a", "Z", "0", "n"],
  ...["$(id)", "`id`", "${HOME}", "$'\\n'", "\\n", "\\0", "--", "-n", "-e", "..", "EOF", "%s", "\r\n", "  "],
] as const;

/** Text of up to so many pieces, each of them odd. */
export function oddText(next: (below: number) => number, most: number): string {
  return Array.from({ length: next(most + 1) }, () => ODD[next(ODD.length)]).join("");
}
