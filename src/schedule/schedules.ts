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
} from "../contract/schedule.ts";
import { type Database, openDatabase } from "../db/database.ts";
import type { DatabaseConnection, Engine, Value } from "../db/driver.ts";
import { randomName } from "../util/identifier.ts";
import { plural } from "../util/text.ts";
import { SCHEDULE_TABLES } from "./tables.ts";
import { isRecurring, loadCron, newestDue, nextAfter, timeIn } from "./timing.ts";

export interface SchedulesOptions {
  /** Created with mode 0600 (missing folders 0700). Several processes may share it. */
  readonly file: string;
  /** The identity of this process as text, and whether the process with such an identity has died for certain. */
  readonly process: { readonly own: () => string; readonly isDead: (identity: string) => boolean };
  /** Masks secrets in what is recorded about runs. */
  readonly mask: (text: string) => string;
  /** Milliseconds since 1970. Default: the clock. */
  readonly now?: () => number;
  readonly engine?: Engine;
}

/** How late a missed run may still start, once. Older ones are skipped. Milliseconds. */
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

/** Schedules in a SQLite file, which is opened on first use. */
export function openSchedules({
  file,
  process: processes,
  mask,
  now = Date.now,
  engine,
}: SchedulesOptions): RunnerSchedules & { close(): Promise<void> } {
  let opened: Promise<Database> | undefined;
  const database = () => {
    opened ??= loadCron()
      .then(() => openDatabase({ file, tables: SCHEDULE_TABLES, ...(engine !== undefined && { engine }) }))
      .catch((error: unknown) => {
        opened = undefined; // the cause may be gone the next time
        throw error;
      });
    return opened;
  };
  const { isDead } = processes;
  const scopeOf = (connection: DatabaseConnection): Scope => ({ connection, now: now(), own: processes.own(), isDead });
  const read = async <T>(work: (scope: Scope) => T): Promise<T> => {
    const { connection, patiently } = await database();
    return await patiently(() => work(scopeOf(connection)));
  };
  const change = async <T>(work: (scope: Scope) => T): Promise<T> => {
    const { transaction, patiently } = await database();
    return await patiently(() => transaction((connection) => work(scopeOf(connection)), { durable: true }));
  };

  return {
    async add(schedule, origin) {
      const id = randomName(8);
      const at = now();
      const secret = schedule.timing.kind === "http" ? randomBytes(32).toString("base64url") : null;
      const definition: NewSchedule & ScheduleOrigin = { ...schedule, ...origin };
      return await change(({ connection }) => {
        connection.run(
          "INSERT INTO schedules (id, target, definition, created_ms, next_ms, secret) VALUES (?, ?, ?, ?, ?, ?)",
          [id, origin.target, JSON.stringify(definition), at, nextAfter(schedule.timing, at) ?? null, secret],
        );
        return scheduleOf(rowOf(connection, id) as ScheduleRow);
      });
    },
    list: (target) =>
      read(({ connection }) =>
        connection
          .all<ScheduleRow>(
            `SELECT * FROM schedules ${target === undefined ? "" : "WHERE target = ?"}
             ORDER BY paused IS NOT NULL, next_ms IS NULL, next_ms, created_ms`,
            target === undefined ? [] : [target],
          )
          .map(scheduleOf),
      ),
    get: (id) => read(({ connection }) => optional(rowOf(connection, id))),
    remove: (id) =>
      change(({ connection }) => {
        const row = rowOf(connection, id);
        connection.run("DELETE FROM schedules WHERE id = ?", [id]);
        return optional(row);
      }),
    isAttended: (target) =>
      read(({ connection }) =>
        connection
          .all<{ process: string }>("SELECT process FROM runners WHERE target = ?", [target])
          .some((runner) => !isDead(runner.process)),
      ),
    runs: ({ run, schedule, thread, states, limit = 100 } = {}) =>
      read(({ connection }) => {
        const conditions = [
          ...(run === undefined ? [] : ["id = ?"]),
          ...(schedule === undefined ? [] : ["schedule = ?"]),
          ...(thread === undefined ? [] : ["thread = ?"]),
          ...(states === undefined ? [] : [`state IN (${states.map(() => "?").join(", ")})`]),
        ];
        const where = conditions.length === 0 ? "" : `WHERE ${conditions.join(" AND ")}`;
        const given = [run, schedule, thread, ...(states ?? [])].filter((value) => value !== undefined);
        return runsWhere(connection, `${where} ORDER BY id DESC LIMIT ?`, [...given, limit]);
      }),
    pause: (id, reason) =>
      change(({ connection }) => {
        const row = rowOf(connection, id);
        if (row === undefined) return false;
        const next = reason === undefined ? (nextAfter(scheduleOf(row).timing, now()) ?? null) : row.next_ms;
        connection.run("UPDATE schedules SET paused = ?, next_ms = ?, queued_ms = NULL, failures = 0 WHERE id = ?", [
          ...[reason === undefined ? null : mask(reason), next],
          id,
        ]);
        return true;
      }),
    fire: (id, cause) => change((scope) => fire(scope, id, cause)),

    async attend(target) {
      const own = processes.own();
      await change(({ connection }) => {
        for (const { process } of connection.all<{ process: string }>("SELECT DISTINCT process FROM runners"))
          if (isDead(process)) connection.run("DELETE FROM runners WHERE process = ?", [process]);
        connection.run("INSERT OR IGNORE INTO runners (target, process) VALUES (?, ?)", [target, own]);
      });
      return async () => {
        await change(({ connection }) =>
          connection.run("DELETE FROM runners WHERE target = ? AND process = ?", [target, own]),
        ).catch(() => undefined); // others see that this process has ended
      };
    },
    async claim(target, asked) {
      if (!(await read((scope) => hasWork(scope, target, asked)))) return { claimed: [], told: [], replaced: [] };
      return await change((scope) => claimDue(scope, target, asked));
    },
    take: (id) =>
      change(
        ({ connection }) =>
          connection.run("UPDATE runs SET state = 'running', process = ? WHERE id = ? AND state = 'waiting'", [
            processes.own(),
            id,
          ]).changes > 0,
      ),
    end: (id, { state, note }) =>
      change((scope) => endRun(scope, id, state, note === undefined ? undefined : mask(note))),
    observe: (id, state) => change((scope) => observe(scope, id, state)),
    secret: (id) => read(({ connection }) => rowOf(connection, id)?.secret ?? undefined),
    useSignature: (signature, keepMs) =>
      change(({ connection }) => {
        connection.run("DELETE FROM signatures WHERE until_ms < ?", [now()]);
        const { changes } = connection.run("INSERT OR IGNORE INTO signatures (signature, until_ms) VALUES (?, ?)", [
          ...[signature, now() + keepMs],
        ]);
        return changes > 0;
      }),
    async close() {
      (await opened?.catch(() => undefined))?.close();
      opened = undefined;
    },
  };
}

