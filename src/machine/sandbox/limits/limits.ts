import { mkdirSync, writeFileSync } from "node:fs";
import { totalmem } from "node:os";
import { join } from "node:path";
import { runProgram } from "../../programs/start.ts";
import { pause } from "../../../core/util/abort.ts";
import { tried } from "../../../core/util/errors.ts";
import { type Controller, type GroupFolder, makeGroupFolders, removeGroup } from "./control-groups.ts";
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
  /** Bytes of the package caches of all workspaces together. Default: 4 GiB. */
  readonly caches?: number;
}

/** The kernel's limits for the commands of one backend. */
export interface Limits {
  /** What cannot be limited on this machine: one sentence each, with the reason. */
  readonly missing: readonly string[];
  /**
   * Creates the limits of one command that is about to start. If the group cannot be created, the command reports that
   * and does not run. `then` is sh code that runs under the limits, with all words after the prefix as its arguments.
   * Default: executes them. `isEarly`: the command starts later, if the limits still hold then.
   */
  forCommand(then?: string, isEarly?: boolean): Promise<CommandLimits>;
  /** Removes unused groups. Running commands keep their limits. */
  close(): Promise<void>;
}

/** The limits of one command. */
export interface CommandLimits {
  /** Words before the command. They set its limits, disable core files, and then execute it. */
  readonly prefix: readonly string[];
  /** Whether they are not looser than limits created now, nor much stricter. */
  holds(): boolean;
  /** The limits that were hit so far; call it before `dispose`. The kernel does not count RLIMIT_NPROC. */
  hit(): Promise<readonly Controlled[]>;
  /** Kills what still runs in the group of an ended command, and removes the group. Never rejects. */
  dispose(): Promise<void>;
}

type Controlled = "processes" | "memory";

const DEFAULT_PROCESSES = 1_000;
const MEMORY_SHARE = 0.8;
/** How long to wait for killed processes to leave a group. After that, a later start removes it. Milliseconds. */
const PATIENCE = 5_000;

const NAMES: { readonly [controller in Controller]: Controlled } = { pids: "processes", memory: "memory" };
const SENTENCES: { readonly [controller in Controller]: string } = {
  pids: "The number of processes is not limited",
  memory: "Memory is not limited",
};

// "0" means the writing process. env, timeout and nohup also exit with 125 for failures before the command.
const joinBy = (file: string) =>
  `{ echo 0 >"$1/${file}"; } 2>/dev/null || ` +
  '{ echo "handrail: the limits of this command cannot be applied: $1" >&2; exit 125; }; shift;';

/** v1 can move one thread, which is faster: moving a process waits for every processor. sh has one thread. */
const JOIN = { 1: joinBy("tasks"), 2: joinBy("cgroup.procs") } as const;

/**
 * Creates limits with control groups (cgroup v1 or v2) if this process may create groups. Otherwise limits only the
 * number of processes, with RLIMIT_NPROC, which the kernel enforces for users other than root. Costs a few file
 * operations; v2 also starts a short process as a test.
 */
export async function createLimits({
  processes = DEFAULT_PROCESSES,
  memory = Math.floor(usableMemory() * MEMORY_SHARE),
}: LimitSettings): Promise<Limits> {
  const { folders: found, reasons } = makeGroupFolders();
  const folders: GroupFolder[] = [];
  const missing = new Map(reasons);
  for (const folder of found) {
    if (await canUse(folder, memory)) folders.push(folder);
    else {
      removeGroup(folder.path);
      for (const each of folder.controllers)
        missing.set(each, `the control group ${folder.path} could be created but not used`);
    }
  }
  const limit = missing.has("pids") ? processLimit(processes) : undefined;
  if (limit !== undefined) missing.delete("pids");

  let started = 0;
  return {
    missing: [...missing].map(([controller, reason]) => `${SENTENCES[controller]}: ${reason}.`),
    forCommand(then = 'exec "$@"', isEarly = false) {
      const name = String(++started);
      const groups = folders.map((folder) => ({ ...folder, path: join(folder.path, name) }));
      for (const group of groups) makeGroup(group, processes, memory);
      const ofUser = limit?.(isEarly);
      return Promise.resolve({
        prefix: [...(ofUser?.words ?? []), ...wordsFor(groups, then)],
        holds: () => ofUser?.holds() ?? true,
        hit: () => Promise.resolve(groups.flatMap(hitIn)),
        dispose: async () => void (await Promise.all(groups.map(endGroup))),
      });
    },
    close() {
      for (const { path } of folders) removeGroup(path);
      return Promise.resolve();
    },
  };
}

