export interface GitReading {
  readonly subcommand: number;
  readonly added: readonly string[];
  /** Paths in revisions, `src/a` of `HEAD:src/a`. They begin in the workspace, with "./" in the working folder. */
  readonly revisionPaths: readonly string[];
  /** Words that name an object, which has to be a commit. */
  readonly objects: readonly number[];
  /** Whether the command shows the content of files: then files that may not be read are excluded. */
  readonly showsContent: boolean;
}

/** How a listed program's command is judged and run. Indexes are indexes of its words. */
export interface Reading {
  readonly paths: readonly number[];
  readonly isRecursive?: boolean;
  /** Whether the command names no path, and looks at everything under the working folder. */
  readonly looksBelow?: boolean;
  readonly onlyFiles?: boolean;
  /** The program by whose options the command excludes files with sensitive names. */
  readonly keepsOut?: "grep" | "rg";
  /** Words to insert behind the program's name. */
  readonly adds?: readonly string[];
  /** The index at which added words are inserted. */
  readonly end: number;
  readonly git?: GitReading;
}
