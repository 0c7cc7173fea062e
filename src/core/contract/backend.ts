import type { Containment, Refusal, Sandbox } from "./containment.ts";
import type { Env } from "./effect.ts";
import type { FindQuery, FindResult, SearchQuery, SearchResult } from "./search.ts";
import type { Lifetime } from "./lifetime.ts";
import type { CaptureOptions, Captured, Keys } from "./terminal.ts";

/**
 * Where work happens: this machine, a sandbox, a container, a host over SSH, or a tmux pane on any of them. Every tool
 * works unchanged on every backend, because it uses files and programs only through this interface.
 */
export interface Backend {
  /** Such as "local", "docker:web", "ssh:deploy@host", "tmux(ssh:deploy@host)". */
  readonly name: string;
  /** The working directory on the target: absolute and canonical. */
  readonly workDir: string;
  /** The home folder on the target. */
  readonly home: string;
  /** The best shell for scripts on the target. Default "bash". */
  readonly shell?: ScriptShell;
  /**
   * The absolute folders of the PATH in which commands find programs, in order. Default: `/usr/local/bin`, `/usr/bin`,
   * `/bin` and their `sbin` counterparts. A script that runs unasked uses only these folders.
   */
  readonly programFolders?: readonly string[];
  /**
   * Whether each access takes a round trip. The engine then judges a named path as if it were real, where the policy
   * allows that path, and `PathOptions.real` has the target check it (`docs/decisions/0028-one-round-trip.md`).
   */
  readonly isFar?: true;
  /** How people access the target from this machine. Omit it when the backend is this machine. */
  readonly access?: Access;
  /**
   * Present when workers make the calls of this target: their name. The backend then gives access to nothing itself.
   */
  readonly worker?: string;
  /** Whether the commands of these workers run in a live terminal of theirs. */
  readonly workerHasTerminal?: boolean;
  readonly files: Files;
  /** Files as uncontained programs see them, if contained commands see others. Default: `files`. */
  readonly outside?: Files;
  /**
   * Starts a program. Rejects with a `ToolFailure` when it cannot be started (no such folder, no such program); `exit`
   * reports everything that happens later.
   */
  spawn(command: Command): Promise<Process>;
  /**
   * Searches files for lines. Rejects with a `ToolFailure` when `path` is neither a file nor a folder, the pattern is
   * invalid, or there is no program to search with.
   */
  search(query: SearchQuery): Promise<SearchResult>;
  /**
   * Finds files, folders and links. Rejects with a `ToolFailure` when `path` is not a folder or there is no program to
   * search with.
   */
  find(query: FindQuery): Promise<FindResult>;
  /** The live terminal, on a backend whose commands run in one. */
  readonly terminal?: Terminal;
  /** The sandbox of its commands, on a backend that has one. */
  readonly sandbox?: Sandbox;
  /** Starts a program that waits for a command (see `Standby`). Rejects like `spawn`. Absent: nothing starts ahead. */
  standby?(program: Pick<Command, "argv" | "env" | "streams" | "stdin">): Promise<Standby>;
  /** Processes that outlive the backend, if it supports them. */
  readonly detached?: DetachedProcesses;
  /**
   * Why commands lack a variable: "withheld" if it is set in the user's environment and is not passed to commands,
   * "missing" for one that toolchains need and that is not set. `undefined`: commands may have it, or it is not known.
   */
  lacks?(name: string): "withheld" | "missing" | undefined;
  /**
   * Returns sentences for models and people about events of the backend since the last call ("the connection to … was
   * lost and is open again"). Each is returned once. Absent on backends without such events.
   */
  notices?(): readonly string[];
  /** Stops the backend's processes and releases its resources; detached processes continue. */
  close(): Promise<void>;
}

/**
 * The backend as a tool gets it: limited to what its call declared. A tool does not decide how a command is contained
 * or how long it lives.
 */
export interface ToolBackend extends Pick<
  Backend,
  "name" | "workDir" | "home" | "isFar" | "shell" | "access" | "files" | "search" | "find" | "terminal"
> {
  /** Starts a program. It ends with the call at the latest; to outlive the call, start a job. */
  spawn(command: Omit<Command, "lifetime" | "label" | "within">): Promise<Process>;
}

