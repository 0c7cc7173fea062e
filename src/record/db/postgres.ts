import { setTimeout as delay } from "node:timers/promises";
import type { Client, ClientConfig, PoolClient, QueryConfig, QueryResult, types } from "pg";
import { messageOf } from "../../core/util/errors.ts";
import { isFulfilled } from "../../core/util/promises.ts";
import { identityText, thisProcess } from "../../machine/programs/process-identity.ts";
import { IDS, NAMES, POSTGRES, SERVER_CLOCK, SILENT_MS } from "./dialect.ts";
import type { Value } from "./driver.ts";
import { LONGEST_PAUSE_MS, SHORTEST_PAUSE_MS, notifier, watchersOf } from "./postgres-listening.ts";
import { explainedPostgres, isLost, isPassing, isStarting } from "./postgres-failure.ts";
import { POSTGRES_TABLES, schemaOf } from "./postgres-tables.ts";
import { type SealLink, sealOf } from "./seals.ts";
import { type Known, type ReadOptions, type ReadableRow, type Sql, UnknownOutcome, changeOf } from "./sql.ts";
import type { EventColumns, Step, Work } from "./work.ts";

/** The lock that transactions share and that excludes them while positions move: "HRDL". */
const WRITERS = "1213351500, 0";

/** How long to wait for a server that cannot be reached. Milliseconds. */
const PATIENCE_MS = 10_000;
/**
 * How often this process reports that it is alive, and its followers check for events. Others count it as dead after
 * some reports that did not come. Milliseconds.
 */
const BEAT_MS = 5_000;
const BEATS_MISSED = 4;
/** When followers read again whose events wait for an open transaction, at the latest. Milliseconds. */
const LAG_MS = 20;
/** The number of connections in the pool of one process. */
const CONNECTIONS = 8;

const open = new Map<string, { readonly sql: Promise<Sql>; users: number }>();

/**
 * Opens a database on a PostgreSQL server; everything in this process that names the same URL shares its connections.
 *
 * - A transaction begins by taking a lock that all transactions share, then its number. Its events have ids made of
 *   that number, so that ids grow with transactions. `readableTo` stops before the oldest transaction that has the
 *   lock: an event that is committed late is not skipped. Transactions of other programs are not waited for.
 * - `NOTIFY` wakes readers of other processes, after the commit, and says which events came; they also look whenever
 *   their process reports.
 * - Statements are sent without waiting for those before them, where nothing depends on these.
 * - A transaction whose connection is lost before the commit is repeated. During the commit, the server is asked what
 *   became of it.
 * - The process reports every five seconds that it lives.
 *
 * @throws Error, a sentence with the server and what to do: for a server that does not answer, a login that it refuses,
 * a database without the tables of this version, and if the package pg is missing.
 */
export async function openPostgres(url: string): Promise<Sql> {
  const shared = open.get(url) ?? { sql: connect(url), users: 0 };
  open.set(url, shared);
  shared.users += 1;
  const leave = async () => {
    shared.users -= 1;
    if (shared.users > 0) return;
    if (open.get(url) === shared) open.delete(url);
    await (await shared.sql.catch(() => undefined))?.close();
  };
  try {
    const sql = await shared.sql;
    let left: Promise<void> | undefined;
    return { ...sql, close: () => (left ??= leave()) };
  } catch (error) {
    await leave();
    throw error;
  }
}

interface Transaction {
  readonly client: PoolClient;
  readonly begun: Promise<Begun>;
  /** What was sent and not waited for. */
  readonly sent: Promise<unknown>[];
  /** The events that the transaction has recorded. */
  readonly events: EventColumns[];
  /** The seals that the next one links to. */
  links: readonly SealLink[];
}

/** What the server says when a transaction begins. */
interface Begun {
  readonly xid: string;
  /** The id before the ids of the transaction's events. */
  readonly base: number;
  /** The newest seal; `null` if there is none. */
  readonly first: number | null;
  readonly hash: string;
}

