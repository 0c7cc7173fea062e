import { setImmediate as nextTurn } from "node:timers/promises";
import type { ApprovedCall } from "../contract/call.ts";
import { endKeptAct, keepAct, leftBehind, readActs } from "./acts.ts";
import { hasPoint, pointsOf } from "./fold.ts";
import { type Log, type Point, type UndoStore, adding, endAct, liveActs, versionOf } from "./log.ts";
import { changeLog, prunedWhenDue, withActing, withState } from "./store.ts";

/** How many acts of file tools may follow each other before a state is stored, so that the record stays short. */
const MAX_ACTS = 500;

/** An act that begins. */
export interface Beginning {
  readonly act: string;
  readonly call: ApprovedCall;
  /** The files that it may change, as `filesOf`; `undefined`: any. */
  readonly files: readonly string[] | undefined;
  /** Whether the act may wait for a state that no point needs. */
  readonly mayWait: boolean;
  /** Whether the act has started meanwhile, without its state. */
  isLate(): boolean;
}

/** Keeps the states around acts. Each step must see what the step before it recorded: run one at a time. */
export interface States {
  /** Records the start of an act, with the state before it if one is needed. Resolves to a mark for `end`. */
  begin(store: UndoStore, beginning: Beginning): Promise<string | undefined>;
  /** Records its end. `mark`: from `begin`; `undefined` if that failed. */
  end(store: UndoStore, { act, files }: Pick<Beginning, "act" | "files">, mark: string | undefined): Promise<void>;
  /** Keeps the first state of a workspace. */
  first(store: UndoStore, signal: AbortSignal): Promise<void>;
  /** Whether the call already has a point to which people can return. */
  hasPoint(store: UndoStore, call: ApprovedCall, log: Log): boolean;
}

/** @param messageOf the message that a person has sent to a thread */
export function createStates(messageOf: (thread: string) => string | undefined, signal: AbortSignal): States {
  let actsSinceState = 0;

  const pointOf = ({ request: { turn, thread }, tool }: ApprovedCall): Point => {
    if (turn === undefined) return { by: "call", thread, tool: tool.name };
    const message = messageOf(thread);
    return { by: "turn", thread, tool: tool.name, turn, ...(message !== undefined && { message }) };
  };

  /** Returns the point that the call needs; `undefined` if there is already one. */
  const neededPoint = (store: UndoStore, call: ApprovedCall, log: Log): Point | undefined => {
    const point = pointOf(call);
    const made = pointsOf(log.entries, readActs(store.path, log));
    return hasPoint(made, { point, at: Date.now() }) ? undefined : point;
  };

  const beginAny = async (store: UndoStore, { call, act, mayWait, isLate }: Beginning) => {
    let failure: Error | undefined;
    await changeLog(store, async (log) => {
      const acting = [...liveActs(log), act];
      const point = isLate() ? undefined : neededPoint(store, call, log);
      const unseen = { ...log, entries: withActing(log.entries, [...(log.entries.at(-1)?.acting ?? []), act]) };
      if (point === undefined && (acting.length > 1 || !mayWait)) return unseen;
      try {
        const taken = await withState(store, log, { acting, ...(point !== undefined && { point }) }, signal);
        return isLate() ? withoutPoint(taken, log, act) : taken;
      } catch (error) {
        failure = error instanceof Error ? error : new Error(String(error));
        return unseen;
      }
    });
    if (failure !== undefined) throw failure;
  };

  const endAny = async (store: UndoStore, act: string) => {
    endAct(act);
    await changeLog(store, async (log) => {
      const acting = liveActs(log);
      if (acting.length > 0) return log; // the last of them stores a state when it ends
      return withState(store, await prunedWhenDue(store, log), { acting }, signal);
    });
  };

  return {
    hasPoint: (store, call, log) => neededPoint(store, call, log) === undefined,
    async first(store, stopped) {
      await changeLog(store, (log) => withState(store, log, { acting: liveActs(log) }, stopped));
    },
    async begin(store, beginning) {
      const { act, call, files, isLate } = beginning;
      if (files === undefined) {
        await beginAny(store, beginning);
        return undefined;
      }
      return adding(store.path, async () => {
        if (!isLate()) await keepAct(store, files, { act, point: pointOf(call) });
        return versionOf(store.path);
      });
    },
    async end(store, { act, files }, mark) {
      if (files === undefined) return endAny(store, act);
      const after = await leftBehind(store, files); // at once: what is written later is not the act's
      await nextTurn(); // the result of the call is sent first
      await adding(store.path, () => endKeptAct(store, after, act));
      actsSinceState++;
      if (mark === versionOf(store.path) && actsSinceState < MAX_ACTS) return endAct(act);
      actsSinceState = 0;
      await endAny(store, act); // a state that was stored while the act ran does not show what it has changed
    },
  };
}

/**
 * Returns a record whose last state is not a point, because the act may have changed some of it already: differences
 * from the state before count as made by a tool.
 */
function withoutPoint(taken: Log, log: Log, act: string): Log {
  const last = taken.entries.at(-1);
  if (last === undefined || last.id === log.entries.at(-1)?.id) return taken;
  const before = taken.entries.slice(0, -1);
  const { point: _, ...state } = last;
  return { ...taken, entries: [...withActing(before, [...(before.at(-1)?.acting ?? []), act]), state] };
}
