import { randomName } from "../util/identifier.ts";
import { openReader, git } from "./git.ts";
import { readActs } from "./acts.ts";
import { repositoryOf } from "./keep.ts";
import {
  type Entry,
  type Log,
  type Point,
  type UndoStore,
  endAct,
  liveActs,
  newAct,
  readLog,
  withLock,
  writeLog,
} from "./log.ts";
import { type Plan, filesOfPoints, planOf } from "./plan.ts";
import { type Failure, restoreAll } from "./restore.ts";
import { type UndoOptions, saveLog, storeOf, withState } from "./store.ts";

/** A state to which people can return. */
export interface UndoPoint extends Point {
  readonly id: string;
  /** Milliseconds since 1970. */
  readonly at: number;
  /** What was not kept, in sentences. */
  readonly unkept: readonly string[];
  /** What its acts changed, until the next point of its thread. Paths have one character per byte. */
  readonly files: readonly string[];
}

/** What an undo would do. */
export interface Preview {
  readonly point: UndoPoint;
  readonly plan: Plan;
  /** True while an act of this or another process runs: what it changes from now on is not restored. */
  readonly isActing: boolean;
  /** The trees of the current state and of the point, without empty folders and modes. */
  readonly trees: readonly [now: string, then: string];
}

export interface RestoreOptions {
  /** Also restores what somebody else has changed. Default false. */
  readonly force?: boolean;
  /** Also restores refs, reflogs and the index of the user's repository. Default false. */
  readonly repository?: boolean;
}

/** What an undo did. */
export interface Restored {
  /** The id of the point that undoes this undo. */
  readonly undo: string;
  /** How many paths were restored. */
  readonly restored: number;
  readonly failures: readonly Failure[];
}

export interface LineCounts {
  readonly added: number;
  readonly removed: number;
}

/** What people can do with the states of a workspace. */
export interface UndoPoints {
  /** Returns the points, newest first. */
  list(): Promise<readonly UndoPoint[]>;
  /** Returns the point of an undo whose process was killed before it finished. */
  unfinished(): Promise<string | undefined>;
  /**
   * Compares the current state with a point. Default: the newest point from which something still differs that its acts
   * changed (of `thread`, if given); without such a point, the newest point. Points of undos do not count. Rejects if
   * there is none.
   */
  preview(id?: string, thread?: string): Promise<Preview>;
  /** Returns the differences in the content of files, as a git diff. */
  diff(preview: Preview): Promise<string>;
  /**
   * Returns what the files look like now that the acts of these points changed, compared with the state before the
   * first of them, as a git diff with one character per byte. Of at most 500 files.
   *
   * @param points from `list`
   */
  changes(points: readonly UndoPoint[]): Promise<string>;
  /**
   * Counts the lines that were added and removed between each point and the next one of its thread, in the files that
   * its acts changed.
   *
   * @param points from `list`
   */
  lines(points: readonly UndoPoint[]): Promise<ReadonlyMap<string, LineCounts>>;
  /** Applies a preview. If the plan has changed since then, rejects and changes nothing. */
  restore(preview: Preview, options?: RestoreOptions): Promise<Restored>;
}

/**
 * Opens the kept states of a workspace. Actions of a person may exceed the store's limit: nothing is pruned for them.
 *
 * @throws UndoOff when nothing is kept of the folder.
 */
export async function openPoints(options: Omit<UndoOptions, "maxBytes">): Promise<UndoPoints> {
  const store = await storeOf({ ...options, maxBytes: Number.POSITIVE_INFINITY });
  return {
    async list() {
      return withLock(store.path, async () => {
        const before = await readLog(store.path);
        if (isEmpty(store.path, before)) return []; // nothing is kept only to be listed
        const log = await stateOfNow(store, before);
        return (await pointsIn(store, log)).toReversed();
      });
    },
    async unfinished() {
      const log = await readLog(store.path);
      const last = log.entries.at(-1);
      const isDead = last !== undefined && last.acting.length > 0 && liveActs(log).length === 0;
      return isDead && last.point?.by === "undo" ? last.point.tool : undefined;
    },
    async preview(id, thread) {
      return withLock(store.path, async () => {
        const before = await readLog(store.path);
        if (isEmpty(store.path, before)) throw noPoint(id, thread);
        const log = await stateOfNow(store, before);
        const points = (await pointsIn(store, log)).toReversed();
        if (id === undefined) return newestChange(store, log, points, thread);
        const point = points.find((each) => each.id === id);
        if (point === undefined) throw noPoint(id, thread);
        return previewOf(store, log, point);
      });
    },
    async diff({ plan, trees }) {
      const paths = plan.files.map(({ path }) => path);
      const args = [...DIFF, ...trees];
      return git(store.path, paths.length > MOST_PATHS ? args : [...args, "--", ...paths]);
    },
    async changes(points) {
      const { entries } = await readLog(store.path);
      const first = entries.find(({ id }) => points.some((point) => point.id === id));
      const paths = [...new Set(points.flatMap(({ files }) => files))].toSorted().slice(0, MOST_PATHS);
      const now = entries.at(-1);
      if (first === undefined || now === undefined || paths.length === 0) return "";
      return git(store.path, [...DIFF, first.files, now.files, "--", ...paths]);
    },
    async lines(points) {
      const { entries } = await readLog(store.path);
      return linesOf(store, entries, points);
    },
    restore: (preview, choice) => withLock(store.path, () => restore(store, preview, choice)),
  };
}

/** The maximum number of paths that are passed to git. */
const MOST_PATHS = 500;

/** The diff of two trees. */
const DIFF = [
  ...["--literal-pathspecs", "diff-tree", "-r", "-p"],
  ...["--no-color", "--no-ext-diff", "--no-textconv", "--no-renames"],
];

