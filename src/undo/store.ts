import { createHash } from "node:crypto";
import { existsSync } from "node:fs";
import { readdir, realpath, stat, unlink } from "node:fs/promises";
import { homedir } from "node:os";
import { join } from "node:path";
import { type FileAct, readActs, storeContents } from "./acts.ts";
import { folded, hasPoint, pointsOf } from "./fold.ts";
import { formatSize } from "../output/size.ts";
import { randomName } from "../util/identifier.ts";
import { isInside } from "../util/paths.ts";
import { recordFull } from "./off.ts";
import { UndoOff, git, initStore, requireGit } from "./git.ts";
import { NoRoom, type Taken, dropOldIndexes, keepState } from "./keep.ts";
import { type Entry, type Log, type Point, isLive, readLog, withLock, writeLog, type UndoStore } from "./log.ts";

/** The default size limit of a workspace's store, in bytes: 2 GiB. */
export const DEFAULT_MAX_UNDO_BYTES = 2 * 1_073_741_824;

/** States older than this are removed, in milliseconds: 30 days. */
const MAX_AGE_MS = 30 * 86_400_000;

/** The maximum number of states in a store. */
const MAX_ENTRIES = 1_000;

/** How often old states are removed, in milliseconds: once a day. */
const PRUNE_EVERY_MS = 86_400_000;

export interface UndoOptions {
  /** The folder that contains the stores of all workspaces. */
  readonly folder: string;
  readonly workDir: string;
  /** The size limit of this workspace's store, in bytes. Default 2 GiB. */
  readonly maxBytes?: number;
}

/**
 * Finds the store of a workspace. Creates it if `make` is true.
 *
 * @throws UndoOff when nothing is kept of the folder.
 */
export async function storeOf(options: UndoOptions, { make = true } = {}): Promise<UndoStore> {
  const { folder, maxBytes = DEFAULT_MAX_UNDO_BYTES } = options;
  const workDir = await realpath(options.workDir);
  const name = createHash("sha256").update(workDir).digest("hex").slice(0, 16);
  const path = join(folder, name);
  for (const [held, what] of [
    [await realpath(homedir()).catch(homedir), "your home folder"],
    [(await realpath(folder).catch(() => undefined)) ?? folder, "Handrail's own state"],
  ] as const) {
    if (isInside(held, workDir)) throw new UndoOff(`${workDir} holds ${what}. Work in a folder of the project`);
  }
  if (make) requireGit();
  if (make && !existsSync(join(path, "HEAD"))) await initStore(path);
  return { path, workDir, maxBytes };
}

/** How the record is to change. */
export interface Next {
  /** Makes the state a point to which people can return, unless the state already has a point. */
  readonly point?: Point;
  /** The acts that are running from here on. */
  readonly acting: readonly string[];
}

/** Changes the record, under the lock. */
export async function changeLog(store: UndoStore, change: (log: Log) => Promise<Log>): Promise<Log> {
  return withLock(store.path, async () => {
    const before = await readLog(store.path);
    const log = await change(before);
    if (log !== before) await saveLog(store, log);
    return log;
  });
}

/** Replaces the record, and removes what belongs to the one before. Call only while holding the lock. */
export async function saveLog({ path }: UndoStore, log: Log): Promise<void> {
  await writeLog(path, log);
  const last = log.entries.at(-1);
  if (last === undefined) return;
  await dropOldIndexes(path, last);
  for (const name of await readdir(path)) {
    if (name.startsWith("acts-") && name !== (log.acts ?? "acts-0")) await unlink(join(path, name)).catch(() => {});
  }
}

/**
 * Stores the current state of the workspace, and the states before the acts of file tools since the last one. Adds it
 * to the record if it has changed or is a point. Call only within `changeLog`.
 *
 * @throws UndoOff when there is no room; Error when something fails.
 */
export async function withState(store: UndoStore, log: Log, next: Next, signal?: AbortSignal): Promise<Log> {
  const acts = await storedActs(store, log);
  const { kept, state, added } = await takeWithRoom(store, log, acts, signal);
  const before = acts.length === 0 ? [] : await folded(store, kept.entries, acts, state);
  const entries = [...kept.entries, ...before];
  const made = { point: next.point, at: Date.now() };
  const isPoint = made.point !== undefined && !hasPoint(pointsOf(entries, []), { ...made, point: made.point });
  const unfinished = acts.filter(({ act, after }) => after === undefined && isLive(act)).map(({ act }) => act);
  const acting = [...next.acting, ...unfinished];
  const bytes = acts.reduce((sum, act) => sum + act.bytes, kept.bytes + added);
  const taken = { ...kept, bytes, ...(acts.length > 0 && { acts: `acts-${randomName(6)}` }) };
  if (!isPoint && before.length === 0 && entries.at(-1)?.root === state.root) {
    return { ...taken, entries: withActing(entries, acting) };
  }
  const { point } = next;
  const entry: Entry = {
    ...state,
    id: randomName(6),
    at: made.at,
    acting,
    ...(isPoint && point !== undefined && { point }),
  };
  return { ...taken, entries: [...entries, entry] };
}

