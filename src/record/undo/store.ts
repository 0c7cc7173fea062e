import { createHash } from "node:crypto";
import { existsSync } from "node:fs";
import { readdir, realpath, stat, unlink, writeFile } from "node:fs/promises";
import { homedir } from "node:os";
import { join } from "node:path";
import { randomName } from "../../core/util/identifier.ts";
import { isInside } from "../../core/util/paths.ts";
import { type FileAct, readActs, storeContents } from "./acts.ts";
import { UndoOff, git, initStore, requireGit } from "./git.ts";
import { LARGE } from "./large.ts";
import {
  type Item,
  type Log,
  type Point,
  type Step,
  type UndoStore,
  isLive,
  readLog,
  withLock,
  writeLog,
} from "./log.ts";
import { look } from "./look.ts";
import { readManifest, writeManifest } from "./manifest.ts";
import { type Draft, addActs, draftOf, hasPoint, pointsOf, rowsOf } from "./steps.ts";

/** The default size limit of a workspace's store, in bytes: 2 GiB. */
export const DEFAULT_MAX_UNDO_BYTES = 2 * 1_073_741_824;

/** States older than this are removed, in milliseconds: 30 days. */
const MAX_AGE_MS = 30 * 86_400_000;

/** The maximum number of steps in a store. */
const MAX_STEPS = 1_000;

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

/** What happens next. */
export interface Next {
  /** Makes this moment a point to which people can return, unless the acts already have a point. */
  readonly point?: Point;
  /** The acts that are running from here on. */
  readonly acting: readonly string[];
  /** Whether they have started meanwhile, so that what has changed may be their work, and no point can be made. */
  isLate?(): boolean;
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
  const used = new Set([...log.manifest, ...log.steps.flatMap(({ rows }) => rows), log.acts ?? "acts-0"]);
  for (const name of await readdir(path))
    if (/^(acts|manifest|rows|index|fast_import_crash)[-_]/.test(name) && !used.has(name))
      await unlink(join(path, name)).catch(() => {});
}

/** How a look at the workspace is done for a record. */
export interface LookOptions {
  readonly signal?: AbortSignal;
  /** Called again and again while content is being kept. */
  progress?(): void;
}

/**
 * Looks at the workspace, and adds to the record what has changed since the last look, and the acts of file tools since
 * then. Call only within `changeLog`.
 *
 * @throws UndoOff when undo cannot work here; Error when something fails.
 */
export async function withLook(store: UndoStore, log: Log, next: Next, options: LookOptions = {}): Promise<Log> {
  const { path, maxBytes } = store;
  const { signal, progress = () => {} } = options;
  const acts = await storedActs(store, log);
  const draft = draftOf(log.steps);
  const known = readManifest(path, log);
  const { manifest: before, paths, open } = addActs(draft, acts, log.acting, known);
  let kept = log;
  const { leftOut } = log;
  const isOld = leftOut !== undefined && (maxBytes > leftOut.maxBytes || Date.now() - leftOut.at > RETRY_MS);
  const seen = await look(store, {
    before,
    isUnknown: (at) => known === undefined && !paths.has(at),
    retry: isOld,
    largeRoom: maxBytes - log.largeBytes,
    progress,
    async makeRoom(bytes) {
      if (bytes > maxBytes - kept.bytes && log.steps.length > 0) kept = await pruned(store, log, acts, bytes);
      return maxBytes - kept.bytes;
    },
    ...(signal !== undefined && { signal }),
  });
  const at = Date.now();
  const isLate = next.isLate?.() === true;
  const by = isLate ? [...log.acting, ...next.acting] : log.acting;
  draft.drop(log.steps.length - kept.steps.length);
  for (const act of new Set(open.values()))
    draft.add(
      [act],
      seen.rows.filter(([each]) => open.get(each) === act),
      at,
    );
  draft.add(by, open.size === 0 ? seen.rows : seen.rows.filter(([each]) => !open.has(each)), at);
  const unfinished = acts.filter(({ act, after }) => after === undefined && isLive(act)).map(({ act }) => act);
  const acting = [...next.acting, ...unfinished];
  const isPoint =
    next.point !== undefined && !isLate && !hasPoint(pointsOf(draft.steps, []), { at, point: next.point });
  if (isPoint || next.acting.length > 0) draft.begin(acting, at, isPoint ? next.point : undefined);
  const differs = new Set([...seen.differs, ...paths]);
  const { leftOut: _, ...rest } = kept;
  const since = seen.hasLeftOut || (leftOut !== undefined && !isOld);
  return {
    ...rest,
    steps: await writeRows(path, draft),
    acting,
    manifest: await writeManifest(path, kept.manifest, seen.manifest, differs),
    bytes: acts.reduce((sum, act) => sum + act.bytes, kept.bytes + seen.bytes),
    largeBytes: kept.largeBytes + seen.largeBytes,
    ...(acts.length > 0 && { acts: `acts-${randomName(6)}` }),
    ...(since && { leftOut: isOld || leftOut === undefined ? { at, maxBytes } : leftOut }),
  };
}

