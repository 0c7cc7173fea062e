import { randomBytes } from "node:crypto";
import type { Command, DetachedProcess, DetachedProcesses, Exit, OutputLog, Process } from "../../contract/backend.ts";
import { ToolFailure, Unreachable } from "../../contract/failure.ts";
import { pause } from "../../util/abort.ts";
import { messageOf } from "../../util/errors.ts";
import { randomName } from "../../util/identifier.ts";
import { quoteWord, quoteWords } from "../../util/shell.ts";
import { endThere, exitOf } from "./ending.ts";
import { type JobState, lookAt, parseState, startInFolder } from "./job-folder.ts";
import type { Shells } from "./shells.ts";

/** So long after its end one is still listed: 7 days. */
const KEPT_MS = 7 * 24 * 60 * 60 * 1_000;

/** How often it is looked whether a detached process has ended, or has written: nobody tells us. */
const LOOK_MS = 500;
const WAITED_FOR_MS = 100;

/** The end of a process is told so long after it at the latest, when whoever watches over it lives. */
const TOLD_MS = 1_500;

/** A connection that cannot be opened is tried again so often, and for so long: 15 s, 10 min. */
const AGAIN_MS = 15_000;
const GIVEN_UP_MS = 600_000;

/** So much is read of an output at a time: 1 MiB. */
const MOST_BYTES = 1_048_576;

const CHUNK = 65_536;

/** So often it is looked at the most whether an output still grows when its process has ended. */
const MOST_TRIES = 20;

/** What is kept of a detached process in `job` of its folder there. */
interface Plan {
  readonly label: string;
  readonly cwd: string;
  /** By the clock here. */
  readonly startedMs: number;
  readonly mark: string;
}

interface Kept extends Plan {
  readonly folder: string;
  readonly pid: string;
}

export interface DetachedOptions {
  readonly shells: Shells;
  readonly home: string;
  /** Backends with the same word have them in common. */
  readonly owner: string;
}

/** Processes there that outlive us. */
export interface DetachedThere extends DetachedProcesses {
  /** @throws ToolFailure when it cannot be started. */
  start(command: Command, cwd: string): Promise<Process>;
  /** Nothing is asked any more; they go on. */
  stop(): void;
}

