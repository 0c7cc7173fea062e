import { isInside } from "../../../core/util/paths.ts";
import type { Hidden } from "./hidden.ts";

/** What a contained command finds at a path and below it, unless another mount lies deeper. */
export type Mount = { readonly at: string } &
  /** As outside the sandbox. A "pin" keeps a folder from being moved away with the protected paths below it. */
  (
    | { readonly kind: "writable" | "pin" | "read-only" | "reopened" }
    /** Another path of this machine. */
    | { readonly kind: "private" | "given"; readonly from: string }
    /** A folder that is empty when the command starts and gone when it ends. */
    | { readonly kind: "empty" }
    /** A read-only folder that cannot be listed, or looks empty. `holds`: something visible lies below. */
    | { readonly kind: "closed" | "emptied"; readonly holds: boolean }
    /** A file that cannot be opened: a secret, or a socket of a process outside. */
    | { readonly kind: "nothing" }
    | { readonly kind: "devices" | "processes" }
  );

/** What was found on the machine, and what the sandbox was asked for. All paths are real and exist. */
export interface Facts {
  /** Folders and files that commands may write: workspace, further roots, private caches, granted paths. */
  readonly writable: readonly string[];
  /** Paths inside them that stay read-only. */
  readonly readOnly: readonly string[];
  /** `isKept`: a root, which exists inside even if what is above it is hidden. */
  readonly hidden: readonly (Hidden & { readonly isFolder: boolean; readonly isKept?: boolean })[];
  /** Paths that can be read although they, or a folder above them, are hidden. */
  readonly reopened: readonly string[];
  /** Sockets that a process outside listens on. */
  readonly sockets: readonly string[];
  /** Folders of the system (`at`) and their private replacements (`from`): /tmp, /var/tmp. */
  readonly temporary: readonly { readonly at: string; readonly from: string }[];
  /** Folders of the system that are empty inside the sandbox: /run. */
  readonly emptied: readonly string[];
  /** Files that are mounted at paths that do not exist outside. */
  readonly given: readonly { readonly at: string; readonly from: string }[];
  /** Paths in /proc through which root could change the machine even inside: read-only. */
  readonly settings: readonly string[];
  /** False: /proc is the one from outside. */
  readonly ownProcesses: boolean;
}

/** Returns what to mount, in this order, over the whole system, which is read-only. Pure. */
export function mountsOf(facts: Facts): readonly Mount[] {
  const at = new Map<string, Mount>();
  const put = (mounts: readonly Mount[]) => mounts.forEach((mount) => at.set(mount.at, mount));
  put(facts.temporary.map((each) => ({ kind: "private", ...each })));
  put(facts.emptied.map((path) => ({ kind: "empty", at: path })));
  put([{ kind: "devices", at: "/dev" }]);
  put(facts.ownProcesses ? [{ kind: "processes", at: "/proc" }] : []);
  put(facts.settings.map((path) => ({ kind: "read-only", at: path })));
  put(facts.sockets.map((path) => ({ kind: "nothing", at: path })));
  put(
    facts.hidden.map(({ path, as, isFolder }): Mount =>
      isFolder ? { kind: as, at: path, holds: false } : { kind: "nothing", at: path },
    ),
  );
  const hidden = new Set(facts.hidden.map(({ path }) => path));
  put(facts.reopened.map((path) => ({ kind: "reopened", at: path })));
  put(facts.writable.map((path) => ({ kind: "writable", at: path })));
  const kept = [...facts.readOnly, ...hidden, ...facts.sockets];
  put(kept.flatMap((path) => pinsAbove(path, facts.writable)).filter((pin) => !at.has(pin.at)));
  // What is hidden cannot be written either.
  const isSeen = (path: string) => !HIDING.includes(at.get(path)?.kind ?? "system");
  put(facts.readOnly.filter(isSeen).map((path) => ({ kind: "read-only", at: path })));
  put(facts.given.map((each) => ({ kind: "given", ...each })));
  const roots = new Set(facts.hidden.flatMap(({ path, isKept }) => (isKept === true ? [path] : [])));
  return withHolds(meaningful(byPath([...at.values()]), { hidden, roots }));
}

