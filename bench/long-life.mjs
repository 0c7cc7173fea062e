/**
 * What a long life costs: `npm run bench -- long-life`, which takes some minutes and 2 GB in the temporary folder.
 *
 * In:  dist/; parts as arguments after `long-life`: `turns`, `serve`, `size` (default: all).
 * Out: a table for each part, with times in milliseconds (median of nine) and memory in MB; of the first two also
 *      docs/pictures/long-life-turns.svg and long-life-serve.svg.
 *      turns: an agent's turn of one call, and the heap of its process after a collection of garbage.
 *      serve: requests of `handrail serve` as the number of events grows. Retention, which keeps 200,000 events, is
 *      held off.
 *      size: a store near its default limits of 1 GiB and 200,000 events, beside a small one.
 */
import { spawn } from "node:child_process";
import { mkdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { once } from "node:events";
import { join } from "node:path";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { createToolkit, defineTool, sqliteStore } from "handrail";
import { createAgent } from "../dist/agent.js";
import { scriptedModel } from "../dist/testing.js";
import { linePlot } from "../scripts/lib/plot.mjs";
import { projectRoot } from "../scripts/lib/project.mjs";

const ROUNDS = 9;
const THREAD_EVENTS = 1_000;
const TURNS = [10, 30, 100, 300, 1_000];
const EVENTS = [10_000, 100_000, 200_000, 1_000_000];
const SIZES = [
  { events: 2_000, bytes: 16_000 },
  { events: 190_000, bytes: 16_000 },
];

setFlagsFromString("--expose-gc");
const collect = /** @type {() => void} */ (runInNewContext("gc"));

/** Prints the tables. @param {string} folder for state; it exists @param {readonly string[]} parts */
export async function longLife(folder, parts = []) {
  for (const [name, part] of /** @type {const} */ ([
    ["turns", turns],
    ["serve", serve],
    ["size", size],
  ])) {
    if (parts.length > 0 && !parts.includes(name)) continue;
    const rows = await part(join(folder, name));
    process.stdout.write(table(name, rows));
    if (name !== "size") draw(name, rows);
  }
}

/** @typedef {Readonly<Record<string, number>>} Row */

/** @param {string} folder */
async function turns(folder) {
  const noop = defineTool({
    ...{ name: "noop", description: "Nothing", touches: [], effects: () => [] },
    input: { type: "object", properties: { value: { type: "string" } } },
    run: async ({ value }) => `${value ?? ""} `.repeat(20),
  });
  const toolkit = await createToolkit({ preset: "none", tools: [noop], stateDir: folder, sandbox: "off" });
  const last = TURNS.at(-1) ?? 0;
  const turn = (/** @type {number} */ number) => [
    { text: `Step ${number}. `.repeat(20), calls: [{ name: "noop", input: { value: `word ${number}` } }] },
    { text: `Done with ${number}.` },
  ];
  // A scripted model keeps copies of its requests, so each turn gets a new one, and only the end of the conversation.
  let script = scriptedModel([]);
  const model = scriptedModel([]);
  model.doStream = (options) => script.doStream({ ...options, prompt: options.prompt.slice(-1) });
  const agent = await createAgent({ model, toolkit, limits: { context: 10_000_000 } });
  /** @type {Row[]} */
  const rows = [];
  let times = [];
  for (let count = 1; count <= last; count++) {
    script = scriptedModel(turn(count));
    const before = process.cpuUsage();
    const end = await agent.send(`Do step ${count}`);
    if (end.reason !== "done") throw new Error(`turn ${count} ended as ${end.reason}: ${end.message}`);
    times.push(cpuMs(before));
    if (!TURNS.includes(count)) continue;
    collect();
    rows.push({ turns: count, "CPU ms a turn": middle(times.slice(-ROUNDS)), "heap MB": heapMb() });
    times = [];
  }
  await agent.close();
  await toolkit.close();
  return rows;
}

/** @param {string} folder */
async function serve(folder) {
  const rows = [];
  for (const count of EVENTS) {
    const home = join(folder, String(count));
    await filled(join(home, "handrail"), count, 200);
    const started = performance.now();
    const args = ["serve", "--port", "0", "--preset", "none", "--work-dir", folder, "--sandbox", "off"];
    const child = spawn(process.execPath, [join(projectRoot, "dist/cli.js"), ...args], {
      env: { ...process.env, XDG_STATE_HOME: home },
      stdio: ["ignore", "pipe", "ignore"],
    });
    try {
      const [printed] = await once(child.stdout, "data");
      const { origin, searchParams } = new URL(String(printed).trim());
      const headers = { authorization: `Bearer ${searchParams.get("token") ?? ""}` };
      const ask = async (/** @type {string} */ path) => {
        const response = await fetch(`${origin}/api/${path}`, { headers });
        const text = await response.text();
        if (!response.ok) throw new Error(`${path}: ${response.status} ${text}`);
      };
      await ask("overview");
      const ready = performance.now() - started;
      rows.push({
        events: count,
        "start to overview": ready,
        overview: await timed(() => ask("overview")),
        "thread page": await timed(() => ask("threads/t1/newest")),
        "other threads": await timed((round) => ask(`threads/t${2 + (round % 7)}/newest`)),
        "search, recent": await timed(() => ask("search?text=output&limit=20")),
        "search, nothing": await timed(() => ask("search?text=notthere&limit=20"), 3),
        questions: await timed(() => ask("approvals")),
        "RSS MB": rssMb(child.pid),
      });
    } finally {
      child.kill("SIGKILL");
    }
  }
  return rows;
}

/** @param {string} folder */
async function size(folder) {
  const rows = [];
  for (const { events, bytes } of SIZES) {
    const state = join(folder, String(events));
    const file = await filled(state, events, bytes);
    const open = await timed(async () => {
      const store = sqliteStore({ file });
      await store.questions();
      await store.close();
    });
    const toolkit = await createToolkit({
      preset: "none",
      stateDir: state,
      sandbox: "off",
      store: sqliteStore({ file }),
    });
    const { store, memories } = toolkit;
    await memories.store([{ key: "build", content: "The build takes four minutes.", category: "core" }]);
    rows.push({
      events,
      "file MB": statSync(file).size / 1_048_576,
      open,
      append: await timed((round) =>
        store.commit({
          type: "call.started",
          call: `own${round}`,
          thread: "own",
          at: Date.now(),
          name: "n",
          input: {},
        }),
      ),
      list: await timed(() => store.threads()),
      recall: await timed(() => memories.recall("how long is the build", 10)),
      "RSS MB": rssMb(),
    });
    await toolkit.close();
  }
  return rows;
}

/**
 * Makes a store of so many events, in threads of a thousand: texts, calls and their
 * results. Its retention is held off for a day.
 *
 * @param {string} folder
 * @param {number} count
 * @param {number} bytes of each result
 */
async function filled(folder, count, bytes) {
  mkdirSync(folder, { recursive: true });
  const file = join(folder, "handrail.db");
  const store = sqliteStore({ file });
  await store.commit({ type: "thread.created", thread: "t0", at: Date.now(), target: "local", workDir: folder });
  await store.close();
  const database = await openRaw(file);
  database.exec("PRAGMA synchronous = OFF");
  const insert = database.prepare(
    "INSERT INTO events (session, call, thread, at, type, body) VALUES (1, ?, ?, ?, ?, ?)",
  );
  const text = "some words of an output ".repeat(Math.ceil(bytes / 24));
  const begun = Date.now() - count;
  for (let number = 0; number < count;) {
    database.exec("BEGIN");
    for (const to = Math.min(count, number + 10_000); number < to; number++) {
      const event = eventOf(number, begun + number, text);
      insert.run(event.call ?? "", event.thread, event.at, event.type, JSON.stringify(event));
    }
    database.exec("COMMIT");
  }
  // As if another process had claimed both tasks until tomorrow.
  const tomorrow = Date.now() + 86_400_000;
  database.exec(
    `INSERT OR REPLACE INTO chores (name, begun_at) VALUES ('retention', ${tomorrow}), ('removal', ${tomorrow})`,
  );
  database.prepare("PRAGMA wal_checkpoint(TRUNCATE)").all();
  database.close();
  return file;
}

/** The powers of ten at the ends of the axes, and a title. */
const PLOTS = {
  turns: { title: "What a turn costs as a thread grows", x: [1, 3], y: [-1, 3] },
  serve: { title: "What handrail serve costs as the number of events grows", x: [4, 6], y: [0, 4] },
};
const COLORS = ["#2266bb", "#cc6611", "#228844", "#884499", "#bb3344", "#557788", "#998822", "#444444"];

/** Draws all columns over the first. @param {"turns" | "serve"} name @param {readonly Row[]} rows */
function draw(name, rows) {
  const [across = "", ...columns] = Object.keys(rows[0] ?? {});
  const { title, x, y } = PLOTS[name];
  const text = linePlot({
    ...{ title, x: { label: across, ends: [x[0] ?? 0, x[1] ?? 0] } },
    y: { label: "ms, MB", ends: [y[0] ?? 0, y[1] ?? 0] },
    series: columns.map((label, number) => ({
      ...{ label, color: COLORS[number] ?? "", dashes: label.endsWith("MB") ? "6 3" : "" },
      points: rows.map((row) => [row[across] ?? 0, Math.max(10 ** (y[0] ?? 0), row[label] ?? 0)]),
    })),
  });
  writeFileSync(join(projectRoot, `docs/pictures/long-life-${name}.svg`), text);
}

/** @param {number} number @param {number} at @param {string} text */
function eventOf(number, at, text) {
  const thread = `t${Math.floor(number / THREAD_EVENTS)}`;
  const within = number % THREAD_EVENTS;
  if (within === 0) return { type: "thread.created", thread, at, target: "local", workDir: "/" };
  const call = `c${Math.floor(number / 4)}`;
  const content = [{ type: "text", text: number % 4 === 3 ? text : `Step ${number}: the next file.` }];
  switch (number % 4) {
    case 1:
      return { type: "message.added", thread, at, message: { role: "assistant", content } };
    case 2:
      return { type: "call.started", call, thread, at, name: "bash", input: { command: `echo ${number}` } };
    case 3:
      return { type: "call.finished", call, thread, at, status: "ok", content };
    default:
      return { type: "message.added", thread, at, message: { role: "user", from: "person", content } };
  }
}

/** @param {(round: number) => unknown} run @param {number} rounds */
async function timed(run, rounds = ROUNDS) {
  const times = [];
  for (let round = 0; round <= rounds; round++) {
    const started = performance.now();
    await run(round);
    if (round > 0) times.push(performance.now() - started);
  }
  return middle(times);
}

/** @param {number[]} values */
function middle(values) {
  return values.toSorted((one, other) => one - other)[values.length >> 1] ?? Number.NaN;
}

/** @param {NodeJS.CpuUsage} before */
function cpuMs(before) {
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1_000;
}

function heapMb() {
  return process.memoryUsage().heapUsed / 1_048_576;
}

/** @param {number | "self"} [pid] */
function rssMb(pid = "self") {
  return Number(/^VmRSS:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, "latin1"))?.[1] ?? Number.NaN) / 1_024;
}