async function connect(url: string): Promise<Sql> {
  const driven = await driver(url);
  const server = serverBy(driven);
  const transact = transactionsOn(server);
  const watchers = watchersOf(driven);
  const notify = notifier(server.query, watchers);
  const readable = readableOn(server);
  const pulse = await pulseOn(server, () => watchers.changed());
  const { patiently, query, explain } = server;
  return {
    dialect: POSTGRES,
    read: (work, options) => readOn(server, work, options),
    async transaction(work, { committed, durable = false } = {}) {
      const { result, events } = await patiently(() => transact(work));
      committed?.(result);
      const change = changeOf(events);
      if (events.length > 0) watchers.changed(change);
      if (events.length > 0 || durable) notify(change);
      return result;
    },
    explain,
    readableTo: (until) => patiently(readable.to, until),
    readKnown: (work, { lagMs, until }) => patiently(() => readable.known(work, lagMs), until),
    newest: () =>
      patiently(async () => (await query<{ id: number | null }>("SELECT max(id) AS id FROM events"))[0]?.id ?? 0),
    watch: watchers.add,
    announce: notify,
    lapses: pulse.lapses,
    shortenPatience: pulse.shortenPatience,
    usedBytes: async () => undefined,
    giveBack: async () => true, // the server's own vacuum does this
    tidy: () => {},
    async close() {
      pulse.stop();
      watchers.stop();
      await notify.settled();
      await server.close();
    },
  };
}

type Driven = Awaited<ReturnType<typeof driver>>;

/** The connections to a server. */
interface Server {
  /** Repeats an attempt while the server cannot be reached: for ten seconds, or until the signal fires. */
  patiently<T>(attempt: () => Promise<T>, until?: AbortSignal): Promise<T>;
  /** A connection to a server whose tables fit, with positions after all that this process has seen. */
  connected(): Promise<PoolClient>;
  query<Row extends object>(text: string, values?: readonly unknown[]): Promise<readonly Row[]>;
  explain(error: unknown): Error;
  /** Events up to this id were read. */
  saw(id: number): void;
  /** A connection was lost: afterwards it may be another server. */
  lost(): void;
  close(): Promise<void>;
}

function serverBy({ Pool, config, schema, where }: Driven): Server {
  const pool = new Pool({
    ...config,
    pipeline: true,
    max: CONNECTIONS,
    idleTimeoutMillis: 30_000,
    allowExitOnIdle: true,
  });
  pool.on("error", () => {}); // an idle connection was lost: the next attempt reports it
  pool.on("connect", (client) => {
    client.on("error", () => {}); // the query that waits gets the error
    client.query(`SET search_path TO ${schema}`).catch(() => {});
  });
  let seen = 0;
  let unchecked = true;
  let isClosing = false;
  const explain = (error: unknown) => explainedPostgres(error, where);
  const lost = () => void (unchecked = true);

  const connected = async () => {
    const client = await pool.connect();
    if (!unchecked) return client;
    try {
      await requireTables(client, schema, where);
      const [row] = (await client.query<{ newest: number; next: number }>(NEXT_ID)).rows;
      const newest = Math.max(seen, row?.newest ?? 0);
      if (row !== undefined && row.next <= newest) await movePositions(client, newest);
      unchecked = false;
      return client;
    } catch (error) {
      client.release(true);
      throw error;
    }
  };

  return {
    async patiently(attempt, until) {
      const begun = performance.now();
      for (let wait = SHORTEST_PAUSE_MS; ; wait = Math.min(2 * wait, LONGEST_PAUSE_MS)) {
        try {
          return await attempt();
        } catch (error) {
          if (isLost(error)) lost();
          const isLate = until === undefined && performance.now() - begun >= PATIENCE_MS;
          if (!isPassing(error) || isLate || isClosing) throw explain(error);
        }
        until?.throwIfAborted();
        await delay(wait * (0.5 + Math.random()), undefined, { signal: until }); // random: processes do not collide
      }
    },
    connected,
    async query<Row extends object>(text: string, values: readonly unknown[] = []) {
      const client = await connected();
      try {
        return (await client.query<Row>(prepared(text, values))).rows;
      } finally {
        client.release();
      }
    },
    explain,
    saw: (id) => void (seen = Math.max(seen, id)),
    lost,
    async close() {
      isClosing = true;
      await pool.end().catch(() => {});
    },
  };
}

async function readOn<T>(server: Server, work: () => Work<T>, options: ReadOptions = {}): Promise<T> {
  const { consistent = false, until } = options;
  return await server.patiently(async () => {
    const client = await server.connected();
    try {
      if (consistent) await client.query("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY");
      const result = await runWork(client, work());
      if (consistent) await client.query("COMMIT");
      client.release();
      return result;
    } catch (error) {
      client.release(true);
      throw error;
    }
  }, until);
}

