import { link, unlink } from "node:fs/promises";
import { join } from "node:path";
import { codeOf } from "../util/errors.ts";
import { randomName } from "../util/identifier.ts";
import { type FileAct } from "./acts.ts";
import { git } from "./git.ts";
import { type Extras, indexOf, infoOf, itemOf, pathIn, readExtras, rootOf, shown, textOf } from "./keep.ts";
import type { Entry, Item, Point, State, UndoStore } from "./log.ts";

/** Calls outside a turn within this time share a point. In milliseconds. */
const SHARED_MS = 30_000;

/** A point, and when it was made. */
interface Made {
  readonly point: Point;
  readonly at: number;
}

/** Whether an act at this moment shares an existing point: that of its turn, or of a call shortly before. */
export function hasPoint(made: readonly Made[], { point, at }: Made): boolean {
  return made.some(({ point: other, at: then }) =>
    point.turn === undefined
      ? other.by === "call" && other.thread === point.thread && at - then < SHARED_MS
      : other.turn === point.turn,
  );
}

/** Returns the points of the states and of the acts after the last one. */
export function pointsOf(entries: readonly Entry[], acts: readonly FileAct[]): readonly Made[] {
  const made = entries.flatMap(({ point, at }): Made[] => (point === undefined ? [] : [{ point, at }]));
  for (const act of acts) if (!hasPoint(made, act)) made.push({ point: act.point, at: act.at });
  return made;
}

/** Acts one after another in one turn. */
interface Group {
  readonly at: number;
  readonly thread: string;
  readonly point: Point | undefined;
  readonly acting: string[];
  /** What was at each path before the first of the acts. */
  readonly before: Map<string, Item | null>;
  /** What the last act left at each path. A path without an entry is unknown. */
  readonly after: Map<string, Item | null>;
  readonly folders: string[];
  readonly unkept: string[];
}

/**
 * Returns the states before the acts of file tools: `now`, the first state that was stored after them, except for their
 * files. A file that somebody else changed after an act is named in `others`.
 */
export async function folded(
  store: UndoStore,
  entries: readonly Entry[],
  acts: readonly FileAct[],
  now: State,
): Promise<readonly Entry[]> {
  const groups = grouped(entries, acts);
  const running = entries.at(-1)?.acting ?? [];
  const paths = [...new Set(groups.flatMap(({ before }) => [...before.keys()]))];
  const extras = await readExtras(store.path, now.extras);
  const found = await itemsIn(store, now, extras, paths);
  const ignored = await notKept(store, paths, found);
  /** The items that differ from `now` before the current group; groups are visited from the last to the first. */
  const differing = new Map<string, Item | null>();
  const gone = new Set<string>();
  const states: Entry[] = [];
  for (const group of groups.toReversed()) {
    const { point, acting, before, after, folders } = group;
    const others: string[] = [];
    let isChanged = false;
    for (const [path, item] of before) {
      if (ignored.has(path)) continue;
      const next = differing.has(path) ? differing.get(path) : (found.get(path) ?? null);
      const left = after.get(path);
      if (left !== undefined && isSame(left, item)) continue; // the file was not changed
      if (left !== undefined && !isSame(left, next) && running.length === 0) others.push(path);
      differing.set(path, item);
      isChanged = true;
    }
    for (const folder of folders) gone.add(folder);
    if (point === undefined && !isChanged) continue;
    const { at, unkept } = group;
    const state = await changed(store, now, extras, { items: differing, gone, found });
    states.unshift({
      ...state,
      unkept: [...new Set([...now.unkept, ...unkept])],
      id: randomName(6),
      at,
      ...(point !== undefined && { point }),
      acting: [...running, ...acting],
      ...(others.length > 0 && { others }),
    });
  }
  return states;
}

/** Joins acts of one turn, unless somebody else has changed one of their files meanwhile. */
function grouped(entries: readonly Entry[], acts: readonly FileAct[]): readonly Group[] {
  const made = [...pointsOf(entries, [])];
  const groups: Group[] = [];
  for (const { act, at, point, before, after, folders, unkept } of acts) {
    const isNew = !hasPoint(made, { point, at });
    if (isNew) made.push({ point, at });
    let last = groups.at(-1);
    const left = last?.after;
    const isFollowed = before.every(([path, item]) => left?.get(path) === undefined || isSame(left.get(path), item));
    if (last === undefined || isNew || last.thread !== point.thread || !isFollowed) {
      const kept = { acting: [], before: new Map(), after: new Map(), folders: [], unkept: [] };
      last = { at, thread: point.thread, point: isNew ? point : undefined, ...kept };
      groups.push(last);
    }
    last.acting.push(act);
    last.folders.push(...folders);
    last.unkept.push(...unkept);
    for (const [path, item] of before) {
      if (!last.before.has(path)) last.before.set(path, item);
      const found = after?.get(path);
      if (found === undefined) last.after.delete(path);
      else last.after.set(path, found);
    }
  }
  return groups;
}

