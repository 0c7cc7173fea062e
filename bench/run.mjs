/**
 * Measures the built package and compares it with ceilings (the fastest that the machine can do) and, where there is
 * one, a peer: `npm run bench`.
 *
 * In:  dist/ (built when stale), rg, head, sed, cp, grep; names of workloads as arguments, or their first words:
 *      `latency` means every `latency-…` (default: all).
 * Out: a table of medians and ratios with the targets, and whether each is better, the same or worse than what was last
 *      accepted (bench/ratios.json); `--json` prints it as JSON. A missed target is reported and is no failure. The data
 *      (a tree of 50,000 files, a file of 1 GB) is created once in the system's temporary folder and removed at the end,
 *      unless `--keep` is given. `--accept` writes what was measured to bench/ratios.json. `anatomy` alone prints the stages
 *      of one call (bench/anatomy.mjs), `idle` what waiting costs (bench/idle.mjs), `long-life` what many turns, events
 *      and bytes cost (bench/long-life.mjs).
 *
 * The compared programs run in turn, A B A B …, so that a drift in the machine's speed favours none. Times are of whole
 * operations, including their results.
 */
import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { buildIfStale } from "../scripts/build.mjs";
import { acceptRatios, comparedWithAccepted } from "./ratios.mjs";

await buildIfStale();
// These import what was just built.
const { WORKLOADS } = await import("./workloads/workloads.mjs");

const flags = new Set(process.argv.slice(2).filter((argument) => argument.startsWith("--")));
const names = process.argv.slice(2).filter((argument) => !argument.startsWith("--"));
const [first = "", argument] = names;
if (first === "idle" || first === "long-life" || names.join() === "anatomy") {
  const state = mkdtempSync(join(tmpdir(), "handrail-bench-"));
  try {
    if (first === "idle") process.stdout.write(await (await import("./idle.mjs")).idle(state, Number(argument ?? 60)));
    else if (first === "long-life") await (await import("./long-life.mjs")).longLife(state, names.slice(1));
    else process.stdout.write(await (await import("./anatomy.mjs")).anatomy(state));
  } finally {
    rmSync(state, { recursive: true });
  }
  process.exit(0);
}
const unknown = names.filter((name) => !WORKLOADS.some((workload) => isMeant(workload.name, name)));
if (unknown.length > 0) {
  process.stderr.write(
    `bench: no workload ${unknown.join(", ")}; there are ${WORKLOADS.map(({ name }) => name).join(", ")}\n`,
  );
  process.exit(2);
}

const folder = join(tmpdir(), "handrail-bench");
mkdirSync(folder, { recursive: true });
const rows = [];
try {
  for (const workload of WORKLOADS.filter(
    ({ name }) => names.length === 0 || names.some((each) => isMeant(name, each)),
  )) {
    if (!flags.has("--json")) process.stderr.write(`${workload.name} …\n`);
    rows.push(await measure(workload));
  }
} finally {
  if (!flags.has("--keep")) rmSync(folder, { recursive: true, force: true });
}
if (flags.has("--accept")) acceptRatios(rows, new Set(WORKLOADS.map(({ name }) => name)));
process.stdout.write(flags.has("--json") ? `${JSON.stringify(rows, null, 2)}\n` : table(rows));

/**
 * @param {import("./workloads/shared.mjs").Workload} workload
 */
async function measure({ name, what, rounds = 7, prepare, target, unit = "ms", scale = 1 }) {
  const { ours, ceiling, peer, measuresItself, cleanUp } = await prepare(folder);
  /** @type {{ ours: number[], ceiling: number[], peer: number[] }} */
  const times = { ours: [], ceiling: [], peer: [] };
  try {
    for (let round = -1; round < rounds; round++) {
      for (const [key, run] of Object.entries({ ours, ceiling, peer })) {
        if (run === undefined) continue;
        const started = performance.now();
        const measured = await run();
        const time = measuresItself === true && typeof measured === "number" ? measured : performance.now() - started;
        // The first round warms caches and compiles.
        if (round >= 0) times[/** @type {"ours"} */ (key)].push(time * scale);
      }
    }
  } finally {
    await cleanUp?.();
  }
  const ratioTo = (/** @type {"ceiling" | "peer"} */ other) =>
    times[other].length === 0
      ? null
      : median(times.ours.map((time, index) => time / (times[other][index] ?? Number.NaN)));
  const ratio = ratioTo("ceiling");
  return {
    name,
    what,
    unit,
    change: comparedWithAccepted(name, ratio ?? ratioTo("peer") ?? median(times.ours)),
    ours: median(times.ours),
    ceiling: times.ceiling.length > 0 ? median(times.ceiling) : null,
    peer: times.peer.length > 0 ? median(times.peer) : null,
    ratio,
    target: target.text,
    met: target.met({ ours: median(times.ours), ratio: ratio ?? Number.NaN }),
  };
}

/** @param {string} workload @param {string} name */
function isMeant(workload, name) {
  return workload === name || workload.startsWith(`${name}-`);
}

/** @param {number[]} values */
function median(values) {
  const sorted = values.toSorted((one, other) => one - other);
  return sorted[Math.floor(sorted.length / 2)] ?? Number.NaN;
}

/** @param {Awaited<ReturnType<typeof measure>>[]} results */
function table(results) {
  const cells = [
    ["workload", "ours", "ceiling", "peer", "ratio", "target", "", "accepted"],
    ...results.map(({ name, what, unit, ours, ceiling, peer, ratio, target, met, change }) => [
      `${name}: ${what}`,
      shown(ours, unit),
      shown(ceiling, unit),
      shown(peer, unit),
      ratio === null ? "" : `${ratio.toFixed(2)}x`,
      target,
      met ? "met" : "MISSED",
      change.text,
    ]),
  ];
  const widths = (cells[0] ?? []).map((_, column) => Math.max(...cells.map((row) => row[column]?.length ?? 0)));
  return `${cells
    .map((row) =>
      row
        .map((cell, column) => cell.padEnd(widths[column] ?? 0))
        .join("  ")
        .trimEnd(),
    )
    .join("\n")}\n`;
}

/**
 * @param {number | null} value
 * @param {string} unit
 */
function shown(value, unit) {
  return value === null ? "" : `${value < 10 ? value.toFixed(2) : value.toFixed(0)} ${unit}`;
}
