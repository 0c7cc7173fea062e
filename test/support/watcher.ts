// For what tests start and what must not outlive the run, even a killed one: daemons, containers, users of the system.
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { chmodSync, mkdtempSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { inject } from "vitest";

declare module "vitest" {
  interface ProvidedContext {
    /** The shared folder of this run; see run-setup.ts. */
    runFolder: string;
  }
}

// Vitest abandons a worker when the run is killed or interrupted. The worker would continue to use, and to start, what
// has just ended.
process.once("disconnect", () => process.kill(process.pid, "SIGKILL"));

export interface Kept {
  /** The process that `begin` left in the background; `undefined` if none. */
  readonly pid: number | undefined;
  /** Ends it now and waits for the end. */
  release(): Promise<void>;
}

export interface Keeping {
  /** From `keptFolder`: its files, which are removed with it. `$folder` in the scripts. */
  readonly folder: string;
  /** Starts it (sh). Must name a process left in the background: `sshd … & child=$!`. Default: nothing to start. */
  readonly begin?: string;
  /** Ends it (sh). Can use `$child`. */
  readonly end: string;
  /** Additional variables for both scripts. */
  readonly env?: Readonly<Record<string, string>>;
}

/** Creates a folder for watched files. Other users may open names in it that they know. */
export function keptFolder(name: string): string {
  const folder = mkdtempSync(join(inject("runFolder"), `${name}-`));
  chmodSync(folder, 0o711);
  return folder;
}

/** Starts something and ensures its end: by `release`, or with the run. Resolves when `begin` has run. */
export async function keep({ folder, begin = "", end, env = {} }: Keeping): Promise<Kept> {
  const script = fileURLToPath(new URL("watcher.sh", import.meta.url));
  const watcher = spawn("sh", [script, inject("runFolder"), folder, begin, end], {
    // In its own session: a Ctrl-C in the terminal goes to the run, whose end it then notices.
    detached: true,
    stdio: ["ignore", "pipe", "ignore"],
    env: { ...process.env, ...env },
  });
  const ended = once(watcher, "exit");
  const line = await firstLine(watcher);
  watcher.stdout?.destroy();
  watcher.unref();
  return {
    pid: line === "" ? undefined : Number(line),
    async release() {
      watcher.ref();
      watcher.kill("SIGTERM");
      await ended;
    },
  };
}

async function firstLine({ stdout }: ChildProcess): Promise<string> {
  if (stdout === null) throw new Error("a watcher's stdout is a pipe");
  for await (const line of createInterface({ input: stdout })) return line;
  throw new Error("a watcher ended before what it keeps had begun");
}
