import { existsSync } from "node:fs";
import { join } from "node:path";
import type { ActFollowUp, ApprovedCall, BeforeAct } from "../contract/call.ts";
import type { Effect } from "../contract/effect.ts";
import { Stop, pause } from "../util/abort.ts";
import { messageOf } from "../util/errors.ts";
import { UndoOff } from "./git.ts";
import { type Entry, type Point, endAct, liveActs, newAct, readLog } from "./log.ts";
import { type UndoOptions, type UndoStore, changeLog, prunedWhenDue, storeOf, withActing, withState } from "./store.ts";

/** How long the acts of a turn wait in total for states to be kept, in milliseconds. */
const WAIT_MS = 1_000;

/** The same for the first state of a workspace, when every file is read. In milliseconds. */
const FIRST_WAIT_MS = 10_000;

/** How long an act waits before people are told why, in milliseconds. */
const SHOWN_MS = 500;
const KEEPING = "Keeping the state of the files, for undo";

/** Calls outside a turn within this time share a point. In milliseconds. */
const SHARED_MS = 30_000;

/** How long closing waits for the state after the last act, in milliseconds. */
const CLOSING_MS = 2_000;

/** Keeps the states of a workspace before and after acts. */
export interface UndoRecorder {
  readonly beforeAct: BeforeAct;
  /**
   * Begins to keep the first state of the workspace, if there is none, because acts may follow: it takes seconds in a
   * large workspace, and a model has not replied yet.
   */
  prepare(): void;
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
 * Keeps the state of the workspace before the first act of a turn, and around later acts. Never fails a call: if no
 * state could be kept, or not in time, the act runs and its result has a notice.
 */
export function createUndo(options: UndoOptions): UndoRecorder {
  const stop = new AbortController();
  const stopPreparing = new AbortController();
  const turns = new Map<string, Turn>();
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
      const point = isLate() ? undefined : pointFor(call, log.entries);
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

  const turnOf = (call: ApprovedCall, store: UndoStore): Turn => {
    const id = call.request.turn;
    const made = { waitMs: isEmpty(store) ? FIRST_WAIT_MS : WAIT_MS, hasPoint: false, isReported: false };
    const turn = (id === undefined ? undefined : turns.get(id)) ?? made;
    if (id !== undefined) turns.delete(id);
    if (id !== undefined) turns.set(id, turn); // most recently used last
    for (const oldest of [...turns.keys()].slice(0, -MAX_TURNS)) turns.delete(oldest);
    return turn;
  };

  const noticeOf = (turn: Turn | undefined, outcome: unknown): ActFollowUp => {
    if (outcome instanceof UndoOff) off ??= { notice: `Undo is off: ${outcome.message}.`, isReported: false };
    if (off !== undefined) {
      if (off.isReported) return {};
      off.isReported = true;
      return { notice: off.notice };
    }
    if (outcome === KEPT || turn === undefined || turn.hasPoint || turn.isReported) return {};
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
      const turn = turnOf(call, store);
      const act = newAct();
      let isLate = false;
      const started = performance.now();
      const done = inOrder(() => begin(store, call, act, () => isLate, turn.waitMs > 0)).then(() => KEPT, asError);
      const waiting = new Stop(signal);
      const shown = setTimeout(() => update({ displayMessage: KEEPING }), SHOWN_MS);
      const outcome = await Promise.race([done, pause(turn.waitMs, waiting.signal).then(() => LATE)]);
      clearTimeout(shown);
      if (performance.now() - started >= SHOWN_MS) update({ displayMessage: null });
      waiting.abort(new Error("nobody waits"));
      waiting.unlink();
      isLate = outcome === LATE;
      turn.waitMs = Math.max(0, turn.waitMs - (performance.now() - started));
      turn.hasPoint ||= outcome === KEPT || pointFor(call, (await readLog(store.path)).entries) === undefined;
      return { ...noticeOf(turn, outcome), ended: () => void inOrder(() => end(act)).catch(() => {}) };
    },
    prepare() {
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

/** Network requests and changes of memories leave the workspace unchanged. */
function mayChangeFiles({ kind }: Effect): boolean {
  return ["write", "exec", "terminal", "foreign", "delegate"].includes(kind);
}

/** Returns the point that the call needs; `undefined` if there is one already. */
function pointFor({ request, tool }: ApprovedCall, entries: readonly Entry[]): Point | undefined {
  const { turn, thread } = request;
  const isShared = ({ point, at }: Entry) =>
    turn === undefined ? point?.by === "call" && at > Date.now() - SHARED_MS : point?.turn === turn;
  if (entries.some(isShared)) return undefined;
  return { by: turn === undefined ? "call" : "turn", thread, tool: tool.name, ...(turn !== undefined && { turn }) };
}

function asError(error: unknown): Error {
  return error instanceof Error ? error : new Error(messageOf(error));
}
