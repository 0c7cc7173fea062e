/** A saved output, where a path is expected. */
export const OUTPUT_SCHEME = "output://";

/** The id in `output://ID`. */
export function outputId(path: string): string {
  return path.slice(OUTPUT_SCHEME.length);
}
