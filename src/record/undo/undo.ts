import { existsSync } from "node:fs";
import { join } from "node:path";
import { setImmediate as nextTurn } from "node:timers/promises";
import type { ActFollowUp, ApprovedCall, BeforeAct } from "../../core/contract/call.ts";
import { oneLine } from "../../core/output/terminal-text.ts";
import { Stop, pause } from "../../core/util/abort.ts";
import { messageOf } from "../../core/util/errors.ts";
import { isInside } from "../../core/util/paths.ts";
import { filesOf, mayChangeFiles } from "./acts.ts";
import { type UndoStore, newAct, readLog } from "./log.ts";
import { createOff } from "./off.ts";
import { type Known, readManifest } from "./manifest.ts";
import { shown } from "./paths.ts";
import { lostSince, unkeptText } from "./plan.ts";
import { type Mark, createStates } from "./states.ts";
import { type UndoOptions, storeOf } from "./store.ts";

/**
 * How long the acts of a turn wait in total for states to be kept, in milliseconds. Mostly it takes a few. While content
 * is being kept, as that of all files at first, an act waits for as long as that goes on.
 */
const WAIT_MS = 10_000;

/** How long an act waits before people see why, in milliseconds. */
const SHOWN_MS = 500;
const KEEPING = "Keeping the state of the files, for undo";

/** How much of a person's message a point has, in characters. */
export const MESSAGE_CHARACTERS = 200;

/** How long closing waits for the state after the last act, in milliseconds. */
const CLOSING_MS = 2_000;

/** Keeps the states of a workspace before and after acts. */
export interface UndoRecorder {
  readonly beforeAct: BeforeAct;
  /**
   * Takes a person's message to a thread, which the points of its next turn show. Begins to keep the first state of the
   * workspace, if there is none, because acts may follow: it takes seconds in a large workspace, and a model has not
   * replied yet.
   */
  prepare(message: string, thread: string): void;
  /**
   * Says which files below these absolute paths are not kept; `undefined`: all are, or undo cannot work here. Looks at
   * the workspace first if nothing was kept so far.
   */
  lossOf(paths: readonly string[]): Promise<string | undefined>;
  /** Waits at most two seconds for states that are being kept. Never rejects. */
  close(): Promise<void>;
}

/** The name of the tool with which people undo on the machine of a worker. */
export const WORKER_UNDO = "undo";

/** A turn, or one call outside a turn. */
interface Turn {
  /** How much longer the turn's acts may wait, in milliseconds. */
  waitMs: number;
  hasPoint: boolean;
  isReported: boolean;
}

/**
 * Keeps the state of the workspace before the first act of a turn, and around later acts; for an act of a file tool,
 * only its files. Never fails a call: if no state could be kept, or not in time, the act runs and its result has a
 * notice. Once undo cannot work at all, each thread has one notice, and nothing is tried again for an hour.
 */
