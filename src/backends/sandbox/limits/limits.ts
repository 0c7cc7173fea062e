import { spawnSync } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import { totalmem } from "node:os";
import { join } from "node:path";
import { pause } from "../../../util/abort.ts";
import { tried } from "../../../util/errors.ts";
import { type Controller, type GroupFolder, makeGroupFolder, removeGroup } from "./control-groups.ts";
import { processLimit } from "./process-limit.ts";
import { textOf } from "../read-files.ts";

/** Limits for the commands of one backend. */
export interface LimitSettings {
  /** Processes and threads of one command at a time. Default: 1,000. */
  readonly processes?: number;
  /** Bytes of memory, with swap: for each command, and for all together. Default: 80 % of what this process may use. */
  readonly memory?: number;
  /** Bytes that must stay free on a disk that commands write to (see `guardDisk`). Default: 512 MiB. */
  readonly diskFree?: number;
}

/** The kernel's limits for the commands of one backend. */
export interface Limits {
  /** What cannot be limited on this machine: one sentence each, with the reason. */
  readonly missing: readonly string[];
  /**
   * Creates the limits of one command that is about to start. If its group cannot be created, the command reports that
   * and does not run. `then` is sh code that runs under the limits, with all words after the prefix as its arguments.
   * Default: executes them.
   */
  forCommand(then?: string): CommandLimits;
  /** Removes unused groups. Running commands keep their limits. */
  close(): void;
}

/** The limits of one command. */
export interface CommandLimits {
  /** Words before the command. They set its limits, disable core files, and then execute it. */
  readonly prefix: readonly string[];
  /** The limits that were hit so far; call it before `dispose`. Empty for RLIMIT_NPROC, which is not counted. */
  hit(): readonly Controlled[];
  /** Kills what still runs in the group of an ended command, and removes the group. Never rejects. */
  dispose(): Promise<void>;
}

type Controlled = "processes" | "memory";

const DEFAULT_PROCESSES = 1_000;
const MEMORY_SHARE = 0.8;

/** How long killed processes may take to leave a group, in milliseconds. A later start removes the group then. */
const PATIENCE = 5_000;

/** How long the test of a folder may take, in milliseconds. */
const TEST_MS = 5_000;

/** For each controller: what it limits, its file, the file with its count of hits, and what is said without it. */
const CONTROLLED = {
  pids: {
    what: "processes",
    limit: "pids.max",
    hits: ["pids.events", /^max (\d+)/m],
    without: "The number of processes is not limited",
  },
  memory: {
    what: "memory",
    limit: "memory.max",
    hits: ["memory.events", /^oom_kill (\d+)/m],
    without: "Memory is not limited",
  },
} as const;

// "0" means the writing process. env, timeout and nohup also exit with 125 for failures before the command.
const JOIN =
  '{ echo 0 >"$1/cgroup.procs"; } 2>/dev/null || ' +
  '{ echo "handrail: the limits of this command cannot be applied: $1" >&2; exit 125; }; shift;';

/**
 * Creates limits with control groups (cgroup v2) if this process may create groups. Otherwise limits only the number of
 * processes, with RLIMIT_NPROC, which the kernel enforces for users other than root. Costs a few file operations and a
 * short process as a test.
 */
export function createLimits({
  processes = DEFAULT_PROCESSES,
  memory = Math.floor(usableMemory() * MEMORY_SHARE),
}: LimitSettings): Limits {
  const amounts = { pids: processes, memory };
  const { folder: found, reasons } = makeGroupFolder();
  const missing = new Map(reasons);
  const folder = found !== undefined && canUse(found, amounts) ? found : undefined;
  if (found !== undefined && folder === undefined) {
    removeGroup(found.path);
    for (const each of found.controllers)
      missing.set(each, `the control group ${found.path} could be created but not used`);
  }
  const limit = missing.has("pids") ? processLimit(processes) : undefined;
  if (limit !== undefined) missing.delete("pids");

  let started = 0;
  return {
    missing: [...missing].map(([controller, reason]) => `${CONTROLLED[controller].without}: ${reason}.`),
    forCommand(then = 'exec "$@"') {
      const group = folder && { ...folder, path: join(folder.path, String(++started)) };
      if (group !== undefined && tried(() => (makeGroup(group, amounts), true)) === undefined) removeGroup(group.path);
      const script = ["ulimit -c 0;", ...(group === undefined ? [] : [JOIN]), then].join(" ");
      return {
        prefix: [...(limit?.() ?? []), "/bin/sh", "-c", script, "sh", ...(group === undefined ? [] : [group.path])],
        hit: () => (group === undefined ? [] : hitIn(group)),
        dispose: async () => group && endGroup(group),
      };
    },
    close: () => void (folder && removeGroup(folder.path)),
  };
}

type Amounts = { readonly [controller in Controller]: number };

function usableMemory(): number {
  const own = process.constrainedMemory(); // 0 or an enormous number: no limit
  return own > 0 ? Math.min(own, totalmem()) : totalmem();
}

/**
 * Limits the memory of all commands together, and tests a folder: moving a process needs permissions on more than one
 * group.
 */
function canUse(folder: GroupFolder, amounts: Amounts): boolean {
  const path = join(folder.path, "probe");
  const joined = tried(() => {
    if (folder.controllers.includes("memory")) limit(folder.path, "memory", amounts);
    mkdirSync(path);
    return spawnSync("/bin/sh", ["-c", `${JOIN} exit 0`, "sh", path], { timeout: TEST_MS }).status === 0;
  });
  removeGroup(path);
  return joined === true;
}

/** @throws The system's error: then the group is missing, so the command reports that and does not run. */
function makeGroup({ path, controllers }: GroupFolder, amounts: Amounts): void {
  mkdirSync(path);
  for (const each of controllers) limit(path, each, amounts);
}

function limit(path: string, controller: Controller, amounts: Amounts): void {
  writeFileSync(join(path, CONTROLLED[controller].limit), String(amounts[controller]));
  if (controller === "memory") tried(() => writeFileSync(join(path, "memory.swap.max"), "0")); // some do not count swap
}

/** The limits that the kernel counted as hit: refused forks, killed processes. */
function hitIn({ path, controllers }: GroupFolder): readonly Controlled[] {
  return controllers.flatMap((each) => {
    const [file, count] = CONTROLLED[each].hits;
    return Number(count.exec(textOf(join(path, file)))?.[1] ?? 0) > 0 ? [CONTROLLED[each].what] : [];
  });
}

async function endGroup({ path, controllers }: GroupFolder): Promise<void> {
  const deadline = performance.now() + PATIENCE;
  for (let wait = 1; !removeGroup(path) && performance.now() < deadline; wait = Math.min(wait * 2, 50)) {
    // Prevents forks, which could escape the kill.
    if (controllers.includes("pids")) tried(() => writeFileSync(join(path, "pids.max"), "0"));
    tried(() => writeFileSync(join(path, "cgroup.kill"), "1")); // since Linux 5.14
    const pids = textOf(join(path, "cgroup.procs")).split("\n").map(Number);
    // 0 is a process in a PID namespace that is not visible from here.
    for (const pid of pids) if (pid > 0) tried(() => process.kill(pid, "SIGKILL"));
    await pause(wait, undefined, { keepsAlive: false });
  }
}
