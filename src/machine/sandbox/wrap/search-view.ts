import { existsSync, statSync } from "node:fs";
import { dirname, join } from "node:path";
import { isInside } from "../../../core/util/paths.ts";

interface SearchView {
  /** The real path that is searched. */
  readonly path: string;
  /** Real paths that a command can write. */
  readonly roots: readonly string[];
  /** Real paths that stay hidden. */
  readonly hidden: readonly string[];
  /** Files of a linked worktree's repository, which name what is not searched. */
  readonly excludes: readonly string[];
  /** The real path of ripgrep. */
  readonly program: string;
}

/** What `sh`, `find`, `grep` and their libraries are made of. */
const SYSTEM = ["/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/nix/store", "/etc/ld.so.cache"];

/**
 * Returns bwrap's words for a program of Handrail that searches `path`: it sees that path, the system's programs, and
 * nothing else. So a folder that a command swaps for a link during the search leads nowhere. What is mounted is the
 * whole root that a command can write, which no command can swap. Ignore files above it are kept.
 */
export function searchViewWords(
  program: string,
  { path, roots, hidden, excludes, program: ripgrep }: SearchView,
): string[] {
  const root = roots.filter((each) => isInside(path, each)).sort((one, other) => one.length - other.length)[0] ?? path;
  const shown = (at: string) => ["--ro-bind-try", at, at];
  const closed = hidden.filter((at) => at !== root && isInside(at, root) && existsSync(at));
  return [
    program,
    ...["--unshare-user", "--unshare-ipc", "--unshare-pid", "--unshare-net", "--die-with-parent", "--cap-drop", "ALL"],
    ...SYSTEM.flatMap(shown),
    ...["--dev", "/dev", "--proc", "/proc"],
    ...above(root).flatMap((folder) => [
      ...["--dir", folder],
      ...(existsSync(join(folder, ".git")) ? ["--dir", join(folder, ".git")] : []),
      ...[join(folder, ".gitignore"), join(folder, ".git/info/exclude")].filter(existsSync).flatMap(shown),
    ]),
    ...excludes.filter(existsSync).flatMap(shown),
    ...shown(ripgrep),
    ...["--ro-bind", root, root],
    ...closed.flatMap((at) => (isFolder(at) ? ["--perms", "0555", "--tmpfs", at] : ["--ro-bind", "/dev/null", at])),
    ...["--chdir", "/", "--"],
  ];
}

/** A folder is hidden by an empty one, a file by an empty file. */
function isFolder(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isDirectory() === true;
}

/** The folders above a path, the highest first, without "/". */
function above(path: string): readonly string[] {
  const folder = dirname(path);
  return folder === "/" || folder === path ? [] : [...above(folder), folder];
}
