import { accessSync, constants, mkdirSync, readlinkSync, rmdirSync, writeFileSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { kindOf, namesIn } from "../../../git/disk.ts";
import { codeOf, tried } from "../../../util/errors.ts";
import { startOf } from "../../spawner/process-start.ts";
import { textOf } from "../read-files.ts";

/** What the kernel limits for a group of processes. */
export type Controller = "pids" | "memory";

/** A folder of control groups that this process created. The groups of commands are created in it. */
export interface GroupFolder {
  readonly path: string;
  readonly controllers: readonly Controller[];
}

/** The created folder, and for each controller without one the reason (the end of a sentence). */
export interface GroupFolders {
  readonly folder: GroupFolder | undefined;
  readonly reasons: ReadonlyMap<Controller, string>;
}

const CONTROLLERS: readonly Controller[] = ["pids", "memory"];

let made = 0;

/**
 * Creates a control group (cgroup v2) for the groups of commands, below the group of this process, so that its limits
 * apply too. Removes those of dead processes if nothing runs in them. Never throws.
 */
export function makeGroupFolder(): GroupFolders {
  const top = mountIn(textOf("/proc/self/mountinfo"));
  const line = /^0::(.*)$/m.exec(textOf("/proc/self/cgroup"))?.[1];
  const available = top === undefined ? [] : textOf(join(top.path, "cgroup.controllers")).trim().split(" ");
  const controllers = CONTROLLERS.filter((each) => available.includes(each));
  const reasons = new Map<Controller, string>(
    CONTROLLERS.filter((each) => !controllers.includes(each)).map((each) => [
      each,
      `this system has no control groups (cgroup v2) with "${each}"`,
    ]),
  );
  const failed = (reason: string) => {
    for (const each of controllers) reasons.set(each, reason);
    return { folder: undefined, reasons };
  };
  if (top === undefined || line === undefined || controllers.length === 0) return { folder: undefined, reasons };
  const own = folderOf(top, line);
  const parent = delegated(top.path, own, controllers);
  if (parent === undefined) return failed(`no control group can be created around ${own} (${WANTED})`);
  const path = join(parent, `handrail-${pidNamespace()}-${process.pid}-${startOf(process.pid)}-${++made}`);
  try {
    sweep(parent);
    mkdirSync(path);
    if (handsDown(path, controllers)) return { folder: { path, controllers }, reasons };
    removeGroup(path);
    return failed(`the controllers of ${path} cannot be delegated`);
  } catch (error) {
    return failed(`no control group can be created in ${parent} (${codeOf(error) ?? String(error)})`);
  }
}

const WANTED =
  "cgroup v2 needs a parent group of this user without processes or limits, as systemd-run --user --scope creates";

/** Removes a group, or a folder of groups. Returns false while something still runs in it. Never throws. */
export function removeGroup(path: string): boolean {
  try {
    rmdirSync(path);
    return true;
  } catch (error) {
    if (codeOf(error) === "ENOENT") return true;
    const inside = foldersIn(path);
    return inside.length > 0 && inside.map((name) => removeGroup(join(path, name))).every(Boolean) && removeGroup(path);
  }
}

interface Mount {
  /** The group that is visible at `path`. */
  readonly root: string;
  readonly path: string;
}

/** Finds cgroup v2 in /proc/self/mountinfo, proc(5): `id parent device ROOT PATH options … - TYPE source OPTIONS`. */
function mountIn(mountinfo: string): Mount | undefined {
  const [, root, path] = /^\S+ \S+ \S+ (\S+) (\S+) .* - cgroup2 /m.exec(mountinfo) ?? [];
  return root === undefined || path === undefined ? undefined : { root, path };
}

/** The path of a group. A group outside the mount counts as the mount's root. */
function folderOf({ root, path }: Mount, group: string): string {
  if (root === "/") return join(path, group.startsWith("/..") ? "/" : group);
  return group.startsWith(`${root}/`) ? join(path, group.slice(root.length)) : path;
}

/**
 * Finds the nearest group, from this process's own upwards, in which groups with these controllers may be created. It
 * must contain no processes, so mostly it is the one above. The search stops at a group with a memory limit.
 */
function delegated(top: string, own: string, controllers: readonly Controller[]): string | undefined {
  for (let path = own; ; path = dirname(path)) {
    if (mayMake(path) && handsDown(path, controllers)) return path;
    if (path === top || !path.startsWith(top)) return undefined;
    if (/\d/.test(textOf(join(path, "memory.max")) + textOf(join(path, "memory.high")))) return undefined;
  }
}

function mayMake(path: string): boolean {
  const files = [path, join(path, "cgroup.procs"), join(path, "cgroup.subtree_control")];
  return files.every((file) => tried(() => (accessSync(file, constants.W_OK), true)) ?? false);
}

function handsDown(path: string, controllers: readonly Controller[]): boolean {
  const file = join(path, "cgroup.subtree_control");
  const missing = () => controllers.filter((each) => !textOf(file).trim().split(" ").includes(each));
  const added = missing().map((each) => `+${each}`);
  if (added.length > 0) tried(() => writeFileSync(file, added.join(" ")));
  return missing().length === 0;
}

/** Removes the groups of dead processes. Commands that outlive such a process keep their groups until they end. */
function sweep(parent: string): void {
  for (const name of foldersIn(parent)) {
    const [, namespace, pid, start] = /^handrail-(\d+)-(\d+)-(\d+)-\d+$/.exec(name) ?? [];
    if (namespace === pidNamespace() && startOf(Number(pid)) !== start) removeGroup(join(parent, name));
  }
}

/** Part of the name of this process's groups: a PID is valid only in its namespace. */
function pidNamespace(): string {
  return (tried(() => basename(readlinkSync("/proc/self/ns/pid"))) ?? "").replace(/\D/g, "");
}

function foldersIn(path: string): readonly string[] {
  return namesIn(path).filter((name) => kindOf(join(path, name)) === "folder");
}