/** How long files that were left out because of their size are not tried again: an hour, in milliseconds. */
const RETRY_MS = 3_600_000;

/** Writes the changes that were added to steps. */
async function writeRows(store: string, { steps, added }: Draft): Promise<readonly Step[]> {
  return Promise.all(
    steps.map(async (step) => {
      const rows = added.get(step.id);
      if (rows === undefined) return step;
      const name = `rows-${randomName(8)}`;
      await writeFile(join(store, name), JSON.stringify(rows), { mode: 0o600 });
      return { ...step, rows: [...step.rows, name] };
    }),
  );
}

/** Removes old steps from the record if that is due. Call only within `changeLog`. */
export async function prunedWhenDue(store: UndoStore, log: Log): Promise<Log> {
  const isDue = Date.now() - log.prunedAt > PRUNE_EVERY_MS || log.steps.length > MAX_STEPS;
  return isDue ? pruned(store, log, await storedActs(store, log), 0) : log;
}

/** Returns the recorded acts since the last look, whose content is then in the store. */
async function storedActs({ path }: UndoStore, log: Log): Promise<readonly FileAct[]> {
  const acts = readActs(path, log);
  await storeContents(path, acts);
  return acts;
}

/**
 * Removes steps that are too old, then repeatedly the older half of the rest, until `bytes` of new content fit. Keeps
 * the last one. Rewrites a pack only when less than half of it is needed, so that the store never takes more than one
 * and a half times its current size.
 */
async function pruned(store: UndoStore, log: Log, acts: readonly FileAct[], bytes: number): Promise<Log> {
  let steps = log.steps.filter(({ at }) => at > Date.now() - MAX_AGE_MS).slice(-MAX_STEPS);
  for (;;) {
    const taken = await removeUnused(store.path, { ...log, steps }, acts);
    const kept = { ...log, ...taken, steps, prunedAt: Date.now() };
    if (taken.bytes + bytes <= store.maxBytes || steps.length <= 1) return kept;
    steps = steps.slice(Math.ceil(steps.length / 2));
  }
}

/**
 * Removes unused objects, unless that needs a second copy of most other objects, and unused large files. Returns the
 * remaining sizes in bytes.
 */
async function removeUnused(
  store: string,
  log: Log,
  acts: readonly FileAct[],
): Promise<Pick<Log, "bytes" | "largeBytes">> {
  const ids = new Set<string>();
  const large = new Map<string, number>();
  const use = (item: Item | null | undefined) => {
    if (item?.kind === "file" || item?.kind === "link") ids.add(item.id);
    if (item?.kind === "large") large.set(item.id, item.size);
  };
  for (const { item } of readManifest(store, log)?.values() ?? []) use(item);
  for (const step of log.steps) for (const [, before, after] of rowsOf(store, step)) [before, after].forEach(use);
  for (const { before } of acts) for (const [, item] of before) use(item);
  for (const name of await readdir(join(store, LARGE)).catch(() => []))
    if (!large.has(name)) await unlink(join(store, LARGE, name)).catch(() => {});
  await prune(store, ids);
  const objects = await filesIn(join(store, "objects"));
  return {
    bytes: objects.reduce((sum, { bytes }) => sum + bytes, 0),
    largeBytes: [...large.values()].reduce((sum, bytes) => sum + bytes, 0),
  };
}

/** Removes all objects but these. */
async function prune(store: string, ids: ReadonlySet<string>): Promise<void> {
  // What an act of a file tool left, and somebody else has changed since, was never stored.
  const lines = [...ids].map((id) => `100644 blob ${id}\t${id}\n`).join("");
  const tree = (await git(store, ["mktree", "--missing"], { input: lines })).trim();
  await git(store, ["prune", "--expire=now", tree]);
  const packs = await filesIn(join(store, "objects/pack"));
  const packed = packs.reduce((sum, { bytes }) => sum + bytes, 0);
  const input = `${tree}\n`;
  const list = ["rev-list", "--objects", "--missing=allow-any", "--disk-usage", "--stdin"];
  const needed = packed === 0 ? 0 : Number(await git(store, list, { input }));
  if (packed > 0 && needed * 2 < packed) {
    const pack = ["pack-objects", "--quiet", "--revs", "--missing=allow-any", "--window=0", "objects/pack/pack"];
    await git(store, pack, { input });
    for (const { path } of packs) await unlink(path);
    await git(store, ["prune-packed", "--quiet"]);
  }
}

async function filesIn(folder: string): Promise<readonly { readonly path: string; readonly bytes: number }[]> {
  const found = await readdir(folder, { withFileTypes: true, recursive: true }).catch(() => []);
  const files = found.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name));
  return Promise.all(files.map(async (path) => ({ path, bytes: (await stat(path)).blocks * 512 })));
}
