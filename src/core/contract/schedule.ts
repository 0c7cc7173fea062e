import type { Containment } from "./containment.ts";
import type { CallId, ThreadId } from "./identity.ts";

/** The id of a schedule. Unique on this machine; people and models use it. */
export type ScheduleId = string;

/** When a schedule runs. Times are in milliseconds since 1970; `tz` is an IANA time zone. */
export type Timing =
  /** A cron expression: 5 fields, or 6 with seconds first. */
  | { readonly kind: "cron"; readonly expr: string; readonly tz: string }
  /** Once. */
  | { readonly kind: "at"; readonly atMs: number; readonly tz: string }
  /** At `fromMs`, and then after every interval. */
  | { readonly kind: "every"; readonly everyMs: number; readonly fromMs: number; readonly tz: string }
  /** When this file is created, changed or removed. A path as the tools take it. */
  | { readonly kind: "file"; readonly path: string; readonly tz: string }
  /** When this background job of the toolkit that added the schedule ends. */
  | { readonly kind: "job"; readonly job: string; readonly call: CallId; readonly tz: string }
  /** When a signed HTTP request arrives: `POST /api/triggers/ID`. */
  | { readonly kind: "http"; readonly tz: string };

/** What a run does: a command, or a prompt for an agent. */
export type Work =
  | { readonly command: string; readonly within?: Containment; readonly prompt?: undefined }
  /** `agent` is an agent of the configuration. Default: the agent of the process that runs the schedule. */
  | { readonly prompt: string; readonly agent?: string; readonly command?: undefined };

/** What happens when a run is due and the previous run has not ended. At most one run is queued. */
export type Overlap = "skip" | "queue" | "replace";

/** A schedule to add. */
export interface NewSchedule {
  readonly name: string;
  readonly timing: Timing;
  readonly work: Work;
  /** Whether the schedule is removed when a run has succeeded. */
  readonly deleteAfterRun: boolean;
  readonly overlap: Overlap;
  /** Limits of one run. */
  readonly maxSeconds: number;
  readonly maxTokens?: number;
  /** In US dollars, calculated from the model's price. */
  readonly maxCost?: number;
}

/** What the engine adds: who adds it, and what a person has approved. */
export interface ScheduleOrigin {
  /** The backend and its working directory: the schedule runs only there. "local:/home/ann/shop". */
  readonly target: string;
  readonly thread: ThreadId;
  /** A digest of what a person approved: the work, the folder, the target. Absent when nobody was asked. */
  readonly grant?: string;
}

/** A stored schedule. */
export interface Schedule extends NewSchedule, ScheduleOrigin {
  readonly id: ScheduleId;
  readonly createdMs: number;
  /** The next planned time; absent when none is planned. */
  readonly nextMs?: number;
  /** Why the schedule is paused; absent when it is not paused. */
  readonly paused?: string;
  /** How many runs in a row have failed. */
  readonly failures: number;
}

/**
 * The state of a run, or how it ended. "waiting": a call of it waits for a person. "denied": the policy or a person
 * refused it. "skipped": it was not started. "interrupted": it was stopped, or its process died; it is not repeated.
 */
export type RunState = "running" | "waiting" | "succeeded" | "failed" | "denied" | "skipped" | "interrupted";

/** Why a run was started. */
export type RunCause = "clock" | "person" | "file" | "job" | "http";

/** One run of a schedule. Times are in milliseconds since 1970. */
export interface Run {
  readonly id: number;
  readonly schedule: ScheduleId;
  /** The schedule's name when it ran: the schedule may be gone. */
  readonly name: string;
  readonly target: string;
  readonly plannedMs: number;
  readonly cause: RunCause;
  readonly state: RunState;
  readonly startedMs: number;
  readonly endedMs?: number;
  /** The thread of its calls. Absent for a run that was skipped. */
  readonly thread?: ThreadId;
  /** What the run did, for people: a sentence, or the end of the output. */
  readonly note?: string;
}

/** A run that this process has claimed, and its schedule. */
export interface Claimed {
  readonly schedule: Schedule;
  readonly run: Run & { readonly thread: ThreadId };
}

/** How a run ended. "waiting": it has not ended. */
export interface RunEnd {
  readonly state: Exclude<RunState, "running" | "skipped">;
  readonly note?: string;
}

/** What tools and people do with schedules. Methods reject with a sentence when the file cannot be used. */
export interface Schedules {
  add(schedule: NewSchedule, origin: ScheduleOrigin): Promise<Schedule>;
  /** The schedules, ordered by their next run. Schedules without a next run come last. Default: of all targets. */
  list(target?: string): Promise<readonly Schedule[]>;
  get(id: ScheduleId): Promise<Schedule | undefined>;
  /** Resolves to the removed schedule; `undefined` when it does not exist. Its runs stay in the log. */
  remove(id: ScheduleId): Promise<Schedule | undefined>;
  /** Whether a living process runs the schedules of this target. */
  isAttended(target: string): Promise<boolean>;
  /** The runs, newest first. Default: of all schedules, at most 100. */
  runs(filter?: {
    readonly run?: Run["id"];
    readonly schedule?: ScheduleId;
    readonly thread?: ThreadId;
    readonly states?: readonly RunState[];
    readonly limit?: number;
  }): Promise<readonly Run[]>;
  /** Pauses with a reason for people, or resumes. Missed runs are not made up. False: no such schedule. */
  pause(id: ScheduleId, reason: string | undefined): Promise<boolean>;
  /**
   * Makes a run due now, for the next runner. With the overlap "skip" and a run that has not ended, the new run is
   * recorded as skipped, and the promise resolves to the reason.
   */
  fire(id: ScheduleId, cause: RunCause): Promise<{ readonly refused?: string }>;
}

/** What a runner does with schedules. */
export interface RunnerSchedules extends Schedules {
  /** Registers this process as a runner of the target, until the returned function is called. */
  attend(target: string): Promise<() => Promise<void>>;
  /**
   * Claims the due runs, in one transaction that also advances the schedules: each planned time is claimed once, by one
   * process. Also closes the runs of dead processes as interrupted. `limit`: the most runs to claim. `may`: which
   * schedules this process can run; other schedules are not claimed. `only`: only this schedule.
   */
  claim(
    target: string,
    options: { readonly limit: number; readonly may: (schedule: Schedule) => boolean; readonly only?: ScheduleId },
  ): Promise<{
    readonly claimed: readonly Claimed[];
    readonly told: readonly Run[];
    readonly replaced: readonly Run[];
  }>;
  /**
   * Calls `changed` soon after schedules or runs were changed, by any process, and sometimes needlessly, until the
   * signal fires. Rejects when the schedules cannot be opened.
   */
  watch(changed: () => void, signal: AbortSignal): Promise<void>;
  /** Takes a waiting run whose answers have come. Resolves to false when another process has taken it. */
  take(run: Run["id"]): Promise<boolean>;
  /** Ends a run. Resolves to its schedule, updated after the run; `undefined` when the schedule no longer exists. */
  end(run: Run["id"], end: RunEnd): Promise<Schedule | undefined>;
  /** Compares the state of what a trigger watches with its last state. Makes a run due when the state has changed. */
  observe(id: ScheduleId, state: string): Promise<void>;
  /** The secret that signs the requests of an HTTP trigger; `undefined` when the schedule has no HTTP trigger. */
  secret(id: ScheduleId): Promise<string | undefined>;
  /** Remembers a signature. Resolves to false when it was used before. */
  useSignature(signature: string, keepMs: number): Promise<boolean>;
}