export function createUndo(options: UndoOptions): UndoRecorder {
  const stop = new AbortController();
  const stopPreparing = new AbortController();
  const turns = new Map<string, Turn>();
  const messages = new Map<string, string>();
  const off = createOff();
  const states = createStates((thread) => messages.get(thread), stop.signal);
  let opening: Promise<UndoStore> | undefined;
  let queue: Promise<unknown> = Promise.resolve();

  /** Runs work in order. Remembers what the work found out about undo, whether or not a caller waits for it. */
  const inOrder = <T>(work: () => Promise<T>): Promise<T> => {
    const done = queue.then(work);
    queue = done.catch((error: unknown) => off.learn(error));
    return done;
  };
  const open = async () => {
    opening ??= storeOf(options);
    opening.catch(() => (opening = undefined));
    return opening;
  };
  const turnOf = (call: ApprovedCall): Turn => {
    const id = call.request.turn;
    const made = { waitMs: WAIT_MS, hasPoint: false, isReported: false };
    const turn = (id === undefined ? undefined : turns.get(id)) ?? made;
    if (id !== undefined) remember(turns, id, turn);
    return turn;
  };
  const offNotice = (thread: string): ActFollowUp => {
    const notice = off.noticeFor(thread);
    return notice === undefined ? {} : { notice };
  };

  return {
    async beforeAct(call, signal, update) {
      const { thread } = call.request;
      if (!call.effects.some(mayChangeFiles) || call.tool.name === WORKER_UNDO) return undefined; // keeps it itself
      if (off.isOff()) return offNotice(thread);
      const store = await open().catch(asError);
      if (store instanceof Error) {
        off.learn(store);
        return off.isOff() ? offNotice(thread) : { notice: notUndone(store) };
      }
      const files = filesOf(call.effects, store);
      if (files?.length === 0) return undefined;
      const turn = turnOf(call);
      const act = newAct(thread);
      let isLate = false;
      let mark: Mark | undefined;
      let movedAt = performance.now();
      const progress = () => void (movedAt = performance.now());
      const done = inOrder(async () => {
        mark = await states.begin(store, {
          act,
          call,
          files,
          mayWait: turn.waitMs > 0,
          isLate: () => isLate,
          progress,
        });
      }).then(() => KEPT, asError);
      const waitMs = files === undefined ? turn.waitMs : WAIT_MS;
      const { outcome, tookMs } = await waitFor(done, waitMs, { signal, update, movedAt: () => movedAt });
      isLate = outcome === LATE;
      off.learn(outcome);
      const ended = () => {
        const lost = files === undefined ? lostSince(store) : (mark?.unkept ?? []);
        void inOrder(() => states.end(store, { act, files }, mark)).catch(() => {});
        return lost.length === 0 ? undefined : `Not kept, so undo cannot restore it: ${lost.join(", ")}.`;
      };
      if (files === undefined) {
        turn.waitMs = Math.max(0, turn.waitMs - tookMs);
        turn.hasPoint ||= outcome === KEPT || states.hasPoint(store, call, await readLog(store.path));
      }
      if (off.isOff()) return { ...offNotice(thread), ended };
      if (outcome === KEPT || (files === undefined && turn.hasPoint) || turn.isReported) return { ended };
      turn.isReported = true;
      return { notice: notUndone(outcome), ended };
    },
    prepare(message, thread) {
      remember(messages, thread, oneLine(message, MESSAGE_CHARACTERS));
      const signal = AbortSignal.any([stop.signal, stopPreparing.signal]);
      const keepFirst = async () => {
        const store = await open();
        if (isEmpty(store)) await states.first(store, signal);
      };
      if (opening === undefined) void inOrder(keepFirst).catch(() => {}); // the first act reports it
    },
    async lossOf(paths) {
      const store = await open().catch(() => undefined);
      if (store === undefined || off.isOff()) return undefined;
      if (isEmpty(store)) await inOrder(() => states.first(store, stop.signal)).catch(() => {}); // the act reports it
      const manifest = readManifest(store.path, await readLog(store.path)) ?? new Map<string, Known>();
      const isRemoved = (path: string) => paths.some((each) => isInside(`${store.workDir}/${shown(path)}`, each));
      const unkept = unkeptText(manifest, isRemoved);
      return unkept.length === 0 ? undefined : unkept.slice(0, 3).join(", ");
    },
    async close() {
      stopPreparing.abort();
      await Promise.race([queue, pause(CLOSING_MS, undefined, { keepsAlive: false })]);
      stop.abort();
    },
  };
}

/** Waits for a state, and tells people why if that takes long. */
async function waitFor(
  done: Promise<typeof KEPT | Error>,
  waitMs: number,
  {
    signal,
    update,
    movedAt,
  }: { readonly signal: AbortSignal; readonly update: Parameters<BeforeAct>[2]; movedAt(): number },
): Promise<{ readonly outcome: typeof KEPT | typeof LATE | Error; readonly tookMs: number }> {
  const soon = await Promise.race([done, nextTurn(LATE)]); // the file of a file tool is kept by then
  if (soon !== LATE) return { outcome: soon, tookMs: 0 };
  const started = performance.now();
  const waiting = new Stop(signal);
  const timer = setTimeout(() => update({ displayMessage: KEEPING }), SHOWN_MS);
  const tooLong = async () => {
    for (let left = waitMs; left > 0 && !waiting.signal.aborted; left = movedAt() + waitMs - performance.now())
      await pause(left, waiting.signal);
    return LATE;
  };
  const outcome = await Promise.race([done, tooLong()]);
  const tookMs = performance.now() - Math.max(started, movedAt());
  clearTimeout(timer);
  if (performance.now() - started >= SHOWN_MS) update({ displayMessage: null });
  waiting.abort(new Error("nobody waits"));
  waiting.unlink();
  return { outcome, tookMs };
}

function notUndone(outcome: unknown): string {
  const reason = outcome === LATE ? "keeping the files took too long" : messageOf(outcome);
  return `This act cannot be undone: the state before it was not kept (${reason}).`;
}

/** Whether no state was kept so far. */
function isEmpty({ path }: UndoStore): boolean {
  return !existsSync(join(path, "log.json"));
}

const KEPT = "kept" as const;
const LATE = "late" as const;

/** The number of remembered turns. Several can be active, because agents and sub-agents run concurrently. */
const MAX_TURNS = 64;

/** Sets a value as the most recent one, and removes the oldest if there are too many. */
function remember<T>(values: Map<string, T>, key: string, value: T): void {
  values.delete(key);
  values.set(key, value);
  for (const oldest of [...values.keys()].slice(0, -MAX_TURNS)) values.delete(oldest);
}

function asError(error: unknown): Error {
  return error instanceof Error ? error : new Error(messageOf(error));
}
