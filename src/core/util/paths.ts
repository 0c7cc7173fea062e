import { posix } from "node:path";

/** What a path is relative to. Paths are POSIX paths: those of Linux, macOS, containers and SSH hosts alike. */
export interface Base {
  readonly workDir: string;
  readonly home: string;
}

/**
 * Absolute and without `.` or `..`, from a path as a model writes it: absolute, relative, or `~` and `~/…` for the
 * home.
 */
export function absolutePath(path: string, { workDir, home }: Base): string {
  if (path === "~") return home;
  if (path.startsWith("~/")) return posix.resolve(home, path.slice(2));
  return posix.resolve(workDir, path);
}

const SLASH = 47;

/** True when `path` is `folder` or lies under it. Both absolute and normalised. */
export function isInside(path: string, folder: string): boolean {
  if (!path.startsWith(folder)) return false;
  return path.length === folder.length || folder === "/" || path.charCodeAt(folder.length) === SLASH;
}

/** The path as people would write it: relative if it is inside the working directory. */
export function displayPath(path: string, { workDir }: Pick<Base, "workDir">): string {
  if (path === workDir) return ".";
  return isInside(path, workDir) ? posix.relative(workDir, path) : path;
}
