import type { Command, Exit, Process } from "./backend.ts";
import type { CallId, ThreadId } from "./identity.ts";
import type { JobLifetime } from "./lifetime.ts";

/** A command in the background: it outlives the call that started it. */
export interface Job {
  /** "1", "2", … in the order they were started; of a detached one the id it keeps for ever. */
  readonly id: string;
  /** The call that started it. Left out of a detached job of an earlier toolkit. */
  readonly call?: CallId;
  /** The script, as it was written. */
  readonly command: string;
  /** Milliseconds since 1970. */
  readonly startedMs: number;
  readonly lifetime: JobLifetime;
  /** `undefined` while it runs. */
  readonly ended: JobEnd | undefined;
  readonly process: Process;
}

export interface JobEnd {
  readonly exit: Exit;
  /** Milliseconds since 1970; of a detached job that ended while nobody was there, when that was noted. */
  readonly atMs: number;
}

/** A job as the store knows it, whichever process has it. */
export interface RecordedJob {
  /** Unique in the store: the id of the event that recorded its start. */
  readonly id: number;
  /** The call that started it, and what the job is called among those of its toolkit. Together they name it to `stop.requested`. */
  readonly call: CallId;
  readonly job: string;
  readonly thread: ThreadId;
  readonly command: string;
  /** Milliseconds since 1970. */
  readonly startedMs: number;
  readonly lifetime: JobLifetime;
  /** `undefined` while it runs. "lost" when the process that had it has died. A detached job may have ended while no process watched it. */
  readonly ended: JobEnd | undefined;
}

/** A command that outlives its call. */
export interface JobCommand extends Command {
  readonly lifetime: JobLifetime;
}

/** The jobs of a toolkit. */
export interface Jobs {
  /** Starts a command that goes on when the call is over. `script` is what people are shown. */
  start(command: JobCommand, script: string, by: { readonly call: CallId; readonly thread: ThreadId }): Promise<Job>;
  /**
   * Keeps a process that runs already as a job, from now on. Rejects with a `ToolFailure`, and leaves the process as it is, where it would not be
   * kept: nothing lasts longer than the call, too many run.
   */
  adopt(
    process: Process,
    script: string,
    by: { readonly call: CallId; readonly thread: ThreadId; readonly startedMs: number },
  ): Promise<Job>;
  /** Those of this toolkit and the detached ones of earlier toolkits with the same name, in the order they were started. */
  list(): Promise<readonly Job[]>;
  get(id: string): Promise<Job | undefined>;
  /** The end of this job has been told to the model: no notice of it rides on a later result. */
  told(id: string): void;
}

/** What a model should know that is not of its call: "job 3 ended". Rides on the next result of the thread. */
export interface Notices {
  /** The notices since the last time, a sentence each, and forgets them. */
  take(thread: ThreadId): readonly string[];
}
