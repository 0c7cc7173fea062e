import type { ChildProcess } from "node:child_process";
import { rm } from "node:fs/promises";
import type { Exit } from "../../core/contract/backend.ts";
import { ToolFailure } from "../../core/contract/failure.ts";
import { spawnerFile } from "../programs/own-code.ts";
import { startProgram } from "../programs/start.ts";
import { pause } from "../../core/util/abort.ts";
import { tried } from "../../core/util/errors.ts";
import { processStatus } from "../../core/util/process-status.ts";
import { later } from "../../core/util/promises.ts";
import { markByGroup } from "./command-group.ts";
import { MARK_VARIABLE, SPAWNER_VARIABLE } from "./marks.ts";
import type { Answer, Request, StartRequest } from "./protocol.ts";

/** How many pipes are kept ready. A command uses up to three. */
const FEW_PIPES = 8;

/** How often an unwatched copy is polled for its end. Milliseconds. */
const ORPHAN_LOOK_MS = 20;

/** The process that starts commands for this one. */
export interface Spawner {
  /** Rejects with a `StartError` when the program cannot be started. */
  start(request: Omit<StartRequest, "op" | "id" | "job">): Promise<Child>;
  /** Starts a job, whose end is only noted in its folder. Resolves to its PID. */
  startJob(request: Omit<StartRequest, "op" | "id"> & { readonly job: string }): Promise<number>;
  /** The name of a new pipe. The user of the name removes it. */
  takePipe(): Promise<string>;
  /** Copies a pipe to the end of a file in another process. `undefined` if it cannot. Never rejects. */
  drain(pipe: string, file: string): Promise<Copying | undefined>;
  /** Ends every process whose mark contains the text, and a process group with its descendants. As `Child.stop`. */
  sweep(tree: { readonly mark?: string; readonly group?: number }): Promise<boolean>;
  /** Resolves when the spawner has died. */
  readonly died: Promise<void>;
}

export interface Child {
  readonly pid: number;
  /** Never rejects. */
  readonly exit: Promise<ChildExit>;
  /** Whether waiting for its end keeps this process alive. Default true. */
  keepAlive(on: boolean): void;
  /**
   * Sends TERM, and after two seconds KILL, to the process and its children. Resolves to true when they have ended, to
   * false if some cannot be ended (if the process is one of them, `exit` never resolves). Never rejects.
   */
  stop(): Promise<boolean>;
}

type ChildExit = Extract<Exit, { how: "exited" | "signaled" | "lost" }>;

export interface Copying {
  /** PID of the process that copies. */
  readonly pid: number;
  /** Resolves to the bytes that were read but are not in the file, if they were counted. Never rejects. */
  readonly ended: Promise<number | undefined>;
  /** Ends the copy before the pipe ends. */
  release(): void;
}

/** A program could not be started. `code` is the system's error code, or "". */
export class StartError extends Error {
  readonly code: string;
  readonly isFolderMissing: boolean;

  constructor({ code, message, isFolderMissing }: Extract<Answer, { type: "failed" }>) {
    super(message);
    this.code = code;
    this.isFolderMissing = isFolderMissing;
  }
}

/** Spawners by the user that they run as: a program that drops its privileges must not start commands with them. */
const spawners = new Map<string, Promise<Spawner>>();

