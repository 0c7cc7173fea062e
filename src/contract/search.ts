/** What both kinds of search have in common. */
interface Searched {
  /** A folder, which is searched with all below it; for lines also a regular file. Links below it are not followed. */
  readonly path: string;
  /** Real paths below it that are left out, with all below them. Default: none. */
  readonly except?: readonly string[];
  /** True: git's own folders (`.git`) are searched too. Default false. */
  readonly git?: boolean;
  /** Globs of file names. Files whose name matches none of them may be left out. Default: all files are searched. */
  readonly names?: readonly string[];
  /** Stops the search, which then rejects with the signal's reason. */
  readonly signal?: AbortSignal;
}

/** A question for lines in files. Hidden files are searched, those that a `.gitignore` ignores are not. */
export interface SearchQuery extends Searched {
  /** A regular expression of Rust's `regex` crate, for one line at a time. */
  readonly pattern: string;
  /** True: the pattern is plain text. Default false. */
  readonly literal?: boolean;
  /** Default false. */
  readonly caseSensitive?: boolean;
  /** Lines shown around each match. Default 0. */
  readonly contextLines?: number;
  /** So many matches are returned at most: the first in the order of paths. */
  readonly maxMatches: number;
  /** Longer lines are cut to so many code points. */
  readonly maxCharacters: number;
  /** A folder, relative to `path`: no file outside of it is meant. Default: all of `path`. */
  readonly under?: string;
  /** What becomes of a match in the file with this real path: it is shown, counted as hidden, or skipped. Default: shown. */
  judge?(path: string): "shown" | "hidden" | "skipped";
  /** Searched in place of files; `path` then only names it in the result. */
  readonly input?: SearchInput;
}

/** What is open for reading, as an `OpenFile` is. It is closed by the search. */
export interface SearchInput {
  /** Up to `length` bytes from `offset`; none only at the end. */
  read(offset: number, length: number): Promise<Uint8Array>;
  close(): Promise<void>;
}

/** One line of a result. `match: false` is a line of context. */
export interface FoundLine {
  /** A real path. */
  readonly path: string;
  /** The first is 1. */
  readonly line: number;
  readonly text: string;
  readonly match: boolean;
}

/** What a search could not do. */
interface Incomplete {
  /** What could not be searched, in one line for people and models; "" for nothing. */
  readonly complaints: string;
  /** Sentences on what this backend's search does not do (ignore files, encodings). Empty where it does all of it. */
  readonly notes: readonly string[];
}

export interface SearchResult extends Incomplete {
  /** In the order of paths, and of lines within one. */
  readonly lines: readonly FoundLine[];
  readonly matches: number;
  /** True: there are more matches than `maxMatches`. */
  readonly hasMore: boolean;
  /** How many lines were cut. */
  readonly cut: number;
  /** Files with matches that were judged "hidden". */
  readonly hidden: number;
  /** Binary files with matches that are not shown. */
  readonly binary: number;
}

/** A question for files, folders and links by name. What a `.gitignore` ignores is left out. */
export interface FindQuery extends Searched {
  /** What is looked for. Default: all three. */
  readonly kinds?: readonly FoundKind[];
  /** Returns those of the paths that are meant, relative to `path`. Default: all are. */
  pick?(paths: readonly string[]): readonly string[];
}

export type FoundKind = "file" | "folder" | "link";

/** Paths relative to `FindQuery.path`, in no order. */
export interface FindResult extends Incomplete {
  readonly files: readonly string[];
  readonly folders: readonly string[];
  readonly links: readonly string[];
}
