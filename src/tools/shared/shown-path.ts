/** A path as it stands in a list of lines: one with a line break in it would look like two. */
export function shownPath(path: string): string {
  return /[\x00-\x1f\x7f]/.test(path) ? JSON.stringify(path) : path;
}
