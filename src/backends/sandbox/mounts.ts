import { isInside } from "../../util/paths.ts";
import type { Hidden } from "./hidden.ts";

/** What a contained command finds at a path, and with all under it until another says otherwise. */
export type Mount = { readonly at: string } &
  /** What is there outside too. A "pin" is one that is there only so that its folder cannot be moved away with what is read-only or hidden below it. */
  (
    | { readonly kind: "writable" | "pin" | "read-only" | "reopened" }
    /** Something else of this machine. */
    | { readonly kind: "private" | "given"; readonly from: string }
    /** A folder that is empty when the command starts and gone when it ends. */
    | { readonly kind: "empty" }
    /** A folder that may not be looked into, or one with nothing in it; both read-only. `holds`: something visible lies below. */
    | { readonly kind: "closed" | "emptied"; readonly holds: boolean }
    /** A file that may not be opened: a secret, or a socket that somebody else listens on. */
    | { readonly kind: "nothing" }
    | { readonly kind: "devices" | "processes" }
  );

/** What is known of the machine and asked of the sandbox. Every path is real and there is something at it. */
export interface Facts {
  /** Folders and files that may be written: the workspace, further roots, private caches, what the command was given. */
  readonly writable: readonly string[];
  /** What stays read-only inside of them. */
  readonly readOnly: readonly string[];
  readonly hidden: readonly (Hidden & { readonly isFolder: boolean })[];
  /** What can be read although it, or a folder above it, is hidden. */
  readonly reopened: readonly string[];
  /** Sockets that somebody outside listens on. */
  readonly sockets: readonly string[];
  /** Folders of the system with their private replacements: /tmp, /var/tmp. */
  readonly temporary: readonly { readonly at: string; readonly from: string }[];
  /** Folders of the system that are empty inside: /run. */
  readonly emptied: readonly string[];
  /** Files put at a path where outside there is nothing. */
  readonly given: readonly { readonly at: string; readonly from: string }[];
  /** What of /proc would change the machine, for root even inside: read-only. */
  readonly settings: readonly string[];
  /** False: /proc is that of the outside. */
  readonly ownProcesses: boolean;
}

/** What is mounted, in this order, on top of the whole system read-only. Pure. */
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
  return withHolds(meaningful([...at.values()].toSorted(byPath), hidden));
}

/** What decides about a path: the nearest mount at or above it. `undefined`: the system, read-only. */
export function mountAbove(mounts: readonly Mount[], path: string): Mount | undefined {
  return mounts.findLast((mount) => isInside(path, mount.at));
}

/** Whether a contained command can write a path, as far as the sandbox decides. */
export function isWritable(mounts: readonly Mount[], path: string): boolean {
  const kind = mountAbove(mounts, path)?.kind ?? "system";
  return ["writable", "pin", "private", "empty", "devices", "processes"].includes(kind);
}

/**
 * What is held below a path that itself may be written, so that it can be neither moved nor removed; of a repository's parts the repository
 * (its `.git`).
 */
export function heldBelow(mounts: readonly Mount[], path: string): readonly string[] {
  if (!isWritable(mounts, path)) return [];
  const held = mounts.filter(({ kind, at }) => kind === "read-only" && at !== path && isInside(at, path));
  const named = held.map(({ at }) => {
    const repository = repositoryOf(at);
    return repository !== undefined && isInside(repository, path) ? repository : at;
  });
  return [...new Set(named)];
}

/** The `.git` that a path lies in. */
export function repositoryOf(path: string): string | undefined {
  return /^.*\/\.git(?=\/)/.exec(path)?.[0];
}

/** Whether a contained command does not see what is at a path outside. */
export function isHidden(mounts: readonly Mount[], path: string): boolean {
  const kind = mountAbove(mounts, path)?.kind ?? "system";
  return HIDING.includes(kind);
}

const HIDING: readonly string[] = ["closed", "emptied", "nothing", "empty", "private"];

/** A folder comes before what is in it, whatever characters the names have. */
function byPath({ at: one }: Mount, { at: other }: Mount): number {
  const [first, second] = [one.replaceAll("/", "\0"), other.replaceAll("/", "\0")];
  if (first === second) return 0;
  return first < second ? -1 : 1;
}

/** Leaves out what changes nothing: what is to be hidden where nothing is seen, or shown where it is seen anyway. */
function meaningful(sorted: readonly Mount[], hidden: ReadonlySet<string>): readonly Mount[] {
  const all: Mount[] = [];
  for (const mount of sorted) {
    const above = mountAbove(all, mount.at)?.kind;
    if (matters(mount.kind, above, hidden.has(mount.at))) all.push(mount);
  }
  return all;
}

/** `wasHidden`: it would be hidden were it not opened for reading, which opens it for that alone even where all around it may be written. */
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

/** The folders between a path and the writable one it lies in: each could be moved away and another put in its place. */
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
