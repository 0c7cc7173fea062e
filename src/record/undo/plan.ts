import { lstatSync } from "node:fs";
import { formatSize } from "../../core/output/size.ts";
import { tried } from "../../core/util/errors.ts";
import { IN_PLACE, hasLarge, isLink } from "./large.ts";
import { type Item, type Step, type UndoStore, isSame, threadOf } from "./log.ts";
import { type Known, type Manifest, lastManifest } from "./manifest.ts";
import { isOfRepository, parentsOf, pathIn, shown } from "./paths.ts";
import { rowsOf } from "./steps.ts";

/**
 * One path that differs between two moments. `undefined` means that nothing is there. Paths have one character per byte.
 */
export interface Change {
  readonly path: string;
  readonly now: Item | undefined;
  readonly past: Item | undefined;
}

/** What an undo would do. */
export interface Plan {
  /** What tools changed, sorted by path. */
  readonly files: readonly Change[];
  /** What tools changed, and somebody else changed too: between acts, or since. Restored only with `force`. */
  readonly conflicts: readonly Change[];
  /** What changed in `.git` of repositories that were there before and still are. Restored only on request. */
  readonly repository: readonly Change[];
  /** What tools changed and cannot be restored, in words. */
  readonly lost: readonly string[];
}

/**
 * Plans how to return to the moment before the first step. A path is restored if it differs and a tool changed it. Other
 * changes were made by somebody else.
 */
export function planOf(store: UndoStore, steps: readonly Step[], manifest: Manifest): Plan {
  const past = new Map<string, Item | null>();
  const [byTools, byOthers] = [new Set<string>(), new Set<string>()];
  for (const step of steps) {
    for (const [path, before] of rowsOf(store.path, step)) {
      if (!past.has(path)) past.set(path, before);
      (step.by.length > 0 ? byTools : byOthers).add(path);
    }
  }
  const back = new Map<string, Change>();
  for (const path of [...byTools].toSorted()) {
    const [was, now] = [past.get(path) ?? undefined, manifest.get(path)?.item];
    if (!isSame(was, now)) back.set(path, { path, now, past: was });
  }
  const plan = { files: [] as Change[], conflicts: [] as Change[], repository: [] as Change[] };
  const lost = new Map<string, Lost>();
  for (const change of back.values()) {
    const { path } = change;
    if (isOfRepository(path) && !isWholeRepository(path, back)) {
      if (!byOthers.has(path) && !isNewObject(change)) plan.repository.push(change);
      continue;
    }
    const problem = problemOf(store, change);
    if (problem !== undefined && problem !== "") lost.set(path, problem);
    if (problem === undefined) (byOthers.has(path) ? plan.conflicts : plan.files).push(change);
  }
  return { ...plan, lost: lostText(lost) };
}

/** Whether the repository that the path belongs to was made or removed as a whole. */
function isWholeRepository(path: string, back: ReadonlyMap<string, Change>): boolean {
  const root = [...parentsOf(path), path].find(isOfRepository) ?? path;
  const change = back.get(root);
  return change !== undefined && (change.now?.kind === "folder") !== (change.past?.kind === "folder");
}

/** An object of a repository stays: git does not mind it, and it may be the only copy of work. */
function isNewObject({ path, past }: Change): boolean {
  return past === undefined && /\/objects\//.test(path);
}

/** A file whose content was not kept. */
interface Lost {
  /** In bytes; `undefined` for a folder that a tool can make again. */
  readonly size: number | undefined;
  readonly why: string;
}

/** Returns why a change cannot be undone; "" if there is nothing to say about it. */
function problemOf({ path: store }: UndoStore, { now, past }: Change): Lost | "" | undefined {
  if (past?.kind === "unkept") return { size: past.size, why: past.why };
  if (past?.kind === "large" && !hasLarge(store, past.id)) return { size: past.size, why: IN_PLACE };
  if (past?.kind === "cache") return { size: undefined, why: "a tool can make it again" };
  if (now?.kind === "unkept" && past === undefined) return { size: now.size, why: `it stays, because ${now.why}` };
  if (past === undefined && now?.kind === "cache") return "";
  return past?.kind === "other" ? "" : undefined;
}

/** The most sentences about what is not kept. */
const MOST_SENTENCES = 20;

