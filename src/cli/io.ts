import type { Readable, Writable } from "node:stream";
import type { ReadStream, WriteStream } from "node:tty";

/**
 * What the command line has of the process that runs it. Only the entry (`main.ts`) reads `process.stdin`, `env`,
 * `cwd()` and the like, so that a program or a test can run several command lines in one process.
 */
export interface Io {
  readonly stdin: Input;
  readonly stdout: Output;
  readonly stderr: Output;
  readonly env: NodeJS.ProcessEnv;
  /** The current folder, to which relative paths refer. Absolute. */
  readonly cwd: string;
  /** The words that start this program again: Node, and the program's file. */
  readonly program: readonly [node: string, file: string];
  readonly signals: Signals;
  /**
   * Opens the controlling terminal, whatever stdin is. Returns a file descriptor, which the caller closes; `undefined`
   * without a terminal.
   *
   * @param flags as those of `openSync`; default: "r+"
   */
  openTerminal(flags?: string | number): number | undefined;
  /** Ends the process at once. */
  exit(code: number): never;
}

/** A stream that is read, such as `process.stdin`. The members of a terminal are absent for any other stream. */
type Input = Readable & Partial<Pick<ReadStream, "isTTY" | "setRawMode" | "unref">>;

/** A stream that is written, such as `process.stdout`. */
type Output = Writable & Partial<Pick<WriteStream, "isTTY" | "columns" | "rows">>;

/** The signals that the process gets, and its end. */
interface Signals {
  on(event: NodeJS.Signals | "exit", listener: (name: NodeJS.Signals) => void): unknown;
  once(event: NodeJS.Signals, listener: (name: NodeJS.Signals) => void): unknown;
  off(event: NodeJS.Signals | "exit", listener: (name: NodeJS.Signals) => void): unknown;
  /** Sends a signal to the process; SIGTSTP to its whole group, as Ctrl-Z does. */
  raise(name: NodeJS.Signals): void;
}
