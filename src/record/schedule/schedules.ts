import { randomBytes } from "node:crypto";
import type {
  Claimed,
  NewSchedule,
  Run,
  RunCause,
  RunState,
  RunnerSchedules,
  Schedule,
  ScheduleOrigin,
} from "../../core/contract/schedule.ts";
import { silentProcesses } from "../db/dialect.ts";
import type { Engine, Value } from "../db/driver.ts";
import type { Sql } from "../db/sql.ts";
import { openSqlite } from "../db/sqlite.ts";
import { type Work, all, lock, counted, run } from "../db/work.ts";
import { onAbort } from "../../core/util/abort.ts";
import { randomName } from "../../core/util/identifier.ts";
import { plural } from "../../core/util/text.ts";
import { SCHEDULE_TABLES } from "./tables.ts";
import { isRecurring, loadCron, newestDue, nextAfter, timeWithZone } from "./timing.ts";

export interface SchedulesOptions {
  /** Created with mode 0600 (missing folders 0700). Several processes may share it. */
  readonly file: string;
  /** A PostgreSQL server that keeps the schedules instead of the file. */
  readonly url?: string | undefined;
  /**
   * The identity of this process as text, and whether the process with such an identity has died for certain.
   * `isSilent`: it no longer reports to the server.
   */
  readonly process: {
    readonly own: () => string;
    readonly isDead: (identity: string, isSilent: boolean) => boolean;
  };
  /** Masks secrets in what is recorded about runs. */
  readonly mask: (text: string) => string;
  /** Milliseconds since 1970. Default: the current time. */
  readonly now?: () => number;
  readonly engine?: Engine;
}

/** How late a missed run may still start, once. Runs that are later are skipped. Milliseconds. */
export const GRACE_MS = 3_600_000;

/** The pauses after one, two, … failures in a row, in milliseconds: 30 s, 1, 5, 15 and 60 minutes. */
const BACK_OFF_MS = [30_000, 60_000, 300_000, 900_000, 3_600_000] as const;

/** How many runs in a row may fail before the schedule is paused. */
const MOST_FAILURES = 5;

/** How many runs of a schedule the log keeps. */
const RUNS_KEPT = 200;

const OPEN: ReadonlySet<RunState> = new Set(["running", "waiting"]);

interface ScheduleRow {
  readonly id: string;
  readonly target: string;
  readonly definition: string;
  readonly created_ms: number;
  readonly next_ms: number | null;
  readonly queued_ms: number | null;
  readonly queued_by: RunCause | null;
  readonly paused: string | null;
  readonly failures: number;
  readonly seen: string | null;
  readonly secret: string | null;
}