function isSame(one: Item | null | undefined, other: Item | null | undefined): boolean {
  return JSON.stringify(one ?? null) === JSON.stringify(other ?? null);
}

/** Returns what a state has at the paths, and below them. */
async function itemsIn(
  { path: store }: UndoStore,
  { files }: State,
  extras: Extras,
  paths: readonly string[],
): Promise<ReadonlyMap<string, Item>> {
  const items = new Map<string, Item>();
  if (paths.length === 0) return items;
  const list = [
    "--literal-pathspecs",
    "ls-tree",
    "-r",
    "-z",
    files,
    ...(paths.length > 500 ? [] : ["--", ...paths.map(shown)]),
  ];
  for (const line of (await git(store, list)).split("\0")) {
    const [heading = "", path = ""] = line.split("\t", 2);
    const [mode = "", , id = ""] = heading.split(" ");
    const item = path === "" ? undefined : itemOf(mode, id, extras, path);
    if (item !== undefined) items.set(path, item);
  }
  return items;
}

/** Returns the paths that no state has: ignored by git, too large, or of other repositories. */
async function notKept(
  { path: store, workDir }: UndoStore,
  paths: readonly string[],
  found: ReadonlyMap<string, Item>,
): Promise<ReadonlySet<string>> {
  const absent = paths.filter((path) => ![...found.keys()].some((each) => each === path || isBelow(each, path)));
  const infos = await Promise.all(absent.map((path) => infoOf(pathIn(workDir, path))));
  const gone = absent.filter((_, index) => infos[index] === undefined);
  const input = gone.map((path) => `./${path}\0`).join("");
  const run = { workTree: workDir, input, mayFind: true };
  const ignored = gone.length === 0 ? "" : await git(store, ["check-ignore", "-z", "--stdin"], run);
  const isIgnored = new Set(ignored.split("\0"));
  return new Set(absent.filter((path, index) => infos[index] !== undefined || isIgnored.has(`./${path}`)));
}

/** Returns a state with other items at some paths, and without some folders. */
async function changed(
  { path: store, workDir }: UndoStore,
  now: State,
  extras: Extras,
  {
    items,
    gone,
    found,
  }: {
    readonly items: ReadonlyMap<string, Item | null>;
    readonly gone: Iterable<string>;
    readonly found: ReadonlyMap<string, Item>;
  },
): Promise<Omit<State, "unkept">> {
  const [modes, folders] = [new Map(extras.modes), new Map(extras.folders)];
  for (const folder of gone) folders.delete(folder);
  const lines: string[] = [];
  for (const [path, item] of items) {
    for (const at of [path, ...[...found.keys()].filter((each) => isBelow(each, path))]) {
      lines.push(`0 ${"0".repeat(40)}\t${at}\0`);
      modes.delete(at);
    }
    for (const folder of folders.keys()) if (folder === path || isBelow(folder, path)) folders.delete(folder);
    if (item === null || item.kind === "folder") continue;
    const isProgram = item.kind === "file" && (item.mode & 0o100) !== 0;
    lines.push(`${item.kind === "link" ? "120000" : isProgram ? "100755" : "100644"} ${item.id}\t${path}\0`);
    if (item.kind === "file" && item.mode !== extras.base[isProgram ? 1 : 0]) modes.set(path, item.mode);
  }
  const index = join(store, `index-${randomName(8)}.tmp`);
  await link(indexOf(store, now.files, "files"), index).catch((error: unknown) => {
    if (codeOf(error) !== "ENOENT") throw error; // an empty tree has no index
  });
  try {
    const run = { workTree: workDir, index };
    await git(store, ["update-index", "-z", "--replace", "--index-info"], { ...run, input: lines.join("") });
    const input = textOf({ base: extras.base, modes, folders });
    const parts = {
      files: (await git(store, ["write-tree"], run)).trim(),
      extras: (await git(store, ["hash-object", "-w", "--stdin"], { input })).trim(),
      ...(now.git !== undefined && { git: now.git }),
    };
    return { ...parts, root: await rootOf(store, parts) };
  } finally {
    await unlink(index).catch(() => {});
  }
}

function isBelow(path: string, folder: string): boolean {
  return path.startsWith(`${folder}/`);
}
