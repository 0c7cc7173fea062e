/**
 * What operations of a store cost as it grows tenfold three times: 1,000 to 1,000,000 events, 10 to 10,000 threads, 10 to
 * 10,000 open questions of parked calls. On a PostgreSQL server of its own, and in a SQLite file.
 *
 * In:  dist (built), PostgreSQL; some minutes.
 * Out: a table of medians on stdout, docs/pictures/store-growth.svg.
 */
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { postgresStore, sqliteStore } from "handrail";
import Sqlite from "libsql";
import pg from "pg";
import { linePlot } from "../scripts/lib/plot.mjs";
import { projectRoot } from "../scripts/lib/project.mjs";
import { server } from "./places/postgres.mjs";

const SIZES = [1, 10, 100, 1_000];
/** Of a store of size 1. A thread has 100 events, of 18 calls that have ended and of one that is parked. */
const THREADS = 10;
const ENDED = 18;
const TIMES = 21;
const WORKER = "wrkr";
const TARGET = "worker:grow";
const NAMES = ["append", "tail of a thread", "answer", "claim", "questions", "threads"];
const COLORS = ["#1a5fb4", "#26794a", "#b35900", "#813d9c", "#a51d2d", "#5e5c64"];

const threadOf = (/** @type {number} */ number) => `thread ${number}`;
const questionOf = (/** @type {number} */ number) => `question ${number}`;

/** @typedef {import("handrail").Store} Store */
/** @typedef {{ events: unknown[][], parked: unknown[][] }} Rows */

const folder = mkdtempSync(join(tmpdir(), "handrail-growth-"));
chmodSync(folder, 0o755); // the server runs as another user
try {
  const found = { PostgreSQL: await onPostgres(), SQLite: await inFile() };
  process.stdout.write(tableOf(found));
  draw(found.PostgreSQL);
} finally {
  rmSync(folder, { recursive: true, force: true });
}

async function onPostgres() {
  const { url, end } = await server(join(folder, "postgres"));
  const client = new pg.Client(url);
  await client.connect();
  await client.query("SET search_path TO handrail");
  const columns = (/** @type {unknown[][]} */ rows, /** @type {number} */ count) =>
    Array.from({ length: count }, (_, column) => rows.map((row) => row[column]));
  const store = postgresStore({ url });
  try {
    return await grown(store, async ({ events, parked }) => {
      await client.query(
        `INSERT INTO events (id, session, call, thread, at, type, body, facet) SELECT id, 0, call, thread, at,
           type, body, facet FROM unnest($1::bigint[], $2::text[], $3::text[], $4::bigint[], $5::text[], $6::text[],
           $7::text[]) AS given (id, call, thread, at, type, body, facet)`,
        columns(events, 7),
      );
      await client.query(
        `INSERT INTO parked_calls (call, question, thread, target, state, has_turn, until, session, body)
         SELECT call, question, thread, 'here', 'parked', 0, until, 0, body
         FROM unnest($1::text[], $2::text[], $3::text[], $4::bigint[], $5::text[])
           AS given (call, question, thread, until, body)`,
        columns(parked, 5),
      );
      return () => client.query("VACUUM ANALYZE").then(() => client.query("CHECKPOINT"));
    });
  } finally {
    await store.close();
    await client.end();
    end();
  }
}

async function inFile() {
  const file = join(folder, "growth.db");
  const store = sqliteStore({ file, maxEvents: 10_000_000, maxBytes: 1e12 });
  await store.commit({
    type: "job.ended",
    call: "first",
    thread: "t",
    at: Date.now(),
    job: "1",
    exit: { how: "aborted" },
  });
  const database = new Sqlite(file);
  try {
    return await grown(store, async ({ events, parked }) => {
      const event = database.prepare(
        "INSERT INTO events (session, call, thread, at, type, body) VALUES (0, ?, ?, ?, ?, ?)",
      );
      const call = database.prepare(
        `INSERT INTO parked_calls (call, question, thread, target, state, has_turn, until, session, body)
         VALUES (?, ?, ?, 'here', 'parked', 0, ?, 0, ?)`,
      );
      database.exec("BEGIN");
      for (const row of events) event.run(...row.slice(1, 6));
      for (const row of parked) call.run(...row);
      database.exec("COMMIT");
      return async () => database.exec("PRAGMA wal_checkpoint(TRUNCATE)");
    });
  } finally {
    database.close();
    await store.close();
  }
}