/** How people on this machine access a remote target. */
export interface Access {
  /**
   * The prefix that runs a program on the target in the person's terminal: ["ssh", "-t", "deploy@host"], ["docker",
   * "exec", "-it", "web"].
   */
  readonly program: readonly string[];
  /** The options with which `handrail` uses the target: ["--ssh", "deploy@host"], ["--container", "docker:web"]. */
  readonly options: readonly string[];
}

/** The shell that runs a script: bash, or the POSIX shell on a system without bash. */
export type ScriptShell = "bash" | "sh";

/** A live terminal that people share with a model: a tmux pane that they can attach to, watch and type in. */
export interface Terminal {
  /** The command with which a person attaches: "tmux -L handrail attach -t main". */
  readonly attach: string;
  /** Whether the pane belongs to a person, so that Handrail may itself run in it. Default false: Handrail opened it. */
  readonly isPersons?: boolean;
  /** Returns the text in a pane. Rejects with a `ToolFailure` when there is no such pane. */
  capture(options?: CaptureOptions): Promise<Captured>;
  /**
   * Types into a pane: the text, then the keys, then Enter. Rejects with a `ToolFailure` for an unknown pane or key.
   */
  sendKeys(keys: Keys): Promise<{ readonly pane: string }>;
  /**
   * Types a command into the pane where commands run, and does not wait for its end. `window`: the name of the window
   * that it has in the person's own session. Rejects with a `ToolFailure` when it cannot be started.
   */
  dispatch(command: Command): Promise<{ readonly pane: string; readonly window?: string }>;
  /**
   * The folder where the shell of the pane is, as a real path: a person or a command may have changed it. The working
   * directory before the first change. Absent where commands do not run in the pane.
   */
  folder?(): Promise<string>;
  /**
   * Whether a pane (as tmux's `-t`) was opened for Handrail's commands. False for a person's pane, and for a pane that
   * does not exist. Without this method, only the pane where commands run counts as such.
   */
  isOwn?(target: string): Promise<boolean>;
}

/** Processes with the lifetime "detached", started by this backend or an earlier one like it. */
export interface DetachedProcesses {
  /** Oldest first. A process that has ended stays listed until it is removed. */
  list(): Promise<readonly DetachedProcess[]>;
  /** Removes a process that has ended, and its output. Does nothing while it runs. */
  remove(id: string): Promise<void>;
}

export interface DetachedProcess {
  /** The `Process.id` that the process had when it was started. */
  readonly id: string;
  /** The `Command.label`. */
  readonly label: string;
  readonly cwd: string;
  /** Milliseconds since 1970. */
  readonly startedMs: number;
  /** How the process ended; `undefined` if it was running when it was listed. */
  readonly ended: Exit | undefined;
  /** When the process ended, as far as known. Milliseconds since 1970. */
  readonly endedMs: number | undefined;
  /** The process, as `spawn` returned it: its output, stdin and `kill`. */
  readonly process: Process;
}

export type FileKind = "file" | "folder" | "fifo" | "socket" | "device";

export interface FileInfo {
  /** The real path, with every link followed. */
  readonly path: string;
  readonly kind: FileKind;
  /** In bytes; 0 for anything without a size. */
  readonly size: number;
  /** Milliseconds since 1970. */
  readonly modifiedMs: number;
  /** Permission bits, such as 0o644. */
  readonly mode: number;
  /** The number of hard links: more than 1 means that the file has other names. */
  readonly links: number;
  /** Changes whenever the file does (device, inode, size and modification time). Opaque: compare, do not parse. */
  readonly version: string;
}

export interface FileEntry {
  readonly name: string;
  readonly kind: FileKind | "link";
  readonly size: number;
  readonly modifiedMs: number;
  /** The target of a link, as written in it. */
  readonly target?: string;
}

/** A regular file, open for ranged reads. */
export interface OpenFile {
  readonly info: FileInfo;
  /**
   * Up to `length` bytes from `offset`; fewer only at the end of the file. `into`, of at least `length` bytes, saves
   * memory: a backend may read into it and return a part of it.
   */
  read(offset: number, length: number, into?: Uint8Array): Promise<Uint8Array>;
  /** Closes the file. A file that a tool leaves open is closed with the tool's call. */
  close(): Promise<void>;
}

