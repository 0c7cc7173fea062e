import type { Claimed, Run, RunEnd, RunnerSchedules, Schedule, Timing } from "../../core/contract/schedule.ts";
import { pause } from "../../core/util/abort.ts";
import { messageOf } from "../../core/util/errors.ts";
import { soonest } from "../../core/util/soonest.ts";
import { createWake } from "../../core/util/wake.ts";

/** How many runs one process makes at the same time. */
const SIDE_BY_SIDE = 4;

/**
 * How often to look at what triggers watch, at runs of other processes, and after a failure; and how soon after an
 * answer, for a waiting run. Milliseconds.
 */
const LOOK_MS = 1_000;

/** How often the clock is compared while a run is planned: timers stop while a machine sleeps. Milliseconds. */
const CLOCK_MS = 60_000;

/** How long recording the end of a run is retried, and the pause between two attempts. Milliseconds. */
const RECORD_MS = 30_000;
const RETRY_MS = 500;

export interface RunnerOptions {
  readonly schedules: RunnerSchedules;
  readonly target: string;
  /** Whether this process can run a schedule. Other schedules are left to other processes. */
  readonly may: (schedule: Schedule) => boolean;
  /** Makes a run, in its thread. The signal fires when the runner is closed. */
  readonly make: (claimed: Claimed, signal: AbortSignal) => Promise<RunEnd>;
  /** Continues a waiting run, if its questions are answered. "waiting": no answer has come yet. */
  readonly resume: (claimed: Claimed, signal: AbortSignal) => Promise<RunEnd>;
  /** Calls `answered` when answers to waiting runs may have come, until the signal fires. */
  readonly onAnswers: (answered: () => void, signal: AbortSignal) => void;
  /** Whether the answers to a waiting run have come. */
  readonly isAnswered: (run: Run) => Promise<boolean>;
  /** Stops a run of any process. */
  readonly stop: (run: Run) => void;
  /** Returns the state of what a trigger watches; `undefined` when the state is unknown. */
  readonly stateOf: (timing: Timing) => Promise<string | undefined>;
  /** Called with each outcome. `schedule`: as it is after the run; absent if it no longer exists. Must not throw. */
  readonly onOutcome: (run: Run, schedule: Schedule | undefined) => void;
  /** Only this schedule. Default: all schedules of the target. */
  readonly only?: string;
}

/** Runs schedules. */
export interface Runner {
  /** Checks at once for due runs. Resolves when all runs that it started have ended. */
  once(): Promise<void>;
  /** Stops the running runs, which end as interrupted. */
  close(): Promise<void>;
}

/**
 * Runs the schedules of a target as they are due, until it is closed. Of several processes that do this, exactly one
 * makes each run. Reads and writes that fail are retried.
 */
export function createRunner(options: RunnerOptions): Runner & { start(): void } {
  const { schedules, target } = options;
  const closing = new AbortController();
  const { signal } = closing;
  const running = new Map<number, Promise<void>>();
  let leave: Promise<() => Promise<void>> | undefined;
  let loop: Promise<void> = Promise.resolve();

  const record = async (id: number, end: RunEnd) => {
    for (const deadline = performance.now() + RECORD_MS; ; await pause(RETRY_MS, undefined)) {
      try {
        const schedule = await schedules.end(id, end);
        const [run] = await schedules.runs({ limit: 1, run: id });
        if (run !== undefined) options.onOutcome(run, schedule);
        return;
      } catch (error) {
        if (performance.now() > deadline) throw error;
      }
    }
  };

  const begin = (claimed: Claimed, work: RunnerOptions["make"]) => {
    const { id } = claimed.run;
    const made = work(claimed, signal)
      .catch((error: unknown): RunEnd => ({ state: "failed", note: messageOf(error) }))
      .then((end): RunEnd => {
        if (!signal.aborted || end.state === "succeeded" || end.state === "waiting") return end;
        return { state: "interrupted", note: "its runner was closed" };
      })
      .then((end) => record(id, end))
      .catch(() => undefined) // the next runner closes it as interrupted, once this process has ended
      .finally(() => running.delete(id));
    running.set(id, made);
  };

  const resumeAnswered = async () => {
    for (const run of await schedules.runs({ states: ["waiting"] })) {
      const { id, thread } = run;
      if (run.target !== target || thread === undefined || running.has(id) || running.size >= SIDE_BY_SIDE) continue;
      const schedule = await schedules.get(run.schedule);
      if (options.only !== undefined && run.schedule !== options.only) continue;
      if (schedule === undefined) {
        await record(id, { state: "interrupted", note: "its schedule was removed" });
        continue;
      }
      if (!options.may(schedule) || !(await options.isAnswered(run))) continue;
      if (await schedules.take(id)) begin({ schedule, run: { ...run, thread } }, options.resume);
    }
  };

  const lookAtTriggers = async () => {
    for (const { id, timing } of await schedules.list(target)) {
      if (timing.kind !== "file" && timing.kind !== "job") continue;
      const state = await options.stateOf(timing).catch(() => undefined);
      if (state !== undefined) await schedules.observe(id, state);
    }
  };

  const look = async () => {
    await lookAtTriggers();
    const given = options.only !== undefined && { only: options.only };
    const limit = SIDE_BY_SIDE - running.size;
    const { claimed, told, replaced } = await schedules.claim(target, { limit, may: options.may, ...given });
    for (const run of told) options.onOutcome(run, await schedules.get(run.schedule));
    for (const run of replaced) options.stop(run);
    for (const each of claimed) begin(each, options.make);
    await resumeAnswered();
  };

  /** When something may be due although nothing changes, in milliseconds; `undefined` if nothing is planned. */
  const nextIn = async (): Promise<number | undefined> => {
    const planned = (await schedules.list(target)).filter(({ paused }) => paused === undefined);
    if (planned.some(({ timing: { kind } }) => kind === "file" || kind === "job")) return LOOK_MS;
    if ((await schedules.runs({ states: ["running"] })).some(({ id }) => !running.has(id))) return LOOK_MS;
    const next = Math.min(...planned.map(({ nextMs }) => nextMs ?? Infinity));
    return next === Infinity ? undefined : Math.min(CLOCK_MS, next > Date.now() ? next - Date.now() : LOOK_MS);
  };

  const follow = async () => {
    let wake = createWake();
    const waking = soonest(() => wake.resolve());
    let isWatched = false;
    options.onAnswers(() => waking.in(LOOK_MS), signal);
    while (!signal.aborted) {
      wake = createWake();
      try {
        if (!isWatched) await schedules.watch(() => waking.in(0), signal);
        isWatched = true;
        await (leave ??= schedules.attend(target));
      } catch {
        leave = undefined;
        waking.in(LOOK_MS); // the store may be locked, or its disk full: tried again
      }
      const inMs = await look().then(nextIn, () => LOOK_MS);
      if (inMs !== undefined) waking.in(inMs);
      await wake.untilResolved(signal);
    }
    waking.stop();
  };

  return {
    start() {
      loop = follow();
    },
    async once() {
      await look();
      await Promise.all(running.values());
    },
    async close() {
      closing.abort(new Error("the runner was closed"));
      await loop;
      await Promise.all(running.values());
      await (
        await leave?.catch(() => undefined)
      )?.();
    },
  };
}
