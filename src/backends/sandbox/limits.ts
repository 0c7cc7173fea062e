import { spawn } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import { totalmem } from "node:os";
import { join } from "node:path";
import { pause } from "../../util/abort.ts";
import { type Controller, type GroupFolder, makeGroupFolders, read, removeGroup } from "./control-groups.ts";
import { processLimit } from "./process-limit.ts";

/** What one command may take of this machine. */
export interface LimitSettings {
  /** Processes and threads at a time. Default 1,000. */
  readonly processes?: number;
  /** Bytes of memory, swap included; also for all commands together. Default: 80 % of the machine's, or of what this process itself may use. */
  readonly memory?: number;
  /** Bytes that stay free on a disk that commands write to (see `guardDisk`). Default 512 MiB. */
  readonly diskFree?: number;
}

/** The kernel's limits for the commands of one backend. */
export interface Limits {
  /** What is not limited here, each a sentence with its reason. */
  readonly missing: readonly string[];
  /**
   * Limits for one command that is about to start. Never rejects: where its group cannot be made any more, the command says so and does not run.
   * `then` is the text of sh that runs under them, with all words behind the prefix as its arguments. Default: it becomes them.
   */
  forCommand(then?: string): Promise<CommandLimits>;
  /** Lets go of what is unused. What still runs keeps its limits. */
  close(): Promise<void>;
}

/** The limits of one command. */
export interface CommandLimits {
  /** Words in front of a command: they set its limits and become it (exec). It has no core files either. */
  readonly prefix: readonly string[];
  /** Limits that were hit so far (ask before `dispose`), as far as the kernel says: nothing where an ordinary user's processes are counted (RLIMIT_NPROC). */
  hit(): Promise<readonly Controlled[]>;
  /** For when the command has ended: ends whatever still runs in its group and removes it. Never rejects. */
  dispose(): Promise<void>;
}

type Controlled = "processes" | "memory";

const DEFAULT_PROCESSES = 1_000;
const MEMORY_SHARE = 0.8;
/** How long a group may be busy with processes that were killed, in milliseconds; after that it is left to the next start. */
const PATIENCE = 5_000;

const NAMES: { readonly [controller in Controller]: Controlled } = { pids: "processes", memory: "memory" };
const SENTENCES: { readonly [controller in Controller]: string } = {
  pids: "The number of processes is not limited",
  memory: "Memory is not limited",
};

// "0" is who writes. Exit code 125 as env, timeout and nohup have it for what failed before the command.
const joinBy = (file: string) =>
  `{ echo 0 >"$1/${file}"; } 2>/dev/null || { echo "handrail: this command cannot be put under its limits: $1" >&2; exit 125; }; shift;`;

/** sh has one thread; moving a thread, which v1 can, does not wait for every processor as moving a process does. */
const JOIN = { 1: joinBy("tasks"), 2: joinBy("cgroup.procs") } as const;

/**
 * Limits by control groups (cgroup v1 or v2) where this process may make some; else the number of processes by RLIMIT_NPROC, which the kernel
 * heeds for ordinary users. Costs a few file operations; with v2 also a short process that tries it.
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
        missing.set(each, `the control group ${folder.path} could be made, and not used`);
    }
  }
  const limit = missing.has("pids") ? processLimit(processes) : undefined;
  if (limit !== undefined) missing.delete("pids");

  let started = 0;
  return {
    missing: [...missing].map(([controller, reason]) => `${SENTENCES[controller]}: ${reason}.`),
    forCommand(then = 'exec "$@"') {
      const name = String(++started);
      const groups = folders.map((folder) => ({ ...folder, path: join(folder.path, name) }));
      for (const group of groups) makeGroup(group, processes, memory);
      return Promise.resolve({
        prefix: [...(limit?.words() ?? []), ...wordsFor(groups, then)],
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
  const own = process.constrainedMemory(); // 0 or beyond all bounds: none
  return own > 0 ? Math.min(own, totalmem()) : totalmem();
}

/** The memory of all commands is limited too; and with v2 more than one group's permissions decide who may be moved. */
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
  const attempt = spawn("/bin/sh", ["-c", `${JOIN[2]} exit 0`, "sh", group], { stdio: "ignore" });
  return new Promise<boolean>((resolve) => {
    attempt.once("error", () => resolve(false));
    attempt.once("close", (code) => resolve(code === 0));
  }).finally(() => removeGroup(group));
}

function wordsFor(groups: readonly GroupFolder[], then: string): readonly string[] {
  const script = ["ulimit -c 0;", ...groups.map(({ version }) => JOIN[version]), then].join(" ");
  return ["/bin/sh", "-c", script, "sh", ...groups.map(({ path }) => path)];
}

/** What fails here is found by the command, which then does not run. */
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
  try {
    writeFileSync(join(path, swap), String(swapBytes));
  } catch {
    // A kernel that does not count swap.
  }
}

/** What the kernel counted: forks it refused, processes it killed. (memory.failcnt counts what it could reclaim too.) */
function hitIn({ path, version, controllers }: GroupFolder): readonly Controlled[] {
  const counted: { readonly [controller in Controller]: RegExpExecArray | null } = {
    pids: /^max (\d+)/m.exec(read(join(path, "pids.events"))),
    memory: /^oom_kill (\d+)/m.exec(read(join(path, version === 1 ? "memory.oom_control" : "memory.events"))),
  };
  return controllers.filter((each) => Number(counted[each]?.[1] ?? 0) > 0).map((each) => NAMES[each]);
}

async function endGroup({ path, version, controllers }: GroupFolder): Promise<void> {
  const deadline = performance.now() + PATIENCE;
  for (let wait = 1; !removeGroup(path) && performance.now() < deadline; wait = Math.min(wait * 2, 50)) {
    if (controllers.includes("pids")) write(join(path, "pids.max"), "0"); // no forking away from it
    if (version === 2) write(join(path, "cgroup.kill"), "1");
    for (const line of read(join(path, "cgroup.procs")).split("\n")) end(Number(line));
    await pause(wait, undefined, { keepsAlive: false });
  }
}

function write(path: string, text: string): void {
  try {
    writeFileSync(path, text);
  } catch {
    // Another kernel, or the group is gone.
  }
}

/** 0 is a process of a namespace that is not seen from here. */
function end(pid: number): void {
  try {
    if (pid > 0) process.kill(pid, "SIGKILL");
  } catch {
    // It has ended.
  }
}