/**
 * Lets a store grow, and measures it at each size. Resolves to the medians, in milliseconds.
 *
 * @param {Store} store
 * @param {(rows: Rows) => Promise<() => Promise<unknown>>} add adds rows; what it returns is called when all are there
 */
async function grown(store, add) {
  /** @type {{ size: number, ms: Record<string, number> }[]} */
  const found = [];
  let threads = 0;
  for (const size of SIZES) {
    let tidy = async () => /** @type {unknown} */ (undefined);
    for (; threads < size * THREADS; threads += THREADS) tidy = await add(rowsOf(threads, THREADS));
    await tidy();
    found.push({ size, ms: await measured(store, threads) });
    process.stderr.write(`${size * 1_000} events: ${JSON.stringify(found.at(-1)?.ms)}\n`);
  }
  return found;
}

/** @param {Store} store @param {number} threads */
async function measured(store, threads) {
  const thread = threadOf(threads - 1);
  const newest = await lastOf(store, thread);
  await report(store);
  const answers = Array.from({ length: TIMES }, (_, number) => questionOf(threads - THREADS + (number % THREADS)));
  let number = 0;
  const next = () => `${threads}-${number++}`;
  /** @type {Record<string, () => Promise<() => unknown>>} */
  const operations = {
    append: async () => () =>
      store.commit({ type: "job.ended", call: next(), thread, at: Date.now(), job: "1", exit: { how: "aborted" } }),
    "tail of a thread": async () => () => lastOf(store, thread, newest - 20),
    answer: async () => {
      const question = answers.pop() ?? "";
      return () => store.answer(question, { answer: "once" }, "bench");
    },
    claim: async () => {
      const call = next();
      const delivery = { policy: {} };
      const row = { call, thread, target: TARGET, name: "ls", input: {}, refusal: "no", keepMs: 600_000, delivery };
      await store.workers?.deliver(row);
      return async () => {
        const claim = { worker: WORKER, targets: [TARGET, `${TARGET}#${WORKER}`], tools: ["ls"], claim: call };
        const claimed = await store.workers?.claim(claim);
        if (claimed?.call !== call) throw new Error(`claimed ${claimed?.call} instead of ${call}`);
        store.append({ type: "call.finished", call, thread, at: Date.now(), status: "success" });
      };
    },
    questions: async () => () => store.questions(),
    threads: async () => () => store.threads(),
  };
  /** @type {Record<string, number>} */
  const ms = {};
  for (const name of NAMES) {
    const times = [];
    for (let time = 0; time < (name === "answer" ? THREADS : TIMES); time++) {
      const operation = await operations[name]?.();
      const begun = performance.now();
      await operation?.();
      times.push(performance.now() - begun);
    }
    ms[name] = times.toSorted((one, other) => one - other)[times.length >> 1] ?? 0;
  }
  return ms;
}

/** Reads a thread from a position on. Resolves to its last id. @param {Store} store @param {string} thread */
async function lastOf(store, thread, after = 0) {
  let last = 0;
  for await (const { id } of store.events({ thread, after })) last = id;
  return last;
}

/** @param {Store} store */
async function report(store) {
  await store.workers?.report({
    ...{ id: WORKER, name: "grow", host: "here", pid: 1, workDir: "/", home: "/", tools: ["ls"], sandboxed: false },
    ...{ concurrency: 100, maxWaiting: 100, running: 0, averageMs: 1, startedMs: 1 },
  });
}