/** One look at the file, or one change of it. */
interface Scope {
  readonly connection: DatabaseConnection;
  /** Milliseconds since 1970. */
  readonly now: number;
  /** The identity of this process. */
  readonly own: string;
  readonly isDead: (identity: string) => boolean;
}

type Asked = Parameters<RunnerSchedules["claim"]>[1];

/** The schedules of a target that are due, among those that are asked for. */
function dueIn({ connection, now }: Scope, target: string, { may, only }: Asked): readonly ScheduleRow[] {
  return connection
    .all<ScheduleRow>(
      `SELECT * FROM schedules WHERE target = ? AND (queued_ms IS NOT NULL OR (paused IS NULL AND next_ms <= ?))`,
      [target, now],
    )
    .filter((row) => (only === undefined || row.id === only) && may(scheduleOf(row)))
    .filter((row) => isPlanned(row, now) || openRun(connection, row.id) === undefined);
}

function hasWork(scope: Scope, target: string, asked: Asked): boolean {
  const isDead = (row: { readonly process: string }) => scope.isDead(row.process);
  return dueIn(scope, target, asked).length > 0 || runningOf(scope.connection, target).some(isDead);
}

/** Begins the runs that are due, up to the limit. Closes the runs of dead processes. */
function claimDue(scope: Scope, target: string, asked: Asked): Awaited<ReturnType<RunnerSchedules["claim"]>> {
  const { connection } = scope;
  const claimed: Claimed[] = [];
  const told: Run[] = runningOf(connection, target)
    .filter((row) => scope.isDead(row.process))
    .map(({ id }) =>
      ended(connection, id, "interrupted", "its process ended while it ran; it is not repeated", scope.now),
    );
  const replaced: Run[] = [];
  for (const row of dueIn(scope, target, asked)) {
    if (claimed.length >= asked.limit) break;
    const schedule = scheduleOf(row);
    const { planned, cause, missed } = plannedNow(scope, schedule, row);
    told.push(...missed);
    if (planned === undefined) continue;
    const open = openRun(connection, row.id);
    if (open === undefined) {
      const run = begin(scope, schedule, planned, cause);
      if (run !== undefined) claimed.push({ schedule, run });
    } else if (schedule.overlap === "skip" || row.queued_ms !== null) {
      if (row.queued_ms !== planned) told.push(skipped(scope, schedule, planned, cause, stillOpen(open)));
    } else {
      connection.run("UPDATE schedules SET queued_ms = ?, queued_by = ? WHERE id = ?", [planned, cause, row.id]);
      if (schedule.overlap === "replace" && open.state === "running") replaced.push(open);
    }
  }
  return { claimed, told, replaced };
}