/** Schedules in a SQLite file or on a server, which is opened on first use. */
export function openSchedules({
  file,
  url,
  process: processes,
  mask,
  now = Date.now,
  engine,
}: SchedulesOptions): RunnerSchedules & { close(): Promise<void> } {
  let opened: Promise<Sql> | undefined;
  const openDatabase = async (): Promise<Sql> => {
    if (url !== undefined) return await (await import("../db/postgres.ts")).openPostgres(url);
    return await openSqlite({ file, tables: SCHEDULE_TABLES, ...(engine !== undefined && { engine }) });
  };
  const database = () => {
    opened ??= loadCron()
      .then(openDatabase)
      .catch((error: unknown) => {
        opened = undefined; // the cause of the failure may be gone next time
        throw error;
      });
    return opened;
  };
  const inScope = function* <T>({ dialect }: Sql, work: (scope: Scope) => Work<T>): Work<T> {
    const silent = yield* silentProcesses(dialect);
    const isDead = (identity: string) => processes.isDead(identity, silent.has(identity));
    return yield* work({ now: now(), own: processes.own(), isDead });
  };
  const read = async <T>(work: (scope: Scope) => Work<T>): Promise<T> => {
    const sql = await database();
    return await sql.read(() => inScope(sql, work));
  };
  const change = async <T>(work: (scope: Scope) => Work<T>): Promise<T> => {
    const sql = await database();
    const alone = function* () {
      yield* lock("schedules");
      return yield* inScope(sql, work);
    };
    const result = await sql.transaction(alone, { durable: true });
    for (const changed of watchers) changed();
    return result;
  };
  /** The database reports only the changes of other processes. */
  const watchers = new Set<() => void>();

  return {
    async add(schedule, origin) {
      const id = randomName(8);
      const at = now();
      const secret = schedule.timing.kind === "http" ? randomBytes(32).toString("base64url") : null;
      const definition: NewSchedule & ScheduleOrigin = { ...schedule, ...origin };
      return await change(function* () {
        yield* run(
          "INSERT INTO schedules (id, target, definition, created_ms, next_ms, secret) VALUES (?, ?, ?, ?, ?, ?)",
          [id, origin.target, JSON.stringify(definition), at, nextAfter(schedule.timing, at) ?? null, secret],
        );
        return scheduleOf((yield* rowOf(id)) as ScheduleRow);
      });
    },
    async list(target) {
      const sql = `SELECT * FROM schedules ${target === undefined ? "" : "WHERE target = ?"}
        ORDER BY paused IS NOT NULL, next_ms IS NULL, next_ms, created_ms`;
      return (await read(() => all<ScheduleRow>(sql, target === undefined ? [] : [target]))).map(scheduleOf);
    },
    get: async (id) => optional(await read(() => rowOf(id))),
    remove: (id) =>
      change(function* () {
        const row = yield* rowOf(id);
        yield* run("DELETE FROM schedules WHERE id = ?", [id]);
        return optional(row);
      }),
    isAttended: (target) =>
      read(function* ({ isDead }) {
        const runners = yield* all<{ process: string }>("SELECT process FROM runners WHERE target = ?", [target]);
        return runners.some((runner) => !isDead(runner.process));
      }),
    runs: ({ run: id, schedule, thread, states, limit = 100 } = {}) =>
      read(() => {
        const conditions = [
          ...(id === undefined ? [] : ["id = ?"]),
          ...(schedule === undefined ? [] : ["schedule = ?"]),
          ...(thread === undefined ? [] : ["thread = ?"]),
          ...(states === undefined ? [] : [`state IN (${states.map(() => "?").join(", ")})`]),
        ];
        const where = conditions.length === 0 ? "" : `WHERE ${conditions.join(" AND ")}`;
        const given = [id, schedule, thread, ...(states ?? [])].filter((value) => value !== undefined);
        return runsWhere(`${where} ORDER BY id DESC LIMIT ?`, [...given, limit]);
      }),
    pause: (id, reason) =>
      change(function* () {
        const row = yield* rowOf(id);
        if (row === undefined) return false;
        const next = reason === undefined ? (nextAfter(scheduleOf(row).timing, now()) ?? null) : row.next_ms;
        yield* run("UPDATE schedules SET paused = ?, next_ms = ?, queued_ms = NULL, failures = 0 WHERE id = ?", [
          ...[reason === undefined ? null : mask(reason), next],
          id,
        ]);
        return true;
      }),
    fire: (id, cause) => change((scope) => fire(scope, id, cause)),

    async attend(target) {
      const own = processes.own();
      await change(function* ({ isDead }) {
        for (const { process } of yield* all<{ process: string }>("SELECT DISTINCT process FROM runners"))
          if (isDead(process)) yield* run("DELETE FROM runners WHERE process = ?", [process]);
        yield* run("INSERT INTO runners (target, process) VALUES (?, ?) ON CONFLICT DO NOTHING", [target, own]);
      });
      return async () => {
        await change(() => run("DELETE FROM runners WHERE target = ? AND process = ?", [target, own])).catch(
          () => undefined, // others see that this process has ended
        );
      };
    },
    async claim(target, asked) {
      if (!(await read((scope) => hasWork(scope, target, asked)))) return { claimed: [], told: [], replaced: [] };
      return await change((scope) => claimDue(scope, target, asked));
    },
    async watch(changed, signal) {
      const stop = (await database()).watch(changed);
      watchers.add(changed);
      onAbort(signal, () => {
        stop();
        watchers.delete(changed);
      });
    },
    take: (id) =>
      change(function* ({ own }) {
        const taken = "UPDATE runs SET state = 'running', process = ? WHERE id = ? AND state = 'waiting'";
        return (yield* counted(taken, [own, id])) > 0;
      }),
    end: (id, { state, note }) =>
      change((scope) => endRun(scope, id, state, note === undefined ? undefined : mask(note))),
    observe: (id, state) => change((scope) => observe(scope, id, state)),
    secret: async (id) => (await read(() => rowOf(id)))?.secret ?? undefined,
    useSignature: (signature, keepMs) =>
      change(function* (scope) {
        yield* run("DELETE FROM signatures WHERE until_ms < ?", [scope.now]);
        const added = "INSERT INTO signatures (signature, until_ms) VALUES (?, ?) ON CONFLICT DO NOTHING";
        return (yield* counted(added, [signature, scope.now + keepMs])) > 0;
      }),
    async close() {
      await (await opened?.catch(() => undefined))?.close();
      opened = undefined;
    },
  };
}

