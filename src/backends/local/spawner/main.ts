// A process of its own that starts commands for the one it belongs to, and watches over them. It is small, so that starting costs the
// same however large the other is (a fork copies the page tables of its parent and stands still meanwhile); and it outlives the
// other, so that nothing stays behind when that is killed.
import { type ChildProcess, spawn } from "node:child_process";
import {
  closeSync,
  constants,
  openSync,
  readdirSync,
  readFileSync,
  renameSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { type Drain, drain } from "./drain.ts";
import { type Family, killFamily } from "./kill-tree.ts";
import { MARK_VARIABLE } from "./marks.ts";
import { pipeMaker } from "./pipes.ts";
import { startOf } from "./process-start.ts";
import type { Answer, Request, StartRequest } from "./protocol.ts";

const { O_NONBLOCK, O_RDONLY, O_RDWR, O_WRONLY } = constants;

/** What a detached process has written is in its file so long after its end at the latest: a child may hold the pipe for ever. */
const DETACHED_DRAIN_MS = 500;

/** Bytes that are kept of what a detached process writes. 256 MiB. */
const DETACHED_KEPT = 268_435_456;

/** O_CLOEXEC (open(2)), as /proc shows it. */
const CLOSE_ON_EXEC = 0o2000000;

const pipes = pipeMaker();
const commands = new Map<number, Family>();
const drains = new Map<number, Drain>();
/** Beginnings of the marks of every backend that started something. */
const families = new Set<string>();
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
      const all = command === undefined || (await killFamily(command));
      return say({ type: "stopped", id: request.id, all });
    }
    case "sweep": {
      const all = await killFamily(request);
      families.delete(request.mark ?? ""); // the backend is closed: nothing more comes of it
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
  const { id, argv, cwd, env, mark, family } = request;
  const [program, ...args] = argv;
  const ends: number[] = [];
  const open = (path: string, flags: number) => {
    const end = openEnd(path, flags);
    ends.push(end);
    return end;
  };
  try {
    const stdin = request.stdin === undefined ? "ignore" : open(request.stdin, O_RDONLY);
    const stdout = open(request.stdout, O_WRONLY);
    const stderr = request.stderr === undefined ? stdout : open(request.stderr, O_WRONLY);
    const child = spawn(program, args, {
      cwd,
      env: mark === undefined ? env : { ...env, [MARK_VARIABLE]: `${process.env[MARK_VARIABLE] ?? ""}${mark}` },
      detached: true, // a session of its own: no terminal to ask on, one group to signal
      stdio: [stdin, stdout, stderr],
    });
    if (family !== undefined) families.add(family);
    child.once("error", (error) => commands.has(id) || fail(request, error));
    child.once("spawn", () => {
      const pid = child.pid ?? 0;
      commands.set(id, { group: pid, ...(mark !== undefined && { mark }) });
      try {
        if (request.detached !== undefined) keep(request, request.detached, child);
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

/** A detached process leaves all that is to be known of it in its folder. */
function keep({ stdout }: StartRequest, folder: string, child: ChildProcess): void {
  const pid = child.pid ?? 0;
  writeWhole(folder, "process.json", { pid, start: startOf(pid) });
  const copying = drainOrNothing(stdout, join(folder, "output"));
  detached++;
  child.once("exit", (code, signal) => {
    const atMs = Date.now();
    const exit = signal === null ? { how: "exited", code } : { how: "signaled", signal };
    void Promise.race([copying?.ended, pause(DETACHED_DRAIN_MS)])
      .then(() => writeWhole(folder, "exit.json", { exit, atMs }))
      .catch(() => undefined) // somebody has removed its folder: nobody asks any more
      .finally(() => {
        detached--;
        leaveIfDone();
      });
  });
}

/** At any moment there is all of the file or nothing. */
function writeWhole(folder: string, name: string, content: object): void {
  writeFileSync(join(folder, `${name}.part`), JSON.stringify(content), { mode: 0o600 });
  renameSync(join(folder, `${name}.part`), join(folder, name));
}

function drainOrNothing(pipe: string, file: string): Drain | undefined {
  try {
    return drain(pipe, file, DETACHED_KEPT);
  } catch {
    return undefined;
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

/** The backend's process has gone, or we are asked to: everything it started goes too, but what is detached. */
async function leave(): Promise<void> {
  if (leaving) return;
  leaving = true;
  if (process.connected) process.disconnect(); // whoever still needs a spawner starts another
  pipes.remove(); // first: where we are one of those that another Handrail ends, there may be no later
  const unmarked = [...commands.values()].filter(({ mark }) => mark === undefined);
  await Promise.all([...families].map((mark) => killFamily({ mark })).concat(unmarked.map(killFamily)));
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