/** The spawner of this process, started when needed, also after its death. @throws ToolFailure if it cannot. */
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
  let noPipes: string | undefined;
  const died = later();
  const child = begin();
  const unmark = child.pid === undefined ? undefined : markByGroup(child.pid);
  const { ask, forget, keepAlive, isDead } = connectionTo(child, () => {
    onDeath();
    unmark?.();
    died.resolve();
    // The spawner removes its pipes itself, unless it was killed.
    if (folder !== undefined) void rm(folder, { recursive: true, force: true }).catch(() => undefined);
  });

  /** Creates more pipes. Resolves to false if that failed. */
  const fill = () => {
    filling ??= new Promise<boolean>((resolve) => {
      ask({ op: "pipes" }, (answer) => {
        const names = answer?.type === "pipes" ? answer.names : [];
        if (answer?.type === "pipes") ({ folder, problem: noPipes } = answer);
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
    throw new ToolFailure("the process that starts commands exited at once", {
      hint: "`handrail doctor` shows the cause.",
    });
  }

  return {
    start: (request) =>
      new Promise((resolve, reject) => {
        let pid: number | undefined;
        const exit = later<ChildExit>();
        const command = ask({ op: "start", ...request }, (answer) => {
          if (answer?.type === "started") {
            ({ pid } = answer);
            const stop = async () => {
              const all = await asked(ask, { op: "stop", command });
              if (!all) forget(command);
              return all;
            };
            resolve({ pid, exit: exit.promise, stop, keepAlive: (on) => keepAlive(command, on) });
            return false;
          }
          if (answer?.type === "exited") exit.resolve(exitOf(answer));
          else if (answer?.type === "failed") reject(new StartError(answer));
          else void endLost(request, pid).then(exit.resolve, reject);
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
      // Many callers may wait for a few pipes. As long as more are created, everyone gets one.
      for (let more = true; more;) {
        if (pipes.length < FEW_PIPES) void fill();
        const name = pipes.pop();
        if (name !== undefined) return name;
        more = await fill();
      }
      const why = noPipes === undefined ? "" : `: ${noPipes}`;
      throw new ToolFailure(`no pipe could be made for the command's output${why}`, {
        hint: "`handrail doctor` checks the temporary folder.",
      });
    },
    drain: (pipe, file) =>
      new Promise((resolve) => {
        const ended = later<number | undefined>();
        let pid: number | undefined;
        const drain = ask({ op: "drain", pipe, file }, (answer) => {
          if (answer?.type === "draining") {
            ({ pid } = answer);
            const { pid: group } = answer;
            const release = () => {
              if (isDead()) tried(() => process.kill(-group, "SIGINT"));
              else ask({ op: "release", drain }, () => true);
            };
            resolve({ pid: group, ended: ended.promise, release });
            return false;
          }
          resolve(undefined); // no effect after "draining"
          if (answer?.type === "drained") ended.resolve(answer.dropped);
          else void orphanEnded(pid).then(() => ended.resolve(undefined));
          return true;
        });
      }),
    sweep: (tree) => asked(ask, { op: "sweep", ...tree }),
    died: died.promise,
  };
}

/** Resolves to whether all were ended. If the spawner died meanwhile, each process reports that. */
function asked(ask: Connection["ask"], request: Asked): Promise<boolean> {
  return new Promise((resolve) => {
    ask(request, (answer) => {
      resolve(answer?.type !== "stopped" || answer.all);
      return true;
    });
  });
}

/** Called with the answers to one request; with `undefined` if the spawner died. True: that was the last one. */
type Hear = (answer: Answer | undefined) => boolean;

type Asked = Request extends infer R ? (R extends Request ? Omit<R, "id"> : never) : never;

type Connection = ReturnType<typeof connectionTo>;

/** Connects to the spawner. The connection keeps this process alive only while a request waits for an answer. */
function connectionTo(child: ChildProcess, onDeath: () => void) {
  const waiting = new Map<number, Hear>();
  /** The requests in `waiting` that do not keep this process alive. */
  const idle = new Set<number>();
  let lastId = 0;
  let dead = false;

  const hear = (id: number, answer: Answer | undefined) => {
    if (waiting.get(id)?.(answer) === true) forget(id);
  };
  const forget = (id: number) => {
    waiting.delete(id);
    keepAlive(id, true);
  };
  const keepAlive = (id: number, on: boolean) => {
    if (on || !waiting.has(id)) idle.delete(id);
    else idle.add(id);
    if (waiting.size > idle.size) child.channel?.ref();
    else child.channel?.unref();
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
    /** Sends a request. Returns its number. */
    ask(request: Asked, heard: Hear): number {
      const id = ++lastId;
      waiting.set(id, heard);
      keepAlive(id, true);
      // If a message cannot be sent, the spawner has died, which is reported separately.
      if (!dead) child.send({ ...request, id }, () => undefined);
      else queueMicrotask(() => hear(id, undefined));
      return id;
    },
    /** Ignores further answers to this request. */
    forget,
    /** Whether waiting for answers to this request keeps this process alive. Default true. */
    keepAlive,
    isDead: () => dead,
  };
}

function begin(): ChildProcess {
  const { TMPDIR, [MARK_VARIABLE]: mark } = process.env;
  return startProgram([process.execPath, spawnerFile()], {
    cwd: "/", // it must not keep a folder in use
    detached: true, // Ctrl-C in a terminal must reach only this process, which ends commands in order
    isBare: true,
    systemFirst: true, // its own helpers are programs of the system
    env: {
      ...(TMPDIR !== undefined && { TMPDIR }),
      // If a command of another Handrail started this process, that one can find our commands too.
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

/** For when the spawner died during a copy. Resolves when the copy has ended: until then its pipe must not be read. */
async function orphanEnded(pid: number | undefined): Promise<void> {
  while (pid !== undefined && processStatus(pid)?.ended === false) await pause(ORPHAN_LOOK_MS);
}

/** For when the spawner died during a command. Its exit status is unknown, so a new spawner ends it. */
async function endLost(
  { argv, mark }: Pick<StartRequest, "argv" | "mark">,
  pid: number | undefined,
): Promise<ChildExit> {
  const replaced = await spawner().catch(() => undefined);
  await replaced?.sweep({ ...(mark !== undefined && { mark }), ...(pid !== undefined && { group: pid }) });
  const reason = "the process that watched it has died, so it was stopped";
  if (pid === undefined) throw new ToolFailure(`${argv[0]} may or may not have run: ${reason}`);
  return { how: "lost", reason };
}