/** How to interpret a path. */
export interface PathOptions {
  /**
   * Whether the path is already real, as `realPath` returned it. Then no link is followed: if a link is on the way, the
   * operation fails with `NotReal` and without effect. Default false.
   */
  readonly real?: boolean;
}

/** How to write a file. */
export interface ReplaceOptions extends PathOptions {
  /**
   * The `FileInfo.version` of the content that is replaced. If the file has another one, or is gone, the write fails
   * without effect. Default: any.
   */
  readonly replaces?: string;
}

/**
 * Files of a backend. A path is absolute, or relative to the working directory, or starts with `~/`. Failures are
 * `ToolFailure`s that name the path and what is at it.
 */
export interface Files {
  /**
   * The path with every link followed. A part that does not exist yet is appended to the real path of the existing
   * part.
   */
  realPath(path: string): Promise<string>;
  /** What is at the path; `undefined` when nothing is. */
  stat(path: string, options?: PathOptions): Promise<FileInfo | undefined>;
  /** Opens a regular file. Anything else fails at once (a FIFO or a device never blocks). */
  open(path: string, options?: PathOptions): Promise<OpenFile>;
  /**
   * Creates or replaces the whole file atomically: readers see the old content or the new. Creates missing folders.
   * Keeps the permissions (0o777) and the owner, but not setuid, setgid and sticky bits. Keeps all names of a file with
   * hard links. Only the write of a file with hard links can leave a mixture when it is killed.
   */
  write(path: string, bytes: Uint8Array, options?: ReplaceOptions): Promise<FileInfo>;
  /** The entries of a folder, sorted by name (code units). */
  list(path: string, options?: PathOptions): Promise<readonly FileEntry[]>;
  /** Removes a file, a link, or a folder with its content. */
  remove(path: string, options?: PathOptions): Promise<void>;
}

/** A program that was started before the command is known that it will run, with nothing of the user's environment. */
export interface Standby {
  /** The waiting program. It does not keep this process alive, and ends with the backend. */
  readonly waiting: Process;
  /** The environment that a command gets from this backend. */
  environment(command: Pick<Command, "env" | "passEnv">): Env;
  /** Returns the program as the process of a command, with its timeout and signal from now on. Call it once. */
  become(command: Command): Promise<Process>;
}

export interface Command {
  /** Program and arguments, not interpreted by a shell. */
  readonly argv: readonly [program: string, ...args: string[]];
  /** Default: the working directory. */
  readonly cwd?: string;
  /** Whether `cwd` is a real path: if a link has replaced it, `spawn` rejects and nothing runs. Default false. */
  readonly isRealCwd?: boolean;
  /** Added to the clean environment of the backend. */
  readonly env?: Env;
  /**
   * Default "closed": reading stdin returns end of file. "terminal": a person can type; on a backend without a terminal
   * this is "closed".
   */
  readonly stdin?: "closed" | "pipe" | "terminal";
  /**
   * "merged" (the default) keeps stdout and stderr in the order they were written; "split" separates them. Commands
   * whose lifetime is not "call" always have merged streams. "live" is for a dialogue with a program, on this machine
   * only: stdout and stderr are separate and not kept. `output.follow()` yields each chunk once, to one reader; a
   * program that writes faster than it is read waits. The last 64 KiB of stderr are kept. When the program has ended,
   * everything that it started is ended too.
   */
  readonly streams?: "merged" | "split" | "live";
  /** Whether the command gets the variables that the backend passes to commands (`passEnv`). Default true. */
  readonly passEnv?: boolean;
  /** Stops the command after this time, as `kill` does. Default: no limit. */
  readonly timeoutMs?: number;
  /** Stops the command when it fires, as `kill` does. */
  readonly signal?: AbortSignal;
  /** Default "call". */
  readonly lifetime?: Lifetime;
  /**
   * Runs as if it were typed at the prompt of the live terminal: with the exported variables that such commands have
   * left. Its own, and its folder, are left to the next one and to the person there. "folder": without these variables.
   * Ignored without a live terminal.
   */
  readonly inPane?: true | "folder";
  /** The command's text for people, in lists and in a live terminal. Default: a shell's script, otherwise `argv`. */
  readonly label?: string;
  /**
   * What the sandbox allows the command besides the default, as real paths. A backend without a sandbox ignores it.
   * Default `{}`: nothing.
   */
  readonly within?: Containment;
}