/** What one look at the database, or one change of it, goes by. */
interface Scope {
  /** Milliseconds since 1970. */
  readonly now: number;
  /** The identity of this process. */
  readonly own: string;
  readonly isDead: (identity: string) => boolean;
}

type Asked = Parameters<RunnerSchedules["claim"]>[1];

/** The schedules of a target that are due, among those that are asked for. */
function* dueIn({ now }: Scope, target: string, { may, only }: Asked): Work<readonly ScheduleRow[]> {
  const rows = yield* all<ScheduleRow>(
    `SELECT * FROM schedules WHERE target = ? AND (queued_ms IS NOT NULL OR (paused IS NULL AND next_ms <= ?))`,
    [target, now],
  );
  const due: ScheduleRow[] = [];
  for (const row of rows) {
    if ((only !== undefined && row.id !== only) || !may(scheduleOf(row))) continue;
    if (isPlanned(row, now) || (yield* openRun(row.id)) === undefined) due.push(row);
  }
  return due;
}

function* hasWork(scope: Scope, target: string, asked: Asked): Work<boolean> {
  if ((yield* dueIn(scope, target, asked)).length > 0) return true;
  return (yield* runningOf(target)).some((row) => scope.isDead(row.process));
}

/** Begins the runs that are due, up to the limit. Closes the runs of dead processes. */
function* claimDue(scope: Scope, target: string, asked: Asked): Work<Awaited<ReturnType<RunnerSchedules["claim"]>>> {
  const claimed: Claimed[] = [];
  const told: Run[] = [];
  for (const { id, process } of yield* runningOf(target)) {
    const note = "its process ended while it ran; it is not repeated";
    if (scope.isDead(process)) told.push(yield* ended(id, "interrupted", note, scope.now));
  }
  const replaced: Run[] = [];
  for (const row of yield* dueIn(scope, target, asked)) {
    if (claimed.length >= asked.limit) break;
    const schedule = scheduleOf(row);
    const { planned, cause, missed } = yield* plannedNow(scope, schedule, row);
    told.push(...missed);
    if (planned === undefined) continue;
    const open = yield* openRun(row.id);
    if (open === undefined) {
      const begun = yield* begin(scope, schedule, planned, cause);
      if (begun !== undefined) claimed.push({ schedule, run: begun });
    } else if (schedule.overlap === "skip" || row.queued_ms !== null) {
      if (row.queued_ms !== planned) told.push(yield* skipped(scope, schedule, planned, cause, stillOpen(open)));
    } else {
      yield* run("UPDATE schedules SET queued_ms = ?, queued_by = ? WHERE id = ?", [planned, cause, row.id]);
      if (schedule.overlap === "replace" && open.state === "running") replaced.push(open);
    }
  }
  return { claimed, told, replaced };
}

/** Records how a run ended, and what follows for its schedule. Returns the schedule; `undefined` if it is gone. */
function* endRun(scope: Scope, id: number, state: RunState, note: string | undefined): Work<Schedule | undefined> {
  const [before] = yield* runsWhere("WHERE id = ?", [id]);
  const row = before && (yield* rowOf(before.schedule));
  yield* ended(id, state, note, scope.now);
  if (row === undefined || before === undefined || !OPEN.has(before.state)) return optional(row);
  const schedule = scheduleOf(row);
  if (state === "succeeded" && schedule.deleteAfterRun) {
    yield* run("DELETE FROM schedules WHERE id = ?", [schedule.id]);
    return undefined;
  }
  if (state === "succeeded") yield* run("UPDATE schedules SET failures = 0 WHERE id = ?", [schedule.id]);
  if (state === "failed" || state === "denied") yield* countFailure(scope, schedule, row.next_ms);
  return optional(yield* rowOf(schedule.id));
}

