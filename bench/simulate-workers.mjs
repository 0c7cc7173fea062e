/**
 * Simulates 1 to 10,000 workers on one PostgreSQL server, from what calls and workers cost it.
 * docs/performance.md has these costs and the assumptions.
 *
 * In:  nothing; the same seed gives the same numbers.
 * Out: a table on stdout, docs/pictures/workers-throughput.svg and workers-wait.svg.
 */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { linePlot } from "../scripts/lib/plot.mjs";
import { projectRoot } from "../scripts/lib/project.mjs";

/** Measured: CPU milliseconds of the servers, commits and syncs. */
const COSTS = {
  call: { postgresMs: 3.6 },
  /** Reports, and looks at the record. */
  workerASecond: { postgresMs: 1.2 },
  /** One notification to one listener. Each worker listens. */
  listenerMs: 0.01,
  /** A caller reads the reports of the workers of a name once a second. */
  reportReadMs: 0.0005,
};
/** Assumed: the server's cores, its disk and network. */
const SERVER = { cores: 16, syncMs: 1, roundTripMs: 0.5 };
const PLACES = 4;
/** A process of callers has this many calls at once. */
const CALLS_OF_PROCESS = 100;
/** Calls are shorter or longer by at most this share. */
const SPREAD = 0.5;
/** Each place makes this many calls, and all together at least `FEWEST`; those in the middle count. */
const [ROUNDS, FEWEST] = [4, 4_000];
const COUNTED = [0.3, 0.7];

const WORKERS = [1, 3, 10, 30, 100, 300, 1_000, 2_000, 4_000, 10_000];
const KINDS = /** @type {const} */ ([
  [0.1, "#b35900"],
  [1, "#1a5fb4"],
  [30, "#26794a"],
]);

const lines = KINDS.map(([seconds, color]) => ({
  ...{ label: `${seconds} s`, color },
  outcomes: WORKERS.map((workers) => ({ workers, ...simulated(workers, seconds * 1_000) })),
}));
for (const { label, outcomes } of lines) {
  process.stdout.write(`\n${label}\n workers  calls/s  of ideal  median ms   p99 ms   CPU  at its limit\n`);
  for (const each of outcomes) process.stdout.write(`${row(each)}\n`);
}
draw("workers-throughput", "Calls a second as workers grow", "calls/s", [-1, 4], (each) => each.perSecond);
draw("workers-wait", "The slowest 1 % of waits as workers grow", "wait, ms", [0, 5], (each) => each.slowest);

/** @typedef {{ perSecond: number, ideal: number, median: number, slowest: number, own: number, cpu: number }} Outcome */

/** @param {Outcome & { workers: number }} outcome */
function row({ workers, perSecond, ideal, median, slowest, own, cpu }) {
  const limit = own >= 1 ? "reports of workers" : cpu > 0.9 ? "PostgreSQL's CPU" : "";
  const texts = [workers, Math.round(perSecond), percent(perSecond / ideal), Math.round(median), Math.round(slowest)];
  const widths = [8, 9, 10, 11, 9];
  const cells = texts.map((text, column) => String(text).padStart(widths[column] ?? 0));
  return `${cells.join("")}${percent(cpu).padStart(6)}  ${limit}`;
}

/** @param {number} share */
function percent(share) {
  return `${Math.round(100 * share)}%`;
}

/**
 * @param {string} file @param {string} title @param {string} label @param {readonly [number, number]} ends
 * @param {(outcome: Outcome) => number} value
 */
function draw(file, title, label, ends, value) {
  const series = lines.map(({ outcomes, ...line }) => ({
    ...line,
    points: outcomes
      .filter((each) => each.own < 1 && value(each) < 10 ** ends[1])
      .map((each) => /** @type {const} */ ([each.workers, Math.max(10 ** ends[0], value(each))])),
  }));
  const text = linePlot({ title, x: { label: "workers", ends: [0, 4] }, y: { label, ends }, series });
  writeFileSync(join(projectRoot, `docs/pictures/${file}.svg`), text);
}

/**
 * All places of all workers are kept busy: each has a caller that makes one call after the other. A call is three
 * transactions (delivery, claim, end); each waits for a core, then for the next sync, which all that wait share.
 *
 * @param {number} workers of one name @param {number} callMs
 * @returns {Outcome}
 */