/** Says what is not kept: files of one folder with one reason together. */
function lostText(lost: ReadonlyMap<string, Lost>): readonly string[] {
  const groups = new Map<string, { readonly paths: string[]; readonly why: string; size: number | undefined }>();
  for (const [path, { size, why }] of lost) {
    const key = `${folderOf(path)}\0${why}`;
    const group = groups.get(key) ?? { paths: [], why, size: undefined };
    group.paths.push(path);
    if (size !== undefined) group.size = (group.size ?? 0) + size;
    groups.set(key, group);
  }
  const sentences = [...groups].map(([key, { paths, why, size }]) => {
    const [only = ""] = paths;
    const what =
      paths.length === 1 ? shown(only) : `${paths.length} files in ${shown(key.split("\0")[0] ?? "") || "."}`;
    return `${what} (${size === undefined ? "" : `${formatSize(size)}: `}${why})`;
  });
  const more = sentences.length - MOST_SENTENCES;
  return more > 0 ? [...sentences.slice(0, MOST_SENTENCES), `the files of ${more} more folders`] : sentences;
}

const watched = new WeakMap<Manifest, ReadonlyMap<string, Known>>();

/** The most files of which each is looked at when an act ends. Of more, only their folders are. */
const MOST_WATCHED = 5_000;

/** Says which files have gone or changed since the last look of this process whose content was not kept. */
export function lostSince({ path: store, workDir }: UndoStore): readonly string[] {
  const manifest = lastManifest(store) ?? new Map<string, Known>();
  const isWatched = ([path, { item }]: [string, Known]) =>
    !isOfRepository(path) && (item.kind === "unkept" || (item.kind === "large" && isLink(item.id)));
  const files = watched.get(manifest) ?? new Map([...manifest].filter(isWatched));
  watched.set(manifest, files);
  const infoOf = (path: string) => tried(() => lstatSync(pathIn(workDir, path), { throwIfNoEntry: false }));
  const folders = new Map([...files.keys()].map((path) => [folderOf(path), true]));
  for (const folder of folders.keys()) folders.set(folder, folder === "" || infoOf(folder) !== undefined);
  const lost = new Map<string, Lost>();
  for (const [path, { item, ino, size, mtime }] of files) {
    const isThere = folders.get(folderOf(path)) === true;
    if (isThere && files.size > MOST_WATCHED) continue;
    const info = isThere ? infoOf(path) : undefined;
    const isInPlace = info?.ino === ino && (info.size !== size || info.mtimeMs !== mtime);
    if (item.kind === "large" && isInPlace) lost.set(path, { size, why: IN_PLACE });
    if (item.kind === "unkept" && (info === undefined || isInPlace)) lost.set(path, { size, why: item.why });
  }
  return lostText(lost);
}

function folderOf(path: string): string {
  return path.slice(0, Math.max(0, path.lastIndexOf("/")));
}

/** Says which files of the workspace are not kept. */
export function unkeptText(manifest: Manifest, isMeant: (path: string) => boolean = () => true): readonly string[] {
  const lost = new Map<string, Lost>();
  for (const [path, { item }] of manifest)
    if (item.kind === "unkept" && !isOfRepository(path) && isMeant(path))
      lost.set(path, { size: item.size, why: item.why });
  return lostText(lost);
}

/**
 * Returns which files changed while acts of each point's thread ran, until the next point of that thread: ids of
 * points, with sorted paths of one character per byte.
 */
export function filesOfPoints(store: string, steps: readonly Step[]): ReadonlyMap<string, readonly string[]> {
  const latest = new Map<string, string>();
  const files = new Map<string, Set<string>>();
  for (const step of steps) {
    const { id, point, by } = step;
    if (point !== undefined) {
      latest.set(point.thread, id);
      files.set(id, new Set());
    }
    const points = new Set(by.map((act) => latest.get(threadOf(act) ?? point?.thread ?? "")));
    const paths = points.size === 0 ? [] : rowsOf(store, step).map(([path]) => path);
    for (const made of points) for (const path of paths) if (!isOfRepository(path)) files.get(made ?? "")?.add(path);
  }
  return new Map([...files].map(([id, paths]) => [id, [...paths].toSorted()]));
}
