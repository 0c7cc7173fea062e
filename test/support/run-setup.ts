/**
 * Vitest's global set-up: a folder that the test files of a run share, and a sign of life of the run.
 *
 * Starts nothing. A test that needs a daemon starts it under a watcher (watcher.sh), which detects the end of the run
 * with `alive`: a FIFO that only this process holds open for writing, so that its end is noticed whatever the cause.
 * At the end it prints what the tests have left in the folder for temporary files, and removes it.
 */
import { execFileSync } from "node:child_process";
import { chmodSync, closeSync, mkdirSync, mkdtempSync, openSync, readdirSync, realpathSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { TestProject } from "vitest/node";
import { until } from "./until.ts";

/** Longer than the watched processes take to end. Milliseconds. */
const LONGEST_END_MS = 20_000;

export function setup(project: TestProject): () => Promise<void> {
  const before = temporaryNames();
  const folder = realpathSync(mkdtempSync(join(tmpdir(), "handrail-run-")));
  chmodSync(folder, 0o711);
  const watchers = join(folder, "watchers");
  mkdirSync(watchers);
  const alive = join(folder, "alive");
  execFileSync("mkfifo", [alive]);
  // Opened for reading too: opening it only for writing would wait for a reader.
  const sign = openSync(alive, "r+");
  project.provide("runFolder", folder);
  // Vitest may end without a teardown. The watchers then end everything that is watched, and remove its files.
  process.once("exit", () => {
    if (isGone(watchers)) rmSync(folder, { recursive: true, force: true });
  });
  return async () => {
    closeSync(sign);
    await until("everything that was started for the tests has ended", () => isGone(watchers), LONGEST_END_MS);
    rmSync(folder, { recursive: true, force: true });
    for (const path of leftSince(before)) {
      process.stdout.write(`left behind, and removed: ${path}\n`);
      rmSync(path, { recursive: true, force: true });
    }
  };
}

/** The names of Handrail's temporary files and folders, and of those of tests. */
function temporaryNames(): readonly string[] {
  return readdirSync(tmpdir()).filter((name) => name.startsWith("handrail-"));
}

/** Returns what this run has left. Nothing while another run is under way: what is new may be that run's. */
function leftSince(before: readonly string[]): readonly string[] {
  const now = temporaryNames();
  if (now.some((name) => name.startsWith("handrail-run-"))) return [];
  return now.filter((name) => !before.includes(name)).map((name) => join(tmpdir(), name));
}

/** The last watcher removes the folder with all files of its run. */
function isGone(watchers: string): boolean {
  try {
    return readdirSync(watchers).length === 0;
  } catch {
    return true;
  }
}
