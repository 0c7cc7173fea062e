import type { Env } from "../../core/contract/effect.ts";

// Messages between the backend and its spawner, as JSON over the channel between a Node process and its child. Every
// request has its own number, and its answers have the same number.

/** To the spawner. */
export type Request =
  | StartRequest
  /** Ends a command, by its request's number, and its children: TERM, two seconds, KILL. "stopped". */
  | { readonly op: "stop"; readonly id: number; readonly command: number }
  /** Ends all processes whose mark contains this text, and a group with its descendants, in the same way. "stopped". */
  | { readonly op: "sweep"; readonly id: number; readonly mark?: string; readonly group?: number }
  /** Copies a pipe to the end of a file, as `spool.sh` does. "draining", then "drained". */
  | { readonly op: "drain"; readonly id: number; readonly pipe: string; readonly file: string }
  /** Ends a drain, by its number, before its pipe ends. "done", and "drained" for the drain. */
  | { readonly op: "release"; readonly id: number; readonly drain: number }
  /** Creates pipes. "pipes". */
  | { readonly op: "pipes"; readonly id: number };

/** Starts a command in its own session. "started" or "failed", then "exited". */
export interface StartRequest {
  readonly op: "start";
  readonly id: number;
  readonly argv: readonly [program: string, ...args: string[]];
  /** The file that is started, with argv[0] as its name for itself. */
  readonly program: string;
  readonly cwd: string;
  readonly env: Env;
  /** Paths of pipes. Without `stdin`, stdin is empty; without `stderr`, errors go to `stdout`. */
  readonly stdin?: string;
  readonly stdout: string;
  readonly stderr?: string;
  /** Added to the environment of the command and its children. */
  readonly mark?: string;
  /** The beginning of the mark. All processes with it end when the backend's process dies. Default: they continue. */
  readonly lease?: string;
  /**
   * The folder of a job. Its pipes are created there, `stdout` is copied to `out`, and its state is noted in names of
   * files (`JobNotes`). The folder is removed if the job has a lease and the backend's process ends.
   */
  readonly job?: string;
}

/** From the spawner. */
export type Answer =
  /** All pipes are in `folder`. No names: they could not be created, because of `problem`. */
  | {
      readonly type: "pipes";
      readonly id: number;
      readonly folder: string;
      readonly names: readonly string[];
      readonly problem?: string;
    }
  | { readonly type: "started"; readonly id: number; readonly pid: number }
  /** `code`: the system's error code ("ENOENT"), or "". `isFolderMissing`: the working directory does not exist. */
  | {
      readonly type: "failed";
      readonly id: number;
      readonly code: string;
      readonly message: string;
      readonly isFolderMissing: boolean;
    }
  | { readonly type: "exited"; readonly id: number; readonly code: number | null; readonly signal: string | null }
  | { readonly type: "done"; readonly id: number }
  /** `all` is false if processes remain that cannot be ended. */
  | { readonly type: "stopped"; readonly id: number; readonly all: boolean }
  | { readonly type: "draining"; readonly id: number; readonly pid: number }
  /** `dropped`: the number of bytes that were read but are not in the file; `undefined` if the count failed. */
  | { readonly type: "drained"; readonly id: number; readonly dropped?: number };