/** @param {string} name @param {readonly Row[]} rows */
function table(name, rows) {
  const heads = Object.keys(rows[0] ?? {});
  const shown = (/** @type {number} */ value) =>
    Number.isInteger(value) ? value.toLocaleString("en-US") : value < 10 ? value.toFixed(2) : value.toFixed(0);
  const cells = [heads, ...rows.map((row) => heads.map((head) => shown(row[head] ?? Number.NaN)))];
  const widths = heads.map((_, at) => Math.max(...cells.map((row) => row[at]?.length ?? 0)));
  return `${name}\n${cells.map((row) => row.map((cell, at) => cell.padStart((widths[at] ?? 0) + 2)).join("")).join("\n")}\n\n`;
}

/**
 * @typedef {{ exec(script: string): unknown, prepare(sql: string): { run(...values: unknown[]): unknown, all(...values:
 * unknown[]): unknown[] }, close(): unknown }} Raw
 */

/**
 * @param {string} file
 * @returns {Promise<Raw>} the database without a store
 */
async function openRaw(file) {
  const builtIn = /** @type {{ DatabaseSync: new (file: string) => Raw } | undefined} */ (
    process.getBuiltinModule?.("node:sqlite")
  );
  if (builtIn !== undefined) return new builtIn.DatabaseSync(file);
  const { default: Database } = await import("libsql");
  return new Database(file);
}
