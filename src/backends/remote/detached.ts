import type { Command, DetachedProcesses, Process } from "../../contract/backend.ts";
import { ToolFailure } from "../../contract/failure.ts";
import { polledLog } from "../../output/polled-log.ts";
import { pause } from "../../util/abort.ts";
import { quoteWord } from "../../util/shell.ts";
import { type DetachedPlan, type FoundDetached, detachedIn, detachedProcess, planDetached } from "../detached.ts";
import { endOf } from "../fate.ts";
import { type DetachedSight, MOST_BYTES, sightOf } from "./detached-sight.ts";
import { endThere, exitOf } from "./ending.ts";
import { startInFolder } from "./job-folder.ts";
import { type ShownJob, fateOf, showJobs } from "./job-state.ts";
import { nobodyKnows, persistently } from "./persist.ts";
import type { Shells } from "./shells.ts";

/** How often it is looked whether a detached process has ended: nobody tells us. And when it is about to be told, or written. */
const LOOK_MS = 500;
const SOON_MS = 100;

/** Its plan, in `job` of its folder there, and what its folder tells. */
interface Kept extends DetachedPlan {
  readonly id: string;
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
  const stopping = new AbortController();
  const { signal: stopped } = stopping;
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
    return `${out.toString("utf8")}/handrail/detached/${encodeURIComponent(owner)}`;
  };

  const processOf = ({ id, mark, pid }: Kept, sight: DetachedSight): Process =>
    detachedProcess({
      id,
      output: polledLog(sight, { chunk: MOST_BYTES }),
      look: async () => (await sight.look()).fate,
      async ended(wasKilled) {
        try {
          while (!stopped.aborted) {
            const { fate, isOver } = await persistently(sight.look, { stopped, keepsAlive: false });
            if (typeof fate === "object" && isOver)
              return fate.exit.how === "exited" ? exitOf(fate.exit.code, wasKilled()) : fate.exit;
            await pause(fate === "running" ? LOOK_MS : SOON_MS, stopped, { keepsAlive: false });
          }
        } catch (error) {
          if (!stopped.aborted) return { how: "lost", reason: nobodyKnows(error) };
        }
        return { how: "lost", reason: "the backend was closed; it goes on there" };
      },
      end: () => endThere(shells, mark, pid),
    });

  const found = (shown: ShownJob, parent: string): FoundDetached | undefined => {
    const kept = keptIn(shown, parent);
    if (kept === undefined) return undefined;
    const sight = sightOf(shells, kept.folder, shown);
    const process = processOf(kept, sight);
    return {
      plan: kept,
      process,
      async end() {
        const fate = fateOf(shown.state);
        if (fate === "gone") return endOf(async () => (await sight.look()).fate);
        return fate === "running" ? undefined : fate;
      },
      async forget() {
        await shells.ask(`rm -rf ${quoteWord(kept.folder)}`);
      },
    };
  };
  const show = async (folders: (parent: string) => string): Promise<readonly FoundDetached[]> => {
    const parent = await place();
    const shown = await showJobs(shells.ask, folders(parent));
    return shown.map((each) => found(each, parent)).filter((each) => each !== undefined);
  };

  const { list, remove } = detachedIn({
    all: () => show((parent) => `${quoteWord(parent)}/*`),
    one: async (id) => (await show((parent) => quoteWord(`${parent}/${id}`)))[0],
  });

  return {
    list,
    remove,
    async start(command, cwd) {
      if (stopped.aborted) throw new ToolFailure("the backend is closed: nothing can be started on it any more");
      const { id, plan } = planDetached(command, cwd);
      const parent = await place();
      const folder = `${parent}/${id}`;
      await shells.ask(`umask 077; mkdir -p ${quoteWord(parent)}`);
      const { pid } = await startInFolder(shells, command, {
        folder,
        mark: plan.mark,
        cwd,
        plan: JSON.stringify(plan),
      });
      return processOf({ ...plan, id, folder, pid }, sightOf(shells, folder));
    },
    stop: () => stopping.abort(),
  };
}

/** `undefined` for what is not one of ours, or never started. */
function keptIn({ name, plan, state: { pid } }: ShownJob, parent: string): Kept | undefined {
  if (pid === undefined) return undefined;
  try {
    return { ...(JSON.parse(plan) as DetachedPlan), id: name, folder: `${parent}/${name}`, pid };
  } catch {
    return undefined;
  }
}
