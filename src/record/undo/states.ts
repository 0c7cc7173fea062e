import { setImmediate as nextTurn } from "node:timers/promises";
import type { ApprovedCall } from "../../core/contract/call.ts";
import { type KeptAct, endKeptAct, keepAct, leftBehind, readActs } from "./acts.ts";
import { type Log, type Point, type UndoStore, adding, endAct, liveActs, versionOf } from "./log.ts";
import { hasPoint, pointsOf } from "./steps.ts";
import { changeLog, prunedWhenDue, withLook } from "./store.ts";

/** How many acts of file tools may follow each other before the workspace is looked at, so that the record stays short. */
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
  /** Called again and again while content is being kept. */
  progress(): void;
}

/** What was recorded at the start of an act of a file tool. */
export interface Mark extends KeptAct {
  /** The version of the record then. */
  readonly version: string;
}

/** Keeps the states around acts. Each step must see what the step before it recorded: run one at a time. */
export interface States {
  /**
   * Records the start of an act, with what was there before it. Resolves to a mark for `end` if it is an act of a file
   * tool.
   */
  begin(store: UndoStore, beginning: Beginning): Promise<Mark | undefined>;
  /** Records its end. `mark`: from `begin`; `undefined` if that failed. */
  end(store: UndoStore, { act, files }: Pick<Beginning, "act" | "files">, mark: Mark | undefined): Promise<void>;
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
    const made = pointsOf(log.steps, readActs(store.path, log));
    return hasPoint(made, { point, at: Date.now() }) ? undefined : point;
  };

  const beginAny = async (store: UndoStore, { call, act, mayWait, isLate, progress }: Beginning) => {
    let failure: Error | undefined;
    await changeLog(store, async (log) => {
      const acting = [...liveActs(log), act];
      const point = isLate() ? undefined : neededPoint(store, call, log);
      const unseen = { ...log, acting: [...log.acting, act] };
      if (point === undefined && (acting.length > 1 || !mayWait)) return unseen;
      try {
        const next = { acting, isLate, ...(point !== undefined && { point }) };
        return await withLook(store, log, next, { signal, progress });
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
      if (acting.length > 0) return log; // the last of them looks at the workspace when it ends
      return withLook(store, await prunedWhenDue(store, log), { acting }, { signal });
    });
  };

  return {
    hasPoint: (store, call, log) => neededPoint(store, call, log) === undefined,
    async first(store, stopped) {
      await changeLog(store, (log) => withLook(store, log, { acting: liveActs(log) }, { signal: stopped }));
    },
    async begin(store, beginning) {
      const { act, call, files, isLate } = beginning;
      if (files === undefined) {
        await beginAny(store, beginning);
        return undefined;
      }
      return adding(store.path, async () => {
        const kept = isLate() ? undefined : await keepAct(store, files, { act, point: pointOf(call) });
        return kept && { ...kept, version: versionOf(store.path) };
      });
    },
    async end(store, { act, files }, mark) {
      if (files === undefined) return endAny(store, act);
      const after = await leftBehind(store, mark?.paths ?? files); // at once: what is written later is not the act's
      await nextTurn(); // the result of the call is sent first
      await adding(store.path, () => endKeptAct(store, after, act));
      actsSinceState++;
      if (mark?.version === versionOf(store.path) && actsSinceState < MAX_ACTS) return endAct(act);
      actsSinceState = 0;
      await endAny(store, act); // a look while the act ran does not show what it has changed
    },
  };
}
