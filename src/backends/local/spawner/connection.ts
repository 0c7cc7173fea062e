import { type ChildProcess, spawn } from "node:child_process";
import { rm } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import type { Exit } from "../../../contract/backend.ts";
import { ToolFailure } from "../../../contract/failure.ts";
import { pause } from "../../../util/abort.ts";
import { processStatus } from "../../../util/process-status.ts";
import { UNSTOPPABLE } from "../../stopping.ts";
import { MARK_VARIABLE, SPAWNER_VARIABLE } from "./marks.ts";
import type { Answer, Request, StartRequest } from "./protocol.ts";

/** With fewer pipes than this at hand, more are made: a command takes up to three. */
const FEW_PIPES = 8;

/** How often it is looked whether a copy has ended that nobody watches over any more. */
const ORPHAN_LOOK_MS = 20;

/** The process that starts commands for this one. */
export interface Spawner {
  /** Rejects with a `StartError` when the program cannot be started. */
  start(request: Omit<StartRequest, "op" | "id" | "job">): Promise<Child>;
  /** The same for a job, whose end is noted in its folder alone. Resolves to its process id. */
  startJob(request: Omit<StartRequest, "op" | "id"> & { readonly job: string }): Promise<number>;
  /** The name of a new pipe. Who takes it removes it. */
  takePipe(): Promise<string>;
  /** Copies from a pipe to the end of a file without us, until that has `most` bytes. `undefined` when that cannot be started. Never rejects. */
  drain(pipe: string, file: string, most: number): Promise<Copying | undefined>;
  /** Ends everything in whose mark the text stands, and a process group with its descendants. Resolves like `Child.stop`. */
  sweep(tree: { readonly mark?: string; readonly group?: number }): Promise<boolean>;
  /** Resolves when it has died. */
  readonly died: Promise<void>;
}

export interface Child {
  readonly pid: number;
  /** Never rejects. */
  readonly exit: Promise<ChildExit>;
  /**
   * TERM, a grace of two seconds, KILL to it and all it started. Resolves when they have ended; to false when some of them cannot be ended from here, and then nobody waits for
   * them any more: `exit` says "lost" if it is one of these. Never rejects.
   */
  stop(): Promise<boolean>;
}

type ChildExit = Extract<Exit, { how: "exited" | "signaled" | "lost" }>;

export interface Copying {
  /** Of the process that copies. */
  readonly pid: number;
  /** Resolves to the bytes that were read and are not in the file, where they were counted to the end. Never rejects. */
  readonly ended: Promise<number | undefined>;
  /** Ends it before the pipe has ended. */
  release(): void;
}

/** A program that could not be started, with the system's code for why. */
export class StartError extends Error {
  readonly code: string;
  readonly isFolderMissing: boolean;

  constructor({ code, message, isFolderMissing }: Extract<Answer, { type: "failed" }>) {
    super(message);
    this.code = code;
    this.isFolderMissing = isFolderMissing;
  }
}

/** By the user they run as: a program that gives up its rights must not start commands with them. */
const spawners = new Map<string, Promise<Spawner>>();

/**
 * The spawner of this process: started when it is first needed, shared by all, replaced when it has died.
 *
 * @throws ToolFailure when it cannot be started.
 */
export function spawner(): Promise<Spawner> {
  const user = [process.getuid?.(), process.geteuid?.(), process.getgid?.(), process.getegid?.()].join(":");
  const there = spawners.get(user);
  if (there !== undefined) return there;
  const forget = () => {
    if (spawners.get(user) === starting) spawners.delete(user);
  };
  const starting = connect(forget);
  starting.catch(forget);
  spawners.set(user, starting);
  return starting;
}

