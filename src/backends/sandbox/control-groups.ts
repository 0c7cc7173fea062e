import {
  accessSync,
  constants,
  mkdirSync,
  readFileSync,
  readdirSync,
  readlinkSync,
  rmdirSync,
  writeFileSync,
} from "node:fs";
import { basename, dirname, join } from "node:path";
import { codeOf } from "../../util/errors.ts";
import { startOf } from "../local/spawner/process-start.ts";

/** What of a group of processes the kernel limits for us. */
export type Controller = "pids" | "memory";

/** A folder of control groups that is ours. The groups of commands are made in it. */
export interface GroupFolder {
  readonly version: 1 | 2;
  readonly path: string;
  readonly controllers: readonly Controller[];
}

/** Folders of ours, or for a controller the reason why there is none (the second half of a sentence). */
export interface GroupFolders {
  readonly folders: readonly GroupFolder[];
  readonly reasons: ReadonlyMap<Controller, string>;
}

const CONTROLLERS: readonly Controller[] = ["pids", "memory"];

let made = 0;

/**
 * Makes folders for control groups of ours under the group this process runs in, so that its limits hold for them too. On a system with
 * cgroup v1 that is a folder a controller, with v2 one for all. Those of processes that have died are removed where nothing runs in
 * them any more. Never throws: what cannot be made has a reason.
 */
export function makeGroupFolders(): GroupFolders {
  const folders: GroupFolder[] = [];
  const reasons = new Map<Controller, string>();
  const mounts = mountsOf(read("/proc/self/mountinfo"));
  const groups = read("/proc/self/cgroup").split("\n");
  const name = `handrail-${ownName()}-${++made}`;
  for (const controller of CONTROLLERS) {
    const mount = mounts.find(({ version, options }) => version === 1 && options.includes(controller));
    const line = groups.find((each) => each.split(":")[1]?.split(",").includes(controller));
    if (mount === undefined || line === undefined) continue;
    const parent = folderOf(mount, line);
    attempt(
      () => folders.push(makeFolder({ version: 1, path: join(parent, name), controllers: [controller] })),
      (code) => reasons.set(controller, `no group can be made in ${parent} (${code})`),
    );
  }
  const left = CONTROLLERS.filter(
    (each) => !reasons.has(each) && !folders.some(({ controllers }) => controllers.includes(each)),
  );
  const mount = mounts.find(({ version }) => version === 2);
  const line = groups.find((each) => each.startsWith("0::"));
  if (left.length > 0 && mount !== undefined && line !== undefined) {
    const available = read(join(mount.path, "cgroup.controllers")).trim().split(" ");
    const wanted = left.filter((each) => available.includes(each));
    const parent = wanted.length === 0 ? { reason: "" } : delegated(mount.path, folderOf(mount, line), wanted);
    if ("path" in parent) {
      attempt(
        () => folders.push(makeFolder({ version: 2, path: join(parent.path, name), controllers: wanted })),
        (code) => wanted.forEach((each) => reasons.set(each, `no group can be made in ${parent.path} (${code})`)),
      );
    } else wanted.forEach((each) => reasons.set(each, parent.reason));
  }
  for (const each of CONTROLLERS) {
    const isThere = folders.some(({ controllers }) => controllers.includes(each));
    if (!isThere && !reasons.has(each)) reasons.set(each, `this system has no control groups with "${each}"`);
  }
  return { folders, reasons };
}

/** Removes a group, or a folder of them with all in it. Returns false while something still runs in it. Never throws. */
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

/** What is in a file of the kernel's; "" where there is none. */
export function read(path: string): string {
  try {
    return readFileSync(path, "latin1");
  } catch {
    return "";
  }
}

interface Mount {
  readonly version: 1 | 2;
  /** The group that is seen at `path`. */
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

/** Where the group of a line of /proc/self/cgroup is seen. One outside what is mounted has to do with the mount's own. */
function folderOf({ root, path }: Mount, line: string): string {
  const group = line.split(":").slice(2).join(":");
  if (root === "/") return join(path, group.startsWith("/..") ? "/" : group);
  return group.startsWith(`${root}/`) ? join(path, group.slice(root.length)) : path;
}

/**
 * The nearest group, from our own upwards, in which groups with these controllers may be made. With v2 a group that has processes of its own
 * hands its controllers to none below, so that it is mostly the one above ours. A group whose memory is limited is not left.
 */
function delegated(
  top: string,
  own: string,
  controllers: readonly Controller[],
): { path: string } | { reason: string } {
  for (let path = own; ; path = dirname(path)) {
    if (mayMake(path) && handsDown(path, controllers)) return { path };
    if (path === top || !path.startsWith(top)) break;
    if (/\d/.test(read(join(path, "memory.max")) + read(join(path, "memory.high")))) break;
  }
  const wanted =
    "cgroup v2 wants a group of this user's without processes or limits of its own around it, as systemd-run --user --scope has";
  return { reason: `no group can be made around ${own} (${wanted})` };
}

function mayMake(path: string): boolean {
  try {
    for (const each of [path, join(path, "cgroup.procs"), join(path, "cgroup.subtree_control")])
      accessSync(each, constants.W_OK);
    return true;
  } catch {
    return false;
  }
}

function handsDown(path: string, controllers: readonly Controller[]): boolean {
  const file = join(path, "cgroup.subtree_control");
  const missing = () => controllers.filter((each) => !read(file).trim().split(" ").includes(each));
  attempt(
    () =>
      missing().length > 0 &&
      writeFileSync(
        file,
        missing()
          .map((each) => `+${each}`)
          .join(" "),
      ),
  );
  return missing().length === 0;
}

/** @throws The system's error when it cannot be made; nothing is left then. */
function makeFolder(folder: GroupFolder): GroupFolder {
  sweep(dirname(folder.path));
  mkdirSync(folder.path);
  if (folder.version === 1 || handsDown(folder.path, folder.controllers)) return folder;
  removeGroup(folder.path);
  throw Object.assign(new Error("Its controllers cannot be handed down"), { code: "EBUSY" });
}

/** Removes what processes left that have died. Commands that outlive them keep their groups until they end. */
function sweep(parent: string): void {
  for (const name of foldersIn(parent)) {
    const [, namespace, pid, start] = /^handrail-(\d+)-(\d+)-(\d+)-\d+$/.exec(name) ?? [];
    if (namespace === pidNamespace() && startOf(Number(pid)) !== start) removeGroup(join(parent, name));
  }
}

/** Process ids are used again, and mean something within their namespace alone. */
function ownName(): string {
  return `${pidNamespace()}-${process.pid}-${startOf(process.pid)}`;
}

function pidNamespace(): string {
  let link = "";
  attempt(() => (link = basename(readlinkSync("/proc/self/ns/pid"))));
  return link.replace(/\D/g, "");
}

function foldersIn(path: string): readonly string[] {
  try {
    return readdirSync(path, { withFileTypes: true }).flatMap((each) => (each.isDirectory() ? [each.name] : []));
  } catch {
    return [];
  }
}

/** Does it, or says with which code it failed. */
function attempt(work: () => unknown, failed: (code: string) => unknown = () => {}): void {
  try {
    work();
  } catch (error) {
    failed(codeOf(error) ?? String(error));
  }
}