/** Fires a schedule whose job has ended, or whose file has changed, since it was last seen. */
function* observe(scope: Scope, id: string, state: string): Work<void> {
  const row = yield* rowOf(id);
  if (row === undefined || row.seen === state) return;
  yield* run("UPDATE schedules SET seen = ? WHERE id = ?", [state, id]);
  const { timing } = scheduleOf(row);
  const fires = timing.kind === "job" ? state === "ended" : row.seen !== null;
  if (fires && row.paused === null) yield* fire(scope, id, timing.kind === "job" ? "job" : "file");
}

/** The planned time that is due now, after the schedule was advanced past it. Records what was missed. */
function* plannedNow(
  scope: Scope,
  schedule: Schedule,
  row: ScheduleRow,
): Work<{ readonly planned: number | undefined; readonly cause: RunCause; readonly missed: readonly Run[] }> {
  const { timing, id } = schedule;
  const { next_ms: next, queued_ms: queued } = row;
  const at = scope.now;
  if (!isPlanned(row, at) || next === null)
    return { planned: queued ?? undefined, cause: row.queued_by ?? "clock", missed: [] };
  const newest = newestDue(timing, Math.max(next, at - GRACE_MS), at);
  yield* run("UPDATE schedules SET next_ms = ? WHERE id = ?", [nextAfter(timing, at) ?? null, id]);
  if (newest === next) return { planned: newest, cause: "clock", missed: [] };
  const until = newest === undefined ? "" : `; it runs once for ${timeWithZone(newest, timing.tz)}`;
  const note = `missed: nothing ran schedules at ${timeWithZone(next, timing.tz)} and later${until}`;
  return { planned: newest, cause: "clock", missed: [yield* skipped(scope, schedule, next, "clock", note)] };
}

/** Inserts the run that this process makes. `undefined` if this planned time has run before. */
function* begin(scope: Scope, schedule: Schedule, planned: number, cause: RunCause): Work<Claimed["run"] | undefined> {
  yield* run("UPDATE schedules SET queued_ms = NULL, queued_by = NULL WHERE id = ?", [schedule.id]);
  const thread = `run-${randomName(10)}`;
  const begun = yield* insert(scope, schedule, { planned, cause, state: "running", note: null, thread });
  return begun === undefined ? undefined : { ...begun, thread };
}

function* skipped(scope: Scope, schedule: Schedule, planned: number, cause: RunCause, note: string): Work<Run> {
  const given = { cause, state: "skipped" as const, note, thread: null };
  // A planned time has one line. If its run is skipped twice, the first line stays.
  return (yield* insert(scope, schedule, { planned, ...given })) ?? ((yield* runAt(schedule.id, planned)) as Run);
}

function* insert(
  scope: Scope,
  { id, name, target }: Schedule,
  given: {
    readonly planned: number;
    readonly cause: RunCause;
    readonly state: RunState;
    readonly note: string | null;
    readonly thread: string | null;
  },
): Work<Run | undefined> {
  const { planned, cause, state, note, thread } = given;
  const at = scope.now;
  const [added] = yield* all<{ id: number }>(
    `INSERT INTO runs
       (schedule, name, target, planned_ms, cause, state, started_ms, ended_ms, thread, note, process)
     VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING RETURNING id`,
    [id, name, target, planned, cause, state, at, OPEN.has(state) ? null : at, thread, note, scope.own],
  );
  if (added === undefined) return undefined;
  yield* run(
    `DELETE FROM runs WHERE schedule = ? AND ended_ms IS NOT NULL
     AND id <= (SELECT id FROM runs WHERE schedule = ? ORDER BY id DESC LIMIT 1 OFFSET ?)`,
    [id, id, RUNS_KEPT],
  );
  return (yield* runsWhere("WHERE id = ?", [added.id]))[0];
}

