// What tests start and what must not outlive the run, even one that is killed: daemons, containers, users of the system.
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { chmodSync, mkdtempSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { inject } from "vitest";

declare module "vitest" {
  interface ProvidedContext {
    /** What this run of the tests shares; see run-setup.ts. */
    runFolder: string;
  }
}

// Vitest leaves a worker to itself when the run is killed or interrupted: it would go on to use, and to start, what has just ended.
process.once("disconnect", () => process.kill(process.pid, "SIGKILL"));

export interface Kept {
  /** The process that `begin` left in the background; `undefined`: none. */
  readonly pid: number | undefined;
  /** Ends it now and waits until it has ended. */
  release(): Promise<void>;
}

export interface Keeping {
  /** From `keptFolder`: its files, removed with it. In the scripts it is `$folder`. */
  readonly folder: string;
  /** Begins it (sh); a process left in the background is named: `sshd … & child=$!`. Default: there is nothing to begin. */
  readonly begin?: string;
  /** Ends it (sh); has `$child`. */
  readonly end: string;
  /** More variables for both scripts. */
  readonly env?: Readonly<Record<string, string>>;
}

/** A folder for something that is kept. Other users may look up names in it that they know. */
export function keptFolder(name: string): string {
  const folder = mkdtempSync(join(inject("runFolder"), `${name}-`));
  chmodSync(folder, 0o711);
  return folder;
}

/** Begins something and sees to its end: by `release`, or else with the run. Resolves when `begin` has run. */
export async function keep({ folder, begin = "", end, env = {} }: Keeping): Promise<Kept> {
  const script = fileURLToPath(new URL("keeper.sh", import.meta.url));
  const keeper = spawn("sh", [script, inject("runFolder"), folder, begin, end], {
    // In a session of its own: a Ctrl-C in the terminal is for the run, whose end it then sees.
    detached: true,
    stdio: ["ignore", "pipe", "ignore"],
    env: { ...process.env, ...env },
  });
  const ended = once(keeper, "exit");
  const line = await firstLine(keeper);
  keeper.stdout?.destroy();
  keeper.unref();
  return {
    pid: line === "" ? undefined : Number(line),
    async release() {
      keeper.ref();
      keeper.kill("SIGTERM");
      await ended;
    },
  };
}

async function firstLine({ stdout }: ChildProcess): Promise<string> {
  if (stdout === null) throw new Error("a keeper's stdout is a pipe");
  for await (const line of createInterface({ input: stdout })) return line;
  throw new Error("a keeper ended before what it keeps had begun");
}