function simulated(workers, callMs) {
  const random = randomNumbers(43);
  const places = workers * PLACES;
  const total = Math.max(FEWEST, places * ROUNDS);
  const perTransaction = COSTS.call.postgresMs / 3;
  // Reports, their readers and looks take their share of the cores all the time.
  const readMs = (places / CALLS_OF_PROCESS) * workers * COSTS.reportReadMs;
  const own = (workers * COSTS.workerASecond.postgresMs + readMs) / 1_000 / SERVER.cores;
  const ideal = (places / callMs) * 1_000;
  if (own >= 1) return { perSecond: 0, ideal, median: Infinity, slowest: Infinity, own, cpu: 1 };
  const cpu = station(SERVER.cores);
  const events = timetable();
  /** @type {{ at: number, waitMs: number }[]} */
  const begun = [];
  let made = 0;

  /** @param {number} at @param {number} ms @param {(at: number) => void} then */
  const transaction = (at, ms, then) => {
    const computed = cpu(at + SERVER.roundTripMs, ms / (1 - own));
    const committed = (Math.ceil(computed / SERVER.syncMs) + 1) * SERVER.syncMs; // the next sync to begin
    events.add(committed + SERVER.roundTripMs, (now) => {
      for (let core = 0; core < SERVER.cores; core++) cpu(now, wakingMs / SERVER.cores / (1 - own));
      then(now);
    });
  };
  const wakingMs = workers * COSTS.listenerMs;

  /** @param {number} at */
  const call = (at) => {
    if (made++ >= total) return;
    transaction(at, perTransaction, (delivered) =>
      transaction(delivered, perTransaction, (claimed) => {
        begun.push({ at: claimed, waitMs: claimed - at });
        const ended = claimed + callMs * (1 + SPREAD * (2 * random() - 1));
        events.add(ended, (now) => transaction(now, perTransaction, call));
      }),
    );
  };
  for (let place = 0; place < places; place++) events.add(random() * callMs, call);
  const endMs = events.run();
  const counted = begun.slice(COUNTED[0] * begun.length, COUNTED[1] * begun.length); // when all places are busy
  const waits = counted.map(({ waitMs }) => waitMs).toSorted((one, other) => one - other);
  const countedMs = (counted.at(-1)?.at ?? 0) - (counted[0]?.at ?? 0);
  return {
    perSecond: (counted.length / countedMs) * 1_000,
    ideal,
    median: waits[Math.floor(waits.length / 2)] ?? 0,
    slowest: waits[Math.floor(waits.length * 0.99)] ?? 0,
    own,
    cpu: Math.min(1, own + ((1 - own) * cpu.busyMs()) / SERVER.cores / endMs),
  };
}

/**
 * Servers that take work in the order of arrival. Returns when a piece of work is done.
 *
 * @param {number} count
 */
function station(count) {
  const free = Array.from({ length: count }, () => 0);
  let busyMs = 0;
  const take = (/** @type {number} */ at, /** @type {number} */ ms) => {
    let first = 0;
    for (let each = 1; each < count; each++) if ((free[each] ?? 0) < (free[first] ?? 0)) first = each;
    const done = Math.max(at, free[first] ?? 0) + ms;
    free[first] = done;
    busyMs += ms;
    return done;
  };
  return Object.assign(take, { busyMs: () => busyMs });
}

/** What happens when, in order: a binary heap. */
function timetable() {
  /** @type {{ at: number, act: (at: number) => void }[]} */
  const heap = [];
  let now = 0;
  const earlier = (/** @type {number} */ one, /** @type {number} */ other) =>
    (heap[one]?.at ?? Number.POSITIVE_INFINITY) < (heap[other]?.at ?? Number.POSITIVE_INFINITY);
  const swap = (/** @type {number} */ one, /** @type {number} */ other) => {
    const [a, b] = [heap[one], heap[other]];
    if (a !== undefined && b !== undefined) [heap[one], heap[other]] = [b, a];
  };
  const takeFirst = () => {
    const first = heap[0];
    const last = heap.pop();
    if (last !== undefined && heap.length > 0) heap[0] = last;
    for (let place = 0; ;) {
      const child = earlier(2 * place + 2, 2 * place + 1) ? 2 * place + 2 : 2 * place + 1;
      if (!earlier(child, place)) return first;
      swap(child, place);
      place = child;
    }
  };
  return {
    now: () => now,
    add(/** @type {number} */ at, /** @type {(at: number) => void} */ act) {
      let place = heap.push({ at, act }) - 1;
      for (let parent; place > 0 && earlier(place, (parent = (place - 1) >> 1)); place = parent) swap(place, parent);
    },
    /** Returns when the last thing happened. */
    run() {
      for (let next = takeFirst(); next !== undefined; next = takeFirst()) {
        now = next.at;
        next.act(now);
      }
      return now;
    },
  };
}

/**
 * Random numbers from 0 to 1: a linear congruential generator (Numerical Recipes).
 *
 * @param {number} seed
 */
function randomNumbers(seed) {
  let state = seed;
  return () => (state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0) / 2 ** 32;
}
