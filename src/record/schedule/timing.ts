import type { Cron } from "croner";
import type cronstrue from "cronstrue";
import type { Timing } from "../../core/contract/schedule.ts";
import { plural } from "../../core/util/text.ts";
import { isRepeated, momentOf, offsetOf, wallOf } from "./local-time.ts";

/** What a model writes as a schedule. `job` is the id of a background job. */
export interface WrittenTiming {
  readonly kind: "cron" | "at" | "every" | "file" | "job" | "http";
  readonly expr?: string;
  readonly at?: string;
  readonly every_ms?: number;
  readonly path?: string;
  readonly job?: string;
  readonly tz?: string;
}

/** The shortest interval of `every`, in milliseconds. */
const SHORTEST_MS = 1_000;

/** The shortest time between two runs of an agent, in milliseconds. */
export const SHORTEST_AGENT_MS = 300_000;

/** How many runs in advance are checked for their distance. */
const RUNS_CHECKED = 200;

/** The time zone of this machine. */
const ownZone = (): string => new Intl.DateTimeFormat().resolvedOptions().timeZone;

/**
 * Reads a schedule, after `loadCron`.
 *
 * @throws RangeError, a sentence with what was expected, for a missing or bad field, an unknown zone, a time in the
 * past.
 */
export function readTiming(written: WrittenTiming, nowMs: number, call = ""): Timing {
  const { kind, tz = ownZone() } = written;
  if (!isZone(tz))
    throw new RangeError(`schedule.tz: expected an IANA time zone such as "Europe/Berlin", got ${JSON.stringify(tz)}`);
  switch (kind) {
    case "cron": {
      const expr = needed(written.expr, 'schedule.expr: expected a cron expression such as "30 2 * * *"').trim();
      const next = cronOf(expr, tz).nextRun(new Date(nowMs));
      if (next === null) throw new RangeError(`schedule.expr: ${JSON.stringify(expr)} names no time that ever comes`);
      return { kind, expr, tz };
    }
    case "at": {
      const at = needed(written.at, 'schedule.at: expected a time such as "2027-01-31T09:00"');
      const atMs = timeOf(at, tz);
      if (atMs > nowMs) return { kind, atMs, tz };
      throw new RangeError(
        `schedule.at: expected a time in the future, got ${JSON.stringify(at)}; it is now ${timeIn(nowMs, tz)} (${tz})`,
      );
    }
    case "every": {
      const everyMs = needed(written.every_ms, "schedule.every_ms: expected an interval in milliseconds");
      if (everyMs >= SHORTEST_MS) return { kind, everyMs, fromMs: nowMs, tz };
      throw new RangeError(`schedule.every_ms: expected at least ${SHORTEST_MS}, got ${everyMs}`);
    }
    case "file":
      return { kind, path: needed(written.path, "schedule.path: expected the path of a file"), tz };
    case "job":
      return { kind, job: needed(written.job, "schedule.job: expected the id of a background job"), call, tz };
    case "http":
      return { kind, tz };
  }
}

function needed<T>(value: T | undefined, message: string): T {
  if (value === undefined || value === "") throw new RangeError(`${message}, got none`);
  return value;
}

function isZone(tz: string): boolean {
  try {
    return new Intl.DateTimeFormat("en", { timeZone: tz }).resolvedOptions().timeZone !== "";
  } catch {
    return false;
  }
}

let cronLibrary: typeof Cron | undefined;

/** Loads the libraries with which this file reads cron expressions and local times. Most programs never need them. */
export async function loadCron(): Promise<void> {
  cronLibrary ??= (await import("croner")).Cron;
}

function loaded(): typeof Cron {
  if (cronLibrary === undefined) throw new Error("schedule: expected loadCron() to have resolved before");
  return cronLibrary;
}

/** Parsed expressions, because parsing takes longer than finding the next time. */
const parsed = new Map<string, Cron>();
const MOST_PARSED = 64;

function cronOf(expr: string, tz: string): Cron {
  const key = `${tz} ${expr}`;
  const known = parsed.get(key);
  if (known !== undefined) return known;
  const Pattern = loaded();
  try {
    const cron = new Pattern(expr, { timezone: tz, mode: "5-or-6-parts", paused: true });
    if (parsed.size >= MOST_PARSED) parsed.clear();
    parsed.set(key, cron);
    return cron;
  } catch (error) {
    const why = error instanceof Error ? error.message.replace(/^CronPattern: /, "") : String(error);
    throw new RangeError(
      `schedule.expr: expected a cron expression of 5 fields, or 6 with seconds first, such as "30 2 * * *", ` +
        `got ${JSON.stringify(expr)} (${why})`,
      { cause: error },
    );
  }
}

/** A time with an offset, or a local time of the zone. */
function timeOf(at: string, tz: string): number {
  const bad = () =>
    new RangeError(
      `schedule.at: expected a time such as "2027-01-31T09:00" or "2027-01-31T09:00:00Z", got ${JSON.stringify(at)}`,
    );
  const match = /^(\d{4}-\d\d-\d\d)[T ](\d\d:\d\d)(:\d\d)?(?:\.\d+)?(Z|[+-]\d\d:?\d\d)?$/i.exec(at.trim());
  if (match === null) throw bad();
  const [, day = "", time = "", seconds = ":00", offset] = match;
  const local = `${day}T${time}${seconds}`;
  if (!Number.isFinite(Date.parse(`${local}Z`)) || new Date(`${day}T00:00Z`).toISOString().slice(0, 10) !== day)
    throw bad();
  const ms =
    offset === undefined ? new (loaded())(local, { timezone: tz, paused: true }).getOnce()?.getTime() : undefined;
  return ms ?? Date.parse(`${local}${offset ?? "Z"}`);
}