export function detachedThere({ shells, home, owner }: DetachedOptions): DetachedThere {
  const stopped = new AbortController();
  const word = encodeURIComponent(owner);
  let finding: Promise<string> | undefined;

  /** The folder that their folders are in. */
  const place = () => {
    finding ??= find().catch((error: unknown) => {
      finding = undefined;
      throw error;
    });
    return finding;
  };
  const find = async () => {
    const { out } = await shells.ask(
      `case \${XDG_STATE_HOME-} in /*) printf %s "$XDG_STATE_HOME" ;; *) printf %s ${quoteWord(home)}/.local/state ;; esac`,
    );
    return `${out.toString("utf8")}/handrail/detached/${word}`;
  };

  const show = async (
    folders: string,
  ): Promise<readonly { readonly kept: Kept; readonly state: JobState; readonly size: number }[]> => {
    const separator = randomBytes(16).toString("hex");
    const { out } = await shells.ask(
      `for hr_each in ${folders}; do [ -d "$hr_each" ] || continue; printf '%s\\n' "\${hr_each##*/}"; hr_show "$hr_each" ${separator}; done`,
    );
    const parent = await place();
    return out
      .toString("utf8")
      .split(`\n${separator}\n`)
      .flatMap((text) => {
        const [id = "", names = "", size = "", ...plan] = text.split("\n");
        const state = parseState(names);
        const kept = keptIn(plan.join("\n"), `${parent}/${id}`, state);
        return kept === undefined ? [] : [{ kept, state, size: Number(size) }];
      });
  };

  const endOf = async (kept: Kept): Promise<{ readonly exit: Exit; readonly atMs: number } | undefined> => {
    for (let waited = 0; ; waited += WAITED_FOR_MS) {
      const [shown] = await show(quoteWord(kept.folder));
      if (shown === undefined)
        return { exit: { how: "lost", reason: "its folder there was removed" }, atMs: Date.now() };
      const end = endIn(shown.state, waited >= TOLD_MS);
      // It may have ended between two looks, and its end is told a moment later.
      if (end !== undefined || !shown.state.isGone) return end;
      await pause(WAITED_FOR_MS);
    }
  };

  const requireOpen = () => {
    if (stopped.signal.aborted) throw new ToolFailure("the backend is closed: nothing can be started on it any more");
  };

  const processIn = (kept: Kept, size: number): Process => {
    let killed = false;
    let seen: Promise<Exit> | undefined;
    const log = logThere(shells, kept.folder, size, async () => (await endOf(kept)) !== undefined);
    const ended = async (): Promise<Exit> => {
      let failingSince: number | undefined;
      for (;;) {
        if (stopped.signal.aborted) return { how: "lost", reason: "the backend was closed; it goes on there" };
        try {
          const end = await endOf(kept);
          failingSince = undefined;
          if (end !== undefined) {
            await log.settled();
            return asStopped(end.exit, killed);
          }
          await pause(LOOK_MS, stopped.signal, { keepsAlive: false });
        } catch (error) {
          failingSince ??= performance.now();
          const isHopeless =
            (error instanceof Unreachable && !error.mayPass) || performance.now() - failingSince > GIVEN_UP_MS;
          if (isHopeless && !stopped.signal.aborted)
            return { how: "lost", reason: `${messageOf(error)}; whether it still runs there nobody can say` };
          await pause(AGAIN_MS, stopped.signal, { keepsAlive: false });
        }
      }
    };
    const exit = () => {
      seen ??= ended();
      return seen;
    };
    return {
      id: kept.folder.slice(kept.folder.lastIndexOf("/") + 1),
      output: log,
      errors: undefined,
      get exit() {
        return exit();
      },
      write: () => Promise.reject(new ToolFailure("a detached process has no stdin")),
      endInput: async () => {},
      async kill() {
        if ((await endOf(kept)) !== undefined) return;
        killed = true;
        await endThere(shells, kept.mark, kept.pid);
        await exit();
      },
    };
  };

  const list = async (): Promise<readonly DetachedProcess[]> => {
    const parent = await place();
    const all = await show(`${quoteWord(parent)}/*`);
    const now = Date.now();
    const found: DetachedProcess[] = [];
    for (const { kept, state, size } of all) {
      const end = state.isGone ? await endOf(kept) : endIn(state, false);
      if (end !== undefined && now - end.atMs > KEPT_MS) {
        await shells.ask(`rm -rf ${quoteWord(kept.folder)}`);
        continue;
      }
      const process = processIn(kept, size);
      const { label, cwd, startedMs } = kept;
      found.push({ id: process.id, label, cwd, startedMs, ended: end?.exit, endedMs: end?.atMs, process });
    }
    return found.toSorted((one, other) => one.startedMs - other.startedMs);
  };

  return {
    async start(command, cwd) {
      requireOpen();
      const parent = await place();
      const id = randomName(8);
      const folder = `${parent}/${id}`;
      const plan: Plan = {
        label: command.detached?.label ?? command.argv.join(" "),
        cwd,
        startedMs: Date.now(),
        mark: `:detached-${id}-${randomName(8)}:`,
      };
      await shells.ask(`umask 077; mkdir -p ${quoteWord(parent)}`);
      const { pid } = await startInFolder(shells, command, {
        folder,
        mark: plan.mark,
        cwd,
        plan: JSON.stringify(plan),
      });
      return processIn({ ...plan, folder, pid }, 0);
    },
    list,
    async remove(id) {
      const folder = `${await place()}/${id}`;
      const [shown] = /^[\w-]+$/.test(id) ? await show(quoteWord(folder)) : [];
      if (shown === undefined) throw new ToolFailure(`there is no detached process ${id}`);
      if ((await endOf(shown.kept)) === undefined)
        throw new ToolFailure(`${id} still runs`, { hint: "Stop it first." });
      await shells.ask(`rm -rf ${quoteWord(folder)}`);
    },
    stop: () => stopped.abort(),
  };
}

