import { readdirSync, statSync } from "node:fs";
import { read } from "./control-groups.ts";
import { systemProgram } from "./programs.ts";

/** For how long a count of the user's processes is good, in milliseconds. */
const COUNT_LASTS = 5_000;

/**
 * The number of processes by RLIMIT_NPROC. The kernel counts all threads of the user, so that the limit is what runs now and `processes` more.
 *
 * @returns `undefined` for root, whom it does not bind, and where util-linux' prlimit is missing.
 */
export function processLimit(
  processes: number,
): { /** Words in front of a command. */ words(): readonly string[] } | undefined {
  const user = process.getuid?.() ?? 0;
  const prlimit = systemProgram("prlimit");
  if (process.platform !== "linux" || user === 0 || prlimit === undefined) return undefined;
  const most = hardLimit();
  let running = threadsOf(user);
  let countedAt = performance.now();
  return {
    words() {
      if (performance.now() - countedAt > COUNT_LASTS) {
        running = threadsOf(user);
        countedAt = performance.now();
      }
      const limit = Math.min(running + processes, most);
      return [prlimit, `--nproc=${limit}:${limit}`];
    },
  };
}

function hardLimit(): number {
  const hard = /^Max processes\s+\S+\s+(\d+)/m.exec(read("/proc/self/limits"))?.[1];
  return hard === undefined ? Number.POSITIVE_INFINITY : Number(hard);
}

/** A task folder has a link for each thread, beside its two own. */
function threadsOf(user: number): number {
  let threads = 0;
  for (const name of readdirSync("/proc")) {
    if (!/^\d+$/.test(name)) continue;
    const tasks = statSync(`/proc/${name}/task`, { throwIfNoEntry: false });
    if (tasks?.uid === user) threads += tasks.nlink - 2;
  }
  return threads;
}