/** The nearest mount at or above a path, which decides about it. `undefined`: the system, read-only. */
export function mountAbove(mounts: readonly Mount[], path: string): Mount | undefined {
  return mounts.findLast((mount) => isInside(path, mount.at));
}

/** Whether a contained command can write a path, as far as the sandbox decides. */
export function isWritable(mounts: readonly Mount[], path: string): boolean {
  const kind = mountAbove(mounts, path)?.kind ?? "system";
  return ["writable", "pin", "private", "empty", "devices", "processes"].includes(kind);
}

/** Whether a contained command cannot see what is at this path outside. */
export function isHidden(mounts: readonly Mount[], path: string): boolean {
  const kind = mountAbove(mounts, path)?.kind ?? "system";
  return HIDING.includes(kind);
}

/** The hidden secrets, forbidden paths and sockets. Paths in the temporary folders are left out: those are replaced. */
export function hiddenIn(mounts: readonly Mount[]): readonly string[] {
  return mounts.flatMap(({ kind, at }) => (kind === "closed" || kind === "emptied" || kind === "nothing" ? [at] : []));
}

const HIDING: readonly string[] = ["closed", "emptied", "nothing", "empty", "private"];

/** Sorts a folder before its content, whatever characters the names have. */
function byPath(mounts: readonly Mount[]): readonly Mount[] {
  return mounts
    .map((mount) => ({ mount, key: mount.at.replaceAll("/", "\0") }))
    .toSorted((one, other) => (one.key === other.key ? 0 : one.key < other.key ? -1 : 1))
    .map(({ mount }) => mount);
}

/** Omits mounts without effect: they hide inside what is hidden, or show what is visible. */
function meaningful(
  sorted: readonly Mount[],
  { hidden, roots }: { readonly hidden: ReadonlySet<string>; readonly roots: ReadonlySet<string> },
): readonly Mount[] {
  const all: Mount[] = [];
  for (const mount of sorted) {
    const above = mountAbove(all, mount.at)?.kind;
    if (roots.has(mount.at) || matters(mount.kind, above, hidden.has(mount.at))) all.push(mount);
  }
  return all;
}

/**
 * Whether a mount has an effect below `above`. `wasHidden`: the path is on the list of hidden paths. Reopening such a
 * path makes it readable only, even inside a writable folder.
 */
function matters(kind: Mount["kind"], above: Mount["kind"] | undefined, wasHidden: boolean): boolean {
  const isOwn = above === "writable" || above === "pin";
  if (kind === "closed" || kind === "emptied" || kind === "nothing")
    return above === undefined || !HIDING.includes(above);
  if (kind === "reopened") return above !== undefined && (HIDING.includes(above) || (isOwn && wasHidden));
  if (kind === "writable") return !isOwn;
  if (kind === "pin") return isOwn;
  if (kind === "read-only") return isOwn || above === "processes";
  return true;
}

function withHolds(mounts: readonly Mount[]): readonly Mount[] {
  return mounts.map((mount) =>
    mount.kind === "closed" || mount.kind === "emptied"
      ? { ...mount, holds: mounts.some(({ at }) => at !== mount.at && isInside(at, mount.at)) }
      : mount,
  );
}

/** The folders between a path and its writable root: each could be moved away and replaced. */
function pinsAbove(path: string, writable: readonly string[]): readonly Mount[] {
  const root = writable
    .filter((folder) => isInside(path, folder))
    .toSorted((one, other) => one.length - other.length)[0];
  if (root === undefined || root === path) return [];
  const pins: Mount[] = [];
  for (let at = parentOf(path); at !== root && at !== "/"; at = parentOf(at)) pins.push({ kind: "pin", at });
  return pins;
}

function parentOf(path: string): string {
  return path.slice(0, Math.max(1, path.lastIndexOf("/")));
}
