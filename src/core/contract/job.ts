import type { Command, Exit, PortAddress, Process } from "./backend.ts";
import type { CallId, ThreadId } from "./identity.ts";
import type { JobLifetime } from "./lifetime.ts";

/** A background command. It outlives the call that started it. */
export interface Job {
  /** "1", "2", … in the order of their start; the permanent id of a detached job. */
  readonly id: string;
  /** The call that started the job. Absent for a detached job of an earlier toolkit. */
  readonly call?: CallId;
  /** The script as written. */
  readonly command: string;
  /** Milliseconds since 1970. */
  readonly startedMs: number;
  readonly lifetime: JobLifetime;
  /** How the job ended; `undefined` while it runs. */
  readonly ended: JobEnd | undefined;
  readonly process: Process;
}

export interface JobEnd {
  readonly exit: Exit;
  /** Milliseconds since 1970. For a detached job that ended unwatched, the time at which its end was noticed. */
  readonly atMs: number;
}

/** A job in the store, of any process. */
export interface RecordedJob {
  /** Unique in the store: the id of the event that recorded its start. */
  readonly id: number;
  /** The call that started the job, and the job's id in its toolkit. Both identify the job in `stop.requested`. */
  readonly call: CallId;
  readonly job: string;
  readonly thread: ThreadId;
  readonly command: string;
  /** Milliseconds since 1970. */
  readonly startedMs: number;
  readonly lifetime: JobLifetime;
  /** `undefined` while the job runs. "lost" when its process has died. A detached job may have ended unwatched. */
  readonly ended: JobEnd | undefined;
}

/** A command that outlives its call. */
export interface JobCommand extends Command {
  readonly lifetime: JobLifetime;
}

/** The jobs of a toolkit. */
export interface Jobs {
  /** Starts a command that outlives the call. `script` is the text for people. */
  start(command: JobCommand, script: string, by: { readonly call: CallId; readonly thread: ThreadId }): Promise<Job>;
  /**
   * Turns a running process into a job. Rejects with a `ToolFailure`, and does not change the process, when jobs are
   * not possible or too many run.
   */
  adopt(
    process: Process,
    script: string,
    by: { readonly call: CallId; readonly thread: ThreadId; readonly startedMs: number },
  ): Promise<Job>;
  /**
   * The jobs of this toolkit, and detached jobs of earlier toolkits with the same owner, in the order of their start.
   */
  list(): Promise<readonly Job[]>;
  get(id: string): Promise<Job | undefined>;
  /** Marks the end of a job as reported to the model, so that no notice of it follows. */
  told(id: string): void;
  /** From now on, reports the ends of one thread's jobs to another thread. Returns those jobs that still run. */
  handOver(from: ThreadId, to: ThreadId): readonly Job[];
  /**
   * Returns the address at which connections reach the port, if a running job of this thread listens on it; otherwise
   * `undefined`. Never rejects.
   */
  reachPort(thread: ThreadId, port: number): Promise<PortAddress | undefined>;
}

/** Notices for the model about events outside its calls: "job 3 ended". They are added to the thread's next result. */
export interface Notices {
  /** Returns the new notices, a sentence each, and removes them. */
  take(thread: ThreadId): readonly string[];
}
