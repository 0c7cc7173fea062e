/** How much of the beginning of an output is kept, in bytes: 256 MiB. */
export const KEPT_OF_START = 268_435_456;

/** Of a longer output, between one and two times this many bytes of the end are kept too. Bytes: 16 MiB. */
export const KEPT_OF_END = 16_777_216;

/** The line in a kept output where the middle is missing. `spool.sh` writes the same one. */
export function missingLine(bytes: number): string {
  return `\n[… ${Math.floor(bytes / 1_048_576)}MB of output are missing here: the beginning and the end were kept …]\n`;
}
