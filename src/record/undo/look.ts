import { type Stats, lstatSync } from "node:fs";
import { type Put, isLarge, keepItem, openPack, putObject, requireSpace } from "./content.ts";
import { UndoOff } from "./git.ts";
import { isLink } from "./large.ts";
import { type Item, type Row, type UndoStore, isSame } from "./log.ts";
import type { Known, Manifest } from "./manifest.ts";
import { parentsOf, pathIn } from "./paths.ts";
import { OBJECTS, slices, walk } from "./walk.ts";

/** From so many files on, their content goes into one pack. */
const PACK_FROM = 200;

/**
 * A file that changed this recently may change again without a difference in its times, so it is read again. In
 * milliseconds. The second number is for file systems that round times to seconds.
 */
const RECENT_MS = [20, 2_000] as const;

/** How a look at the workspace is done. */
export interface Looking {
  /** What was at each path before. */
  readonly before: Manifest;
  /** Whether nothing is known of a path that `before` does not have. Otherwise nothing was there. */
  isUnknown(path: string): boolean;
  /** Whether files that were left out because of their size are tried again. */
  readonly retry: boolean;
  /** How many bytes of large files may be added. */
  readonly largeRoom: number;
  /** Makes room for so many bytes of content. Resolves to the room there is. */
  makeRoom(bytes: number): Promise<number>;
  /** Called again and again while content is being kept. */
  progress(): void;
  readonly signal?: AbortSignal;
}

/** What a look has found. */
export interface Seen {
  readonly manifest: Manifest;
  /** What has changed since `before`. */
  readonly rows: readonly Row[];
  /** The paths whose entry in the manifest differs. */
  readonly differs: ReadonlySet<string>;
  /** How many bytes of content, and of large files, were added. */
  readonly bytes: number;
  readonly largeBytes: number;
  /** Whether files were left out because of their size. */
  readonly hasLeftOut: boolean;
}

const NO_ROOM = "undo may take no more (state.undo_mb)";

/**
 * Looks at everything in the workspace, and keeps the content of what is new or has changed.
 *
 * @throws UndoOff if there are too many files; Error when something fails, such as a full disk
 */
export async function look(store: UndoStore, looking: Looking): Promise<Seen> {
  const { before, signal, retry } = looking;
  const started = Date.now();
  const manifest = new Map<string, Known>();
  const news = new Map<string, Stats>();
  const closed = new Set<string>();
  const hasTooMany = await walk(
    store.workDir,
    (path, info, isClosed) => {
      const known = before.get(path);
      const isCache = isClosed === "cache";
      if (isCache) manifest.set(path, known?.item.kind === "cache" ? known : { ...NO_TIMES, item: { kind: "cache" } });
      else if (known !== undefined && isUnchanged(path, known, info, retry)) manifest.set(path, known);
      else news.set(path, info);
      if (isClosed !== undefined) closed.add(path);
    },
    (path, info) => {
      const known = before.get(path);
      return known !== undefined && isUnchanged(path, known, info, retry);
    },
    signal,
  );
  if (hasTooMany) throw new UndoOff(`${store.workDir} has more than a million files. Work in a folder of the project`);
  // What is in a folder that was not listed now has not gone.
  for (const [path, known] of closed.size === 0 ? [] : before)
    if (!manifest.has(path) && parentsOf(path).some((parent) => closed.has(parent))) manifest.set(path, known);

  const kept = await keepAll(store, news, looking, started);
  const rows: Row[] = [];
  const differs = new Set<string>();
  for (const [path, known] of kept.found) manifest.set(path, known);
  for (const [path, known] of manifest) {
    const was = before.get(path);
    if (was === known) continue;
    differs.add(path);
    if (isCounted(path, was, known.item, looking)) rows.push([path, was?.item ?? null, known.item]);
  }
  for (const [path, { item }] of before) {
    if (manifest.has(path)) continue;
    differs.add(path);
    rows.push([path, item, null]);
  }
  const { bytes, largeBytes, hasLeftOut } = kept;
  return { manifest, rows, differs, bytes, largeBytes, hasLeftOut };
}

const NO_TIMES = { ino: 0, size: 0, mtime: 0, ctime: 0 } as const;

/**
 * Whether a difference is a change of the path. A folder that counts as one that a tool can make again, or no longer
 * does, has not changed, and neither has what is in it.
 */
function isCounted(path: string, was: Known | undefined, item: Item, { before, isUnknown }: Looking): boolean {
  if (was === undefined && isUnknown(path)) return false;
  if (isSame(was?.item, item)) return false;
  const isOpened = was === undefined && parentsOf(path).some((parent) => before.get(parent)?.item.kind === "cache");
  const isFolder = (kind: string | undefined) => kind === "cache" || kind === "folder";
  const isOnlyListed = isFolder(was?.item.kind) && isFolder(item.kind) && was?.item.kind !== item.kind;
  return !isOpened && !isOnlyListed;
}