/** Returns what attempts a transaction once. Resolves to its result, and the events that it recorded. */
function transactionsOn(server: Server) {
  /** The newest seal of this process: the next one links to it, and to the newest of all processes. */
  let own: SealLink | undefined;

  const begin = async (): Promise<Transaction> => {
    const client = await server.connected();
    const begun = client.query(BEGIN).then((results) => {
      const found = (results as unknown as QueryResult<Begun>[]).at(-1)?.rows[0];
      const { xid = "0", base = 0, first = null, hash = "" } = found ?? {};
      const newest = first === null || first === own?.[0] ? [] : [[first, hash] as const];
      transaction.links = [...(own === undefined ? [] : [own]), ...newest];
      return { xid, base: base + IDS * Number(xid), first, hash };
    });
    const transaction: Transaction = { client, begun, sent: [], events: [], links: [] };
    send(transaction, begun);
    return transaction;
  };

  const finish = async (transaction: Transaction) => {
    const { client, sent } = transaction;
    const begun = await transaction.begun;
    const commit = client.query("COMMIT"); // rolls back when a statement before it has failed
    try {
      await Promise.all([...sent, commit]);
    } catch (error) {
      const isOver = await isFulfilled(commit);
      client.release(!isOver);
      if (isOver || !isLost(error)) throw error;
      server.lost();
      const wasRecorded = () => server.patiently(() => settled(server, begun, transaction.events[0]));
      const isRecorded = await wasRecorded().catch((cause: unknown) => {
        const text = `${messageOf(cause)} The connection was lost during a commit: whether it was recorded is unknown.`;
        throw new UnknownOutcome(text, wasRecorded, { cause });
      });
      if (!isRecorded) throw error;
      return;
    }
    client.release();
  };

  return async <T>(work: () => Work<T>): Promise<{ readonly result: T; readonly events: readonly EventColumns[] }> => {
    const transaction = await begin();
    const { client, events } = transaction;
    let result: T;
    try {
      result = await runWork(client, work(), transaction);
      await transaction.begun;
    } catch (error) {
      client.release(!(await isFulfilled(client.query("ROLLBACK"))));
      throw error;
    }
    await finish(transaction);
    if (events.length > 0) own = transaction.links[0] ?? own;
    return { result, events };
  };
}

/** Lets a statement's outcome wait: a failure is found when the next outcome is waited for. */
function send({ sent }: Transaction, outcome: Promise<unknown>): void {
  outcome.catch(() => {});
  sent.push(outcome);
}

/** Where readers must stop. */
function readableOn({ connected, query, saw }: Server) {
  /** The end where other programs have open transactions: more than the end that a snapshot tells. */
  const exactEnd = async () => (await query<{ end: number }>(EXACT_BOUND))[0]?.end ?? 0;

  /** Whether another program's transaction was open last: then the exact end is asked for at once. */
  let isForeign = false;

  /** The end, and what is committed at most. */
  const bounds = async (): Promise<Bounds> => {
    const [found = NO_BOUNDS] = await query<Bounds>(BOUNDS);
    const { end, committed } = found;
    return end >= committed ? found : { end: Math.max(end, await exactEnd()), committed };
  };

  return {
    async to(): Promise<number> {
      const first = await bounds();
      let { end } = first;
      for (let wait = 1; end < first.committed; wait = Math.min(2 * wait, LAG_MS)) {
        await delay(wait);
        ({ end } = await bounds());
      }
      saw(end - 1);
      return end - 1;
    },
    /** One round trip, unless events wait for a transaction that stays open. */
    async known<Row extends ReadableRow>(
      work: (to?: number) => Work<readonly Row[]>,
      lagMs: number,
    ): Promise<Known<Row>> {
      const client = await connected();
      let isBroken = false;
      try {
        const rows = await runWork(client, work());
        const to = rows[0]?.readable ?? 0;
        saw(to);
        const known = rows.filter(({ id }) => id <= to);
        if (known.length === rows.length) return { rows, lagMs: 0 };
        const nextMs = Math.min(2 * lagMs || 1, LAG_MS);
        if (known.length > 0) return { rows: known, lagMs: 1 };
        if (!isForeign && nextMs < LAG_MS) return { rows: known, lagMs: nextMs };
        // On the same connection: a reader that waits for a second one could wait for other readers that do.
        const exact = (await client.query<{ end: number }>(prepared(EXACT_BOUND, []))).rows[0]?.end ?? 0;
        isForeign = exact - 1 > to;
        return { rows: isForeign ? await runWork(client, work(exact - 1)) : known, lagMs: nextMs };
      } catch (error) {
        isBroken = true;
        throw error;
      } finally {
        client.release(isBroken);
      }
    },
  };
}

