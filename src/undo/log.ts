import { lstatSync, statSync } from "node:fs";
import { readFile, rename, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { randomName } from "../util/identifier.ts";
import { isMissing } from "../util/private-file.ts";
import { isAlive, thisProcess, withLockFile } from "../util/process-lock.ts";

/** The store of one workspace. */
export interface UndoStore {
  readonly path: string;
  /** The real path. */
  readonly workDir: string;
  readonly maxBytes: number;
}

/** What a path is in a state. Ids are of objects in the store. */
export type Item =
  | { readonly kind: "file"; readonly id: string; readonly mode: number }
  | { readonly kind: "link"; readonly id: string }
  | { readonly kind: "folder"; readonly mode: number };

/** The state of the workspace at one moment: ids of objects in the store. */
export interface State {
  /** The tree that contains the other trees, and so keeps them from being pruned. */
  readonly root: string;
  readonly files: string;
  readonly extras: string;
  /** The tree of the user's repository, if there is one. */
  readonly git?: string;
  /** What was not kept, at most 20 sentences. */
  readonly unkept: readonly string[];
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

export interface Entry extends State {
  readonly id: string;
  /** Milliseconds since 1970. */
  readonly at: number;
  readonly point?: Point;
  /**
   * The acts that ran between this state and the next. If empty, differences between the two were not made by a tool.
   */
  readonly acting: readonly string[];
  /** Paths that somebody else changed after a file tool did, although acts ran between this state and the next. */
  readonly others?: readonly string[];
}

/** The record of a store. */
export interface Log {
  /** In chronological order. */
  readonly entries: readonly Entry[];
  /** An upper limit of the store's size, in bytes: new content counts in full until the store is pruned. */
  readonly bytes: number;
  /** When the store was last pruned, in milliseconds since 1970. */
  readonly prunedAt: number;
  /** The name of the file with the acts since the last state (acts.ts). Default "acts-0". */
  readonly acts?: string;
}

/** Reads the record; an empty one if there is none. */
export async function readLog(store: string): Promise<Log> {
  try {
    return JSON.parse(await readFile(join(store, "log.json"), "utf8")) as Log;
  } catch (error) {
    if (isMissing(error)) return { entries: [], bytes: 0, prunedAt: Date.now() };
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

/** Returns the acts since the last state that may still run. */
export function liveActs({ entries }: Log): readonly string[] {
  return (entries.at(-1)?.acting ?? []).filter(isLive);
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