function isUnchanged(path: string, known: Known, info: Stats, retry: boolean): boolean {
  const { item, ino, size, mtime, ctime } = known;
  if (info.isDirectory() && !(item.kind === "folder" && item.mode === (info.mode & 0o7777))) return false;
  if (info.isDirectory() && !OBJECTS.test(path)) return true;
  if (!info.isDirectory() && (item.kind === "folder" || item.kind === "cache")) return false;
  if (retry && item.kind === "unkept") return false;
  return ctime === info.ctimeMs && mtime === info.mtimeMs && size === info.size && ino === info.ino;
}

/** Keeps what is at the paths. */
async function keepAll(store: UndoStore, news: ReadonlyMap<string, Stats>, looking: Looking, started: number) {
  const { signal, progress } = looking;
  const pause = slices(signal);
  const files = [...news].filter(([, info]) => info.isFile());
  const copied = files.filter(([path, info]) => !isLarge(path, info));
  const out = new Set<string>();
  let bytes = copied.reduce((sum, [, { size }]) => sum + size, 0);
  const room = await looking.makeRoom(bytes);
  if (bytes > room) for (const path of leftOut(copied, room)) out.add(path);
  // The smallest first, so that one huge file leaves room for others.
  let { largeRoom } = looking;
  for (const [path, { size }] of files.filter(([at, info]) => isLarge(at, info)).toSorted(bySize)) {
    const was = looking.before.get(path);
    if (was?.item.kind === "large" && was.size === size) continue; // it is already counted
    if (size > largeRoom) out.add(path);
    else largeRoom -= size;
  }
  bytes = copied.reduce((sum, [path, { size }]) => (out.has(path) ? sum : sum + size), 0);
  requireSpace(store.path, bytes);
  const pack = copied.length - out.size < PACK_FROM ? undefined : openPack(store.path, signal);
  const put: Put = pack?.put ?? ((content) => putObject(store.path, content));
  const found = new Map<string, Known>();
  try {
    for (const [path, info] of news) {
      const left: Item = { kind: "unkept", size: info.size, changedAt: info.mtimeMs, why: NO_ROOM };
      const item = out.has(path) ? left : await keepItem(store, path, info, put);
      if (item !== null) found.set(path, knownOf(store, path, item, info, started));
      const busy = pause();
      if (busy === undefined) continue;
      progress();
      await busy;
    }
  } finally {
    await pack?.end();
  }
  return { found, bytes, largeBytes: looking.largeRoom - largeRoom, hasLeftOut: out.size > 0 };
}

const bySize = ([, one]: [string, Stats], [, other]: [string, Stats]) => one.size - other.size;

function knownOf({ workDir }: UndoStore, path: string, item: Item, info: Stats, started: number): Known {
  if (item.kind === "folder" && !OBJECTS.test(path)) return { ...NO_TIMES, item };
  const hasNewLink = item.kind === "large" && isLink(item.id); // a link changes the time of its file
  const { ino, size, mtimeMs, ctimeMs } =
    (hasNewLink && lstatSync(pathIn(workDir, path), { throwIfNoEntry: false })) || info;
  const isRecent = ctimeMs > started - RECENT_MS[ctimeMs % 1_000 === 0 ? 1 : 0] && !hasNewLink;
  return { item, ino, size, mtime: mtimeMs, ctime: isRecent ? 0 : ctimeMs };
}

/**
 * Chooses what is not kept, so that the rest fits: again and again the folder or file in which most of the content is.
 *
 * @returns the paths of files
 */
function leftOut(
  files: readonly (readonly [path: string, { readonly size: number }])[],
  room: number,
): readonly string[] {
  const sizes = new Map<string, number>();
  const inside = new Map<string, Set<string>>();
  for (const [path, { size }] of files) {
    let above = "";
    for (const at of [...parentsOf(path), path]) {
      sizes.set(at, (sizes.get(at) ?? 0) + size);
      const others = inside.get(above);
      if (others === undefined) inside.set(above, new Set([at]));
      else others.add(at);
      above = at;
    }
  }
  const chosen = new Set<string>();
  let rest = files.reduce((sum, [, { size }]) => sum + size, 0);
  while (rest > room) {
    let at = "";
    for (;;) {
      let [largest, most] = ["", -1];
      for (const each of inside.get(at) ?? [])
        if ((sizes.get(each) ?? 0) > most) [largest, most] = [each, sizes.get(each) ?? 0];
      if (most < 0 || (at !== "" && most * 2 < (sizes.get(at) ?? 0))) break;
      at = largest;
    }
    if (at === "") break;
    const size = sizes.get(at) ?? 0;
    const parents = parentsOf(at);
    for (const parent of parents) sizes.set(parent, (sizes.get(parent) ?? 0) - size);
    inside.get(parents.at(-1) ?? "")?.delete(at);
    chosen.add(at);
    rest -= size;
  }
  return files.flatMap(([path]) => ([...parentsOf(path), path].some((at) => chosen.has(at)) ? [path] : []));
}
