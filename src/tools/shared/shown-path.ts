/**
 * A path for a list of lines. Quoted when it has control characters: a line break would make it look like two paths.
 */
export function shownPath(path: string): string {
  return /[\x00-\x1f\x7f]/.test(path) ? JSON.stringify(path) : path;
}