async function connect(onDeath: () => void): Promise<Spawner> {
  const pipes: string[] = [];
  let filling: Promise<boolean> | undefined;
  let folder: string | undefined;
  let die: () => void = () => {};
  const died = new Promise<void>((resolve) => (die = resolve));
  const { ask, forget, isDead } = connectionTo(begin(), () => {
    onDeath();
    die();
    // It removes its pipes itself, unless it was killed.
    if (folder !== undefined) void rm(folder, { recursive: true, force: true }).catch(() => undefined);
  });

  /** Resolves to true when there are more pipes now. */
  const fill = () => {
    filling ??= new Promise<boolean>((resolve) => {
      ask({ op: "pipes" }, (answer) => {
        const names = answer?.type === "pipes" ? answer.names : [];
        if (answer?.type === "pipes") ({ folder } = answer);
        pipes.push(...names);
        filling = undefined;
        resolve(names.length > 0);
        return true;
      });
    });
    return filling;
  };

  await fill();
  if (isDead()) {
    throw new ToolFailure("the process that starts commands ended at once", { hint: "`handrail doctor` says more." });
  }

  return {
    start: (request) =>
      new Promise((resolve, reject) => {
        let pid: number | undefined;
        let end: (exit: ChildExit) => void = () => {};
        const command = ask({ op: "start", ...request }, (answer) => {
          if (answer?.type === "started") {
            ({ pid } = answer);
            const exit = new Promise<ChildExit>((settle) => (end = settle));
            const stop = async () => {
              const all = await asked(ask, { op: "stop", command });
              if (!all) {
                forget(command);
                end({ how: "lost", reason: UNSTOPPABLE });
              }
              return all;
            };
            resolve({ pid, exit, stop });
            return false;
          }
          if (answer?.type === "exited") end(exitOf(answer));
          else if (answer?.type === "failed") reject(new StartError(answer));
          else void endLost(request, pid).then(end, reject);
          return true;
        });
      }),
    startJob: (request) =>
      new Promise((resolve, reject) => {
        ask({ op: "start", ...request }, (answer) => {
          if (answer?.type === "started") resolve(answer.pid);
          else if (answer?.type === "failed") reject(new StartError(answer));
          else void endLost(request, undefined).catch(reject);
          return true;
        });
      }),
    async takePipe() {
      // Many may wait for the same few: as long as more are made, everybody's turn comes.
      for (let more = true; more;) {
        if (pipes.length < FEW_PIPES) void fill();
        const name = pipes.pop();
        if (name !== undefined) return name;
        more = await fill();
      }
      throw new ToolFailure("no pipe could be made for the command's output", {
        hint: "Is the temporary folder full, or not writable? `handrail doctor` says more.",
      });
    },
    drain: (pipe, file, most) =>
      new Promise((resolve) => {
        let end: (dropped: number | undefined) => void = () => {};
        let pid: number | undefined;
        const drain = ask({ op: "drain", pipe, file, most }, (answer) => {
          if (answer?.type === "draining") {
            ({ pid } = answer);
            const ended = new Promise<number | undefined>((settle) => (end = settle));
            const { pid: group } = answer;
            const release = () => (isDead() ? interrupt(group) : void ask({ op: "release", drain }, () => true));
            resolve({ pid: group, ended, release });
            return false;
          }
          resolve(undefined); // where it runs already, this changes nothing
          if (answer?.type === "drained") end(answer.dropped);
          else void orphanEnded(pid).then(() => end(undefined));
          return true;
        });
      }),
    sweep: (tree) => asked(ask, { op: "sweep", ...tree }),
    died,
  };
}

/** Whether all were ended. Where the spawner has died over it, that is told of each process. */
function asked(ask: Connection["ask"], request: Asked): Promise<boolean> {
  return new Promise((resolve) => {
    ask(request, (answer) => {
      resolve(answer?.type !== "stopped" || answer.all);
      return true;
    });
  });
}

/** Hears the answers to one request; `undefined` stands for the spawner's death. True: that was the last. */
type Hear = (answer: Answer | undefined) => boolean;