/**
 * The rows of threads. Events: id, call, thread, time, type, body, facet; parked calls: call, question, thread, time, body.
 *
 * @param {number} from @param {number} count
 * @returns {Rows}
 */
function rowsOf(from, count) {
  const at = Date.now();
  /** @type {Rows} */
  const rows = { events: [], parked: [] };
  let id = from * 100 + 10;
  const decision = { verdict: "ask", risk: "low", reason: "a command" };
  for (let number = from; number < from + count; number++) {
    const thread = threadOf(number);
    const add = (/** @type {{ type: string, call?: string }} */ event, /** @type {string | null} */ facet = null) => {
      const call = event.call ?? `thread:${thread}`;
      rows.events.push([id++, call, thread, at, event.type, JSON.stringify({ ...event, thread, at }), facet]);
    };
    add({ type: "thread.created", ...{ target: "here", workDir: "/" } });
    add(
      {
        type: "message.added",
        ...{ message: { role: "user", from: "person", content: [{ type: "text", text: thread }] } },
      },
      "person",
    );
    for (let ended = 0; ended < ENDED; ended++) {
      const call = `call ${number}-${ended}`;
      const question = `old ${number}-${ended}`;
      add({ type: "call.started", call, ...{ name: "bash", input: { command: `echo ${ended}` } } });
      add({ type: "approval.requested", call, ...{ question, effects: [], decision } }, question);
      add({ type: "approval.decided", call, ...{ question, approval: { answer: "once" }, by: "bench" } }, question);
      add({ type: "call.approved", call, ...{ effects: [], decision } });
      add({ type: "call.finished", call, ...{ status: "success", content: [{ type: "text", text: "done" }] } });
    }
    const call = `parked ${number}`;
    const question = questionOf(number);
    add({ type: "call.started", call, ...{ name: "bash", input: { command: "make" } } });
    add({ type: "approval.requested", call, ...{ question, effects: [], decision } }, question);
    add({ type: "call.parked", call, ...{ question, untilMs: at + 1e9 } });
    while ((id - 10) % 100 !== 0) add({ type: "activity.updated", call, ...{ change: { data: { line: id } } } });
    const row = {
      call,
      thread,
      question,
      target: "here",
      name: "bash",
      input: {},
      about: {},
      refusal: "no",
      keepMs: 1e9,
    };
    const body = JSON.stringify({ ...row, state: "parked", sinceMs: at, untilMs: at + 1e9 });
    rows.parked.push([call, question, thread, at + 1e9, body]);
  }
  return rows;
}

/** @param {Record<string, Awaited<ReturnType<typeof grown>>>} measurements */
function tableOf(measurements) {
  const head = `| ms | ${SIZES.map((size) => `${(size * 1_000).toLocaleString("en")} events`).join(" | ")} |\n`;
  const rows = Object.entries(measurements).flatMap(([engine, found]) =>
    NAMES.map((name) => `| ${name}, ${engine} | ${found.map(({ ms }) => shown(ms[name] ?? 0)).join(" | ")} |\n`),
  );
  return `${head}| --- | ${SIZES.map(() => "---").join(" | ")} |\n${rows.join("")}`;
}

/** @param {number} ms */
function shown(ms) {
  return ms < 10 ? ms.toFixed(2) : ms.toFixed(0);
}

/** @param {Awaited<ReturnType<typeof grown>>} found */
function draw(found) {
  const series = NAMES.map((name, number) => ({
    ...{ label: name, color: COLORS[number] ?? "" },
    points: found.map(({ size, ms }) => /** @type {const} */ ([size * 1_000, Math.max(0.1, ms[name] ?? 0)])),
  }));
  const text = linePlot({
    title: "What operations cost as a store on PostgreSQL grows",
    x: { label: "events; a hundredth as many threads and open questions", ends: [3, 6] },
    y: { label: "ms", ends: [-1, 4] },
    series,
  });
  writeFileSync(join(projectRoot, "docs/pictures/store-growth.svg"), text);
}