export interface Process {
  /** The process id on this machine; the name of a detached process; on a remote target the backend's own id. */
  readonly id: string;
  /** stdout; with merged streams also stderr. */
  readonly output: OutputLog;
  /** stderr of split streams; `undefined` when they are merged. */
  readonly errors: OutputLog | undefined;
  /**
   * Never rejects. Settles when the process has ended and its output is complete; a background child cannot delay it.
   */
  readonly exit: Promise<Exit>;
  /** What the sandbox refused to a contained process, as far as known. Settles no later than `exit`; never rejects. */
  readonly refusals?: Promise<readonly Refusal[]>;
  /** The pane of a process in a live terminal: "pane %1". */
  readonly place?: string;
  /**
   * For a process in a live terminal. Resolves to true when the process waits for input, and to false when it has ended
   * or the signal fires. Never rejects.
   */
  awaitsInput?(signal: AbortSignal): Promise<boolean>;
  /** For a job in a sandbox: the TCP ports from 1024 on which it listens. They are reached only in the sandbox. */
  ports?(): Promise<readonly number[]>;
  /**
   * Opens a port of the job to the browser of a person on this machine. Resolves to an address that works until the job
   * ends; rejects with a `ToolFailure`. Only people open ports: tools do not have this method.
   */
  openPort?(port: number): Promise<string>;
  /**
   * Resolves to an address at which the port of this job is reached, and nothing else; `undefined` if the job does not
   * listen on the port. For the browser of the job's thread.
   */
  reachPort?(port: number): Promise<PortAddress | undefined>;
  /** Writes to stdin. Rejects with a `ToolFailure` when stdin is closed. */
  write(text: string): Promise<void>;
  /** Ends stdin. */
  endInput(): Promise<void>;
  /**
   * Sends TERM, and KILL after two seconds, to the process and everything it started. Resolves when `exit` is known.
   * `exit` is "lost" if some of these processes cannot be ended.
   */
  kill(): Promise<void>;
}

/** Where a port is reached: a socket's path, or an address of this machine. */
export type PortAddress = { readonly path: string } | { readonly host: string; readonly port: number };

export type Exit =
  | { readonly how: "exited"; readonly code: number }
  /** `signal` is a name such as "SIGKILL". */
  | { readonly how: "signaled"; readonly signal: string }
  | { readonly how: "timed-out"; readonly afterMs: number }
  | { readonly how: "aborted" }
  /** The exit status is unknown: the watching process, or the connection to it, was lost. `reason` tells which. */
  | { readonly how: "lost"; readonly reason: string };

/**
 * The output of a process. It grows while the process runs. With the lifetime "call" it is kept on this machine; with
 * other lifetimes it stays where the process runs, and is read from there.
 */
export interface OutputLog {
  /** Bytes written so far, including those beyond what is kept, as far as known. */
  readonly size: number;
  /** Bytes that are kept and can be read. */
  readonly kept: number;
  /** The last `bytes` bytes that are kept. */
  tail(bytes: number): Promise<Uint8Array>;
  /** Bytes `start` (inclusive) to `end` (exclusive) of what is kept. */
  read(start: number, end: number): Promise<Uint8Array>;
  /**
   * Resolves when more than `beyond` bytes are kept, when the output is complete, or when the signal fires. Never
   * rejects.
   */
  grown(beyond: number, signal?: AbortSignal): Promise<void>;
  /** Yields chunks from the beginning, then as they come, until the process has ended or the signal fires. */
  follow(signal?: AbortSignal): AsyncIterable<Uint8Array>;
  /**
   * Releases the kept bytes. Saved outputs made of them remain, and so does the output of a detached process. Later
   * reads fail. Never rejects.
   */
  dispose(): Promise<void>;
}