/** Returns the entries with `acting` as the acts that run since the last one. */
export function withActing(entries: readonly Entry[], acting: readonly string[]): readonly Entry[] {
  const last = entries.at(-1);
  return last === undefined ? entries : [...entries.slice(0, -1), { ...last, acting }];
}

async function takeWithRoom(
  store: UndoStore,
  log: Log,
  acts: readonly FileAct[],
  signal?: AbortSignal,
): Promise<Taken & { kept: Log }> {
  const { path, workDir, maxBytes } = store;
  const take = (room: number) =>
    keepState({ store: path, workDir, room, ...(signal !== undefined && { signal }) }, log.entries.at(-1));
  const most = formatSize(maxBytes);
  const tooMuch = (bytes: number) =>
    `${workDir} has ${formatSize(bytes)} of content to keep, and undo may take ${most}`;
  try {
    return { ...(await take(maxBytes - log.bytes)), kept: log };
  } catch (error) {
    if (!(error instanceof NoRoom)) throw error;
    if (error.bytes > maxBytes) throw await recordFull(store, tooMuch(error.bytes)); // no pruning makes room for it
    const kept = await pruned(store, log, acts, error.bytes);
    return { ...(await take(maxBytes - kept.bytes).catch(asFull)), kept };
  }

  async function asFull(error: unknown): Promise<never> {
    throw error instanceof NoRoom ? await recordFull(store, tooMuch(error.bytes)) : error;
  }
}

/** Removes old states from the record if that is due. Call only within `changeLog`. */
export async function prunedWhenDue(store: UndoStore, log: Log): Promise<Log> {
  const isDue = Date.now() - log.prunedAt > PRUNE_EVERY_MS || log.entries.length > MAX_ENTRIES;
  return isDue ? pruned(store, log, await storedActs(store, log), 0) : log;
}

/** Returns the recorded acts since the last state, whose content is then in the store. */
async function storedActs({ path }: UndoStore, log: Log): Promise<readonly FileAct[]> {
  const acts = readActs(path, log);
  await storeContents(path, acts);
  return acts;
}

/**
 * Removes states that are too old, then repeatedly the older half of the rest, until `bytes` of new content fit. Keeps
 * the last state. Rewrites a pack only when less than half of it is needed, so that the store never takes more than one
 * and a half times its current size.
 */
async function pruned(store: UndoStore, log: Log, acts: readonly FileAct[], bytes: number): Promise<Log> {
  const [last] = log.entries.slice(-1);
  const young = log.entries.filter(({ at }) => at > Date.now() - MAX_AGE_MS).slice(-MAX_ENTRIES);
  let entries = young.length > 0 || last === undefined ? young : [last];
  for (;;) {
    const taken = await removeUnused(store.path, entries, acts);
    const kept = { ...log, entries, bytes: taken, prunedAt: Date.now() };
    if (taken + bytes <= store.maxBytes || entries.length <= 1) return kept;
    entries = entries.slice(Math.ceil(entries.length / 2));
  }
}

/**
 * Removes unused objects, unless that needs a second copy of most other objects. Returns the remaining size in bytes.
 */
async function removeUnused(store: string, entries: readonly Entry[], acts: readonly FileAct[]): Promise<number> {
  const items = acts.flatMap(({ before }) =>
    before.flatMap(([, item]) => (item === null || item.kind === "folder" ? [] : [item.id])),
  );
  const roots = [...new Set([...entries.map(({ root }) => root), ...items])];
  await git(store, ["prune", "--expire=now", ...roots]);
  const packs = await filesIn(join(store, "objects/pack"));
  const packed = packs.reduce((sum, { bytes }) => sum + bytes, 0);
  const input = roots.map((root) => `${root}\n`).join("");
  const needed = Number(await git(store, ["rev-list", "--objects", "--disk-usage", "--stdin"], { input }));
  if (packed > 0 && needed * 2 < packed) {
    await git(store, ["pack-objects", "--quiet", "--revs", "--window=0", "objects/pack/pack"], { input });
    for (const { path } of packs) await unlink(path);
    await git(store, ["prune-packed", "--quiet"]);
  }
  const objects = await filesIn(join(store, "objects"));
  return objects.reduce((sum, { bytes }) => sum + bytes, 0);
}

async function filesIn(folder: string): Promise<readonly { readonly path: string; readonly bytes: number }[]> {
  const found = await readdir(folder, { withFileTypes: true, recursive: true }).catch(() => []);
  const files = found.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name));
  return Promise.all(files.map(async (path) => ({ path, bytes: (await stat(path)).blocks * 512 })));
}
