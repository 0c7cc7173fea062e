/**
 * What was last accepted of each workload, so that nothing becomes slower unseen.
 *
 * bench/ratios.json has one number a workload: the ratio to its ceiling; without a ceiling, that to its peer; without
 * both, what was measured, in the workload's unit. A commit that makes one worse changes that number and says why.
 */
import { readFileSync, writeFileSync } from "node:fs";

const FILE = new URL("ratios.json", import.meta.url);

/** Runs on one idle machine differ by up to this factor. */
const SAME = 1.25;

/** @type {Record<string, number>} */
const accepted = JSON.parse(readFileSync(FILE, "utf8"));

/**
 * Returns the measured number, and a text that compares it with the accepted one: "same", "worse than 1.31".
 *
 * @param {string} name
 * @param {number} measured
 */
export function comparedWithAccepted(name, measured) {
  const before = accepted[name];
  if (before === undefined) return { measured, text: "new" };
  if (measured > before * SAME) return { measured, text: `WORSE than ${before}` };
  return { measured, text: measured * SAME < before ? `better than ${before}` : "same" };
}

/**
 * Writes the measured numbers to bench/ratios.json. Keeps those of workloads that were not measured, and removes those
 * that no longer exist.
 *
 * @param {readonly { name: string, change: { measured: number } }[]} rows
 * @param {ReadonlySet<string>} workloads the names of all
 */
export function acceptRatios(rows, workloads) {
  const all = { ...accepted };
  for (const { name, change } of rows) all[name] = Number(change.measured.toPrecision(3));
  const kept = [...workloads].filter((name) => name in all).map((name) => [name, all[name]]);
  writeFileSync(FILE, `${JSON.stringify(Object.fromEntries(kept), null, 2)}\n`);
}
