import { existsSync } from "node:fs";
import { join } from "node:path";
import type { ActFollowUp, ApprovedCall, BeforeAct } from "../contract/call.ts";
import { oneLine } from "../output/terminal-text.ts";
import { Stop, pause } from "../util/abort.ts";
import { messageOf } from "../util/errors.ts";
import { endKeptAct, filesOf, keepAct, mayChangeFiles, readActs, versionOf } from "./acts.ts";
import { hasPoint, pointsOf } from "./fold.ts";
import { UndoOff } from "./git.ts";
import { type Log, type Point, endAct, liveActs, newAct, readLog, withLock, type UndoStore } from "./log.ts";
import { type UndoOptions, changeLog, prunedWhenDue, storeOf, withActing, withState } from "./store.ts";

/** How long the acts of a turn wait in total for states to be kept, in milliseconds. */
const WAIT_MS = 1_000;

/** The same for the first state of a workspace, when every file is read. In milliseconds. */
const FIRST_WAIT_MS = 10_000;

/** How long an act waits before people are told why, in milliseconds. */
const SHOWN_MS = 500;
const KEEPING = "Keeping the state of the files, for undo";

/** After this many acts of file tools in a row, a state is stored, so that their record stays short. */
const MAX_ACTS = 500;

/** How much of a person's message a point has, in characters. */
const MESSAGE_CHARACTERS = 200;

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
  /** Waits at most two seconds for states that are being kept. Never rejects. */
  close(): Promise<void>;
}

/** A turn, or one call outside a turn. */
interface Turn {
  /** How much longer its acts may wait, in milliseconds. */
  waitMs: number;
  hasPoint: boolean;
  isReported: boolean;
}

/**
 * Keeps the state of the workspace before the first act of a turn, and around later acts; for an act of a file tool,
 * only its files. Never fails a call: if no state could be kept, or not in time, the act runs and its result has a
 * notice.
 */
