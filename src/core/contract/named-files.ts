/** What a text of a program names, as far as it can be read before the program runs. All paths are absolute. */
export interface NamedFiles {
  /** Files that the text may name or load. Paths that do not exist are included: they may come to exist. */
  readonly paths: readonly string[];
  /** Files that a pattern may name: those in `folder` whose name begins with `prefix` and ends with `suffix`. */
  readonly patterns: readonly NamePattern[];
  /**
   * Words that are known only when the text runs, as written. `isAnywhere`: not even the text says where the word comes
   * from, such as a variable of the environment that names a program. Empty: everything was found.
   */
  readonly unknown: readonly { readonly text: string; readonly isAnywhere: boolean }[];
}

export interface NamePattern {
  readonly folder: string;
  readonly prefix: string;
  readonly suffix: string;
}

/** A text to read. */
export interface ProgramText {
  readonly text: string;
  /** The file that has it. Absent: the text is a script for a shell. */
  readonly path?: string;
  /** The folder in which it runs. */
  readonly cwd: string;
  readonly home: string;
  /** Whether it runs again and again: what it only writes is then not included. */
  readonly repeats: boolean;
}

/** Finds what a text names. `undefined`: it is not the text of a program that can be read. Never throws. */
export type FindNamedFiles = (text: ProgramText) => NamedFiles | undefined;