interface Bounds {
  readonly end: number;
  readonly committed: number;
}

const NO_BOUNDS: Bounds = { end: 0, committed: 0 };

/**
 * Reports that this process lives, now and every five seconds, or more often with less patience. Calls `beaten` after
 * reports, every five seconds: a connection that was lost unseen reports no events. A server that starts is waited for,
 * one that is away is not: it may be the wrong name.
 */
async function pulseOn({ query, explain, close }: Server, beaten: () => void) {
  const process = identityText(thisProcess());
  let patienceMs = SILENT_MS;
  const report = () => query(BEAT, [process, patienceMs]);
  for (const begun = performance.now(); ;) {
    const failure = await report().then(
      () => undefined,
      (error: unknown) => error ?? new Error("not connected"),
    );
    if (failure === undefined) break;
    if (!isStarting(failure) || performance.now() - begun > PATIENCE_MS) {
      await close();
      throw explain(failure);
    }
    await delay(SHORTEST_PAUSE_MS);
  }
  let beatAt = Date.now();
  let checkedAt = beatAt;
  let lapses = 0;
  const beat = () =>
    report().then(
      () => {
        // Earlier than others count it as dead: their clock began before the last report was known here.
        if (Date.now() - beatAt > patienceMs * 0.75) lapses += 1;
        beatAt = Date.now();
        if (beatAt - checkedAt < BEAT_MS * 0.9) return;
        checkedAt = beatAt;
        beaten();
      },
      () => {}, // the server may be unreachable: the next report comes soon
    );
  let beats = setInterval(() => void beat(), BEAT_MS).unref();
  return {
    lapses: () => lapses,
    shortenPatience(milliseconds: number) {
      if (milliseconds >= patienceMs) return;
      patienceMs = milliseconds;
      clearInterval(beats);
      beats = setInterval(() => void beat(), Math.min(BEAT_MS, milliseconds / BEATS_MISSED)).unref();
      void beat();
    },
    stop: () => clearInterval(beats),
  };
}

/** Transactions of Handrail have the lock before they have a number: see EXACT_BOUND. */
const BEGIN =
  `BEGIN ISOLATION LEVEL READ COMMITTED; SELECT pg_advisory_xact_lock_shared(${WRITERS}); ` +
  "SELECT pg_current_xact_id()::text AS xid, base, sealed.first, sealed.hash FROM positions " +
  `LEFT JOIN LATERAL (SELECT first, hash FROM seals WHERE first < base + ${IDS} * pg_current_xact_id()::text::bigint ` +
  "ORDER BY first DESC LIMIT 1) AS sealed ON true";

const NEXT_ID = `SELECT (SELECT max(id) FROM events) AS newest,
  base + ${IDS} * pg_snapshot_xmax(pg_current_snapshot())::text::bigint AS next FROM positions`;

/** Before the oldest open transaction of any program, and after the newest that has ended. */
const BOUNDS = `SELECT base + ${IDS} * pg_snapshot_xmin(now)::text::bigint AS "end",
  base + ${IDS} * pg_snapshot_xmax(now)::text::bigint AS committed FROM positions, pg_current_snapshot() AS now`;

/**
 * Before the oldest open transaction of Handrail: of those with its lock. One that has the lock and no number yet may
 * be any of the open ones. pg_locks has the low half of a number.
 */
const EXACT_BOUND = `WITH open AS MATERIALIZED (
    SELECT pg_snapshot_xmin(now)::text::bigint AS first, pg_snapshot_xmax(now)::text::bigint AS next
    FROM pg_current_snapshot() AS now)
  SELECT base + ${IDS} * least(next, (
    SELECT min(CASE WHEN own.transactionid IS NULL THEN first
      ELSE next - (((next - own.transactionid::text::bigint + 2147483648) & 4294967295) - 2147483648) END)
    FROM pg_locks AS held LEFT JOIN pg_locks AS own ON own.pid = held.pid AND own.locktype = 'transactionid'
      AND own.mode = 'ExclusiveLock' AND own.granted
    WHERE held.locktype = 'advisory' AND (held.classid, held.objid, held.objsubid) = (${WRITERS}, 2) AND held.granted
      AND held.database = (SELECT oid FROM pg_database WHERE datname = current_database()))) AS "end"
  FROM positions, open`;

