import type { Env } from "../../../contract/effect.ts";

// What the backend and its spawner tell each other, as JSON over the channel between a Node process and its child. Every request has a
// number of its own, and what answers it bears the same.

/** To the spawner. */
export type Request =
  | StartRequest
  /** Ends a command, by the number it was started with, and all that it started: TERM, two seconds of grace, KILL. "stopped". */
  | { readonly op: "stop"; readonly id: number; readonly command: number }
  /** Ends everything in whose mark this text stands, and a group with its descendants, the same way. "stopped". */
  | { readonly op: "sweep"; readonly id: number; readonly mark?: string; readonly group?: number }
  /** Copies what comes out of a pipe to the end of a file until that has `most` bytes, and counts the rest. "draining", then "drained". */
  | { readonly op: "drain"; readonly id: number; readonly pipe: string; readonly file: string; readonly most: number }
  /** Ends a drain, by its number, before its pipe has. "done", and "drained" for the other. */
  | { readonly op: "release"; readonly id: number; readonly drain: number }
  /** Makes pipes. "pipes". */
  | { readonly op: "pipes"; readonly id: number };

/** Starts a command in a session of its own. "started" or "failed", then "exited" unless it is a job. */
export interface StartRequest {
  readonly op: "start";
  readonly id: number;
  readonly argv: readonly [program: string, ...args: string[]];
  readonly cwd: string;
  readonly env: Env;
  /** Pipes by name: the backend holds the other end of each. Without `stdin` reading ends at once; without `stderr` it goes where stdout goes. */
  readonly stdin?: string;
  readonly stdout: string;
  readonly stderr?: string;
  /** Stands in the environment of all that it starts. */
  readonly mark?: string;
  /** The beginning of the mark; everything with it in its mark ends when the backend's process dies. Left out: it goes on. */
  readonly lease?: string;
  /**
   * The folder of a job. Its pipes are made there, `stdout` is copied to `out`, and what becomes of it is noted in names of files (`JobNotes`).
   * Nothing follows "started". The folder is removed when its lease ends with the backend's process.
   */
  readonly job?: string;
}

/** From the spawner. */
export type Answer =
  /** All of them are in `folder`. None: they could not be made. */
  | { readonly type: "pipes"; readonly id: number; readonly folder: string; readonly names: readonly string[] }
  | { readonly type: "started"; readonly id: number; readonly pid: number }
  /** `code` is the system's, as "ENOENT"; "" for none. `isFolderMissing`: it is the working directory that is not there. */
  | {
      readonly type: "failed";
      readonly id: number;
      readonly code: string;
      readonly message: string;
      readonly isFolderMissing: boolean;
    }
  | { readonly type: "exited"; readonly id: number; readonly code: number | null; readonly signal: string | null }
  | { readonly type: "done"; readonly id: number }
  /** False: some are left that nothing ends. */
  | { readonly type: "stopped"; readonly id: number; readonly all: boolean }
  | { readonly type: "draining"; readonly id: number; readonly pid: number }
  /** `dropped`: bytes that were read and are not in the file; `undefined` when nobody counted to the end. */
  | { readonly type: "drained"; readonly id: number; readonly dropped?: number };
