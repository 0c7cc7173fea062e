import type { Exit } from "../../contract/backend.ts";
import { pause } from "../../util/abort.ts";

/** How long after the end of a process its exit status may be noted. After that it is lost. */
const NOTED_MS = 1_500;

/** How soon a job whose exit status is about to be noted is looked at again. */
const SOON_MS = 50;

/** Output is complete when nothing was written for so long after the end of the process … */
const QUIET_MS = 150;

/** … and after so long at the latest: a child in the background may hold the output and write for ever. */
const LONGEST_DRAIN_MS = 2_000;

/** How a process has ended. */
export interface End {
  readonly exit: Exit;
  /** Milliseconds since 1970, by the clock where it ran. */
  readonly atMs: number;
}

/** "gone": it has ended, and its exit status is not noted. */
export type JobState = "running" | "gone" | End;

/** What the folder of a job shows. */
export interface JobStatus {
  readonly state: JobState;
  /** Bytes of its output that are kept. */
  readonly kept: number;
  /** Bytes that were written beyond those; known once nobody can write any more. */
  readonly dropped?: number;
  /** The process that holds its stdin open; `undefined` when stdin is closed. */
  readonly holder?: number;
}

/**
 * What the names of the files in a job's folder say. They are empty files, since a name takes no space on a full disk: `pid-PID-START`,
 * `holder-PID`, `exited-CODE-SECONDS` (a code, a signal's name, or "lost"; seconds since 1970) and `dropped-BYTES`.
 */
export interface JobNotes {
  /** `undefined`: it was never started. */
  readonly pid?: number;
  /** As the system counts it; "" where that is not known. */
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

const LOST: Exit = { how: "lost", reason: "what watched over it has died too" };

/** The status of a job whose folder does not exist any more. */
export function removedStatus(): JobStatus {
  return { state: { exit: { how: "lost", reason: "its folder was removed" }, atMs: Date.now() }, kept: 0, dropped: 0 };
}

/** What follows from all that was seen of one job so far. */
export interface Judged {
  readonly state: JobState;
  /** It has ended, and all that it wrote is kept. */
  readonly isOver: boolean;
  /** Nobody will note its exit status any more, and nobody has noted that. */
  readonly isNewlyLost: boolean;
}

/** Judges what is seen of one job, look by look. */
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
    // Quiet counts from the first look: what it wrote last may be on its way into the file.
    if (endedMs === undefined || kept > before) quietMs = now;
    endedMs ??= now;
    before = Math.max(before, kept);
    const isDrained = dropped !== undefined || now - quietMs >= QUIET_MS || now - endedMs >= LONGEST_DRAIN_MS;
    return { state, isOver: state !== "gone" && isDrained, isNewlyLost: seen === "gone" && state !== "gone" };
  };
}

/** How a job has ended, as soon as that is noted; `undefined` while it runs. Rejects like `look`. */
export async function endOf(look: () => Promise<{ readonly state: JobState }>): Promise<End | undefined> {
  for (;;) {
    const { state } = await look();
    if (state === "running") return undefined;
    if (state !== "gone") return state;
    await pause(SOON_MS);
  }
}
