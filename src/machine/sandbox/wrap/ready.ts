import { rmSync } from "node:fs";
import { setTimeout as pause } from "node:timers/promises";
import type { Command, Process } from "../../../core/contract/backend.ts";
import type { SandboxAccess } from "../../../core/contract/containment.ts";
import { bytesOf } from "../../../core/util/byte-paths.ts";
import { keepingAlive } from "../../../core/util/keeping-alive.ts";
import { pipeToWrite } from "../../local/pipe.ts";
import { spawner } from "../../spawner/connection.ts";
import { HOLDER_VARIABLE } from "../../spawner/kill-tree.ts";
import type { CommandLimits } from "../limits/limits.ts";
import type { Mount } from "../mounts/mounts.ts";
import { textOf } from "../read-files.ts";
import { variablesInside } from "./bubblewrap.ts";
import { canWatch, firstProcess, handedOver, hasReported } from "./exit-status.ts";
import { type View, cleaner, isNetworked, viewFor } from "./view.ts";
import { type Files, type SandboxContext, opening, removeFiles, wrapped, writeFiles } from "./wrap.ts";

/** How many sandboxes wait at most. Each takes some 5 MB, in processes that sleep. */
const MOST_READY = 8;

/** How often the setup may fail before it is left to the next command. */
const MOST_FAILED = 3;

/** Without a command for this long, no sandbox waits any more. Milliseconds. */
const IDLE_MS = 300_000;

/** How long a sandbox may take to end by itself, in milliseconds. It normally takes one or two. */
const PATIENCE_MS = 1_000;

/**
 * Longer commands (with their variables; bytes) start in a new sandbox: the system may refuse them, which it reports.
 */
const MOST_BYTES = 100_000;

const MOUNTS = "/proc/self/mountinfo";

/** A sandbox that was set up ahead and waits for one command. */
export interface Ready {
  readonly limits: CommandLimits;
  readonly files: Files;
  /**
   * Whether it is exactly what would be set up now, `view`: the same rules and paths; the same mounts of this machine;
   * and inside it, each mount still where it was put (a folder or file that was replaced takes its mount with it).
   */
  suits(view: View): boolean;
  /** Gives it to a command. `limits` and `files` are the command's then. @throws ToolFailure */
  run(command: Command & { readonly cwd: string }, view: View): Promise<Process>;
  /** Ends it, unless a command has it. Never rejects. */
  end(): Promise<unknown>;
}

/** What a sandbox that waits is for. */
type Kind = Pick<Command, "streams" | "stdin"> & { readonly access: SandboxAccess };

/** The sandboxes of one backend that wait. */
export type ReadySandboxes = ReturnType<typeof readySandboxes>;

/**
 * Keeps sandboxes ready for commands like those before: one, or as many as ran at once. Each is set up when a command
 * has ended, and gets one command.
 */
export function readySandboxes(context: SandboxContext) {
  const waiting: { readonly key: string; readonly ready: Promise<Ready | undefined> }[] = [];
  const running = { now: 0, most: 0, wanted: 1 };
  let closed = false;
  let timer: NodeJS.Timeout | undefined;
  let refill: (() => void) | undefined;

  const endAll = async (isMeant: (key: string) => boolean) => {
    const ended = waiting.filter(({ key }) => isMeant(key));
    for (const each of ended) waiting.splice(waiting.indexOf(each), 1);
    await Promise.all(ended.map(async ({ ready }) => (await ready)?.end()));
  };
  const fill = async (kind: Kind, key: string) => {
    let failed = 0;
    while (!closed && failed < MOST_FAILED && waiting.filter((each) => each.key === key).length < running.wanted) {
      if (waiting.length >= MOST_READY) void waiting.shift()?.ready.then((oldest) => oldest?.end());
      const made = { key, ready: setUp(kind, context).catch(() => undefined) };
      waiting.push(made);
      if ((await made.ready) !== undefined) continue;
      if (waiting.includes(made)) waiting.splice(waiting.indexOf(made), 1);
      failed++; // what existed during the check, such as a socket, may have been gone when it was mounted
    }
  };

  return {
    /**
     * Takes a sandbox for a command. `done`: the command has ended, or was not started. `undefined`: none is kept for
     * it.
     */
    async use(command: Command, access: SandboxAccess) {
      const kind = closed ? undefined : kindOf(command, access);
      if (kind === undefined) return undefined;
      const key = JSON.stringify(kind);
      running.most = Math.max(running.most, ++running.now);
      const newest = waiting.findLastIndex((each) => each.key === key);
      const ready = newest < 0 ? undefined : await waiting.splice(newest, 1)[0]?.ready;
      return {
        ready: ready && {
          ...ready,
          suits(view: View) {
            const suits = ready.suits(view);
            if (!suits) void endAll((each) => each === key); // they are as old
            return suits;
          },
        },
        done() {
          if (--running.now === 0) {
            running.wanted = Math.min(running.most, MOST_READY);
            running.most = 0;
          }
          clearTimeout(timer);
          timer = setTimeout(() => void endAll(() => true), IDLE_MS).unref();
          refill = () => void fill(kind, key);
          setImmediate(refill);
        },
      };
    },
    /** Sets up others in the place of those that wait: a new one would be less strict. Never rejects. */
    async renew() {
      if (waiting.length === 0) return;
      await endAll(() => true);
      refill?.();
    },
    /** Ends those that wait. Never rejects. */
    async close() {
      closed = true;
      clearTimeout(timer);
      await endAll(() => true);
    },
  };
}

