import type { Containment, Refusal, Sandbox } from "./containment.ts";
import type { Env } from "./effect.ts";
import type { FindQuery, FindResult, SearchQuery, SearchResult } from "./search.ts";
import type { Lifetime } from "./lifetime.ts";
import type { CaptureOptions, Captured, Keys } from "./terminal.ts";

/**
 * Where work happens: this machine, a sandbox, a container, a host over SSH, a tmux pane on any of them. Every tool works
 * unchanged on every backend, because it touches the world through this alone.
 */
export interface Backend {
  /** "local", "docker:web", "ssh:deploy@host", "tmux(ssh:deploy@host)". */
  readonly name: string;
  /** Absolute, canonical, *there*. */
  readonly workDir: string;
  /** The home folder *there*. */
  readonly home: string;
  /** The best shell for scripts there. Default "bash". */
  readonly shell?: ScriptShell;
  /**
   * The folders in which commands find programs, in order: the absolute ones of their PATH. Default: those that every system has (`/usr/local/bin`,
   * `/usr/bin`, `/bin` and the `sbin` beside each). A script that runs unasked runs the programs that are found in them.
   */
  readonly programFolders?: readonly string[];
  /** How people get to it from this machine. Omit it when the backend is this machine. */
  readonly access?: Access;
  readonly files: Files;
  /** Files as programs see them that are not contained; only on a backend where contained commands see others. Default: `files`. */
  readonly outside?: Files;
  /**
   * Starts a program. Rejects with a `ToolFailure` when it cannot be started at all (no such folder, no such program);
   * whatever happens after that is in `exit`.
   */
  spawn(command: Command): Promise<Process>;
  /**
   * Searches files for lines. Rejects with a `ToolFailure` where `path` is neither a file nor a folder, the pattern cannot be searched for, or
   * there is no program to search with.
   */
  search(query: SearchQuery): Promise<SearchResult>;
  /** Finds files, folders and links. Rejects with a `ToolFailure` where `path` is not a folder or there is no program to search with. */
  find(query: FindQuery): Promise<FindResult>;
  /** Only on a backend whose commands run in a live terminal. */
  readonly terminal?: Terminal;
  /** What contains its commands; only on a backend that has a sandbox. */
  readonly sandbox?: Sandbox;
  /** Processes that outlive the backend; only on a backend that can keep them. */
  readonly detached?: DetachedProcesses;
  /**
   * What has happened to it since this was last asked, in sentences for a model and for people ("the connection to … was lost and is open again"). Each is
   * told once. Only on a backend to which something can happen.
   */
  notices?(): readonly string[];
  /** Stops what it started and lets go of what it holds; detached processes go on. */
  close(): Promise<void>;
}

/**
 * The backend as a running tool gets it: narrowed to what its call declared, without what is the toolkit's. How a command is contained and how long it
 * lives is not a tool's to say.
 */
export interface ToolBackend extends Pick<
  Backend,
  "name" | "workDir" | "home" | "shell" | "access" | "files" | "search" | "find" | "terminal"
> {
  /** Starts a program, which ends with the call at the latest. One that is to run longer is started as a job. */
  spawn(command: Omit<Command, "lifetime" | "label" | "within">): Promise<Process>;
}

/** What people type on this machine for a place that is elsewhere. */
export interface Access {
  /** Stands before a program there that they are to have in front of them: ["ssh", "-t", "deploy@host"], ["docker", "exec", "-it", "web"]. */
  readonly program: readonly string[];
  /** Tells the `handrail` command of the place: ["--ssh", "deploy@host"], ["--container", "docker:web"]. */
  readonly options: readonly string[];
}

/** What runs a script: bash, or on a small system that has none the POSIX shell. */
export type ScriptShell = "bash" | "sh";

