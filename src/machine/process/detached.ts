import type { Command, DetachedProcess, DetachedProcesses } from "../../core/contract/backend.ts";
import { ToolFailure } from "../../core/contract/failure.ts";
import { tried } from "../../core/util/errors.ts";
import { randomName } from "../../core/util/identifier.ts";
import { clip } from "../../core/util/text.ts";
import { type BegunJob, type JobHandle, runJob } from "./folder.ts";

/** The maximum number of characters of a label that are kept. */
const MOST_LABEL = 1_000;

/** How long an ended job is kept: 7 days, in milliseconds. */
export const KEPT_MS = 7 * 24 * 60 * 60 * 1_000;

/** The description of a job, written to its folder before the start. */
export interface JobPlan {
  readonly label: string;
  readonly cwd: string;
  /** Milliseconds since 1970, by this machine's clock. */
  readonly startedMs: number;
  /** Added to the environment of the process and its children. */
  readonly mark: string;
  /** Only for a job of this machine that has a lease: the process that holds the lease, and its start time. */
  readonly owner?: { readonly pid: number; readonly start: string };
}

/** Parses a plan; `undefined` for invalid JSON. */
export function parsePlan(text: string): JobPlan | undefined {
  return tried(() => JSON.parse(text) as JobPlan);
}

/**
 * Creates a plan, and a name for the folder. A mark begins with a lease: when the lease ends, so do the processes whose
 * mark contains it. A detached process has no lease.
 */
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

/** A detached process, found by its folder. */
export interface FoundJob extends JobHandle {
  readonly plan: JobPlan;
}

/** Creates a detached process from a folder that was found. */
export async function foundJob(plan: JobPlan, begun: BegunJob): Promise<FoundJob> {
  return { plan, ...(await runJob("detached", { argv: [plan.label] }, async () => begun)) };
}

/** Finds all detached processes, in any order, or the process with this id. An id is a file name, not a path. */
export type FindJobs = (id?: string) => Promise<readonly FoundJob[]>;

/** Creates the list of detached processes of all sessions. Removes processes that ended over a week before `now`. */
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
