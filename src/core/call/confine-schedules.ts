import type { Backend } from "../contract/backend.ts";
import type { ApprovedCall } from "../contract/call.ts";
import { ToolFailure } from "../contract/failure.ts";
import type { Schedule, Schedules, Timing, Work } from "../contract/schedule.ts";
import type { FindNamedFiles } from "../contract/named-files.ts";
import type { ToolSchedules } from "../contract/tool.ts";
import { NOT_COMPARED, contentsOf } from "./compared.ts";
import { digest, targetOf } from "./park.ts";

/**
 * Limits the schedules to what a call declared, and to the call's target. A schedule that a person approved gets that
 * answer as its grant.
 */
export function confineSchedules(
  schedules: Schedules,
  backend: Backend,
  named: FindNamedFiles,
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
        const grant = approval === undefined ? undefined : await grantOf(schedule, backend, named);
        const answered = grant !== undefined && { grant };
        return await schedules.add(schedule, { target, thread: request.thread, ...answered });
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
 * of what its command names. `undefined` if the command names what cannot be compared: then each run is asked about.
 */
async function grantOf(
  { work, timing }: { readonly work: Work; readonly timing: Timing },
  { name, workDir, home, files, outside = files }: Backend,
  named: FindNamedFiles,
): Promise<string | undefined> {
  const { command = "" } = work;
  const comparing = { files: outside, place: { workDir, home }, named, repeats: true };
  const contents = await contentsOf([{ kind: "exec", command, real: workDir }], comparing);
  // A schedule that runs when a file has changed is approved for whatever that file has then.
  const watched = timing.kind === "file" ? await outside.realPath(timing.path).catch(() => "") : "";
  delete contents[`the content of ${watched}`];
  return Object.values(contents).includes(NOT_COMPARED) ? undefined : digest([work, name, workDir, contents]);
}

/** Whether a person has approved the schedule's work as it is now. */
export async function isGranted(schedule: Schedule, backend: Backend, named: FindNamedFiles): Promise<boolean> {
  return schedule.grant !== undefined && schedule.grant === (await grantOf(schedule, backend, named));
}