const BEAT = `INSERT INTO beats (process, beat_at, patience) VALUES ($1, ${SERVER_CLOCK}, $2)
  ON CONFLICT (process) DO UPDATE SET beat_at = excluded.beat_at, patience = excluded.patience`;

/** `at` may have a fraction. */
const INSERT = `WITH stored AS (
    INSERT INTO events (id, session, call, thread, at, type, body, facet)
    SELECT $1::bigint + number - 1, $2, call, thread, at, type, body, facet
    FROM unnest($3::text[], $4::text[], $5::bigint[], $6::text[], $7::text[], $8::text[])
      WITH ORDINALITY AS given (call, thread, at, type, body, facet, number))
  INSERT INTO seals (first, last, above, calls, hash) VALUES ($9::bigint, $10::bigint, $11, $12, $13)`;
const LOCK = `SELECT pg_advisory_xact_lock(${NAMES}, hashtext(name)) FROM unnest($1::text[]) AS name`;
const ENDED = "SELECT call FROM events WHERE call = ANY($1::text[]) AND type = 'call.finished'";

/** Runs work. With a transaction, a step that gives nothing is sent, and its outcome is not waited for. */
async function runWork<T>(client: PoolClient, work: Work<T>, transaction?: Transaction): Promise<T> {
  try {
    let next = work.next();
    while (next.done !== true) next = work.next(await perform(client, next.value, transaction));
    return next.value;
  } catch (error) {
    await Promise.all(transaction?.sent ?? []); // the first failure is the one that counts
    throw error;
  }
}

async function perform(client: PoolClient, step: Step, transaction: Transaction | undefined): Promise<unknown> {
  if ("events" in step) {
    if (transaction === undefined) throw new Error("events are recorded in transactions only");
    return await insertEvents(transaction, step.session, step.events);
  }
  const doing =
    "lock" in step
      ? lockNames(client, step.lock)
      : client.query<object>(prepared(numbered(step.sql), step.values.map(storable)));
  if (transaction !== undefined && ("lock" in step || step.gives === "nothing")) return send(transaction, doing);
  const { rows, rowCount } = await doing;
  return !("lock" in step) && step.gives === "rows" ? rows : (rowCount ?? 0);
}

function lockNames(client: PoolClient, names: readonly string[]): Promise<QueryResult<object>> {
  const sorted = names.toSorted().map(storable);
  return client.query(prepared(LOCK, [sorted]));
}

/**
 * Records events. Answers and moves lock their call, and so does the call's end: a call ends once, so a later end, of a
 * process that was taken for dead, is dropped.
 */
async function insertEvents(of: Transaction, session: number, given: readonly EventColumns[]): Promise<void> {
  if (of.events.length + given.length > IDS) throw new Error(`a transaction has at most ${IDS} events`);
  const ends = given.filter(isEnd).map(({ call }) => call);
  const ended = new Set<string>();
  if (ends.length > 0) {
    send(of, lockNames(of.client, ends));
    for (const { call } of (await of.client.query<{ call: string }>(prepared(ENDED, [ends]))).rows) ended.add(call);
  }
  const rows = given.filter((row) => !isEnd(row) || (!ended.has(row.call) && ended.add(row.call)));
  if (rows.length === 0) return;
  const column = (name: keyof EventColumns) => rows.map((row) => row[name]);
  const { base } = await of.begun;
  const from = base + of.events.length;
  const sealed = rows.map((row, place) => ({ ...row, id: from + place, session }));
  const { first, last, above, calls, hash } = sealOf(sealed, linksOf(of, from));
  send(
    of,
    of.client.query(
      prepared(INSERT, [
        ...[from, session, column("call"), column("thread"), rows.map(({ at }) => Math.round(at))],
        ...[column("type"), column("body"), column("facet"), first, last, above, calls, hash],
      ]),
    ),
  );
  of.events.push(...rows);
  of.links = [[first, hash]];
}

const isEnd = ({ type }: EventColumns) => type === "call.finished";

