/**
 * Recall as the number of memories grows, compared with FTS5's own bm25 on the same texts. The searched memories, and
 * the first hits that each query must have, are those of test/memory/expected-hits.json.
 *
 * In: MEMORIES, additional numbers of memories, as in `MEMORIES=1000000 npm run bench -- memory`.
 */
import { mkdirSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { createToolkit } from "handrail";
import { openRaw } from "./events.mjs";
import { within } from "./shared.mjs";

const NOW = Date.now();
const DAY_MS = 86_400_000;
const COMMON = "the of to and is in a for on with that it was at by from server note weekly review team build".split(
  " ",
);
const SYLLABLES = "ba be bi bo bu da de di do du ka ke ki ko ku la le li lo lu ma me mi mo mu na ne ni no nu".split(
  " ",
);
const CHINESE = Array.from(
  "的一是在不了有和人这中大为上个国我以要他时来用们生到作地于出就分对成会可主发年动同工也能下过子说产种面而方后多定行学法所民得经",
);

/** @typedef {{ key: string, content: string, category: "core" | "daily", storedMs: number }} Note */
/**
 * @type {{ memories: { key: string, content: string, days: number }[], queries: { query: string, first?: string[],
 * only?: boolean, absent?: string[] }[] }}
 */
const EXPECTED = JSON.parse(readFileSync(new URL("../../test/memory/expected-hits.json", import.meta.url), "utf8"));

const COUNTS = [1_000, 10_000, 100_000, ...(process.env["MEMORIES"] ?? "").split(",").filter(Boolean).map(Number)];

/** @type {readonly import("./shared.mjs").Workload[]} */
export const MEMORY = COUNTS.map((count) => ({
  name: `memory-recall-${count}`,
  what: "recall, the median of all queries of the table of expected hits; peer FTS5 with ORDER BY rank",
  target: within(5, "ms"),
  async prepare(folder) {
    const { ours, plain, missed, close } = await remembering(join(folder, `memory-${count}`), count);
    process.stderr.write(
      `  ${EXPECTED.queries.length - missed.length} of ${EXPECTED.queries.length} queries have the expected hits ${missed.join(", ")}\n`,
    );
    return {
      measuresItself: true,
      ours: async () => middle(await ours()),
      peer: async () => middle(await plain()),
      cleanUp: close,
    };
  },
}));

/**
 * Stores this many memories, including those of the table, as Handrail does and in a plain FTS5 table. `ours` and
 * `plain` run each query once, and return the CPU time of each in milliseconds, which other processes do not distort.
 * `missed` lists the queries with unexpected hits.
 *
 * @param {string} folder
 * @param {number} count
 */
export async function remembering(folder, count) {
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  const toolkit = await createToolkit({ preset: "none", stateDir: folder, sandbox: "off" });
  const { memories } = toolkit;
  const database = await openRaw(join(folder, "plain.db"));
  database.exec("CREATE VIRTUAL TABLE plain USING fts5(words)");
  const insert = database.prepare("INSERT INTO plain (words) VALUES (?)");
  for (const batch of batchesOf(count)) {
    await memories.store(batch);
    database.exec("BEGIN");
    for (const { key, content } of batch) insert.run(`${key} ${content}`);
    database.exec("COMMIT");
  }
  const find = database.prepare("SELECT rowid FROM plain WHERE plain MATCH ? ORDER BY rank LIMIT 10");
  const missed = [];
  for (const expected of EXPECTED.queries) {
    const keys = (await memories.recall(expected.query, 10)).map(({ key }) => key);
    if (!isExpected(keys, expected)) missed.push(expected.query);
  }
  return {
    missed,
    ours: () => timesOf((query) => memories.recall(query, 10)),
    plain: () =>
      timesOf((query) => {
        const words = query.match(/[\p{L}\p{N}]+/gu) ?? ["nothing"];
        return find.all(words.map((word) => `"${word}"`).join(" OR "));
      }),
    async close() {
      database.close();
      await toolkit.close();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

/** @param {readonly number[]} values */
export function middle(values) {
  return values.toSorted((one, other) => one - other)[Math.floor(values.length / 2)] ?? Number.NaN;
}

/** @param {(query: string) => unknown} run */
async function timesOf(run) {
  const times = [];
  for (const { query } of EXPECTED.queries) {
    const before = process.cpuUsage();
    await run(query);
    const { user, system } = process.cpuUsage(before);
    times.push((user + system) / 1_000);
  }
  return times;
}

/**
 * @param {readonly string[]} keys
 * @param {typeof EXPECTED.queries[number]} expected
 */
function isExpected(keys, { first = [], only = false, absent = [] }) {
  const shown = only ? keys : keys.slice(0, first.length);
  return shown.join() === first.join() && !keys.some((key) => absent.includes(key));
}

/**
 * Yields notes in chronological order, in batches: those of the table, and others made of common words, rarer words
 * whose frequency falls with their rank (Zipf), and occasional Chinese.
 *
 * @param {number} count
 */
function* batchesOf(count) {
  const known = EXPECTED.memories
    .map(({ key, content, days }) => ({
      key,
      content,
      category: /** @type {const} */ ("core"),
      storedMs: NOW - days * DAY_MS,
    }))
    .toSorted((one, other) => one.storedMs - other.storedMs);
  const random = randomNumbers();
  /** @type {Note[]} */
  let batch = [];
  for (let number = 0; number < count; number++) {
    const storedMs = Math.round(NOW - ((count - number) / count) * 600 * DAY_MS);
    while (known[0] !== undefined && known[0].storedMs < storedMs) batch.push(...known.splice(0, 1));
    batch.push({ key: `other.${number}`, content: contentOf(number, random), category: "daily", storedMs });
    if (batch.length < 5_000) continue;
    yield batch;
    batch = [];
  }
  yield [...batch, ...known];
}

/** @param {number} number @param {() => number} random */
function contentOf(number, random) {
  const words = Array.from({ length: 14 }, (_, at) => {
    if (at % 3 !== 2) return COMMON[Math.floor(random() * random() * COMMON.length)];
    let rank = Math.floor(Math.exp(random() * Math.log(200_000))) + SYLLABLES.length;
    let word = "x";
    for (; rank > 0; rank = Math.floor(rank / SYLLABLES.length)) word += SYLLABLES[rank % SYLLABLES.length];
    return word;
  });
  if (number % 20 === 0)
    words.push(Array.from({ length: 12 }, () => CHINESE[Math.floor(random() * CHINESE.length)]).join(""));
  return words.join(" ");
}

/** Returns the same numbers from 0 to 1 each time (a linear congruential generator, Numerical Recipes 7.1). */
function randomNumbers() {
  let state = 1;
  return () => {
    state = (state * 1_664_525 + 1_013_904_223) % 4_294_967_296;
    return state / 4_294_967_296;
  };
}