/** How it ended; `undefined` while it runs, or its end may still be told. */
function endIn(state: JobState, isLate: boolean): { readonly exit: Exit; readonly atMs: number } | undefined {
  if (state.exit !== undefined) return { exit: { how: "exited", code: state.exit.code }, atMs: state.exit.atMs };
  if (!state.isGone || !isLate) return undefined;
  return { exit: { how: "lost", reason: "what watched over it has died too" }, atMs: Date.now() };
}

/** A shell's word for a signal is taken for one when it was ours. */
function asStopped(exit: Exit, wasKilled: boolean): Exit {
  if (wasKilled && exit.how === "lost") return { how: "aborted" };
  return exit.how === "exited" ? exitOf(exit.code, wasKilled) : exit;
}

function keptIn(plan: string, folder: string, { pid }: JobState): Kept | undefined {
  if (pid === undefined) return undefined; // it never started
  try {
    return { ...(JSON.parse(plan) as Plan), folder, pid: pid.number };
  } catch {
    return undefined; // not one of ours
  }
}

/** The output of a process, which stays there. */
interface LogThere extends OutputLog {
  /** Resolves when what the process wrote is in it. Asked when it has ended. */
  settled(): Promise<void>;
}

/** Its size is the one that was seen last; who asks for it has it looked at again. */
function logThere(
  shells: Pick<Shells, "askAside" | "ask">,
  folder: string,
  sizeSeen: number,
  hasEnded: () => Promise<boolean>,
): LogThere {
  let size = sizeSeen;
  let disposed = false;
  let lookingAgain: Promise<void> | undefined;

  const seen = async () => {
    const { out } = await shells.ask(`hr_show ${quoteWords([folder, ""])}`);
    const [names = "", bytes = "0"] = out.toString("latin1").split("\n");
    size = Number(bytes);
    return parseState(names);
  };
  const measured = async () => {
    await seen();
    return size;
  };
  const lookAgain = () => {
    if (disposed) return;
    lookingAgain ??= seen()
      .catch(() => undefined) // it shows where it is read
      .then(() => pause(WAITED_FOR_MS, undefined, { keepsAlive: false }))
      .finally(() => (lookingAgain = undefined));
  };
  const settled = async () => {
    // What it wrote last may be on its way into the file; and a child of it may hold its output, and write for ever.
    for (let tries = 0, before = -1; tries < MOST_TRIES; tries++) {
      const { filled, isRemoved } = await seen();
      if (isRemoved || filled.out !== undefined || size === before) return;
      before = size;
      await pause(WAITED_FOR_MS);
    }
  };
  const read = async (start: number, end: number): Promise<Uint8Array> => {
    if (disposed) throw new ToolFailure("this output is gone: its log was disposed of");
    const pieces: Uint8Array[] = [];
    for (let from = Math.max(0, Math.trunc(start)); from < end;) {
      const [answer] = await lookAt(shells.askAside, [
        { folder, from, bytes: Math.min(MOST_BYTES, Math.ceil(end - from)) },
      ]);
      const bytes = answer?.bytes.subarray(0, end - from) ?? Buffer.alloc(0);
      if (bytes.length === 0) break;
      pieces.push(bytes);
      from += bytes.length;
      size = Math.max(size, from);
    }
    return pieces.length === 1 && pieces[0] !== undefined ? pieces[0] : Buffer.concat(pieces);
  };
  const grown = async (beyond: number, signal?: AbortSignal) => {
    while (!disposed && !signal?.aborted) {
      // In this order: what came before the end is not overlooked. Where there is no connection, no more comes.
      const isOver = await hasEnded().catch(() => true);
      if ((await measured().catch(() => 0)) > beyond || isOver) return;
      await pause(WAITED_FOR_MS, signal);
    }
  };

  return {
    get size() {
      lookAgain();
      return size;
    },
    get kept() {
      lookAgain();
      return size;
    },
    settled,
    read,
    async tail(bytes) {
      const there = await measured();
      return read(there - bytes, there);
    },
    grown,
    async *follow(signal) {
      for (let position = 0; ;) {
        await grown(position, signal);
        if (disposed || signal?.aborted) return;
        const chunk = await read(position, position + CHUNK);
        if (chunk.length === 0) return;
        position += chunk.length;
        yield chunk;
      }
    },
    async dispose() {
      disposed = true; // the file belongs to the process
    },
  };
}
