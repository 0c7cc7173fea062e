import type { StoredEvent } from "../core/contract/activity.ts";
import type { Decision, Verdict } from "../core/contract/decision.ts";
import type { Effect } from "../core/contract/effect.ts";
import type { CallId } from "../core/contract/identity.ts";
import type { Json } from "../core/contract/schema.ts";

/** A recorded call, as it was judged. */
export interface JudgedCall {
  /** Milliseconds since 1970. */
  readonly at: number;
  readonly name: string;
  readonly input: Json;
  /** What the call touched, as far as it was recorded. Not recorded for a call that the policy refused. */
  readonly effects?: readonly Effect[];
  /** The policy's verdict, without grants. */
  readonly verdict: Verdict;
}

/** Folds the events of calls into judged calls, in the order in which they began. Calls that never ran are left out. */
export function judgedCalls(events: Iterable<StoredEvent>): readonly JudgedCall[] {
  const calls = new Map<CallId, Omit<JudgedCall, "verdict"> & { readonly verdict?: Verdict }>();
  for (const event of events) {
    if (event.call === undefined) continue;
    const known = calls.get(event.call);
    const now = known === undefined ? begun(event) : { ...known, ...learnt(event, known) };
    if (now !== undefined) calls.set(event.call, now);
  }
  return [...calls.values()].flatMap((each) =>
    each.verdict === undefined ? [] : [{ ...each, verdict: each.verdict }],
  );
}

function begun(event: StoredEvent): Omit<JudgedCall, "verdict"> | undefined {
  if (event.type !== "call.started") return undefined;
  const { at, name, input } = event;
  return { at, name, input };
}

/** Only the first decision counts: a call is judged again when it requests more effects. */
function learnt(event: StoredEvent, known: Partial<JudgedCall>): Partial<JudgedCall> {
  const decided = ({ verdict }: Decision, effects: readonly Effect[]) =>
    known.effects === undefined ? { verdict, effects } : {};
  switch (event.type) {
    case "call.approved":
    case "approval.requested":
      return decided(event.decision, event.effects);
    case "call.finished":
      return known.verdict === undefined && event.status === "denied" ? { verdict: "deny" } : {};
    default:
      return {};
  }
}
