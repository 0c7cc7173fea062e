/**
 * Demonstrates Handrail (`npm start`, after scripts/setup.mjs).
 *
 * In:  arguments for the tour.
 * Out: dist, built unless it is fresh; then the tour (scripts/tour.mjs) on this terminal, and its exit code.
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
