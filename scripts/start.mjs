/**
 * Demonstrates Handrail (`npm start`, after scripts/setup.mjs).
 *
 * In:  arguments for the tour.
 * Out: dist, built unless it is fresh; then the tour (scripts/tour.mjs) on this terminal, what to type next, and the
 *      tour's exit code.
 */
import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { buildIfStale } from "./build.mjs";
import { projectRoot } from "./lib/project.mjs";

await buildIfStale();
const tour = join(projectRoot, "scripts", "tour.mjs");
const { status, error } = spawnSync(process.execPath, [tour, ...process.argv.slice(2)], { stdio: "inherit" });
if (error) throw error;
process.exitCode = status ?? 1;
if (status === 0) {
  process.stdout.write(`
Next, in a folder of yours, with the model demo (no key needed):
  node ${quoteWord(join(projectRoot, "dist", "cli.js"))} chat --model demo

To type handrail instead of node and the path, run this here once:
  npm install -g .
`);
}

/** @param {string} path */
function quoteWord(path) {
  return /^[\w./-]+$/.test(path) ? path : `'${path.replaceAll("'", "'\\''")}'`;
}
