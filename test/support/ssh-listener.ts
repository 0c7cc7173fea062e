// The listening sshd: started on a free port, stopped with all its connections, started again.
import { randomInt } from "node:crypto";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { output } from "./ended.ts";
import { installed } from "./here.ts";
import { type Kept, keep, keptFolder } from "./watcher.ts";
import { isAlive, until } from "./until.ts";

export interface Listener {
  readonly port: number;
  /** The process id of the current listener. */
  pid(): number;
  /** Sends a signal to the processes of its connections, and to itself too for "all". */
  signal(signal: "KILL" | "STOP" | "CONT", whom: "all" | "connections"): Promise<void>;
  /** Ends it with its connections. */
  stop(): Promise<void>;
  restart(): Promise<void>;
}

const SIGNAL_SCRIPT = fileURLToPath(new URL("signal-sshd.sh", import.meta.url));
/**
 * Below the ports that systems assign automatically, so that no other program is likely to take one between a stop and
 * a start.
 */
const PORTS = { from: 20_000, to: 32_000 } as const;

/** Starts an sshd. `configFor` returns its configuration for a port. */
export async function listen(folder: string, configFor: (port: number) => string): Promise<Listener> {
  // Root's sshd needs this folder, which the system's start-up usually creates.
  if (process.getuid?.() === 0) mkdirSync("/run/sshd", { recursive: true });
  const configFile = join(folder, "sshd_config");
  let running: Kept | undefined;
  const start = async () => {
    running = await startWith(configFile);
  };
  const stop = async () => {
    await running?.release();
    running = undefined;
  };
  const pid = () => {
    if (running?.pid === undefined) throw new Error("the sshd does not run");
    return running.pid;
  };
  const port = await firstFree(async (candidate) => {
    writeFileSync(configFile, configFor(candidate));
    await start();
  });
  return {
    port,
    pid,
    async signal(signal, whom) {
      await output(["sh", SIGNAL_SCRIPT, signal, `${pid()}`, whom]);
    },
    stop,
    async restart() {
      await stop();
      await start();
    },
  };
}

async function firstFree(tryPort: (port: number) => Promise<void>, tries = 20): Promise<number> {
  const port = randomInt(PORTS.from, PORTS.to);
  try {
    await tryPort(port);
    return port;
  } catch (error) {
    if (tries === 1 || !String(error).includes("Address already in use")) throw error;
    return firstFree(tryPort, tries - 1);
  }
}

async function startWith(configFile: string): Promise<Kept> {
  const folder = keptFolder("sshd-log");
  const log = join(folder, "log");
  writeFileSync(log, "");
  const kept = await keep({
    folder,
    begin: `"$sshd" -D -f "$config" -E "$folder/log" </dev/null >/dev/null 2>&1 & child=$!`,
    end: `sh "$script" KILL "$child" all; wait "$child"`,
    env: { sshd: installed("sshd") ?? "sshd", config: configFile, script: SIGNAL_SCRIPT },
  });
  try {
    await until("sshd listens", async () => {
      // Checked before the log is read, so that the log is complete then.
      const lives = await isAlive(kept.pid ?? 0);
      const said = readFileSync(log, "utf8");
      if (said.includes("Server listening on")) return true;
      if (!lives) throw new Error(`sshd ended at once: ${said.trim()}`);
      return false;
    });
    return kept;
  } catch (error) {
    await kept.release();
    throw error;
  }
}