export function createUndo(options: UndoOptions): UndoRecorder {
  const stop = new AbortController();
  const stopPreparing = new AbortController();
  const turns = new Map<string, Turn>();
  const messages = new Map<string, string>();
  let actsSinceState = 0;
  let opening: Promise<UndoStore> | undefined;
  let off: { readonly notice: string; isReported: boolean } | undefined;
  let queue: Promise<unknown> = Promise.resolve();

  /** Runs work in order, so that each step sees what the step before it recorded. */
  const inOrder = (work: () => Promise<unknown>): Promise<unknown> => {
    const done = queue.then(work);
    queue = done.catch(() => {});
    return done;
  };
  const open = () => (opening ??= storeOf(options));

  /**
   * Records the start of an act, with a state if one is needed. `isLate` returns true once the act has started without
   * it.
   */
  const begin = async (store: UndoStore, call: ApprovedCall, act: string, isLate: () => boolean, mayWait: boolean) => {
    let failure: Error | undefined;
    await changeLog(store, async (log) => {
      const acting = [...liveActs(log), act];
      const point = isLate() ? undefined : neededPoint(store, call, log);
      const unseen = { ...log, entries: withActing(log.entries, [...(log.entries.at(-1)?.acting ?? []), act]) };
      if (point === undefined && (acting.length > 1 || !mayWait)) return unseen;
      try {
        const taken = await withState(store, log, { acting, ...(point !== undefined && { point }) }, stop.signal);
        const last = taken.entries.at(-1);
        if (!isLate() || last === undefined || last.id === log.entries.at(-1)?.id) return taken;
        // The act may have changed some of this state already. So it is no point, and differences from the state before
        // count as made by a tool.
        const before = taken.entries.slice(0, -1);
        const { point: _, ...state } = last;
        return { ...taken, entries: [...withActing(before, [...(before.at(-1)?.acting ?? []), act]), state] };
      } catch (error) {
        failure = error instanceof Error ? error : new Error(String(error));
        return unseen;
      }
    });
    if (failure !== undefined) throw failure;
  };

  const end = async (act: string) => {
    endAct(act);
    const store = await open();
    await changeLog(store, async (log) => {
      const acting = liveActs(log);
      if (acting.length > 0) return log; // the last of them stores a state when it ends
      return withState(store, await prunedWhenDue(store, log), { acting }, stop.signal);
    });
  };

  /** Keeps the files before an act. Resolves to the version of the record at that time. */
  const beginWithFiles = (
    store: UndoStore,
    call: ApprovedCall,
    { act, files, isLate }: { act: string; files: readonly string[]; isLate: () => boolean },
  ) =>
    withLock(store.path, async () => {
      if (!isLate()) await keepAct(store, files, { act, point: pointOf(call) });
      return versionOf(store.path);
    });

  const endWithFiles = async (act: string, files: readonly string[], version: string | undefined) => {
    const store = await open();
    await withLock(store.path, () => endKeptAct(store, files, act));
    actsSinceState++;
    if (version === versionOf(store.path) && actsSinceState < MAX_ACTS) return endAct(act);
    actsSinceState = 0;
    await end(act); // a state that was stored while the act ran does not show what it has changed
  };

  const pointOf = ({ request: { turn, thread }, tool }: ApprovedCall): Point => {
    if (turn === undefined) return { by: "call", thread, tool: tool.name };
    const message = messages.get(thread);
    return { by: "turn", thread, tool: tool.name, turn, ...(message !== undefined && { message }) };
  };

  /** Returns the point that the call needs; `undefined` if there is one already. */
  const neededPoint = (store: UndoStore, call: ApprovedCall, log: Log): Point | undefined => {
    const point = pointOf(call);
    const made = pointsOf(log.entries, readActs(store.path, log));
    return hasPoint(made, { point, at: Date.now() }) ? undefined : point;
  };

  const turnOf = (call: ApprovedCall, store: UndoStore): Turn => {
    const id = call.request.turn;
    const made = { waitMs: isEmpty(store) ? FIRST_WAIT_MS : WAIT_MS, hasPoint: false, isReported: false };
    const turn = (id === undefined ? undefined : turns.get(id)) ?? made;
    if (id !== undefined) remember(turns, id, turn);
    return turn;
  };

  const noticeOf = (turn: Turn | undefined, outcome: unknown, isKept = turn?.hasPoint): ActFollowUp => {
    if (outcome instanceof UndoOff) off ??= { notice: `Undo is off: ${outcome.message}.`, isReported: false };
    if (off !== undefined) {
      if (off.isReported) return {};
      off.isReported = true;
      return { notice: off.notice };
    }
    if (outcome === KEPT || turn === undefined || isKept === true || turn.isReported) return {};
    turn.isReported = true;
    const reason = outcome === LATE ? "keeping the files took too long" : messageOf(outcome);
    return { notice: `This act cannot be undone: the state before it was not kept (${reason}).` };
  };

  return {
    async beforeAct(call, signal, update) {
      if (!call.effects.some(mayChangeFiles)) return undefined;
      if (off !== undefined) return noticeOf(undefined, undefined);
      const store = await open().catch((error: unknown) => asError(error));
      if (store instanceof Error) {
        opening = undefined;
        return noticeOf({ waitMs: 0, hasPoint: false, isReported: false }, store);
      }
      const files = filesOf(call.effects, store);
      if (files?.length === 0) return undefined;
      const turn = turnOf(call, store);
      const act = newAct(call.request.thread);
      let isLate = false;
      let version: string | undefined;
      const started = performance.now();
      const keep = async () => {
        if (files === undefined) return begin(store, call, act, () => isLate, turn.waitMs > 0);
        version = await beginWithFiles(store, call, { act, files, isLate: () => isLate });
      };
      const done = inOrder(keep).then(() => KEPT, asError);
      const waiting = new Stop(signal);
      const shown = setTimeout(() => update({ displayMessage: KEEPING }), SHOWN_MS);
      const waitMs = files === undefined ? turn.waitMs : WAIT_MS;
      const outcome = await Promise.race([done, pause(waitMs, waiting.signal).then(() => LATE)]);
      clearTimeout(shown);
      if (performance.now() - started >= SHOWN_MS) update({ displayMessage: null });
      waiting.abort(new Error("nobody waits"));
      waiting.unlink();
      isLate = outcome === LATE;
      if (files !== undefined) {
        const ended = () => void inOrder(() => endWithFiles(act, files, version)).catch(() => {});
        return { ...noticeOf(turn, outcome, false), ended };
      }
      turn.waitMs = Math.max(0, turn.waitMs - (performance.now() - started));
      turn.hasPoint ||= outcome === KEPT || neededPoint(store, call, await readLog(store.path)) === undefined;
      return { ...noticeOf(turn, outcome), ended: () => void inOrder(() => end(act)).catch(() => {}) };
    },
    prepare(message, thread) {
      remember(messages, thread, oneLine(message, MESSAGE_CHARACTERS));
      const signal = AbortSignal.any([stop.signal, stopPreparing.signal]);
      const keepFirst = async () => {
        const store = await open();
        if (isEmpty(store)) await changeLog(store, (log) => withState(store, log, { acting: liveActs(log) }, signal));
      };
      if (opening === undefined) void inOrder(keepFirst).catch(() => {}); // the first act reports it
    },
    async close() {
      stopPreparing.abort();
      await Promise.race([queue, pause(CLOSING_MS, undefined, { keepsAlive: false })]);
      stop.abort();
    },
  };
}

/** Whether no state was kept so far. */
function isEmpty({ path }: UndoStore): boolean {
  return !existsSync(join(path, "log.json"));
}

const KEPT = "kept";
const LATE = "late";

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
