// A separate process that starts and watches commands for its parent. It is small, so that starting costs the same
// however large the parent is (a fork copies the page tables of the process, which stands still meanwhile). It outlives
// its parent, so that nothing remains when that is killed.
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
import { messageOf, tried } from "../../core/util/errors.ts";
import { commandProgram } from "../../core/util/executable.ts";
import { type Drain, drain } from "./drain.ts";
import { type ProcessTree, killTree } from "./kill-tree.ts";
import { MARK_VARIABLE } from "./marks.ts";
import { fifoFailure, pipeMaker } from "./pipes.ts";
import { startOf } from "./process-start.ts";
import type { Answer, Request, StartRequest } from "./protocol.ts";

const { O_NONBLOCK, O_RDONLY, O_RDWR, O_WRONLY } = constants;

/** How long a job's output may take to reach the file: a child may hold the pipe open. Milliseconds. */
const JOB_DRAIN_MS = 500;

/** The longest time that every sleep(1) accepts: 68 years, in seconds. */
const FOREVER = "2147483647";

/** O_CLOEXEC (open(2)), as /proc shows it. */
const CLOSE_ON_EXEC = 0o2000000;

const pipes = pipeMaker();
const commands = new Map<number, ProcessTree>();
const drains = new Map<number, Drain>();
/** The leases of all backends that started something. */
const leases = new Set<string>();
/** Folders of jobs that have a lease. */
const leased = new Set<string>();
/** The number of running jobs without a lease. */
let detached = 0;
let leaving = false;

closeInherited();
for (const signal of ["SIGTERM", "SIGINT", "SIGHUP"] as const) process.on(signal, () => void leave());
process.on("disconnect", () => void leave());
process.on("message", (request: Request) => void answer(request));
if (!process.connected) void leave(); // the parent died meanwhile

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
      leases.delete(request.mark ?? ""); // the backend is closed and starts nothing more
      return say({ type: "stopped", id: request.id, all });
    }
    case "drain":
      return startDrain(request.id, request.pipe, request.file);
    case "release":
      drains.get(request.drain)?.release();
      return say({ type: "done", id: request.id });
    case "pipes": {
      const { folder } = pipes;
      return pipes.make().then(
        (names) => say({ type: "pipes", id: request.id, folder, names }),
        (error: unknown) => say({ type: "pipes", id: request.id, folder, names: [], problem: messageOf(error) }),
      );
    }
  }
}

function start(request: StartRequest): void {
  const { id, argv, program, cwd, env, mark, lease, job } = request;
  const [argv0, ...args] = argv;
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
    const child = spawn(fileOf(program, request), args, {
      argv0,
      cwd,
      env: mark === undefined ? env : { ...env, ...marked(mark) },
      detached: true, // its own session: no terminal to ask on, one group to signal
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
        fail(request, error); // its owner stops it; nothing else would find it
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

/**
 * Returns what to execute for a program. Names without a slash are looked up here: execvp(3) reports the error of a
 * folder in `PATH` that may not be entered, and does not look further when a folder is a loop of links.
 *
 * @throws The system's error of a missing or not executable program.
 */
function fileOf(program: string, { cwd, env }: StartRequest): string {
  if (program.includes("/") || program === "") return program;
  const found = commandProgram(program, { cwd, path: env["PATH"] });
  if ("path" in found) return found.path;
  const code = found.problem === "missing" ? "ENOENT" : "EACCES";
  throw Object.assign(new Error(`spawn ${program} ${code}`), { code });
}

function fail({ id, cwd }: StartRequest, error: unknown): void {
  const { code = "", message } = error as NodeJS.ErrnoException;
  say({
    type: "failed",
    id,
    code,
    message,
    isFolderMissing: (code === "ENOENT" || code === "ENOTDIR") && tried(() => statSync(cwd).isDirectory()) !== true,
  });
}

/** Opens one end of a pipe without waiting for the other end's owner, who may be dead. Opens both ends meanwhile. */
function openEnd(path: string, flags: number): number {
  let both: number | undefined;
  try {
    both = openSync(path, O_RDWR | O_NONBLOCK);
    return openSync(path, flags);
  } catch (error) {
    // Without the error's code, which would mean that the program is missing.
    throw new Error(`its pipe is gone: ${String(error)}`, { cause: error });
  } finally {
    if (both !== undefined) closeSync(both);
  }
}

function marked(mark: string): NodeJS.ProcessEnv {
  return { [MARK_VARIABLE]: `${process.env[MARK_VARIABLE] ?? ""}${mark}` };
}

/** Creates the pipes of a job, in its folder. */
function makePipes({ stdin, stdout }: StartRequest): void {
  try {
    execFileSync("mkfifo", ["-m", "600", ...(stdin === undefined ? [] : [stdin]), stdout]);
  } catch (error) {
    throw fifoFailure(error);
  }
}

/** The helper processes of a job: one copies its output to a file, the other holds its stdin open. */
interface Helpers {
  readonly copying: Drain;
  readonly holder: ChildProcess | undefined;
}

function helpersOf({ stdin, stdout, mark = "" }: StartRequest, folder: string): Helpers {
  const copying = drain(stdout, join(folder, "out"));
  return { copying, holder: stdin === undefined ? undefined : holdOpen(stdin, mark) };
}

/** Notes the state of a job in its folder. Everything that needs disk space was created before. */
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

/** Keeps a FIFO open for writing, so that its reader sees no end. Ends when it is killed. */
function holdOpen(fifo: string, mark: string): ChildProcess {
  const end = openEnd(fifo, O_WRONLY);
  try {
    const env = { PATH: process.env["PATH"] ?? "/usr/bin:/bin", ...marked(mark) };
    const holder = spawn("sleep", [FOREVER], { detached: true, env, stdio: ["ignore", end, "ignore"] });
    holder.on("error", () => undefined); // then it has no PID
    if (holder.pid === undefined) throw new Error("sleep could not be started");
    return holder;
  } finally {
    closeSync(end);
  }
}

function renameIn(folder: string, from: string, to: string): void {
  tried(() => renameSync(join(folder, from), join(folder, to))); // nothing needs a folder that was removed
}

function startDrain(id: number, pipe: string, file: string): void {
  try {
    const copying = drain(pipe, file);
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

/** When the parent has ended, or on a signal: ends what has a lease or no mark, and exits after the other jobs. */
async function leave(): Promise<void> {
  if (leaving) return;
  leaving = true;
  if (process.connected) process.disconnect(); // a parent that still needs a spawner starts another
  pipes.remove(); // first: if another Handrail ends this process too, there may be no later
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
  // If the channel is closed, "disconnect" follows.
  if (process.connected) process.send?.(message, undefined, undefined, () => undefined);
}

/** Closes inherited descriptors, which commands would inherit too. Node protects only the lowest. Linux only. */
function closeInherited(): void {
  if (process.platform !== "linux") return;
  for (const name of readdirSync("/proc/self/fd")) {
    const fd = Number(name);
    if (fd <= 2) continue;
    try {
      const flags = /^flags:\s*(\d+)$/m.exec(readFileSync(`/proc/self/fdinfo/${fd}`, "latin1"))?.[1];
      if (flags !== undefined && (Number.parseInt(flags, 8) & CLOSE_ON_EXEC) === 0) closeSync(fd);
    } catch {
      // it was the descriptor that listed them
    }
  }
}
