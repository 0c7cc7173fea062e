import type { Reader } from "../../git/reader.ts";
import type { ProtectedFiles } from "./protected.ts";

/** The file system on which commands are contained: this machine's, or what was looked up of another one. */
export interface SandboxDisk extends Reader {
  /** Whether it is this machine's: then Handrail creates what is granted and missing. */
  readonly isHere: boolean;
  /** Whether something is at a path, links followed. */
  isThere(path: string): boolean;
  isFolder(path: string): boolean;
  /** The protected and sensitive files and the repositories in a folder. */
  found(folder: string): ProtectedFiles;
  /** Adds the submodules of the work trees (`withSubmodules`). */
  withSubmodules(worktrees: readonly string[]): readonly string[];
  /** The given files that are unchanged in git. */
  filesInGit(worktrees: readonly string[], paths: readonly string[]): readonly string[];
  /** The real paths of sockets on which a process listens, outside of `except`. */
  listeningSockets(except: readonly string[]): readonly string[];
}