async function linesOf(
  store: UndoStore,
  entries: readonly Entry[],
  points: readonly UndoPoint[],
): Promise<ReadonlyMap<string, LineCounts>> {
  const pairs = points.flatMap((point) => {
    const start = entries.findIndex(({ id }) => id === point.id);
    const later = entries.slice(start + 1);
    const [from, to] = [entries[start], later.find((each) => each.point?.thread === point.thread) ?? later.at(-1)];
    return from === undefined || to === undefined ? [] : [{ point, trees: `${from.files} ${to.files}` }];
  });
  if (pairs.length === 0) return new Map();
  const input = pairs.map(({ trees }) => `${trees}\n`).join("");
  const listed = await git(store.path, ["diff-tree", "--stdin", "-r", "-z", "--numstat", "--no-renames"], { input });
  const counts = new Map(points.map(({ id }) => [id, { added: 0, removed: 0 }]));
  let pair = -1;
  let left = listed;
  while (left !== "") {
    const heading = /^[\da-f]+ [\da-f]+\n/.exec(left)?.[0];
    if (heading !== undefined) {
      pair = pairs.findIndex(({ trees }, index) => index > pair && heading === `${trees}\n`);
      left = left.slice(heading.length);
      continue;
    }
    const end = left.indexOf("\0");
    const [added, removed, path = ""] = left.slice(0, end).split("\t");
    left = left.slice(end + 1);
    const count = counts.get(pairs[pair]?.point.id ?? "");
    if (count === undefined || pairs[pair]?.point.files.includes(path) !== true) continue;
    count.added += Number(added) || 0; // "-" for a file that is not text
    count.removed += Number(removed) || 0;
  }
  return counts;
}

async function restore(store: UndoStore, preview: Preview, options: RestoreOptions = {}): Promise<Restored> {
  const { force = false, repository = false } = options;
  const log = await stateOfNow(store, await readLog(store.path));
  const { plan } = await previewOf(store, log, preview.point);
  if (JSON.stringify(plan) !== JSON.stringify(preview.plan)) {
    throw new Error("files have changed since the preview, so nothing was restored. Look at the preview again");
  }
  const [now] = log.entries.slice(-1);
  if (now === undefined) throw noPoint(preview.point.id);
  const act = newAct(preview.point.thread);
  const undo = randomName(6);
  const point: Point = { by: "undo", thread: preview.point.thread, tool: preview.point.id };
  const begun: Entry = { ...now, id: undo, at: Date.now(), point, acting: [...liveActs(log), act] };
  // An undo is an act like any other. It is recorded first, so that a killed undo can be repeated or undone.
  await writeLog(store.path, { ...log, entries: [...log.entries, begun] });
  const reader = openReader(store.path);
  try {
    const changes = [...plan.files, ...(force ? plan.conflicts : [])].toSorted((one, other) =>
      one.path < other.path ? -1 : 1,
    );
    const failures = [...(await restoreAll(store.workDir, changes, reader))];
    const own = repository && plan.repository.length > 0 ? repositoryOf(store.workDir) : undefined;
    if (own !== undefined) failures.push(...(await restoreAll(own, plan.repository, reader)));
    const asked = changes.length + (own === undefined ? 0 : plan.repository.length);
    return { undo, restored: asked - failures.length, failures };
  } finally {
    reader.close();
    endAct(act);
    await stateOfNow(store, await readLog(store.path));
  }
}

/** Previews the newest point, of the thread if one is given, from which something differs that its acts changed. */
async function newestChange(
  store: UndoStore,
  log: Log,
  points: readonly UndoPoint[],
  thread: string | undefined,
): Promise<Preview> {
  const own = points.filter((point) => point.by !== "undo" && (thread === undefined || point.thread === thread));
  const [newest] = own;
  if (newest === undefined) throw noPoint(undefined, thread);
  for (const point of own) {
    if (point.files.length === 0) continue;
    const preview = await previewOf(store, log, point);
    if (preview.plan.files.length + preview.plan.conflicts.length > 0) return preview;
  }
  return previewOf(store, log, newest);
}

function isEmpty(store: string, log: Log): boolean {
  return log.entries.length === 0 && readActs(store, log).length === 0;
}

/** Adds the current state to the record. Call only while holding the lock. */
async function stateOfNow(store: UndoStore, log: Log): Promise<Log> {
  const taken = await withState(store, log, { acting: liveActs(log) });
  await saveLog(store, taken);
  return taken;
}

async function previewOf(store: UndoStore, log: Log, point: UndoPoint): Promise<Preview> {
  const start = log.entries.findIndex(({ id }) => id === point.id);
  const [then, now] = [log.entries[start], log.entries.at(-1)];
  if (then === undefined || now === undefined) throw noPoint(point.id);
  const plan = await planOf(store, log.entries.slice(start));
  return { point, plan, isActing: now.acting.length > 0, trees: [now.files, then.files] };
}

/** Returns the points in chronological order. */
async function pointsIn(store: UndoStore, { entries }: Log): Promise<readonly UndoPoint[]> {
  const files = await filesOfPoints(store, entries);
  return entries.flatMap(({ id, at, unkept, point }) =>
    point === undefined ? [] : [{ ...point, id, at, unkept, files: files.get(id) ?? [] }],
  );
}

function noPoint(id: string | undefined, thread?: string): Error {
  if (id === undefined && thread !== undefined) {
    return new Error(
      "nothing has been changed in this thread yet: there is nothing to undo. /undo list shows all points",
    );
  }
  if (id === undefined) return new Error("nothing has been kept of this folder yet: there is nothing to undo");
  return new Error(`there is no point ${id}. \`handrail undo --list\` lists the points, as /undo list does in a chat`);
}
