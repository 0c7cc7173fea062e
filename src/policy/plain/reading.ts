export interface GitReading {
  readonly subcommand: number;
  readonly added: readonly string[];
  /** Paths in revisions, `src/a` of `HEAD:src/a`. They begin in the workspace, with "./" in the working folder. */
  readonly revisionPaths: readonly string[];
  /** Words that name an object, which has to be a commit. */
  readonly objects: readonly number[];
  /** It shows the content of files: those that may not be read are excluded. */
  readonly showsContent: boolean;
}

/** How a command of a program on the list is judged and run. Indexes are those of its words. */
export interface Reading {
  readonly paths: readonly number[];
  readonly isRecursive?: boolean;
  /** It names no path, and looks at everything under the working folder. */
  readonly looksBelow?: boolean;
  readonly onlyFiles?: boolean;
  /** It excludes files with sensitive names, in this program's way. */
  readonly keepsOut?: "grep" | "rg";
  /** The index where added words belong. */
  readonly end: number;
  readonly git?: GitReading;
}