/** `undefined` for commands that have something of their own: a network, paths to write, a life after the call. */
function kindOf(command: Command, access: SandboxAccess): Kind | undefined {
  const { argv, env, lifetime = "call", streams = "merged", stdin = "closed" } = command;
  const isOwn = lifetime !== "call" || streams === "live" || isNetworked(access) || (access.write ?? []).length > 0;
  return isOwn || JSON.stringify([argv, env]).length > MOST_BYTES ? undefined : { streams, stdin, access };
}

/** Sets up a sandbox as for a command that starts now. `undefined` where that is not possible. */
async function setUp({ access, streams, stdin }: Kind, context: SandboxContext): Promise<Ready | undefined> {
  const { inner, session } = context;
  if (inner.standby === undefined || !canWatch()) return undefined;
  const cleaning = cleaner();
  try {
    const mountsHere = textOf(MOUNTS);
    const view = await viewFor({ argv: [""] }, access, context, cleaning);
    const limits = await context.limits.forCommand(opening("waits"), true);
    cleaning.add(limits.dispose);
    const wordsNow = ({ words }: View) => words({ cwd: inner.workDir, env: {}, isDetached: false });
    const words = wordsNow(view);
    const files = writeFiles(session, words);
    cleaning.add(() => removeFiles(files));
    const pipe = await pipeToWrite(await spawner());
    let isOpen = true;
    cleaning.add(() => isOpen && pipe.abandon());
    const [outer, ...rest] = wrapped(context, files, {
      prefix: limits.prefix,
      networked: false,
      argv: [],
      pipe: pipe.pipe,
    });
    const standby = await inner.standby({
      argv: [outer, ...rest],
      env: { [HOLDER_VARIABLE]: session.id },
      ...(streams !== undefined && { streams }),
      ...(stdin !== undefined && { stdin }),
    });
    const { waiting } = standby;
    const { output, errors } = waiting;
    let hasEnded = false;
    const ended = waiting.exit.then(() => (hasEnded = true));
    const endNow = async () => {
      if (!isOpen) return;
      await cleaning.run(); // closes the pipe, at which it ends
      await Promise.race([ended, pause(PATIENCE_MS, undefined, { ref: false })]);
      if (!hasEnded) await waiting.kill();
      await Promise.all([output.dispose(), errors?.dispose()]);
    };
    const end = () => keepingAlive(endNow());
    if (!(await hasReported(waiting, files.status, "ready")) || hasEnded) {
      await end();
      return undefined;
    }
    rmSync(pipe.pipe, { force: true });
    const table = `/proc/${firstProcess(files.status)}/mountinfo`;
    const mountsInside = textOf(table);
    // What was removed or renamed since it was mounted is missing.
    if (!hasAll(mountsInside, view.mounts)) {
      await end();
      return undefined;
    }
    return {
      limits,
      files,
      suits: (now) =>
        !hasEnded &&
        wordsNow(now).join("\0") === words.join("\0") &&
        limits.holds() &&
        textOf(MOUNTS) === mountsHere &&
        textOf(table) === mountsInside,
      async run(command, { argv, env }) {
        const child = await standby.become(command);
        const variables = variablesInside(standby.environment(command), { cwd: command.cwd, env });
        isOpen = false;
        pipe.begin().end(handedOver(argv, command.cwd, variables));
        return child;
      },
      end,
    };
  } catch (error) {
    await cleaning.run();
    throw error;
  }
}

/** Whether a table of mounts (proc_pid_mountinfo(5)) has a mount at each of the paths. */
function hasAll(table: string, mounts: readonly Mount[]): boolean {
  const points = new Set(table.split("\n").map((line) => line.split(" ")[4]));
  return mounts.every(({ at }) => points.has(escaped(at)));
}

/** A path as in a table of mounts, read as latin1. */
function escaped(path: string): string {
  const bytes = Buffer.from(bytesOf(path)).toString("latin1");
  return bytes.replaceAll(/[ \t\n\\]/g, (each) => `\\${each.charCodeAt(0).toString(8).padStart(3, "0")}`);
}