function* fire(scope: Scope, id: string, cause: RunCause): Work<{ readonly refused?: string }> {
  const row = yield* rowOf(id);
  if (row === undefined) return { refused: `there is no schedule ${id}` };
  if (row.paused !== null && cause !== "person") return { refused: `it is paused: ${row.paused}` };
  const schedule = scheduleOf(row);
  let at = scope.now;
  while ((yield* runAt(id, at)) !== undefined) at += 1;
  const open = yield* openRun(id);
  if (row.queued_ms !== null || (open !== undefined && schedule.overlap === "skip")) {
    const refused = open === undefined ? "a run of it is due already" : stillOpen(open);
    yield* skipped(scope, schedule, at, cause, refused);
    return { refused };
  }
  yield* run("UPDATE schedules SET queued_ms = ?, queued_by = ? WHERE id = ?", [at, cause, id]);
  return {};
}

/** Backs off, or pauses after too many failures in a row. */
function* countFailure(scope: Scope, { id, timing, failures }: Schedule, next: number | null): Work<void> {
  const count = failures + 1;
  const soonest = scope.now + (BACK_OFF_MS[Math.min(count, BACK_OFF_MS.length) - 1] ?? 0);
  const paused = count >= MOST_FAILURES && isRecurring(timing) ? `${plural(count, "run")} in a row failed` : null;
  const later = next !== null && next < soonest ? (nextAfter(timing, soonest - 1) ?? null) : next;
  yield* run("UPDATE schedules SET failures = ?, next_ms = ?, paused = coalesce(paused, ?) WHERE id = ?", [
    ...[count, later, paused],
    id,
  ]);
}

function* rowOf(id: string): Work<ScheduleRow | undefined> {
  return (yield* all<ScheduleRow>("SELECT * FROM schedules WHERE id = ?", [id]))[0];
}

function scheduleOf(row: ScheduleRow): Schedule {
  return {
    ...(JSON.parse(row.definition) as NewSchedule & ScheduleOrigin),
    ...{ id: row.id, createdMs: row.created_ms, failures: row.failures },
    ...(row.next_ms !== null && { nextMs: row.next_ms }),
    ...(row.paused !== null && { paused: row.paused }),
  };
}

/** Whether the schedule's planned time has come. */
function isPlanned({ paused, next_ms: next }: ScheduleRow, at: number): boolean {
  return paused === null && next !== null && next <= at;
}

function optional(row: ScheduleRow | undefined): Schedule | undefined {
  return row === undefined ? undefined : scheduleOf(row);
}

type RunRow = { readonly [Field in keyof Required<Run>]: Run[Field] | null } & Pick<Run, "id">;

function* runsWhere(condition: string, parameters: readonly Value[]): Work<readonly Run[]> {
  const rows = yield* all<RunRow>(
    `SELECT id, schedule, name, target, planned_ms AS "plannedMs", cause, state, started_ms AS "startedMs",
       ended_ms AS "endedMs", thread, note FROM runs ${condition}`,
    parameters,
  );
  return rows.map(
    (row) => Object.fromEntries(Object.entries(row).filter(([, value]) => value !== null)) as unknown as Run,
  );
}

function* runAt(schedule: string, planned: number): Work<Run | undefined> {
  return (yield* runsWhere("WHERE schedule = ? AND planned_ms = ?", [schedule, planned]))[0];
}

function* openRun(schedule: string): Work<Run | undefined> {
  return (yield* runsWhere("WHERE schedule = ? AND state IN ('running', 'waiting')", [schedule]))[0];
}

function runningOf(target: string) {
  return all<{ readonly id: number; readonly process: string }>(
    "SELECT id, process FROM runs WHERE target = ? AND state = 'running'",
    [target],
  );
}

function stillOpen({ id, state }: Run): string {
  return state === "waiting" ? `run ${id} still waits for a person` : `run ${id} has not ended yet`;
}

function* ended(id: number, state: RunState, note: string | undefined, at: number): Work<Run> {
  yield* run(
    `UPDATE runs SET state = ?, ended_ms = ?, note = coalesce(?, note)
     WHERE id = ? AND state IN ('running', 'waiting')`,
    [state, OPEN.has(state) ? null : at, note ?? null, id],
  );
  return (yield* runsWhere("WHERE id = ?", [id]))[0] as Run;
}
