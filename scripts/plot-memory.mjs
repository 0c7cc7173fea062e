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
import { projectRoot } from "./lib/project.mjs";

/** @typedef {{ count: number, ours: number, oursSlowest: number, plain: number, plainSlowest: number }} Point */

const ROUNDS = 5;
const [WIDTH, HEIGHT] = [760, 420];
const [LEFT, RIGHT, TOP, BOTTOM] = [70, 190, 40, 60];
/** The ends of the axes, as powers of ten: memories and milliseconds. */
const [MEMORIES, MS] = [
  [3, 6],
  [-1, 3],
];
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
  const parts = [
    ...powers(MEMORIES).map((power) =>
      axisMark(x(10 ** power), HEIGHT - BOTTOM + 20, "middle", thousands(10 ** power)),
    ),
    ...powers(MS).flatMap((power) => [
      axisMark(LEFT - 8, y(10 ** power) + 4, "end", thousands(10 ** power)),
      `<line x1="${LEFT}" x2="${WIDTH - RIGHT}" y1="${y(10 ** power)}" y2="${y(10 ** power)}" stroke="#ddd"/>`,
    ]),
    axisMark((LEFT + WIDTH - RIGHT) / 2, HEIGHT - 14, "middle", "memories"),
    axisMark(LEFT, 22, "middle", "CPU ms a query"),
    ...SERIES.flatMap(([key, label, color, dashes]) => {
      const line = points.map((point) => `${x(point.count)},${y(point[key])}`).join(" ");
      const last = points.at(-1);
      const end =
        last === undefined
          ? ""
          : `<text x="${x(last.count) + 8}" y="${y(last[key]) + 4}" fill="${color}">${label}</text>`;
      return [
        `<polyline points="${line}" fill="none" stroke="${color}" stroke-width="2" stroke-dasharray="${dashes}"/>`,
        end,
      ];
    }),
  ];
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${HEIGHT}" font-family="sans-serif" font-size="13">`,
    "<title>The time of a query as the number of memories grows</title>",
    `<rect width="${WIDTH}" height="${HEIGHT}" fill="#fff"/>`,
    ...parts,
    "</svg>\n",
  ].join("\n");
}

/** @param {readonly number[]} ends */
function powers([first = 0, last = 0]) {
  return Array.from({ length: last - first + 1 }, (_, index) => first + index);
}

/** @param {number} count */
function x(count) {
  return along(count, MEMORIES, LEFT, WIDTH - RIGHT);
}

/** @param {number} ms */
function y(ms) {
  return along(ms, MS, HEIGHT - BOTTOM, TOP);
}

/** @param {number} value @param {readonly number[]} ends @param {number} from @param {number} to */
function along(value, [first = 0, last = 0], from, to) {
  return Math.round(from + ((Math.log10(value) - first) / (last - first)) * (to - from));
}

/** @param {number} left @param {number} top @param {string} anchor @param {string} text */
function axisMark(left, top, anchor, text) {
  return `<text x="${left}" y="${top}" text-anchor="${anchor}" fill="#444">${text}</text>`;
}

/** @param {number} value */
function thousands(value) {
  return value.toLocaleString("en-US");
}
