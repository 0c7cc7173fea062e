// A process of its own that starts commands for the one it belongs to, and watches over them. It is small, so that starting costs the
// same however large the other is (a fork copies the page tables of its parent and stands still meanwhile); and it outlives the
// other, so that nothing stays behind when that is killed.
import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import {
  closeSync,
  constants,
  openSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { type Drain, drain } from "./drain.ts";
import { type ProcessTree, killTree } from "./kill-tree.ts";
import { MARK_VARIABLE } from "./marks.ts";
import { pipeMaker } from "./pipes.ts";
import { startOf } from "./process-start.ts";
import type { Answer, Request, StartRequest } from "./protocol.ts";

const { O_NONBLOCK, O_RDONLY, O_RDWR, O_WRONLY } = constants;

/** The output of a job is in its file so long after its end at the latest: a child may hold the pipe for ever. */
const JOB_DRAIN_MS = 500;

/** Bytes that are kept of what a job writes. 256 MiB. */
const JOB_KEPT = 268_435_456;

/** The longest time that every sleep(1) takes. Seconds, 68 years. */
const FOREVER = "2147483647";

/** O_CLOEXEC (open(2)), as /proc shows it. */
const CLOSE_ON_EXEC = 0o2000000;

const pipes = pipeMaker();
const commands = new Map<number, ProcessTree>();
const drains = new Map<number, Drain>();
/** Of every backend that started something. */
const leases = new Set<string>();
/** Folders of jobs that have a lease. */
const leased = new Set<string>();
/** Jobs without a lease that run. */
let detached = 0;
let leaving = false;

closeInherited();
for (const signal of ["SIGTERM", "SIGINT", "SIGHUP"] as const) process.on(signal, () => void leave());
process.on("disconnect", () => void leave());
process.on("message", (request: Request) => void answer(request));
if (!process.connected) void leave(); // it died while we started

async function answer(request: Request): Promise<void> {
  switch (request.op) {
    case "start":
      return start(request);
    case "stop": {
      const command = commands.get(request.command);
      const all = command === undefined || (await killTree(command));
      return say({ type: "stopped", id: request.id, all });
    }
    case "sweep": {
      const all = await killTree(request);
      leases.delete(request.mark ?? ""); // the backend is closed: nothing more comes of it
      return say({ type: "stopped", id: request.id, all });
    }
    case "drain":
      return startDrain(request.id, request.pipe, request.file, request.most);
    case "release":
      drains.get(request.drain)?.release();
      return say({ type: "done", id: request.id });
    case "pipes": {
      const names = await pipes.make().catch(() => []);
      return say({ type: "pipes", id: request.id, folder: pipes.folder, names });
    }
  }
}

function start(request: StartRequest): void {
  const { id, argv, cwd, env, mark, lease, job } = request;
  const [program, ...args] = argv;
  const ends: number[] = [];
  const open = (path: string, flags: number) => {
    const end = openEnd(path, flags);
    ends.push(end);
    return end;
  };
  try {
    if (job !== undefined) makePipes(request);
    const stdin = request.stdin === undefined ? "ignore" : open(request.stdin, O_RDONLY);
    const stdout = open(request.stdout, O_WRONLY);
    const stderr = request.stderr === undefined ? stdout : open(request.stderr, O_WRONLY);
    const helpers = job === undefined ? undefined : helpersOf(request, job);
    const child = spawn(program, args, {
      cwd,
      env: mark === undefined ? env : { ...env, ...marked(mark) },
      detached: true, // a session of its own: no terminal to ask on, one group to signal
      stdio: [stdin, stdout, stderr],
    });
    if (lease !== undefined) leases.add(lease);
    child.once("error", (error) => {
      if (commands.has(id)) return;
      helpers?.holder?.kill();
      fail(request, error);
    });
    child.once("spawn", () => {
      const pid = child.pid ?? 0;
      commands.set(id, { group: pid, ...(mark !== undefined && { mark }) });
      try {
        if (job !== undefined && helpers !== undefined) keep(request, job, child, helpers);
        say({ type: "started", id, pid });
      } catch (error) {
        fail(request, error); // its owner stops it: nobody would ever find it
      }
    });
    child.once("exit", (code, signal) => {
      say({ type: "exited", id, code, signal });
      commands.delete(id);
    });
  } catch (error) {
    fail(request, error);
  } finally {
    for (const end of ends) closeSync(end);
  }
}

function fail({ id, cwd }: StartRequest, error: unknown): void {
  const { code = "", message } = error as NodeJS.ErrnoException;
  say({
    type: "failed",
    id,
    code,
    message,
    isFolderMissing: (code === "ENOENT" || code === "ENOTDIR") && !isFolder(cwd),
  });
}

/**
 * Opens one end of a pipe without ever waiting for the other: who should hold that may have died, and we must hear of it. So both
 * are open meanwhile.
 */
function openEnd(path: string, flags: number): number {
  let both: number | undefined;
  try {
    both = openSync(path, O_RDWR | O_NONBLOCK);
    return openSync(path, flags);
  } catch (error) {
    throw new Error(`its pipe is gone: ${String(error)}`, { cause: error }); // without the code, which says that of a program
  } finally {
    if (both !== undefined) closeSync(both);
  }
}

function marked(mark: string): NodeJS.ProcessEnv {
  return { [MARK_VARIABLE]: `${process.env[MARK_VARIABLE] ?? ""}${mark}` };
}

/** The pipes of a job, in its folder. */
function makePipes({ stdin, stdout }: StartRequest): void {
  execFileSync("mkfifo", ["-m", "600", ...(stdin === undefined ? [] : [stdin]), stdout]);
}

/** What a job has beside it: a program that copies its output into a file, and one that holds its stdin open. */
interface Helpers {
  readonly copying: Drain;
  readonly holder: ChildProcess | undefined;
}

function helpersOf({ stdin, stdout, mark = "" }: StartRequest, folder: string): Helpers {
  const copying = drain(stdout, join(folder, "out"), JOB_KEPT);
  return { copying, holder: stdin === undefined ? undefined : holdOpen(stdin, mark) };
}

/** Notes in the folder of a job what becomes of it. Everything that needs room on the disk was made before. */
function keep(
  { stdout, lease }: StartRequest,
  folder: string,
  child: ChildProcess,
  { copying, holder }: Helpers,
): void {
  const pid = child.pid ?? 0;
  const note = (name: string) => writeFileSync(join(folder, name), "", { mode: 0o600 });
  if (holder !== undefined) note(`holder-${holder.pid}`);
  note(`pid-${pid}-${startOf(pid)}`);
  rmSync(stdout);
  if (lease === undefined) detached++;
  else leased.add(folder);
  void copying.ended.then((dropped = 0) => renameIn(folder, "filling", `dropped-${dropped}`));
  child.once("exit", (code, signal) => {
    holder?.kill();
    renameIn(folder, "running", `exited-${signal ?? code}-${Date.now() / 1_000}`);
    if (lease !== undefined) return;
    void Promise.race([copying.ended, pause(JOB_DRAIN_MS)]).then(() => {
      detached--;
      leaveIfDone();
    });
  });
}

/** Holds a FIFO open for writing, so that whoever reads from it does not come to its end. Ends when that is to be. */
function holdOpen(fifo: string, mark: string): ChildProcess {
  const end = openEnd(fifo, O_WRONLY);
  try {
    const env = { PATH: process.env["PATH"] ?? "/usr/bin:/bin", ...marked(mark) };
    const holder = spawn("sleep", [FOREVER], { detached: true, env, stdio: ["ignore", end, "ignore"] });
    holder.on("error", () => undefined); // then it has no process id
    if (holder.pid === undefined) throw new Error("sleep could not be started");
    return holder;
  } finally {
    closeSync(end);
  }
}

function renameIn(folder: string, from: string, to: string): void {
  try {
    renameSync(join(folder, from), join(folder, to));
  } catch {
    // somebody has removed the folder: nobody asks any more
  }
}

function startDrain(id: number, pipe: string, file: string, most: number): void {
  try {
    const copying = drain(pipe, file, most);
    drains.set(id, copying);
    say({ type: "draining", id, pid: copying.pid });
    void copying.ended.then((dropped) => {
      drains.delete(id);
      say({ type: "drained", id, ...(dropped !== undefined && { dropped }) });
    });
  } catch {
    say({ type: "drained", id });
  }
}

/** The backend's process has gone, or we are asked to: everything it started goes too, but what has no lease. */
async function leave(): Promise<void> {
  if (leaving) return;
  leaving = true;
  if (process.connected) process.disconnect(); // whoever still needs a spawner starts another
  pipes.remove(); // first: where we are one of those that another Handrail ends, there may be no later
  const unmarked = [...commands.values()].filter(({ mark }) => mark === undefined);
  await Promise.all([...leases].map((mark) => killTree({ mark })).concat(unmarked.map(killTree)));
  for (const folder of leased) rmSync(folder, { recursive: true, force: true });
  for (const copying of drains.values()) copying.release();
  leaveIfDone();
}

function leaveIfDone(): void {
  if (leaving && detached === 0) process.exit();
}

function say(message: Answer): void {
  // Where nobody listens any more, "disconnect" is on its way.
  if (process.connected) process.send?.(message, undefined, undefined, () => undefined);
}

function isFolder(path: string): boolean {
  try {
    return statSync(path).isDirectory();
  } catch {
    return false;
  }
}

/**
 * Files that whoever started Handrail left open would reach every command. Node marks the lowest of them as its own; the rest is
 * closed here. Only Linux tells which.
 */
function closeInherited(): void {
  if (process.platform !== "linux") return;
  for (const name of readdirSync("/proc/self/fd")) {
    const fd = Number(name);
    if (fd <= 2) continue;
    try {
      const flags = /^flags:\s*(\d+)$/m.exec(readFileSync(`/proc/self/fdinfo/${fd}`, "latin1"))?.[1];
      if (flags !== undefined && (Number.parseInt(flags, 8) & CLOSE_ON_EXEC) === 0) closeSync(fd);
    } catch {
      // it was the one that listed them
    }
  }
}