/** Records how a run ended, and what follows for its schedule. Returns that; `undefined` if it is gone. */
function endRun(scope: Scope, id: number, state: RunState, note: string | undefined): Schedule | undefined {
  const { connection } = scope;
  const [before] = runsWhere(connection, "WHERE id = ?", [id]);
  const row = before && rowOf(connection, before.schedule);
  ended(connection, id, state, note, scope.now);
  if (row === undefined || before === undefined || !OPEN.has(before.state)) return optional(row);
  const schedule = scheduleOf(row);
  if (state === "succeeded" && schedule.deleteAfterRun) {
    connection.run("DELETE FROM schedules WHERE id = ?", [schedule.id]);
    return undefined;
  }
  if (state === "succeeded") connection.run("UPDATE schedules SET failures = 0 WHERE id = ?", [schedule.id]);
  if (state === "failed" || state === "denied") countFailure(scope, schedule, row.next_ms);
  return optional(rowOf(connection, schedule.id));
}

/** Fires a schedule whose job has ended, or whose file has changed, since it was last seen. */
function observe(scope: Scope, id: string, state: string): void {
  const row = rowOf(scope.connection, id);
  if (row === undefined || row.seen === state) return;
  scope.connection.run("UPDATE schedules SET seen = ? WHERE id = ?", [state, id]);
  const { timing } = scheduleOf(row);
  const fires = timing.kind === "job" ? state === "ended" : row.seen !== null;
  if (fires && row.paused === null) fire(scope, id, timing.kind === "job" ? "job" : "file");
}

/** The planned time that is due now, after the schedule was advanced past it. Records what was missed. */
function plannedNow(
  scope: Scope,
  schedule: Schedule,
  row: ScheduleRow,
): { readonly planned: number | undefined; readonly cause: RunCause; readonly missed: readonly Run[] } {
  const { timing, id } = schedule;
  const { next_ms: next, queued_ms: queued } = row;
  const at = scope.now;
  if (!isPlanned(row, at) || next === null)
    return { planned: queued ?? undefined, cause: row.queued_by ?? "clock", missed: [] };
  const newest = newestDue(timing, Math.max(next, at - GRACE_MS), at);
  scope.connection.run("UPDATE schedules SET next_ms = ? WHERE id = ?", [nextAfter(timing, at) ?? null, id]);
  if (newest === next) return { planned: newest, cause: "clock", missed: [] };
  const until = newest === undefined ? "" : `; it runs once for ${timeIn(newest, timing.tz)}`;
  const note = `missed: nothing ran schedules at ${timeIn(next, timing.tz)} and later${until}`;
  return { planned: newest, cause: "clock", missed: [skipped(scope, schedule, next, "clock", note)] };
}

/** Inserts the run that this process makes. `undefined` if this planned time has run before. */
function begin(scope: Scope, schedule: Schedule, planned: number, cause: RunCause): Claimed["run"] | undefined {
  scope.connection.run("UPDATE schedules SET queued_ms = NULL, queued_by = NULL WHERE id = ?", [schedule.id]);
  const thread = `run-${randomName(10)}`;
  const run = insert(scope, schedule, { planned, cause, state: "running", note: null, thread });
  return run === undefined ? undefined : { ...run, thread };
}

function skipped(scope: Scope, schedule: Schedule, planned: number, cause: RunCause, note: string): Run {
  const given = { cause, state: "skipped" as const, note, thread: null };
  // A planned time has one line; that of a run which is skipped twice is the first.
  return insert(scope, schedule, { planned, ...given }) ?? (runAt(scope.connection, schedule.id, planned) as Run);
}

