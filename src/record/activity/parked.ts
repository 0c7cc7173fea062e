import type { CallEvent } from "../../core/contract/activity.ts";
import type { Approval } from "../../core/contract/decision.ts";
import type { MoveOutcome, ParkedCall, ParkedFilter, ParkedMove, Parking } from "../../core/contract/parked.ts";
import type { AnswerOutcome } from "../../core/contract/question.ts";
import { clip, plural } from "../../core/util/text.ts";
import { MAX_ERROR } from "./fold.ts";

/** All moves, including those that stores make on their own. */
export type Move =
  | ParkedMove
  | { readonly to: "ready"; readonly approval: Approval; readonly by: string }
  | { readonly to: "expired" }
  /** The worker died. The call goes to another one, if it may be repeated. */
  | { readonly to: "again" };

/** What a store writes for a move, in one transaction. */
export interface Moved {
  /** The row after the move; `undefined` removes it. */
  readonly row: ParkedCall | undefined;
  readonly events: readonly CallEvent[];
  /** Why the move was refused; `row` is then unchanged, or expired. */
  readonly refused?: string;
}

/** The row and the event of a newly parked call. */
export function parkedNow(parking: Parking, at: number): { readonly row: ParkedCall; readonly event: CallEvent } {
  const { call, thread, question, changed, keepMs } = parking;
  const untilMs = at + keepMs;
  const again = changed !== undefined && { changed };
  return {
    row: { ...parking, state: "parked", sinceMs: at, untilMs },
    event: { type: "call.parked", call, thread, at, question, untilMs, ...again },
  };
}

/** The whole table of which state may follow which. Pure: both stores run it inside their transactions. */
export function moved(row: ParkedCall | undefined, move: Move, at: number): Moved {
  const refuse = (refused: string, left = row): Moved => ({ row: left, events: [], refused });
  if (row === undefined) return refuse("it is not parked");
  const { state } = row;
  const waits = state === "parked" || state === "ready";
  if (waits && at > row.untilMs) {
    const expired = ended(row, { status: "denied", error: lateness(row) }, at);
    return move.to === "expired" ? expired : { ...expired, refused: lateness(row) };
  }
  switch (move.to) {
    case "ready":
      if (state !== "parked") return refuse(WHY_NOT[state]);
      return answered(row, move.approval, move.by, at);
    case "taken":
      if (state === "taken" && row.claim === move.claim) return { row, events: [] };
      if (state !== "ready") return refuse(WHY_NOT[state]);
      if (row.target !== move.target) return refuse(`it belongs to ${row.target}`);
      return taken(row, move, at);
    case "withdrawn":
      if (!waits) return refuse(WHY_NOT[state]);
      return ended(row, { status: "aborted", error: `withdrawn by ${move.by} before it ran` }, at);
    case "expired":
      return state === "ended" && at > row.untilMs ? { row: undefined, events: [] } : refuse("its time is not over");
    case "again": {
      if (state !== "taken" || row.delivery?.repeatable !== true) return refuse(WHY_NOT[state]);
      const { claim: _, worker: __, ...free } = row;
      return { row: { ...free, state: "ready", untilMs: at + row.keepMs }, events: [] };
    }
    case "delivered":
      return state === "ended" ? { row: undefined, events: [] } : refuse(WHY_NOT[state]);
  }
}

const WHY_NOT = {
  parked: "it still waits for a person",
  ready: "it was approved and waits for a process",
  taken: "a process runs it",
  ended: "it has ended",
} as const;

const of = ({ call, thread }: ParkedCall, at: number) => ({ call, thread, at });

function taken(row: ParkedCall, { claim, worker }: Extract<Move, { to: "taken" }>, at: number): Moved {
  const by = worker !== undefined && { worker };
  return { row: { ...row, state: "taken", claim, ...by }, events: [{ ...of(row, at), type: "call.taken", ...by }] };
}

/** A refusal ends the call at once, because there is nothing to run. */
function answered(row: ParkedCall, approval: Approval, by: string, at: number): Moved {
  const decided = { ...of(row, at), type: "approval.decided", question: row.question, approval, by } as const;
  if (approval.answer !== "refuse") {
    const ready = { ...row, state: "ready", untilMs: at + row.keepMs, approval, by } as const;
    return { row: ready, events: [decided] };
  }
  const { row: after, events } = ended(row, { status: "denied", error: [row.refusal, approval.reason] }, at);
  return { row: after, events: [decided, ...events] };
}

function ended(
  row: ParkedCall,
  {
    status,
    error,
  }: { readonly status: "denied" | "aborted"; readonly error: string | readonly (string | undefined)[] },
  at: number,
): Moved {
  const text = [error].flat().filter(Boolean).join(" ");
  const finished = { ...of(row, at), type: "call.finished", status } as const;
  return {
    row: afterEnd(row),
    events: [{ ...finished, error: clip(text, MAX_ERROR), content: [{ type: "text", text }] }],
  };
}

/** The row after the call's end. It is needed only while an agent waits for the result. */
export function afterEnd(row: ParkedCall): ParkedCall | undefined {
  return row.turn === undefined ? undefined : { ...row, state: "ended" };
}

function lateness({ state, keepMs, question }: ParkedCall): string {
  const time = keepMs >= DAY_MS ? plural(Math.round(keepMs / DAY_MS), "day") : `${keepMs / 1_000} s`;
  if (question === "") return `no worker took it within ${time}, so it was not run`;
  return state === "parked"
    ? `nobody answered within ${time}, so it was not run`
    : `it was approved, and no process ran it within ${time}`;
}

const DAY_MS = 86_400_000;

/** Why a question can no longer be answered, for people. */
export function closedBecause(
  decided: { readonly approval: Approval; readonly by: string } | undefined,
  finished: { readonly error?: string } | undefined,
  later: Pick<ParkedCall, "question" | "changed"> | undefined,
): Extract<AnswerOutcome, { status: "closed" }> {
  if (decided === undefined) {
    const why = finished?.error === undefined ? "" : `: ${finished.error}`;
    return { status: "closed", reason: `its call has ended${why}` };
  }
  const { approval, by } = decided;
  const again = later === undefined ? "" : `; ${later.question} asks again, since this has changed: ${listed(later)}`;
  return {
    status: "closed",
    reason: `it was answered before (${approval.answer}, ${by})${again}`,
    first: { approval, by },
  };
}

const listed = ({ changed = [] }: Pick<ParkedCall, "changed">) => changed.join(", ");

/** The outcome of a move, for the caller that asked for it. */
export function outcomeOf(row: ParkedCall | undefined, refused: string | undefined): MoveOutcome {
  if (row !== undefined && refused === undefined) return { status: "moved", parked: row };
  return { status: "refused", reason: refused ?? "", ...(row !== undefined && { parked: row }) };
}

/** Whether a row matches a filter. */
export function isChosen(row: ParkedCall, { call, thread, target, states }: ParkedFilter): boolean {
  return (
    (call === undefined || row.call === call) &&
    (thread === undefined || row.thread === thread) &&
    (target === undefined || row.target === target) &&
    (states === undefined || states.includes(row.state))
  );
}
