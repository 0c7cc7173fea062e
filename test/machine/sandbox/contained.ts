import { type SpawnSyncReturns, spawnSync } from "node:child_process";

/** A system of its own for a command: nothing writable, no network, its own processes. */
export const CONTAINED = [
  "bwrap",
  "--unshare-ipc",
  "--unshare-pid",
  "--unshare-uts",
  "--die-with-parent",
  "--new-session",
  ...["--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc", "--tmpfs", "/tmp"],
] as const;

/** Returns why bubblewrap cannot be used on this machine; `undefined` if it can. */
export function bubblewrapProblem(): string | undefined {
  const { status, error, stderr } = run([...CONTAINED, "true"]);
  if (error) return `bwrap cannot be started (${error.message}); install bubblewrap`;
  return status === 0 ? undefined : `bwrap does not work here: ${stderr.trim()}`;
}

/** Runs it to its end. */
export function run([program = "", ...args]: readonly string[], input = ""): SpawnSyncReturns<string> {
  return spawnSync(program, args, { encoding: "utf8", input, timeout: 60_000, maxBuffer: 1 << 26 });
}
