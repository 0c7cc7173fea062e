/** Marks a path as the id of a saved output. */
export const OUTPUT_SCHEME = "output://";

/** The id in `output://ID`. */
export function outputId(path: string): string {
  return path.slice(OUTPUT_SCHEME.length);
}