type Asked = Request extends infer R ? (R extends Request ? Omit<R, "id"> : never) : never;

/** Requests and their answers. */
interface Connection {
  /** Returns the request's number. */
  ask(request: Asked, hear: Hear): number;
  /** No more answers to this one are waited for. */
  forget(id: number): void;
  isDead(): boolean;
}

/** It keeps this process alive as long as an answer is waited for, no longer. */
function connectionTo(child: ChildProcess, onDeath: () => void): Connection {
  const waiting = new Map<number, Hear>();
  let lastId = 0;
  let dead = false;

  const hear = (id: number, answer: Answer | undefined) => {
    if (waiting.get(id)?.(answer) === true) forget(id);
  };
  const forget = (id: number) => {
    waiting.delete(id);
    if (waiting.size === 0) child.channel?.unref();
  };
  const die = () => {
    if (dead) return;
    dead = true;
    onDeath();
    for (const id of [...waiting.keys()]) hear(id, undefined);
  };
  child.once("exit", die).once("disconnect", die).on("error", die);
  child.on("message", (answer: Answer) => hear(answer.id, answer));
  child.unref();
  child.channel?.unref();

  return {
    ask(request, heard) {
      const id = ++lastId;
      if (waiting.size === 0) child.channel?.ref();
      waiting.set(id, heard);
      // A message that cannot be sent means that it has died; that is told by itself.
      if (!dead) child.send({ ...request, id }, () => undefined);
      else queueMicrotask(() => hear(id, undefined));
      return id;
    },
    forget,
    isDead: () => dead,
  };
}

function begin(): ChildProcess {
  const { PATH, TMPDIR, [MARK_VARIABLE]: mark } = process.env;
  return spawn(process.execPath, [fileURLToPath(new URL(__SPAWNER__, import.meta.url))], {
    cwd: "/", // it must not hold on to a folder
    detached: true, // Ctrl-C in a terminal is for us: we end what runs, in order
    env: {
      ...(PATH !== undefined && { PATH }),
      ...(TMPDIR !== undefined && { TMPDIR }),
      // Where a command of another Handrail started us, that one finds what we start too.
      ...(mark !== undefined && { [MARK_VARIABLE]: mark }),
      [SPAWNER_VARIABLE]: "1",
      ...(process.versions["electron"] !== undefined && { ELECTRON_RUN_AS_NODE: "1" }),
    },
    stdio: ["ignore", "ignore", "ignore", "ipc"],
  });
}

function exitOf({ code, signal }: Extract<Answer, { type: "exited" }>): ChildExit {
  return signal === null ? { how: "exited", code: code ?? 0 } : { how: "signaled", signal };
}

/** The spawner has died over a copy, which goes on without it. Resolves when that has ended; nobody else may read from its pipe before. */
async function orphanEnded(pid: number | undefined): Promise<void> {
  while (pid !== undefined && isRunning(pid)) await pause(ORPHAN_LOOK_MS);
}

/** Where nobody reaps it, a process that has ended stays in the list as "Z" (proc(5)). */
function isRunning(pid: number): boolean {
  return processStatus(pid)?.ended === false;
}

function interrupt(group: number): void {
  try {
    process.kill(-group, "SIGINT");
  } catch {
    // it has ended
  }
}

/** The spawner has died over a command: nobody will say how it ends, so it is ended, with a new spawner's help. */
async function endLost(
  { argv, mark }: Pick<StartRequest, "argv" | "mark">,
  pid: number | undefined,
): Promise<ChildExit> {
  const replaced = await spawner().catch(() => undefined);
  await replaced?.sweep({ ...(mark !== undefined && { mark }), ...(pid !== undefined && { group: pid }) });
  const reason = "the process that watched over it has died, so it was stopped";
  if (pid === undefined) throw new ToolFailure(`${argv[0]} may have run or not: ${reason}`);
  return { how: "lost", reason };
}
