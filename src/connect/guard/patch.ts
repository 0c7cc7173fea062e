import { Unreadable } from "./unreadable.ts";

/** `apply_patch` removes blanks around a marker, as Rust's `trim` does: also those of Unicode. */
const BLANKS = String.raw`[\s\u0085\p{White_Space}]`;

/** A line that some program reads as a marker, however it is indented. */
const MARKER = new RegExp(String.raw`^${BLANKS}*\*{3}${BLANKS}+\p{L}`, "u");
const HEADER = /^\*\*\* (Add File|Update File|Delete File): (.*)$/su;
const MOVE = /^\*\*\* Move to: (.*)$/su;
const AROUND = new RegExp(`^${BLANKS}|${BLANKS}$`, "u");

/**
 * Returns the paths that a patch in the format of `apply_patch` adds, changes, deletes or moves to. Only the form that
 * every client reads in the same way is read, because clients repair others differently: markers with blanks around
 * them, a heredoc around the patch, lines that belong to nothing.
 *
 * @throws Unreadable that names the first line that is not in this form
 */
export function patchedPaths(patch: string): readonly string[] {
  const lines = patch.replace(/\n*$/, "").split("\n");
  const wrong = (at: number, expected: string): never => {
    const found = JSON.stringify((lines[at] ?? "").slice(0, 80));
    throw new Unreadable(`line ${at + 1} of the patch is ${found}: expected ${expected}`);
  };
  const pathAt = (at: number, path: string): string => {
    if (path === "" || AROUND.test(path) || /[\x00-\x1f\x7f\u2028\u2029]/.test(path))
      return wrong(at, "a path without blanks around it or control characters");
    if (path.startsWith("~")) return wrong(at, "a path that does not begin with ~");
    return path;
  };
  if (lines[0] !== "*** Begin Patch") wrong(0, '"*** Begin Patch"');
  const last = lines.length - 1;
  if (lines[last] !== "*** End Patch") wrong(last, '"*** End Patch", and nothing after it');

  const paths: string[] = [];
  let inside: "Add File" | "Update File" | "Delete File" | undefined;
  let isFresh = false;
  for (let at = 1; at < last; at += 1) {
    const line = lines[at] ?? "";
    if (/\r(?!$)/.test(line)) wrong(at, "no carriage return within a line");
    const [, header, path = ""] = HEADER.exec(line) ?? [];
    const [, target] = MOVE.exec(line) ?? [];
    if (header !== undefined) {
      inside = header as typeof inside;
      isFresh = true;
      paths.push(pathAt(at, path));
      continue;
    }
    if (target !== undefined && inside === "Update File" && isFresh) paths.push(pathAt(at, target));
    else if (line === "*** End of File" && inside === "Update File" && !isFresh) continue;
    else if (MARKER.test(line)) wrong(at, "a line of the file, or a marker exactly as it is documented");
    else if (inside === "Add File" && !line.startsWith("+")) wrong(at, 'a line that begins with "+"');
    else if (inside === "Update File" && !/^(?:[-+ ]|@@|$)/.test(line))
      wrong(at, 'a line that begins with "@@", "+", "-" or a space');
    else if (inside === undefined || inside === "Delete File") wrong(at, "the header of a file");
    isFresh = false;
  }
  if (paths.length === 0) wrong(1, "the header of a file");
  return paths;
}
