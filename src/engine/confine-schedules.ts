import type { Backend } from "../contract/backend.ts";
import type { ApprovedCall } from "../contract/call.ts";
import { ToolFailure } from "../contract/failure.ts";
import type { Schedule, Schedules, Work } from "../contract/schedule.ts";
import type { ToolSchedules } from "../contract/tool.ts";
import { contentsOf, digest, targetOf } from "./park.ts";

/**
 * Limits the schedules to what a call declared, and to the call's target. A schedule that a person approved gets that
 * answer as its grant.
 */
export function confineSchedules(
  schedules: Schedules,
  backend: Backend,
  { tool, effects, request, approval }: ApprovedCall,
  isOver: () => boolean,
): ToolSchedules {
  const declared = effects.filter((effect) => effect.kind === "state" && effect.store === "schedule");
  const mayChange = declared.some((effect) => effect.kind === "state" && effect.change);
  const target = targetOf(backend);
  const guarded = async <T>(may: boolean, what: string, use: () => Promise<T>): Promise<T> => {
    if (isOver()) throw new ToolFailure(`the call of "${tool.name}" has ended; it can no longer use schedules`);
    if (may) return await use();
    throw new ToolFailure(`tool "${tool.name}" ${what} schedules, which its \`effects\` do not name`);
  };
  const reading = <T>(use: () => Promise<T>) => guarded(declared.length > 0, "reads", use);
  return {
    add: (schedule) =>
      guarded(mayChange, "changes", async () => {
        const grant = approval === undefined ? {} : { grant: await grantOf(schedule.work, backend) };
        return await schedules.add(schedule, { target, thread: request.thread, ...grant });
      }),
    remove: (id) =>
      guarded(mayChange, "changes", async () => {
        const found = await schedules.get(id);
        return found?.target === target ? await schedules.remove(id) : undefined;
      }),
    list: () => reading(() => schedules.list(target)),
    runs: (filter) => reading(() => schedules.runs(filter)),
    isAttended: () => reading(() => schedules.isAttended(target)),
  };
}

/**
 * A digest of what an approval of a schedule is for: its work, the target with its sandbox, the folder, and the content
 * of the files that its command names.
 */
async function grantOf(work: Work, { name, workDir, files, outside = files }: Backend): Promise<string> {
  const { command = "" } = work;
  const contents = await contentsOf([{ kind: "exec", command, real: workDir }], outside);
  return digest([work, name, workDir, contents]);
}

/** Whether a person has approved the schedule's work as it is now. */
export async function isGranted({ grant, work }: Schedule, backend: Backend): Promise<boolean> {
  return grant !== undefined && grant === (await grantOf(work, backend));
}
