import { lstatSync, statSync } from "node:fs";
import { readFile, rename, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { randomName } from "../../core/util/identifier.ts";
import { isMissing } from "../../core/util/private-file.ts";
import { isAlive, thisProcess, withLockFile } from "../../core/util/process-lock.ts";

/** The store of one workspace. */
export interface UndoStore {
  readonly path: string;
  /** The real path. */
  readonly workDir: string;
  readonly maxBytes: number;
}

/** What is at a path. */
export type Item =
  /** Its content is an object of the store. */
  | { readonly kind: "file"; readonly id: string; readonly mode: number }
  /** A large file: its content is a clone or a hard link in the store (large.ts). */
  | { readonly kind: "large"; readonly id: string; readonly mode: number; readonly size: number }
  | { readonly kind: "link"; readonly id: string }
  | { readonly kind: "folder"; readonly mode: number }
  /** A folder that a tool can make again: what is in it is not kept. */
  | { readonly kind: "cache" }
  /** A pipe, a socket or a device: it has no content. */
  | { readonly kind: "other" }
  /** A file whose content is not kept, with its size in bytes, its time of change and the reason. */
  | { readonly kind: "unkept"; readonly size: number; readonly changedAt: number; readonly why: string };

/** A change of a path, which has one character per byte. `null` means that nothing is there. */
export type Row = readonly [path: string, before: Item | null, after: Item | null];

/** Whether two items are the same. */
export function isSame(one: Item | null | undefined, other: Item | null | undefined): boolean {
  return one === other || JSON.stringify(one ?? null) === JSON.stringify(other ?? null);
}

/** The description of a state to which people can return. */
export interface Point {
  /** What follows the state: the first act of a turn or a call, or an undo. */
  readonly by: "turn" | "call" | "undo";
  readonly turn?: string;
  readonly thread: string;
  /** The tool of the first act. For an undo, the id of the point that it restored. */
  readonly tool: string;
  /** The person's message that began the turn: one line, secrets masked. */
  readonly message?: string;
}

/** What changed after a moment, and who changed it. */
export interface Step {
  readonly id: string;
  /** Milliseconds since 1970. */
  readonly at: number;
  /** Set if people can return to the moment before the step. */
  readonly point?: Point;
  /** The acts that ran meanwhile. If empty, no tool made the changes. */
  readonly by: readonly string[];
  /** The names of the files with its changes, in chronological order. */
  readonly rows: readonly string[];
}

/** The record of a store. */
export interface Log {
  readonly version: 2;
  /** In chronological order. */
  readonly steps: readonly Step[];
  /** The acts that run since the workspace was last looked at. They belong to the last step. */
  readonly acting: readonly string[];
  /** The names of the files with what was at each path then (manifest.ts). Empty: it was never looked at. */
  readonly manifest: readonly string[];
  /** An upper limit of the store's size, in bytes: new content counts in full until the store is pruned. */
  readonly bytes: number;
  /** The size of the large files that are kept, in bytes. */
  readonly largeBytes: number;
  /** When the store was last pruned, in milliseconds since 1970. */
  readonly prunedAt: number;
  /** The name of the file with the acts since then (acts.ts). Default "acts-0". */
  readonly acts?: string;
  /** Set if files were left out because of their size: when, and the limit in bytes. */
  readonly leftOut?: { readonly at: number; readonly maxBytes: number };
}

/** Reads the record; an empty one if there is none. Of another version, nothing is taken over: its objects are pruned. */
export async function readLog(store: string): Promise<Log> {
  const empty = { version: 2, steps: [], acting: [], manifest: [], bytes: 0, largeBytes: 0 } as const;
  try {
    const log = JSON.parse(await readFile(join(store, "log.json"), "utf8")) as Log;
    return log.version === 2 ? log : { ...empty, prunedAt: 0, acts: "acts-2" };
  } catch (error) {
    if (isMissing(error)) return { ...empty, prunedAt: Date.now() };
    throw error;
  }
}

/** Replaces the record atomically. */
export async function writeLog(store: string, log: Log): Promise<void> {
  const temporary = join(store, `log-${randomName(8)}.tmp`);
  await writeFile(temporary, JSON.stringify(log), { mode: 0o600 });
  await rename(temporary, join(store, "log.json"));
}

/** Returns a text that changes whenever the record of the store is replaced. */
export function versionOf(store: string): string {
  const info = statSync(join(store, "log.json"), { bigint: true, throwIfNoEntry: false });
  return info === undefined ? "" : `${info.ino} ${info.mtimeNs}`;
}

let acts = 0;
const running = new Set<string>();

/**
 * Returns a name for an act of this process. It lets other processes find out whether the act may still run, and in
 * which thread.
 */
export function newAct(thread: string): string {
  const act = `${thisProcess()}:${++acts}:${thread}`;
  running.add(act);
  return act;
}

/** Ends an act of this process. */
export function endAct(act: string): void {
  running.delete(act);
}

/** Returns the thread of an act; `undefined` for an act of an older version. */
export function threadOf(act: string): string | undefined {
  return act.split(":").slice(3).join(":") || undefined;
}

/** Whether an act may still run: an act of this process that has not ended, or an act of another living process. */
export function isLive(act: string): boolean {
  const [pid = "", start = ""] = act.split(":");
  return act.startsWith(`${thisProcess()}:`) ? running.has(act) : isAlive(Number(pid), start);
}

/** Returns the recorded acts that may still run. */
export function liveActs({ acting }: Log): readonly string[] {
  return acting.filter(isLive);
}

/**
 * Runs `work` while no other process works on the store. Takes over the lock of a process that has died.
 *
 * @throws Error when another process holds the lock for longer than 60 seconds, and what `work` throws.
 */
export function withLock<T>(store: string, work: () => Promise<T>): Promise<T> {
  return withLockFile(lockOf(store), "the store of undo", work);
}

/**
 * Runs `work`, which only adds to the store. Takes no lock unless a process holds it, or has replaced the record
 * meanwhile: that process may not have seen what was added, so `work` runs again, with the lock.
 *
 * @param work may run twice with the effect of once
 * @throws as `withLock` does
 */
export async function adding<T>(store: string, work: () => Promise<T>): Promise<T> {
  const before = versionOf(store);
  if (!isLocked(store)) {
    const done = await work();
    if (!isLocked(store) && versionOf(store) === before) return done;
  }
  return withLock(store, work);
}

function isLocked(store: string): boolean {
  return lstatSync(lockOf(store), { throwIfNoEntry: false }) !== undefined;
}

function lockOf(store: string): string {
  return join(store, "lock");
}
