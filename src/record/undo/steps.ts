import { readFileSync } from "node:fs";
import { join } from "node:path";
import { randomName } from "../../core/util/identifier.ts";
import type { FileAct } from "./acts.ts";
import { type Item, type Point, type Row, type Step, isSame, threadOf } from "./log.ts";
import type { Known, Manifest } from "./manifest.ts";

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

/** Returns the points of the steps, and of the acts after them. */
export function pointsOf(steps: readonly Step[], acts: readonly FileAct[]): readonly Made[] {
  const made = steps.flatMap(({ point, at }): Made[] => (point === undefined ? [] : [{ point, at }]));
  for (const act of acts) if (!hasPoint(made, act)) made.push({ point: act.point, at: act.at });
  return made;
}

/** Returns the changes of a step. */
export function rowsOf(store: string, { rows }: Step): readonly Row[] {
  return rows.flatMap((name) => JSON.parse(readFileSync(join(store, name), "utf8")) as readonly Row[]);
}

/** Steps that are being recorded. */
export interface Draft {
  /** Adds changes. They belong to the last step if the same acts made it. */
  add(by: readonly string[], rows: readonly Row[], at: number): void;
  /** Begins a step, unless the last one is still empty and no point. */
  begin(by: readonly string[], at: number, point?: Point): void;
  /** Removes the oldest steps. */
  drop(count: number): void;
  readonly steps: readonly Step[];
  /** The changes that were added, by the id of their step. */
  readonly added: ReadonlyMap<string, readonly Row[]>;
}

/** Continues the steps of a record. */
export function draftOf(recorded: readonly Step[]): Draft {
  const steps = [...recorded];
  const added = new Map<string, Row[]>();
  const isEmpty = ({ id, rows }: Step) => rows.length === 0 && !added.has(id);
  const begin = (by: readonly string[], at: number, point?: Point) => {
    const last = steps.at(-1);
    if (last !== undefined && isEmpty(last) && last.point === undefined) steps.pop();
    steps.push({ id: randomName(6), at, by, rows: [], ...(point !== undefined && { point }) });
  };
  return {
    steps,
    added,
    begin,
    drop: (count) => void steps.splice(0, count),
    add(by, rows, at) {
      if (rows.length === 0) return;
      if (!isOf(steps.at(-1), by)) begin(by, at);
      const { id, ...last } = steps.pop() as Step;
      steps.push({ ...last, id, by: [...new Set([...last.by, ...by])] });
      added.set(id, [...(added.get(id) ?? []), ...rows]);
    },
  };
}

/** Whether changes of these acts belong to a step: nobody made it either, or acts of the same threads. */
function isOf(step: Step | undefined, by: readonly string[]): boolean {
  if (step === undefined || (step.by.length === 0) !== (by.length === 0)) return false;
  const threads = new Set(step.by.map(threadOf));
  return by.every((act) => threads.has(threadOf(act)));
}

/** What is known after the acts of file tools. */
export interface AfterActs {
  /** What was at each path. */
  readonly manifest: Manifest;
  /** The paths of the acts. */
  readonly paths: ReadonlySet<string>;
  /** The paths of acts that did not end, with their acts. */
  readonly open: ReadonlyMap<string, string>;
}

/**
 * Adds the acts of file tools to a draft. Where a file was something else before an act than when it was last seen, this
 * was a change of `acting`, or of somebody else if that is empty.
 *
 * @param known what was at each path when the workspace was last looked at
 */
export function addActs(
  draft: Draft,
  acts: readonly FileAct[],
  acting: readonly string[],
  known: Manifest | undefined,
): AfterActs {
  const after = new Map<string, Known>(known);
  const [paths, open] = [new Set<string>(), new Map<string, string>()];
  const lastBy = new Map<string, string>();
  const set = (path: string, item: Item | null) => {
    paths.add(path);
    if (item === null) after.delete(path);
    else after.set(path, { item, ino: 0, size: 0, mtime: 0, ctime: 0 });
  };
  for (const { act, at, point, before, after: left, beside } of acts) {
    const others: Row[] = [];
    const own: Row[] = [];
    for (const [path, item] of before) {
      const was = after.get(path)?.item ?? null;
      const isSeen = known !== undefined || paths.has(path);
      const isOfBeside = beside.includes(lastBy.get(path) ?? "");
      if (isSeen && !isOfBeside && !isSame(was, item)) others.push([path, was, item]);
      lastBy.set(path, act);
      set(path, item);
      const now = left?.get(path);
      if (now === undefined) open.set(path, act);
      else open.delete(path);
      if (now !== undefined && !isSame(item, now)) own.push([path, item, now]);
      if (now !== undefined) set(path, now);
    }
    draft.add(acting, others, at);
    if (!hasPoint(pointsOf(draft.steps, []), { point, at })) draft.begin([act], at, point);
    draft.add([act], own, at);
  }
  return { manifest: after, paths, open };
}
