import type { Command, Exit, PortAddress, Process } from "./backend.ts";
import type { CallId, ThreadId } from "./identity.ts";
import type { JobLifetime } from "./lifetime.ts";

/** A background command. It outlives the call that started it. */
export interface Job {
  /** "1", "2", … in the order of their start; the permanent id of a detached job. */
  readonly id: string;
  /** The call that started it. Absent for a detached job of an earlier toolkit. */
  readonly call?: CallId;
  /** The script as written. */
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
  /** Milliseconds since 1970. For a detached job that ended unwatched, the time when that was noticed. */
  readonly atMs: number;
}

/** A job in the store, of any process. */
export interface RecordedJob {
  /** Unique in the store: the id of the event that recorded its start. */
  readonly id: number;
  /** The call that started it, and its id within its toolkit. Together they identify it for `stop.requested`. */
  readonly call: CallId;
  readonly job: string;
  readonly thread: ThreadId;
  readonly command: string;
  /** Milliseconds since 1970. */
  readonly startedMs: number;
  readonly lifetime: JobLifetime;
  /** `undefined` while it runs. "lost" when its process has died. A detached job may have ended unwatched. */
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
   * Turns a running process into a job. Rejects with a `ToolFailure`, without changing the process, when jobs are not
   * possible or too many run.
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
  /** Marks the end of a job as reported to the model: no notice of it follows. */
  told(id: string): void;
  /** Tells the ends of jobs of one thread to another from now on. Returns those of them that still run. */
  handOver(from: ThreadId, to: ThreadId): readonly Job[];
  /**
   * Where connections to a port reach a running job of this thread that listens on it; `undefined` without such a job.
   * Never rejects.
   */
  reachPort(thread: ThreadId, port: number): Promise<PortAddress | undefined>;
}

/**
 * Notices for the model about events outside its call: "job 3 ended". They are added to the next result of the thread.
 */
export interface Notices {
  /** Returns the new notices, a sentence each, and removes them. */
  take(thread: ThreadId): readonly string[];
}