function insert(
  scope: Scope,
  { id, name, target }: Schedule,
  given: {
    readonly planned: number;
    readonly cause: RunCause;
    readonly state: RunState;
    readonly note: string | null;
    readonly thread: string | null;
  },
): Run | undefined {
  const { planned, cause, state, note, thread } = given;
  const at = scope.now;
  const { changes, lastId } = scope.connection.run(
    `INSERT OR IGNORE INTO runs
       (schedule, name, target, planned_ms, cause, state, started_ms, ended_ms, thread, note, process)
     VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
    [id, name, target, planned, cause, state, at, OPEN.has(state) ? null : at, thread, note, scope.own],
  );
  if (changes === 0) return undefined;
  scope.connection.run(
    `DELETE FROM runs WHERE schedule = ? AND ended_ms IS NOT NULL
     AND id <= (SELECT id FROM runs WHERE schedule = ? ORDER BY id DESC LIMIT 1 OFFSET ?)`,
    [id, id, RUNS_KEPT],
  );
  return runsWhere(scope.connection, "WHERE id = ?", [lastId])[0];
}

function fire(scope: Scope, id: string, cause: RunCause): { readonly refused?: string } {
  const row = rowOf(scope.connection, id);
  if (row === undefined) return { refused: `there is no schedule ${id}` };
  if (row.paused !== null && cause !== "person") return { refused: `it is paused: ${row.paused}` };
  const schedule = scheduleOf(row);
  let at = scope.now;
  while (runAt(scope.connection, id, at) !== undefined) at += 1;
  const open = openRun(scope.connection, id);
  if (row.queued_ms !== null || (open !== undefined && schedule.overlap === "skip")) {
    const refused = open === undefined ? "a run of it is due already" : stillOpen(open);
    skipped(scope, schedule, at, cause, refused);
    return { refused };
  }
  scope.connection.run("UPDATE schedules SET queued_ms = ?, queued_by = ? WHERE id = ?", [at, cause, id]);
  return {};
}

/** Backs off, or pauses after too many failures in a row. */
function countFailure(scope: Scope, { id, timing, failures }: Schedule, next: number | null): void {
  const count = failures + 1;
  const soonest = scope.now + (BACK_OFF_MS[Math.min(count, BACK_OFF_MS.length) - 1] ?? 0);
  const paused = count >= MOST_FAILURES && isRecurring(timing) ? `${plural(count, "run")} in a row failed` : null;
  const later = next !== null && next < soonest ? (nextAfter(timing, soonest - 1) ?? null) : next;
  scope.connection.run("UPDATE schedules SET failures = ?, next_ms = ?, paused = coalesce(paused, ?) WHERE id = ?", [
    ...[count, later, paused],
    id,
  ]);
}

function rowOf(connection: DatabaseConnection, id: string): ScheduleRow | undefined {
  return connection.all<ScheduleRow>("SELECT * FROM schedules WHERE id = ?", [id])[0];
}

function scheduleOf(row: ScheduleRow): Schedule {
  return {
    ...(JSON.parse(row.definition) as NewSchedule & ScheduleOrigin),
    ...{ id: row.id, createdMs: row.created_ms, failures: row.failures },
    ...(row.next_ms !== null && { nextMs: row.next_ms }),
    ...(row.paused !== null && { paused: row.paused }),
  };
}

/** Whether its planned time has come. */
function isPlanned({ paused, next_ms: next }: ScheduleRow, at: number): boolean {
  return paused === null && next !== null && next <= at;
}

function optional(row: ScheduleRow | undefined): Schedule | undefined {
  return row === undefined ? undefined : scheduleOf(row);
}

type RunRow = { readonly [Field in keyof Required<Run>]: Run[Field] | null } & Pick<Run, "id">;

function runsWhere(connection: DatabaseConnection, condition: string, parameters: readonly Value[]): readonly Run[] {
  return connection
    .all<RunRow>(
      `SELECT id, schedule, name, target, planned_ms AS plannedMs, cause, state, started_ms AS startedMs,
         ended_ms AS endedMs, thread, note FROM runs ${condition}`,
      parameters,
    )
    .map((row) => Object.fromEntries(Object.entries(row).filter(([, value]) => value !== null)) as unknown as Run);
}

function runAt(connection: DatabaseConnection, schedule: string, planned: number): Run | undefined {
  return runsWhere(connection, "WHERE schedule = ? AND planned_ms = ?", [schedule, planned])[0];
}

function openRun(connection: DatabaseConnection, schedule: string): Run | undefined {
  return runsWhere(connection, "WHERE schedule = ? AND state IN ('running', 'waiting')", [schedule])[0];
}

function runningOf(connection: DatabaseConnection, target: string) {
  return connection.all<{ readonly id: number; readonly process: string }>(
    "SELECT id, process FROM runs WHERE target = ? AND state = 'running'",
    [target],
  );
}

function stillOpen({ id, state }: Run): string {
  return state === "waiting" ? `run ${id} still waits for a person` : `run ${id} has not ended yet`;
}

function ended(connection: DatabaseConnection, id: number, state: RunState, note: string | undefined, at: number): Run {
  connection.run(
    `UPDATE runs SET state = ?, ended_ms = ?, note = coalesce(?, note)
     WHERE id = ? AND state IN ('running', 'waiting')`,
    [state, OPEN.has(state) ? null : at, note ?? null, id],
  );
  return runsWhere(connection, "WHERE id = ?", [id])[0] as Run;
}
