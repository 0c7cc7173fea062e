import type { CheckedCall } from "./call.ts";

export type Verdict = "allow" | "ask" | "deny";
export type Risk = "low" | "medium" | "high";

/** How far the tools may go by themselves. */
export type Autonomy =
  /** Only look: whatever changes something is refused. */
  | "readonly"
  /** Harmless things run; a person is asked about the rest. */
  | "supervised"
  /** Nothing is asked that no rule asks about; what is forbidden stays forbidden. */
  | "full";

export interface Decision {
  readonly verdict: Verdict;
  readonly risk: Risk;
  /** Why, for the model and for people: what is in the way and what would be accepted. */
  readonly reason?: string;
  /** The rule that decided, by name: "workspace", "forbidden_paths", … */
  readonly rule?: string;
}

const STRICTNESS: { readonly [V in Verdict]: number } = { allow: 0, ask: 1, deny: 2 };

/** The stricter of two decisions; the first of two alike. `undefined` is no decision. */
export function stricter(one: Decision | undefined, other: Decision | undefined): Decision | undefined {
  if (one === undefined || other === undefined) return one ?? other;
  return STRICTNESS[other.verdict] > STRICTNESS[one.verdict] ? other : one;
}

/**
 * Judges a call by its effects. `undefined` abstains. Of several decisions the strictest wins; where nobody decides a person is
 * asked; where nobody can be asked the call is denied.
 */
export type Policy = (call: CheckedCall) => Promise<Decision | undefined>;

/** What a person answered. A refusal may say why. */
export type Approval =
  /** This call only. */
  | { readonly answer: "once" }
  /** The same effects again in this toolkit, unasked. */
  | { readonly answer: "session" }
  | { readonly answer: "refuse"; readonly reason?: string };

/**
 * Asks a person. Called at most once for a question; the answer is bound to this call and used up by it. The signal fires when
 * the call is stopped: take the question away. A rejection counts as a refusal.
 */
export type Approver = (call: CheckedCall, decision: Decision, signal: AbortSignal) => Promise<Approval>;
