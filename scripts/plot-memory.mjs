/**
 * Draws how long recall takes as the number of memories grows, compared with FTS5's own bm25 (`npm run docs:memory`).
 *
 * In:  dist (built when stale); numbers of memories as arguments (default: 1000 10000 100000 1000000, which takes some
 *      minutes).
 * Out: docs/pictures/memory-recall.svg, and the measurements on stdout: the median and the slowest of all queries in
 *      the table of expected hits.
 */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { buildIfStale } from "./build.mjs";
import { linePlot } from "./lib/plot.mjs";
import { projectRoot } from "./lib/project.mjs";

/** @typedef {{ count: number, ours: number, oursSlowest: number, plain: number, plainSlowest: number }} Point */

const ROUNDS = 5;
const SERIES = /** @type {const} */ ([
  ["plainSlowest", "FTS5 bm25, slowest", "#b35900", "5 4"],
  ["plain", "FTS5 bm25, median", "#b35900", ""],
  ["oursSlowest", "memory_recall, slowest", "#1a5fb4", "5 4"],
  ["ours", "memory_recall, median", "#1a5fb4", ""],
]);

await buildIfStale();
const { middle, remembering } = await import("../bench/workloads/memory.mjs");
const counts = process.argv.length > 2 ? process.argv.slice(2).map(Number) : [1_000, 10_000, 100_000, 1_000_000];
const folder = mkdtempSync(join(tmpdir(), "handrail-plot-"));
try {
  /** @type {Point[]} */
  const points = [];
  for (const count of counts) {
    const point = await measured(count);
    process.stdout.write(`${JSON.stringify(point)}\n`);
    points.push(point);
  }
  writeFileSync(join(projectRoot, "docs/pictures/memory-recall.svg"), picture(points));
} finally {
  rmSync(folder, { recursive: true, force: true });
}

/**
 * @param {number} count
 * @returns {Promise<Point>}
 */
async function measured(count) {
  const { ours, plain, missed, close } = await remembering(join(folder, String(count)), count);
  if (missed.length > 0) process.stderr.write(`${count}: not the expected hits: ${missed.join(", ")}\n`);
  const rounds = [];
  for (let round = 0; round <= ROUNDS; round++) rounds.push({ ours: await ours(), plain: await plain() });
  await close();
  const timed = rounds.slice(1); // the first one warms caches
  const ofQueries = (/** @type {"ours" | "plain"} */ which) =>
    (timed[0]?.[which] ?? []).map((_, query) => middle(timed.map((round) => round[which][query] ?? Number.NaN)));
  const [own, other] = [ofQueries("ours"), ofQueries("plain")];
  return {
    count,
    ours: middle(own),
    oursSlowest: Math.max(...own),
    plain: middle(other),
    plainSlowest: Math.max(...other),
  };
}

/** @param {readonly Point[]} points */
function picture(points) {
  return linePlot({
    title: "The time of a query as the number of memories grows",
    x: { label: "memories", ends: [3, 6] },
    y: { label: "CPU ms a query", ends: [-1, 3] },
    series: SERIES.map(([key, label, color, dashes]) => ({
      ...{ label, color, dashes },
      points: points.map((point) => /** @type {const} */ ([point.count, point[key]])),
    })),
  });
}