/** A live terminal that people share with a model: a tmux pane that they attach to, watch and take over. */
export interface Terminal {
  /** What a person types to join in: "tmux -L handrail attach -t main". */
  readonly attach: string;
  /** True: its pane is a person's own, and we may be what runs in it. Default false: it was opened for commands. */
  readonly isPersons?: boolean;
  /** What a pane shows, as text. Rejects with a `ToolFailure` when there is no such pane. */
  capture(options?: CaptureOptions): Promise<Captured>;
  /** Types into a pane: the text first, then the keys, then Enter. Rejects with a `ToolFailure` when there is no such pane or key. */
  sendKeys(keys: Keys): Promise<{ readonly pane: string }>;
  /** Types a command into the pane where commands are typed, and does not wait for its end. Rejects with a `ToolFailure` when it cannot be started. */
  dispatch(command: Command): Promise<{ readonly pane: string }>;
  /**
   * Whether a pane (as tmux's `-t`) was opened for commands of ours, and is no other pane of a person's. False where there is no such pane. Left
   * out: only the pane where commands are typed counts as ours.
   */
  isOwn?(target: string): Promise<boolean>;
}

/** Processes with the lifetime "detached", started by this backend or an earlier one like it. */
export interface DetachedProcesses {
  /** The oldest first. One that has ended stays listed until it is removed. */
  list(): Promise<readonly DetachedProcess[]>;
  /** Forgets one that has ended, with its output. One that runs is left alone. */
  remove(id: string): Promise<void>;
}

export interface DetachedProcess {
  /** As `Process.id` said when it was started. */
  readonly id: string;
  /** As `Command.label`. */
  readonly label: string;
  readonly cwd: string;
  /** Milliseconds since 1970. */
  readonly startedMs: number;
  /** How it had ended when it was listed; `undefined`: it ran. */
  readonly ended: Exit | undefined;
  /** When that was, as far as is known. Milliseconds since 1970. */
  readonly endedMs: number | undefined;
  /** Reads its output, writes to its stdin and stops it, like the process that `spawn` returned. */
  readonly process: Process;
}

export type FileKind = "file" | "folder" | "fifo" | "socket" | "device";

export interface FileInfo {
  /** The real path, every link followed. */
  readonly path: string;
  readonly kind: FileKind;
  /** In bytes; 0 for what has no size. */
  readonly size: number;
  /** Milliseconds since 1970. */
  readonly modifiedMs: number;
  /** Permission bits, as 0o644. */
  readonly mode: number;
  /** Names of the same file: more than 1 means that it is hard-linked. */
  readonly links: number;
  /** Changes whenever the file does (device, inode, size and modification time). Compare, never parse. */
  readonly version: string;
}

export interface FileEntry {
  readonly name: string;
  readonly kind: FileKind | "link";
  readonly size: number;
  readonly modifiedMs: number;
  /** Where a link points, as written in it. */
  readonly target?: string;
}

/** A regular file, open for ranged reads. */
export interface OpenFile {
  readonly info: FileInfo;
  /** Up to `length` bytes from `offset`; fewer only at the end of the file. */
  read(offset: number, length: number): Promise<Uint8Array>;
  close(): Promise<void>;
}

/** How a path is meant. */
export interface PathOptions {
  /**
   * True: the path is real already, as `realPath` gave it, so no link is followed on the way. Where one stands there by now, it is a failure
   * and nothing is touched. Default false.
   */
  readonly real?: boolean;
}

/**
 * Files of a backend. A path is absolute, or relative to the working directory, or starts with `~/`. Failures are
 * `ToolFailure`s that name the path and what is there.
 */
export interface Files {
  /** The path with every link followed. What does not exist yet keeps its name behind the real path of what does. */
  realPath(path: string): Promise<string>;
  /** What the path leads to; `undefined` when there is nothing. */
  stat(path: string, options?: PathOptions): Promise<FileInfo | undefined>;
  /** Opens a regular file; anything else is a failure at once (a FIFO or a device is never waited for). */
  open(path: string, options?: PathOptions): Promise<OpenFile>;
  /**
   * Replaces or creates the file whole: at any moment there is the old content or the new. Makes missing folders. Permissions (0o777)
   * and owner stay; setuid, setgid and sticky bits do not. A file with several names (hard links) keeps them all, and only there a
   * kill in the middle can leave a mixture.
   */
  write(path: string, bytes: Uint8Array, options?: PathOptions): Promise<FileInfo>;
  /** The entries of a folder, sorted by name (code units). */
  list(path: string, options?: PathOptions): Promise<readonly FileEntry[]>;
  /** Removes a file or a link, or a folder with all in it. */
  remove(path: string, options?: PathOptions): Promise<void>;
}

