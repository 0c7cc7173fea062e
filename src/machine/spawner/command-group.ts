import { mkdirSync, readFileSync, readdirSync, rmdirSync, writeFileSync } from "node:fs";
import { tried } from "../../core/util/errors.ts";

/** The name of a control group of commands, with the PID of the process that made it. */
const NAME = "handrail.commands-";

/** Where version 2 of control groups is mounted. */
const MOUNT = "/sys/fs/cgroup";

/**
 * Moves a process into a control group of its own, below that of this process. The process's descendants stay in the
 * group, whatever they do to their parents and environment. Returns a function that removes the group once it is empty;
 * `undefined` where this user may not make groups. Never throws.
 */
export function markByGroup(pid: number): (() => void) | undefined {
  const own = groupOf("self");
  if (own === undefined) return undefined;
  if (tried(() => readFileSync(`${MOUNT}/cgroup.subtree_control`)) === undefined) return undefined;
  const above = `${MOUNT}${own === "/" ? "" : own}`;
  for (const name of tried(() => readdirSync(above)) ?? [])
    if (name.startsWith(NAME)) tried(() => rmdirSync(`${above}/${name}`)); // only empty ones can be removed
  const folder = `${above}/${NAME}${process.pid}-${pid}`;
  const isMoved = tried(() => {
    mkdirSync(folder);
    writeFileSync(`${folder}/cgroup.procs`, `${pid}`);
    return true;
  });
  const remove = () => tried(() => rmdirSync(folder));
  if (isMoved === true) return remove;
  remove();
  return undefined;
}

/** Whether a process is in a control group of commands. */
export function isInCommandGroup(pid: number): boolean {
  return groupOf(pid)?.includes(`/${NAME}`) ?? false;
}

/** The path of a process's control group in version 2. Every process may read the path of every other process. */
function groupOf(pid: number | "self"): string | undefined {
  return /^0::(.+)$/m.exec(tried(() => readFileSync(`/proc/${pid}/cgroup`, "utf8")) ?? "")?.[1];
}