function usableMemory(): number {
  const own = process.constrainedMemory(); // 0 or an enormous number: no limit
  return own > 0 ? Math.min(own, totalmem()) : totalmem();
}

/** Limits the memory of all commands together, and tries to move a process: v2 needs permissions on several groups. */
async function canUse(folder: GroupFolder, memory: number): Promise<boolean> {
  try {
    if (folder.controllers.includes("memory")) limitMemory(folder, memory);
    return folder.version === 1 || (await canJoin(folder));
  } catch {
    return false;
  }
}

function canJoin({ path }: GroupFolder): Promise<boolean> {
  const group = join(path, "probe");
  mkdirSync(group);
  return runProgram(["/bin/sh", "-c", `${JOIN[2]} exit 0`, "sh", group], { cwd: "/", isBare: true })
    .then(
      ({ code }) => code === 0,
      () => false,
    )
    .finally(() => removeGroup(group));
}

function wordsFor(groups: readonly GroupFolder[], then: string): readonly string[] {
  const script = ["ulimit -c 0;", ...groups.map(({ version }) => JOIN[version]), then].join(" ");
  return ["/bin/sh", "-c", script, "sh", ...groups.map(({ path }) => path)];
}

/** Creates a command's group. On failure the group is missing, so the command reports that and does not run. */
function makeGroup(group: GroupFolder, processes: number, memory: number): void {
  try {
    mkdirSync(group.path);
    if (group.controllers.includes("pids")) writeFileSync(join(group.path, "pids.max"), String(processes));
    if (group.controllers.includes("memory")) limitMemory(group, memory);
  } catch {
    removeGroup(group.path);
  }
}

function limitMemory({ path, version }: GroupFolder, bytes: number): void {
  const [memory, swap, swapBytes] =
    version === 1
      ? ["memory.limit_in_bytes", "memory.memsw.limit_in_bytes", bytes]
      : ["memory.max", "memory.swap.max", 0];
  writeFileSync(join(path, memory), String(bytes));
  tried(() => writeFileSync(join(path, swap), String(swapBytes))); // some kernels do not count swap
}

/** The limits that the kernel counted as hit: refused forks, killed processes. (memory.failcnt counts more.) */
function hitIn({ path, version, controllers }: GroupFolder): readonly Controlled[] {
  const counted: { readonly [controller in Controller]: RegExpExecArray | null } = {
    pids: /^max (\d+)/m.exec(textOf(join(path, "pids.events"))),
    memory: /^oom_kill (\d+)/m.exec(textOf(join(path, version === 1 ? "memory.oom_control" : "memory.events"))),
  };
  return controllers.filter((each) => Number(counted[each]?.[1] ?? 0) > 0).map((each) => NAMES[each]);
}

async function endGroup({ path, version, controllers }: GroupFolder): Promise<void> {
  const deadline = performance.now() + PATIENCE;
  for (let wait = 1; !removeGroup(path) && performance.now() < deadline; wait = Math.min(wait * 2, 50)) {
    // Prevents forks, which could escape the kill.
    if (controllers.includes("pids")) tried(() => writeFileSync(join(path, "pids.max"), "0"));
    if (version === 2) tried(() => writeFileSync(join(path, "cgroup.kill"), "1")); // only newer kernels have this file
    const pids = textOf(join(path, "cgroup.procs")).split("\n").map(Number);
    // 0 is a process in a PID namespace that is not visible from here.
    for (const pid of pids) if (pid > 0) tried(() => process.kill(pid, "SIGKILL"));
    await pause(wait, undefined, { keepsAlive: false });
  }
}
