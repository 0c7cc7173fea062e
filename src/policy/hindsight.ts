import type { StoredEvent } from "../contract/activity.ts";
import type { Decision, Scope, Verdict } from "../contract/decision.ts";
import type { Effect } from "../contract/effect.ts";
import type { CallId, ThreadId } from "../contract/identity.ts";
import type { Json } from "../contract/schema.ts";
import { wordsOf } from "./rules/words.ts";

/** A recorded call, as it was judged. */
export interface JudgedCall {
  readonly call: CallId;
  readonly thread: ThreadId;
  /** Milliseconds since 1970. */
  readonly at: number;
  readonly name: string;
  readonly input: Json;
  /** What the call touched, as far as it was recorded. Not recorded for a call that the policy refused. */
  readonly effects?: readonly Effect[];
  /** The policy's verdict, without grants. */
  readonly verdict: Verdict;
  /** What a person answered, if a person was asked, and about which parts. */
  readonly answered?: "yes" | "no";
  readonly scopes?: readonly Scope[];
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
  const { call, thread, at, name, input } = event;
  return { call, thread, at, name, input };
}

/** Only the first decision counts: a call is judged again when it requests more effects. */
function learnt(event: StoredEvent, known: Partial<JudgedCall>): Partial<JudgedCall> {
  const decided = ({ verdict }: Decision, effects: readonly Effect[]) =>
    known.effects === undefined ? { verdict, effects } : {};
  switch (event.type) {
    case "call.approved":
      return decided(event.decision, event.effects);
    case "approval.requested":
      return {
        ...decided(event.decision, event.effects),
        ...(event.decision.scopes && { scopes: event.decision.scopes }),
      };
    case "approval.decided":
      return { answered: event.approval.answer === "refuse" ? "no" : "yes" };
    case "call.finished":
      return known.verdict === undefined && event.status === "denied" ? { verdict: "deny" } : {};
    default:
      return {};
  }
}

/** A rule for `policy.commands.allow`, with commands that people approved and refused. */
export interface Suggestion {
  readonly rule: string;
  readonly match: readonly string[];
  readonly not_match: readonly string[];
  /** How many questions the rule would have answered. */
  readonly questions: number;
}

/** How often a command alone must have been approved before a rule is suggested for it. */
const OFTEN = 2;

/**
 * Returns rules for commands that were always approved. The rules that save most questions come first. A rule is the
 * first two words of several commands (`npm run *`), or one command. No rule matches a command that was ever refused.
 *
 * @param calls only those that were asked about count
 */
export function suggestions(calls: readonly JudgedCall[]): readonly Suggestion[] {
  const approved = new Map<string, number>();
  const refused = new Set<string>();
  for (const { answered, scopes = [], effects = [] } of calls) {
    if (answered === undefined || !effects.some(({ kind }) => kind === "exec")) continue;
    for (const { label, host, upTo, onlyPerson } of scopes) {
      if (answered === "no") refused.add(label);
      // A host is not a command, and a rule cannot answer a question that only a person may answer.
      else if (host === undefined && upTo !== "once" && onlyPerson !== true)
        approved.set(label, (approved.get(label) ?? 0) + 1);
    }
  }
  for (const label of refused) approved.delete(label);
  const grouped = new Map<string, readonly string[]>();
  for (const label of approved.keys()) {
    const beginning = beginningOf(label) ?? label;
    grouped.set(beginning, [...(grouped.get(beginning) ?? []), label]);
  }
  return [...grouped]
    .flatMap(([beginning, labels]): Suggestion[] => {
      const isShared = labels.length > 1 && ![...refused].some((each) => beginningOf(each) === beginning);
      const not_match = [...refused].filter((each) => each.split(" ")[0] === beginning.split(" ")[0]);
      if (isShared) return [{ rule: `${beginning} *`, match: labels, not_match, questions: count(labels) }];
      return labels
        .filter((label) => (approved.get(label) ?? 0) >= OFTEN)
        .map((label) => ({ rule: label, match: [label], not_match, questions: count([label]) }));
    })
    .toSorted((one, other) => other.questions - one.questions);

  function count(labels: readonly string[]): number {
    return labels.reduce((sum, label) => sum + (approved.get(label) ?? 0), 0);
  }
}

/** The first two words of a command that a rule can have; `undefined` for a shorter command, or if one is an option. */
function beginningOf(command: string): string | undefined {
  const words = wordsOf(command);
  if (!words.ok) return undefined;
  const [program, action] = words.words;
  const isPlain = /^[\w.@/:-]+$/;
  if (program === undefined || action === undefined || words.words.length < 3) return undefined;
  return isPlain.test(program) && isPlain.test(action) && !action.startsWith("-") ? `${program} ${action}` : undefined;
}
