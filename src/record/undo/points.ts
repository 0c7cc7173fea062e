import { randomName } from "../../core/util/identifier.ts";
import { readActs } from "./acts.ts";
import { diffOf, itemsBefore } from "./diff.ts";
import { openReader } from "./git.ts";
import { type Log, type Point, type Step, type UndoStore, endAct, liveActs, newAct, readLog, withLock } from "./log.ts";
import { readManifest } from "./manifest.ts";
import { type Plan, filesOfPoints, planOf, unkeptText } from "./plan.ts";
import { type Failure, restoreAll } from "./restore.ts";
import { type UndoOptions, saveLog, storeOf, withLook } from "./store.ts";

/** A state to which people can return. */
export interface UndoPoint extends Point {
  readonly id: string;
  /** Milliseconds since 1970. */
  readonly at: number;
  /** What its acts changed, until the next point of its thread. Paths have one character per byte. */
  readonly files: readonly string[];
}

/** What an undo would do. */
export interface Preview {
  readonly point: UndoPoint;
  readonly plan: Plan;
  /** True while an act of this or another process runs: what it changes from now on is not restored. */
  readonly isActing: boolean;
  /** Which files of the workspace are not kept now, in words. */
  readonly unkept: readonly string[];
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
      const point = log.steps.at(-1)?.point;
      const isDead = log.acting.length > 0 && liveActs(log).length === 0;
      return isDead && point?.by === "undo" ? point.tool : undefined;
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
    async diff({ plan: { files } }) {
      const [now, past] = [
        new Map(files.map((each) => [each.path, each.now])),
        new Map(files.map((each) => [each.path, each.past])),
      ];
      return diffOf(store.path, now, past, PATCH);
    },
    async changes(points) {
      const log = await readLog(store.path);
      const first = log.steps.findIndex(({ id }) => points.some((point) => point.id === id));
      const paths = [...new Set(points.flatMap(({ files }) => files))].toSorted().slice(0, MOST_PATHS);
      if (first === -1 || paths.length === 0) return "";
      const now = log.steps.length;
      const items = itemsBefore(store.path, log, new Map([first, now].map((index) => [index, paths])));
      return diffOf(store.path, items.get(first) ?? new Map(), items.get(now) ?? new Map(), PATCH);
    },
    lines: async (points) => linesOf(store, await readLog(store.path), points),
    restore: (preview, choice) => withLock(store.path, () => restore(store, preview, choice)),
  };
}

/** The maximum number of files of which a diff of several points is made. */
const MOST_PATHS = 500;

const PATCH = ["-p", "--no-color", "--no-ext-diff", "--no-textconv"];

async function linesOf(
  store: UndoStore,
  log: Log,
  points: readonly UndoPoint[],
): Promise<ReadonlyMap<string, LineCounts>> {
  const { steps } = log;
  const wanted = new Map<number, string[]>();
  const pairs = points.flatMap(({ id, thread, files }) => {
    const start = steps.findIndex((step) => step.id === id);
    if (start === -1) return [];
    const next = steps.findIndex(({ point }, index) => index > start && point?.thread === thread);
    const end = next === -1 ? steps.length : next;
    for (const index of [start, end]) wanted.set(index, [...(wanted.get(index) ?? []), ...files]);
    return [{ id, start, end, files }];
  });
  const items = itemsBefore(store.path, log, wanted);
  // One diff for all points: the paths of each are below a folder with its number.
  const side = (which: "start" | "end") =>
    new Map(
      pairs.flatMap((pair, number) =>
        pair.files.map((path) => [`${number}/${path}`, items.get(pair[which])?.get(path)] as const),
      ),
    );
  const counts = new Map(points.map(({ id }) => [id, { added: 0, removed: 0 }]));
  for (const line of (await diffOf(store.path, side("start"), side("end"), ["--numstat", "-z"])).split("\0")) {
    const [added, removed, path = ""] = line.split("\t");
    const count = counts.get(pairs[Number(path.split("/")[0])]?.id ?? "");
    if (count === undefined || path === "") continue;
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
  const act = newAct(preview.point.thread);
  const undo = randomName(6);
  const point: Point = { by: "undo", thread: preview.point.thread, tool: preview.point.id };
  const acting = [...liveActs(log), act];
  const begun: Step = { id: undo, at: Date.now(), point, by: acting, rows: [] };
  // An undo is an act like any other. It is recorded first, so that a killed undo can be repeated or undone.
  await saveLog(store, { ...log, steps: [...log.steps, begun], acting });
  const reader = openReader(store.path);
  try {
    const changes = [...plan.files, ...(force ? plan.conflicts : [])].toSorted((one, other) =>
      one.path < other.path ? -1 : 1,
    );
    if (repository) changes.push(...plan.repository);
    const failures = await restoreAll(store, changes, reader);
    return { undo, restored: changes.length - failures.length, failures };
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
  return log.steps.length === 0 && readActs(store, log).length === 0;
}

/** Adds the current state to the record. Call only while holding the lock. */
async function stateOfNow(store: UndoStore, log: Log): Promise<Log> {
  const seen = await withLook(store, log, { acting: liveActs(log) });
  await saveLog(store, seen);
  return seen;
}

async function previewOf(store: UndoStore, log: Log, point: UndoPoint): Promise<Preview> {
  const start = log.steps.findIndex(({ id }) => id === point.id);
  const manifest = readManifest(store.path, log);
  if (start === -1 || manifest === undefined) throw noPoint(point.id);
  const plan = planOf(store, log.steps.slice(start), manifest);
  return { point, plan, isActing: log.acting.length > 0, unkept: unkeptText(manifest) };
}

/** Returns the points in chronological order. */
async function pointsIn(store: UndoStore, { steps }: Log): Promise<readonly UndoPoint[]> {
  const files = filesOfPoints(store.path, steps);
  return steps.flatMap(({ id, at, point }) =>
    point === undefined ? [] : [{ ...point, id, at, files: files.get(id) ?? [] }],
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