/** The first planned time after this one; `undefined` when there is none, or a trigger decides. */
export function nextAfter(timing: Timing, afterMs: number): number | undefined {
  switch (timing.kind) {
    case "cron":
      return isOfFixedTimes(timing.expr)
        ? nextFixed(timing.expr, timing.tz, afterMs)
        : cronOf(timing.expr, timing.tz).nextRun(new Date(afterMs))?.getTime();
    case "at":
      return timing.atMs > afterMs ? timing.atMs : undefined;
    case "every": {
      const { everyMs, fromMs } = timing;
      return fromMs + Math.max(1, Math.floor((afterMs - fromMs) / everyMs) + 1) * everyMs;
    }
    default:
      return undefined;
  }
}

/** Whether an expression names times of the day, not an interval: neither its minutes nor its hours begin with `*`. */
function isOfFixedTimes(expr: string): boolean {
  if (expr.startsWith("@")) return !/^@hourly$/i.test(expr);
  const fields = expr.trim().split(/\s+/);
  return !fields.slice(-5, -3).some((field) => /^[*?]/.test(field));
}

/** The next of fixed times of the day: each once, whatever the clock does. Two that fall into a gap are one. */
function nextFixed(expr: string, tz: string, afterMs: number): number | undefined {
  const pattern = cronOf(expr, "UTC");
  let wall = pattern.nextRun(new Date(wallOf(afterMs, tz)));
  while (wall !== null && momentOf(wall.getTime(), tz) <= afterMs) wall = pattern.nextRun(wall);
  return wall === null ? undefined : momentOf(wall.getTime(), tz);
}

/** The newest planned time that is not before `firstMs` and not after `nowMs`; `undefined` when there is none. */
export function newestDue(timing: Timing, firstMs: number, nowMs: number): number | undefined {
  if (timing.kind === "every") {
    const newest = timing.fromMs + Math.floor((nowMs - timing.fromMs) / timing.everyMs) * timing.everyMs;
    return newest >= firstMs ? newest : undefined;
  }
  let newest: number | undefined;
  for (let due = nextAfter(timing, firstMs - 1); due !== undefined && due <= nowMs; due = nextAfter(timing, due))
    newest = due;
  return newest;
}

/** The next planned times, at most `count`. */
export function nextRuns(timing: Timing, afterMs: number, count: number): readonly number[] {
  const times: number[] = [];
  for (
    let time = nextAfter(timing, afterMs);
    time !== undefined && times.length < count;
    time = nextAfter(timing, time)
  )
    times.push(time);
  return times;
}

/** Whether the schedule can run more than once. */
export const isRecurring = ({ kind }: Pick<Timing, "kind">): boolean => kind !== "at" && kind !== "job";

/** The shortest time between two of the next runs; `Infinity` for one run, and for triggers. */
export function shortestGap(timing: Timing, nowMs: number): number {
  if (timing.kind === "every") return timing.everyMs;
  const times = nextRuns(timing, nowMs, RUNS_CHECKED);
  return Math.min(Infinity, ...times.slice(1).map((time, index) => time - (times[index] ?? 0)));
}

let library: typeof cronstrue | undefined;

/** Like `loadCron`. Also loads what puts cron expressions into words, which would double the time of a start. */
export async function loadWords(): Promise<void> {
  const [words] = await Promise.all([import("cronstrue"), loadCron()]);
  library ??= words.default;
}

/** The schedule in words, after `loadWords`, for people: "At 02:30, Europe/Berlin". */
export function inWords(timing: Timing): string {
  switch (timing.kind) {
    case "cron":
      return `${library?.toString(timing.expr, { use24HourTimeFormat: true }) ?? timing.expr} (${timing.tz})`;
    case "at":
      return `Once, at ${timeIn(timing.atMs, timing.tz)} (${timing.tz})`;
    case "every":
      return `Every ${interval(timing.everyMs)}`;
    case "file":
      return `When ${timing.path} changes`;
    case "job":
      return `When job ${timing.job} ends`;
    case "http":
      return "When a signed request arrives";
  }
}

/** An interval in the largest unit that divides it without a remainder. */
export function interval(ms: number): string {
  for (const [unit, size] of UNITS) {
    if (ms % size === 0) return ms === size ? unit : plural(ms / size, unit);
  }
  return `${ms} ms`;
}

const UNITS = [
  ["week", 604_800_000],
  ["day", 86_400_000],
  ["hour", 3_600_000],
  ["minute", 60_000],
  ["second", 1_000],
] as const;

/** A time in a zone, to the second: "2027-01-31 09:00:00"; with the offset, if this local time comes twice. */
function timeIn(ms: number, tz: string): string {
  const time = new Intl.DateTimeFormat("sv-SE", { timeZone: tz, dateStyle: "short", timeStyle: "medium" }).format(ms);
  return isRepeated(ms, tz) ? `${time} ${offsetOf(ms, tz)}` : time;
}

/** The same with the zone: "2027-01-31 09:00:00 (Europe/Berlin)". Default: the zone of this machine. */
export function timeWithZone(ms: number, tz = ownZone()): string {
  return `${timeIn(ms, tz)} (${tz})`;
}
