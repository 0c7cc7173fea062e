import type { Command, DetachedProcess, DetachedProcesses } from "../../contract/backend.ts";
import { ToolFailure } from "../../contract/failure.ts";
import { randomName } from "../../util/identifier.ts";
import { clip } from "../../util/text.ts";
import type { JobHandle } from "./process.ts";

/** The most characters of a label that are kept. */
const MOST_LABEL = 1_000;

/** How long a job that has ended is kept: 7 days. */
export const KEPT_MS = 7 * 24 * 60 * 60 * 1_000;

/** What is written into the folder of a job before it is started. */
export interface JobPlan {
  readonly label: string;
  readonly cwd: string;
  /** Milliseconds since 1970, by the clock here. */
  readonly startedMs: number;
  /** In the environment of the process and of all that it starts. */
  readonly mark: string;
}

/** A plan, and a new name for the folder. A mark begins with its lease: what has that in its mark ends with it. A detached process has none. */
export function planJob(
  { argv, label = argv.join(" ") }: Pick<Command, "argv" | "label">,
  { cwd, lease = ":detached-" }: { readonly cwd: string; readonly lease?: string | undefined },
): { readonly name: string; readonly plan: JobPlan } {
  const name = randomName(8);
  return {
    name,
    plan: { label: clip(label, MOST_LABEL), cwd, startedMs: Date.now(), mark: `${lease}${name}-${randomName(8)}:` },
  };
}

/** A detached process as it was found by its folder. */
export interface FoundJob extends JobHandle {
  readonly plan: JobPlan;
}

/** Finds detached processes: all, in any order, or the one with this id, which is a name in a folder and no path. */
export type FindJobs = (id?: string) => Promise<readonly FoundJob[]>;

/** Those that are found, whoever started them. One that ended more than a week before `now` is removed when it is listed. */
export function detachedProcesses(find: FindJobs, now: () => number = Date.now): DetachedProcesses {
  const listed = async ({ plan, process, end, remove }: FoundJob): Promise<DetachedProcess | undefined> => {
    const { label, cwd, startedMs } = plan;
    const ended = await end();
    if (ended !== undefined && now() - ended.atMs > KEPT_MS) {
      await remove();
      return undefined;
    }
    return { id: process.id, label, cwd, startedMs, ended: ended?.exit, endedMs: ended?.atMs, process };
  };
  return {
    async list() {
      const found = await Promise.all((await find()).map(listed));
      return found.filter((each) => each !== undefined).toSorted((before, after) => before.startedMs - after.startedMs);
    },
    async remove(id) {
      const [found] = /^[\w-]+$/.test(id) ? await find(id) : [];
      if (found === undefined) throw new ToolFailure(`there is no detached process ${id}`);
      if ((await found.end()) === undefined) throw new ToolFailure(`${id} still runs`, { hint: "Stop it first." });
      await found.remove();
    },
  };
}