/** Only to earlier events: a transaction with a greater number may have been committed before. */
function linksOf({ links }: Transaction, first: number): readonly SealLink[] {
  return links.filter((link) => link[0] < first);
}

/** Asks whether a transaction was committed whose connection was lost. */
async function settled({ query }: Server, { xid, base }: Begun, first: EventColumns | undefined): Promise<boolean> {
  const values = [xid, base, first?.call ?? null, Math.round(first?.at ?? 0)];
  for (let unused = 0; ;) {
    const [found] = await query<{ next: boolean; status: string | null; kept: boolean }>(SETTLED, values);
    // Its number was not used: the server has lost it in a crash. Asked twice, since it may have ended meanwhile.
    unused = found?.next === true ? unused + 1 : 0;
    if (unused > 1) return false;
    if (found?.next === false && found.status !== "in progress") {
      // After a crash another transaction may have its number.
      return first === undefined || first.type === "call.finished" ? found.status === "committed" : found.kept;
    }
    await delay(SHORTEST_PAUSE_MS);
  }
}

const SETTLED = `SELECT next, CASE WHEN NOT next THEN pg_xact_status($1::text::xid8) END AS status,
    EXISTS (SELECT FROM events WHERE id = $2::bigint AND call = $3 AND at = $4::bigint) AS kept
  FROM (SELECT $1::text::xid8 >= pg_snapshot_xmax(pg_current_snapshot()) AND NOT EXISTS (
    SELECT FROM pg_locks WHERE locktype = 'transactionid' AND transactionid = ($1::text::xid8)::xid) AS next) AS known`;

/** The version of the tables; 0 if there are none. */
async function versionOf(client: Client | PoolClient, schema: string): Promise<number> {
  const { rows } = await client.query<{ table: string | null }>(`SELECT to_regclass('${schema}.versions') AS table`);
  if ((rows[0]?.table ?? null) === null) return 0;
  const versions = await client.query<{ version: number }>(`SELECT version FROM ${schema}.versions`);
  return versions.rows[0]?.version ?? 0;
}

async function requireTables(client: Client | PoolClient, schema: string, where: string): Promise<void> {
  const known = POSTGRES_TABLES.length;
  const version = await versionOf(client, schema);
  if (version === known) return;
  if (version > known) throw newer(version, where);
  const what =
    version === 0
      ? "has no tables of Handrail yet. Create them"
      : `was made by an older Handrail (version ${version} of the tables; this one needs ${known}). ` +
        "End what uses it, and upgrade it";
  throw new Error(`PostgreSQL at ${where} ${what}: handrail store migrate`);
}

function newer(version: number, where: string): Error {
  return new Error(
    `PostgreSQL at ${where} was made by a newer Handrail (version ${version} of the tables; this one knows up to ` +
      `${POSTGRES_TABLES.length}). Update Handrail, or name another database in store.`,
  );
}

/** Lets the next ids come after this one: the database was restored on a server with smaller transaction numbers. */
async function movePositions(client: PoolClient, newest: number): Promise<void> {
  await client.query(`BEGIN; SELECT pg_advisory_xact_lock(${WRITERS}); ${moveAfter(String(newest))}; COMMIT`);
}

const moveAfter = (newest: string) => `UPDATE positions SET base = greatest(base,
  greatest(${newest}, (SELECT max(id) FROM events)) + 1
    - ${IDS} * pg_snapshot_xmax(pg_current_snapshot())::text::bigint)`;

export interface Migrated {
  /** The version found, and the version now. */
  readonly found: number;
  readonly now: number;
  /** The server and database, without the password. */
  readonly where: string;
}

/** Runs a statement with `?` for its parameters. Resolves to its rows. */
export type Ask = <Row extends object>(sql: string, values?: readonly Value[]) => Promise<readonly Row[]>;

/**
 * Creates the tables, or upgrades them, and does `work` in the same transaction, which excludes all other transactions:
 * either both are complete, or nothing has changed. Later events have ids after those that the work adds. Several
 * processes may do so at once.
 *
 * @throws Error like `openPostgres`, and for tables of a newer version.
 */
