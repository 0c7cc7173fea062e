import type { Command, DetachedProcess, DetachedProcesses, Exit, OutputLog, Process } from "../contract/backend.ts";
import { ToolFailure } from "../contract/failure.ts";
import { randomName } from "../util/identifier.ts";
import { UNSTOPPABLE } from "./stopping.ts";
import { type End, type Fate, endOf } from "./fate.ts";

/** So long after its end one is still listed: 7 days. */
const KEPT_MS = 7 * 24 * 60 * 60 * 1_000;

/** What is written down of a detached process before it is started. */
export interface DetachedPlan {
  readonly label: string;
  readonly cwd: string;
  /** Milliseconds since 1970, by the clock here. */
  readonly startedMs: number;
  /** Names it and all that it starts. */
  readonly mark: string;
}

/** A plan, and a new name for the process. */
export function planDetached(
  { argv, detached }: Pick<Command, "argv" | "detached">,
  cwd: string,
): { readonly id: string; readonly plan: DetachedPlan } {
  const id = randomName(8);
  const mark = `:detached-${id}-${randomName(8)}:`;
  return { id, plan: { label: detached?.label ?? argv.join(" "), cwd, startedMs: Date.now(), mark } };
}

export interface DetachedHold {
  readonly id: string;
  readonly output: OutputLog;
  /** Rejects where it cannot be looked at. */
  look(): Promise<Fate>;
  /** Resolves when it has ended. Never rejects. Asked once, by the first who wants to know: nobody tells us, so it has to be looked again and again. */
  ended(wasKilled: () => boolean): Promise<Exit>;
  /** Ends it with all that it has started. Resolves to false when some of that goes on, since nothing ends it. Rejects where there is no way to it. */
  end(): Promise<boolean>;
}

/** A detached process, in the hands of whoever may have started it long ago. */
export function detachedProcess({ id, output, look, ended, end }: DetachedHold): Process {
  let killed = false;
  let seen: Promise<Exit> | undefined;
  const exit = () => {
    seen ??= ended(() => killed).then((how) => (killed && how.how === "lost" ? { how: "aborted" } : how));
    return seen;
  };
  return {
    id,
    output,
    errors: undefined,
    get exit() {
      return exit();
    },
    write: () => Promise.reject(new ToolFailure("a detached process has no stdin")),
    endInput: async () => {},
    async kill() {
      if ((await endOf(look)) !== undefined) return;
      killed = true;
      if (!(await end())) {
        killed = false;
        throw new ToolFailure(`${id} did not end: ${UNSTOPPABLE}`);
      }
      await exit();
    },
  };
}

/** A detached process as it was found where they are kept. */
export interface FoundDetached {
  readonly plan: DetachedPlan;
  readonly process: Process;
  /** `undefined` while it runs. */
  end(): Promise<End | undefined>;
  /** Removes all that is kept of it. */
  forget(): Promise<void>;
}

export interface DetachedStore {
  /** All that were started, in any order. */
  all(): Promise<readonly FoundDetached[]>;
  /** The one with this id, which is a name in a folder and no path. */
  one(id: string): Promise<FoundDetached | undefined>;
}

/** What is in the store, whoever started it. One that ended more than a week before `now` is forgotten when it is listed, as saved outputs are. */
export function detachedIn({ all, one }: DetachedStore, now: () => number = Date.now): DetachedProcesses {
  const listed = async ({ plan, process, end, forget }: FoundDetached): Promise<DetachedProcess | undefined> => {
    const { label, cwd, startedMs } = plan;
    const ended = await end();
    if (ended !== undefined && now() - ended.atMs > KEPT_MS) {
      await forget();
      return undefined;
    }
    return { id: process.id, label, cwd, startedMs, ended: ended?.exit, endedMs: ended?.atMs, process };
  };
  return {
    async list() {
      const found = await Promise.all((await all()).map(listed));
      return found.filter((each) => each !== undefined).toSorted((before, after) => before.startedMs - after.startedMs);
    },
    async remove(id) {
      const found = /^[\w-]+$/.test(id) ? await one(id) : undefined;
      if (found === undefined) throw new ToolFailure(`there is no detached process ${id}`);
      if ((await found.end()) === undefined) throw new ToolFailure(`${id} still runs`, { hint: "Stop it first." });
      await found.forget();
    },
  };
}
