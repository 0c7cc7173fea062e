import { accessSync, constants, mkdirSync, readlinkSync, rmdirSync, writeFileSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { kindOf, namesIn } from "../../git/disk.ts";
import { codeOf, tried } from "../../../core/util/errors.ts";
import { startOf } from "../../spawner/process-start.ts";
import { textOf } from "../read-files.ts";

/** What the kernel limits for a group of processes. */
export type Controller = "pids" | "memory";

/** A folder of control groups that this process created. The groups of commands are created in it. */
export interface GroupFolder {
  readonly version: 1 | 2;
  readonly path: string;
  readonly controllers: readonly Controller[];
}

/** The created folders, and for each controller without one the reason (the end of a sentence). */
export interface GroupFolders {
  readonly folders: readonly GroupFolder[];
  readonly reasons: ReadonlyMap<Controller, string>;
}

const CONTROLLERS: readonly Controller[] = ["pids", "memory"];

let made = 0;

/**
 * Creates control groups below the group of this process, so that its limits apply too: one per controller with cgroup
 * v1, one for all with v2. Removes those of dead processes if nothing runs in them. Never throws: `reasons` explains
 * what could not be created.
 */
export function makeGroupFolders(): GroupFolders {
  const folders: GroupFolder[] = [];
  const reasons = new Map<Controller, string>();
  const mounts = mountsOf(textOf("/proc/self/mountinfo"));
  const groups = textOf("/proc/self/cgroup").split("\n");
  const name = `handrail-${pidNamespace()}-${process.pid}-${startOf(process.pid)}-${++made}`;
  const fail = (controllers: readonly Controller[], reason: string) =>
    controllers.forEach((each) => reasons.set(each, reason));
  const make = (version: 1 | 2, parent: string, controllers: readonly Controller[]) => {
    try {
      folders.push(makeFolder({ version, path: join(parent, name), controllers }));
    } catch (error) {
      fail(controllers, `no control group can be created in ${parent} (${codeOf(error) ?? String(error)})`);
    }
  };
  for (const controller of CONTROLLERS) {
    const mount = mounts.find(({ version, options }) => version === 1 && options.includes(controller));
    const line = groups.find((each) => each.split(":")[1]?.split(",").includes(controller));
    if (mount !== undefined && line !== undefined) make(1, folderOf(mount, line), [controller]);
  }
  const isOpen = (each: Controller) =>
    !reasons.has(each) && !folders.some(({ controllers }) => controllers.includes(each));
  const mount = mounts.find(({ version }) => version === 2);
  const line = groups.find((each) => each.startsWith("0::"));
  const available = mount === undefined ? [] : textOf(join(mount.path, "cgroup.controllers")).trim().split(" ");
  const wanted = CONTROLLERS.filter((each) => isOpen(each) && available.includes(each));
  if (wanted.length > 0 && mount !== undefined && line !== undefined) {
    const own = folderOf(mount, line);
    const parent = delegated(mount.path, own, wanted);
    if (parent === undefined) fail(wanted, `no control group can be created around ${own} (${WANTED})`);
    else make(2, parent, wanted);
  }
  for (const each of CONTROLLERS.filter(isOpen)) fail([each], `this system has no control groups with "${each}"`);
  return { folders, reasons };
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
  readonly version: 1 | 2;
  /** The group that is visible at `path`. */
  readonly root: string;
  readonly path: string;
  readonly options: readonly string[];
}

/** From /proc/self/mountinfo, proc(5): `id parent device ROOT PATH options … - TYPE source OPTIONS`. */
function mountsOf(mountinfo: string): readonly Mount[] {
  return mountinfo.split("\n").flatMap((line) => {
    const [before = "", after = ""] = line.split(" - ");
    const [, , , root = "", path = ""] = before.split(" ");
    const [type, , options = ""] = after.split(" ");
    if (type !== "cgroup" && type !== "cgroup2") return [];
    return [{ version: type === "cgroup" ? 1 : 2, root, path, options: options.split(",") } as const];
  });
}

/** The path of the group in a line of /proc/self/cgroup. A group outside the mount counts as the mount's root. */
function folderOf({ root, path }: Mount, line: string): string {
  const group = line.split(":").slice(2).join(":");
  if (root === "/") return join(path, group.startsWith("/..") ? "/" : group);
  return group.startsWith(`${root}/`) ? join(path, group.slice(root.length)) : path;
}

/**
 * Finds the nearest group, from this process's own upwards, in which groups with these controllers may be created. In
 * v2 that group must contain no processes, so mostly it is the one above. The search stops at a group with a memory
 * limit.
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

/** Creates a folder of groups. @throws The system's error when it cannot; nothing remains then. */
function makeFolder(folder: GroupFolder): GroupFolder {
  sweep(dirname(folder.path));
  mkdirSync(folder.path);
  if (folder.version === 1 || handsDown(folder.path, folder.controllers)) return folder;
  removeGroup(folder.path);
  throw Object.assign(new Error("Its controllers cannot be delegated"), { code: "EBUSY" });
}

/** Removes the groups of dead processes. Commands that outlive such a process keep their groups until they end. */
function sweep(parent: string): void {
  for (const name of foldersIn(parent)) {
    const [, namespace, pid, start] = /^handrail-(\d+)-(\d+)-(\d+)-\d+$/.exec(name) ?? [];
    if (namespace === pidNamespace() && startOf(Number(pid)) !== start) removeGroup(join(parent, name));
  }
}

/** Part of the name of this process's groups: a PID is reused, and is valid only in its namespace. */
function pidNamespace(): string {
  return (tried(() => basename(readlinkSync("/proc/self/ns/pid"))) ?? "").replace(/\D/g, "");
}

function foldersIn(path: string): readonly string[] {
  return namesIn(path).filter((name) => kindOf(join(path, name)) === "folder");
}