export async function inOneTransaction<T>(url: string, work: (ask: Ask, migrated: Migrated) => Promise<T>): Promise<T> {
  return await connectedOnce(url, async (client, ask, { schema, where }) => {
    await client.query(`BEGIN; SELECT pg_advisory_xact_lock(${WRITERS}); CREATE SCHEMA IF NOT EXISTS ${schema}`);
    await client.query(`SET search_path TO ${schema}; CREATE TABLE IF NOT EXISTS versions (version BIGINT NOT NULL)`);
    const found = await versionOf(client, schema);
    const now = POSTGRES_TABLES.length;
    if (found > now) throw newer(found, where);
    for (const tables of POSTGRES_TABLES.slice(found)) await client.query(tables);
    await client.query(`DELETE FROM versions; INSERT INTO versions VALUES (${now})`);
    const result = await work(ask, { found, now, where });
    await client.query(`${moveAfter("0")}; COMMIT`);
    return result;
  });
}

/** Runs work whose reads see one snapshot of the database. It must have the tables of this version of Handrail. */
export async function inOneState<T>(url: string, work: (ask: Ask) => Promise<T>): Promise<T> {
  return await connectedOnce(url, async (client, ask, { schema, where }) => {
    await client.query(`BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY; SET search_path TO ${schema}`);
    await requireTables(client, schema, where);
    return await work(ask);
  });
}

async function connectedOnce<T>(
  url: string,
  work: (client: Client, ask: Ask, at: Pick<Driven, "schema" | "where">) => Promise<T>,
): Promise<T> {
  const { Client, config, schema, where } = await driver(url);
  const client = new Client({ ...config, idle_in_transaction_session_timeout: 0 });
  client.on("error", () => {});
  const ask: Ask = async <Row extends object>(sql: string, values: readonly Value[] = []) =>
    (await client.query<Row>(numbered(sql), values.map(storable))).rows;
  try {
    await client.connect();
    return await work(client, ask, { schema, where });
  } catch (error) {
    throw explainedPostgres(error, where);
  } finally {
    await client.end().catch(() => {});
  }
}

type TypeId = Parameters<typeof types.getTypeParser>[0];

/** The driver, and what it needs for a URL. */
async function driver(url: string) {
  const schema = schemaOf(url);
  const {
    Client,
    Pool,
    types: parsers,
  } = await import("pg").catch((error: unknown) => {
    throw new Error(
      `a store on PostgreSQL needs the package pg, which does not load (${messageOf(error)}). Install it where ` +
        "Handrail is installed: npm install pg",
      { cause: error },
    );
  });
  const config: ClientConfig = {
    connectionString: url,
    application_name: "handrail",
    connectionTimeoutMillis: 5_000,
    idle_in_transaction_session_timeout: 10_000, // of a process that was stopped: readers wait for its transaction
    keepAlive: true,
    types: {
      getTypeParser: ((oid: TypeId, format: "text") =>
        NUMBERS.has(oid) ? Number : parsers.getTypeParser(oid, format)) as typeof types.getTypeParser,
    },
  };
  try {
    const { host, port, database = "" } = new Client(config);
    const named = schema === "handrail" ? "" : `, schema ${schema}`;
    return { Client, Pool, config, schema, where: `${host}:${port}/${database}${named}` };
  } catch (error) {
    throw new Error("store: expected postgres://USER@HOST:PORT/DATABASE", { cause: error });
  }
}

/** BIGINT and NUMERIC: ids, times and sums are below 2^53. */
const NUMBERS: ReadonlySet<number> = new Set([20, 1_700]);

const statements = new Map<string, string>();

/** The names of statements that a connection prepares once: the server parses and plans them once. */
const names = new Map<string, string>();

/** How many statements a connection keeps prepared. */
const MOST_PREPARED = 200;

function prepared(text: string, given: readonly unknown[]): QueryConfig {
  const values = [...given];
  const name = names.get(text) ?? (names.size < MOST_PREPARED ? `s${names.size}` : undefined);
  if (name === undefined) return { text, values };
  names.set(text, name);
  return { name, text, values };
}

/** The statement with `$1`, `$2`, … No statement has a `?` elsewhere. */
function numbered(sql: string): string {
  const known = statements.get(sql);
  if (known !== undefined) return known;
  if (statements.size > 500) statements.clear();
  let count = 0;
  const text = sql.replaceAll("?", () => `$${++count}`);
  statements.set(sql, text);
  return text;
}

/** PostgreSQL's texts have no NUL. */
function storable(value: Value): Value {
  return typeof value === "string" && value.includes("\0") ? value.replaceAll("\0", "\ufffd") : value;
}
