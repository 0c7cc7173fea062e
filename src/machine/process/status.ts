import type { Exit } from "../../core/contract/backend.ts";
import { pause } from "../../core/util/abort.ts";

/** How long after the end of a process its exit status may be noted. After that it is lost. Milliseconds. */
const NOTED_MS = 1_500;

/** The pause between checks while an exit status is expected. Milliseconds. */
const SOON_MS = 50;

/** The output is complete when nothing is written for this long after the process's end. Milliseconds. */
const QUIET_MS = 150;

/** The output counts as complete after this long in any case: a background child may write forever. Milliseconds. */
const LONGEST_DRAIN_MS = 2_000;

/** How a process has ended. */
export interface End {
  readonly exit: Exit;
  /** Milliseconds since 1970, by the clock of the target. */
  readonly atMs: number;
}

/** "gone": the process has ended, and its exit status is not noted. */
export type JobState = "running" | "gone" | End;

/** The status of a job, read from its folder. */
export interface JobStatus {
  readonly state: JobState;
  /** Bytes of its output that are kept. */
  readonly kept: number;
  /** Bytes of output that were discarded; known when no process can write any more. */
  readonly dropped?: number;
  /** PID of the process that holds its stdin open; `undefined` if stdin is closed. */
  readonly holder?: number;
}

/**
 * Notes on a job: names of empty files in its folder, which take no space on a full disk. `pid-PID-START`,
 * `holder-PID`, `exited-CODE-SECONDS` (a code, a signal's name or "lost"; seconds since 1970), `dropped-BYTES`.
 */
export interface JobNotes {
  /** `undefined`: the job was never started. */
  readonly pid?: number;
  /** The start time in the system's units; "" if unknown. */
  readonly start: string;
  readonly ended?: End;
  readonly dropped?: number;
  readonly holder?: number;
}

export function parseNotes(names: readonly string[]): JobNotes {
  const fields = (kind: string) => names.find((name) => name.startsWith(`${kind}-`))?.split("-");
  const [, pid, start = ""] = fields("pid") ?? [];
  const [, holder] = fields("holder") ?? [];
  const [, dropped] = fields("dropped") ?? [];
  const [, code, seconds] = fields("exited") ?? [];
  return {
    start,
    ...(pid !== undefined && { pid: Number(pid) }),
    ...(holder !== undefined && { holder: Number(holder) }),
    ...(dropped !== undefined && { dropped: Number(dropped) }),
    ...(code !== undefined && { ended: { exit: exitNoted(code), atMs: Number(seconds) * 1_000 } }),
  };
}

function exitNoted(code: string): Exit {
  if (code === "lost") return LOST;
  return /^\d+$/.test(code) ? { how: "exited", code: Number(code) } : { how: "signaled", signal: code };
}

const LOST: Exit = { how: "lost", reason: "the process that watched it has died too" };

/** The status of a job whose folder does not exist any more. */
export function removedStatus(): JobStatus {
  return { state: { exit: { how: "lost", reason: "its folder was removed" }, atMs: Date.now() }, kept: 0, dropped: 0 };
}

/** The conclusion from all checks of one job so far. */
export interface Judged {
  readonly state: JobState;
  /** The job has ended, and its output is complete. */
  readonly isOver: boolean;
  /** Its exit status was not recorded and never will be. */
  readonly isNewlyLost: boolean;
}

/** Creates a function that judges one job, from the status of each check. */
export function createJudge(): (status: JobStatus) => Judged {
  let gone: { readonly sinceMs: number; readonly atMs: number } | undefined;
  let before = 0;
  let endedMs: number | undefined;
  let quietMs = 0;

  const stateOf = (seen: JobState): JobState => {
    if (seen !== "gone") return seen;
    gone ??= { sinceMs: performance.now(), atMs: Date.now() };
    return performance.now() - gone.sinceMs < NOTED_MS ? "gone" : { exit: LOST, atMs: gone.atMs };
  };
  return ({ state: seen, kept, dropped }) => {
    const state = stateOf(seen);
    if (state === "running") return { state, isOver: false, isNewlyLost: false };
    const now = performance.now();
    // Silence counts from the first check: the last output may not have reached the file yet.
    if (endedMs === undefined || kept > before) quietMs = now;
    endedMs ??= now;
    before = Math.max(before, kept);
    const isDrained = dropped !== undefined || now - quietMs >= QUIET_MS || now - endedMs >= LONGEST_DRAIN_MS;
    return { state, isOver: state !== "gone" && isDrained, isNewlyLost: seen === "gone" && state !== "gone" };
  };
}

/** Resolves to how a job has ended, when that is noted; `undefined` while it runs. Rejects like `look`. */
export async function endOf(look: () => Promise<{ readonly state: JobState }>): Promise<End | undefined> {
  for (;;) {
    const { state } = await look();
    if (state === "running") return undefined;
    if (state !== "gone") return state;
    await pause(SOON_MS);
  }
}
