/** Options that both kinds of search share. */
interface Searched {
  /** A folder, which is searched with all of its content, or a file to search for lines. Links are not followed. */
  readonly path: string;
  /** Real paths below `path` to skip, with everything in them. Default: none. */
  readonly except?: readonly string[];
  /** Whether `.git` folders are searched too. Default false. */
  readonly git?: boolean;
  /** Whether files that a `.gitignore` ignores are searched too. Default false. */
  readonly ignored?: boolean;
  /** Globs of file names. Files that match no glob may be skipped. Default: all files are searched. */
  readonly names?: readonly string[];
  /** Stops the search when it fires. The search then rejects with the signal's reason. */
  readonly signal?: AbortSignal;
}

/** A search for lines in files. Hidden files are searched; files that a `.gitignore` ignores are not. */
export interface SearchQuery extends Searched {
  /** A regular expression of Rust's `regex` crate, for one line at a time. */
  readonly pattern: string;
  /** Whether the pattern is plain text. Default false. */
  readonly literal?: boolean;
  /** Whether upper and lower case differ. Default false. */
  readonly caseSensitive?: boolean;
  /** Lines shown around each match. Default 0. */
  readonly contextLines?: number;
  /** The most matches to return: the first ones in the order of paths. */
  readonly maxMatches: number;
  /** Longer lines are truncated to this many code points. */
  readonly maxCharacters: number;
  /** A folder, relative to `path`, that contains all files of interest. Default: all of `path`. */
  readonly under?: string;
  /**
   * Decides about the matches in the file with this real path: show them, count the file as hidden, or skip the file.
   * Default: show.
   */
  judge?(path: string): "shown" | "hidden" | "skipped";
  /** Text that is searched instead of files; `path` is then only its name in the result. */
  readonly input?: SearchInput;
}

/** Input for a search, readable like an `OpenFile`. The search closes it. */
export interface SearchInput {
  /** Up to `length` bytes from `offset`; no bytes only at the end. */
  read(offset: number, length: number): Promise<Uint8Array>;
  close(): Promise<void>;
}

/** One line of a result. `match: false` is a line of context. */
export interface FoundLine {
  /** A real path. */
  readonly path: string;
  /** The line's number, counted from 1. */
  readonly line: number;
  readonly text: string;
  readonly match: boolean;
}

/** What a search has missed. */
interface Incomplete {
  /** What could not be searched, in one line for people and models; "" if everything was searched. */
  readonly complaints: string;
  /** Sentences about unsupported features of this backend's search (ignore files, encodings). Usually empty. */
  readonly notes: readonly string[];
}

export interface SearchResult extends Incomplete {
  /** Sorted by path, then by line. */
  readonly lines: readonly FoundLine[];
  readonly matches: number;
  /** Whether there are more matches than `maxMatches`. */
  readonly hasMore: boolean;
  /** How many lines were truncated. */
  readonly cut: number;
  /** Files with matches that were judged "hidden". */
  readonly hidden: number;
  /** Binary files with matches that are not shown. */
  readonly binary: number;
}

/** A search for files, folders and links by name. Skips what a `.gitignore` ignores. */
export interface FindQuery extends Searched {
  /** Kinds to find. Default: all three. */
  readonly kinds?: readonly FoundKind[];
  /** Selects paths from those found. They are relative to `path`. Default: all. */
  pick?(paths: readonly string[]): readonly string[];
}

export type FoundKind = "file" | "folder" | "link";

/** Paths relative to `FindQuery.path`, unsorted. */
export interface FindResult extends Incomplete {
  readonly files: readonly string[];
  readonly folders: readonly string[];
  readonly links: readonly string[];
}
