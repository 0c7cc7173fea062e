/**
 * Vitest's global set-up: a folder that the test files of one run share, and a sign of life of that run.
 *
 * Nothing is started here. Whoever needs a daemon starts it under a keeper (keeper.sh), which sees the run's end by `alive`: a FIFO that this
 * process alone holds open for writing, so that its end is seen whatever ended it.
 */
import { execFileSync } from "node:child_process";
import { chmodSync, closeSync, mkdirSync, mkdtempSync, openSync, readdirSync, realpathSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { TestProject } from "vitest/node";
import { until } from "./until.ts";

/** Longer than what is kept takes to end. */
const LONGEST_END_MS = 20_000;

export function setup(project: TestProject): () => Promise<void> {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), "handrail-run-")));
  chmodSync(folder, 0o711);
  const keepers = join(folder, "keepers");
  mkdirSync(keepers);
  const alive = join(folder, "alive");
  execFileSync("mkfifo", [alive]);
  // For reading too: opening it for writing alone would wait for a reader.
  const sign = openSync(alive, "r+");
  project.provide("runFolder", folder);
  // Vitest may end without a teardown, interrupted or in trouble; what is kept is then ended, and all of it removed, by its keepers.
  process.once("exit", () => {
    if (isGone(keepers)) rmSync(folder, { recursive: true, force: true });
  });
  return async () => {
    closeSync(sign);
    await until("everything that was started for the tests has ended", () => isGone(keepers), LONGEST_END_MS);
    rmSync(folder, { recursive: true, force: true });
  };
}

/** The last keeper removes the folder with all of its run's. */
function isGone(keepers: string): boolean {
  try {
    return readdirSync(keepers).length === 0;
  } catch {
    return true;
  }
}