export interface Command {
  /** Program and arguments; no shell reads them. */
  readonly argv: readonly [program: string, ...args: string[]];
  /** Default: the working directory. */
  readonly cwd?: string;
  /** True: `cwd` is a real path. Where a link has taken its place by now, `spawn` rejects and nothing is run. Default false. */
  readonly isRealCwd?: boolean;
  /** Added to the backend's own clean environment. */
  readonly env?: Env;
  /** Default "closed": reading ends at once. "terminal": a person can type; only on a backend that has one, "closed" elsewhere. */
  readonly stdin?: "closed" | "pipe" | "terminal";
  /**
   * "merged" (the default) keeps stdout and stderr in the order they were written; "split" keeps them apart. A command with another lifetime than
   * "call" is always merged.
   */
  readonly streams?: "merged" | "split";
  /** After this long it is stopped like by `kill`. Default: never. */
  readonly timeoutMs?: number;
  /** Stops it like `kill`. */
  readonly signal?: AbortSignal;
  /** Default "call". */
  readonly lifetime?: Lifetime;
  /** What a detached process is called in lists. Default: its argv. */
  readonly label?: string;
  /** What it has beside what every contained command has, paths real. A backend without a sandbox pays no heed. Default `{}`: nothing. */
  readonly within?: Containment;
}

export interface Process {
  /** On this machine the process id, of a detached process a name; elsewhere what that backend calls it. */
  readonly id: string;
  /** stdout, or with merged streams both. */
  readonly output: OutputLog;
  /** stderr of split streams; `undefined` when they are merged. */
  readonly errors: OutputLog | undefined;
  /** Never rejects. Settles when the process has ended and what it wrote is in its output: no background child can hold it. */
  readonly exit: Promise<Exit>;
  /** Of a contained process: what the sandbox kept it from, as far as that can be told. Known when `exit` is; never rejects. */
  readonly refusals?: Promise<readonly Refusal[]>;
  /** Of a process in a live terminal: where it is, as "pane %1". */
  readonly place?: string;
  /** Of a process in a live terminal: resolves to true when it waits for somebody to type, to false when it has ended or the signal fires. Never rejects. */
  awaitsInput?(signal: AbortSignal): Promise<boolean>;
  /** Writes to stdin. Rejects with a `ToolFailure` where stdin is closed. */
  write(text: string): Promise<void>;
  /** Ends stdin. */
  endInput(): Promise<void>;
  /** TERM, a grace of two seconds, KILL; everything it started goes too. Resolves when `exit` is known: "lost" where some of it cannot be ended. */
  kill(): Promise<void>;
}

export type Exit =
  | { readonly how: "exited"; readonly code: number }
  /** `signal` as "SIGKILL". */
  | { readonly how: "signaled"; readonly signal: string }
  | { readonly how: "timed-out"; readonly afterMs: number }
  | { readonly how: "aborted" }
  /** Nobody can say how it ended: what watched over it has died, or the connection to it. `reason` says which. */
  | { readonly how: "lost"; readonly reason: string };

/**
 * What a process wrote, growing while it runs. That of a process with the lifetime "call" is kept on this machine; that of another stays where it
 * runs, and is read from there.
 */
export interface OutputLog {
  /** Bytes written so far; of those beyond what is kept, as many as are known of. */
  readonly size: number;
  /** Bytes that are kept and can be read. */
  readonly kept: number;
  /** The last `bytes` bytes that are kept. */
  tail(bytes: number): Promise<Uint8Array>;
  /** Bytes `start` (inclusive) to `end` (exclusive) of what is kept. */
  read(start: number, end: number): Promise<Uint8Array>;
  /** Resolves when more than so many bytes are kept, when no more will come, or when the signal fires. Never rejects. */
  grown(beyond: number, signal?: AbortSignal): Promise<void>;
  /** Chunks from the beginning, then as they come, until the process has ended or the signal fires. */
  follow(signal?: AbortSignal): AsyncIterable<Uint8Array>;
  /**
   * Lets go of what is kept (a saved output made of it stays; so does the output of a detached process). Reading fails from now on. Never
   * rejects.
   */
  dispose(): Promise<void>;
}
