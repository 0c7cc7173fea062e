export type Verdict = "allow" | "ask" | "deny";
export type Risk = "low" | "medium" | "high";

/** What a policy says of a call. */
export interface Decision {
  readonly verdict: Verdict;
  readonly risk: Risk;
  /** Why, for the model and for people: what is in the way and what would be accepted. */
  readonly reason?: string;
  /** The rule that decided, by name: "workspace", "forbidden_paths", … */
  readonly rule?: string;
  /** What of the call was asked about, part by part: a person who allows all of it for longer is asked no more. */
  readonly scopes?: readonly Scope[];
}

/** Something a person can allow for longer than one call. */
export interface Scope {
  /** As people are shown it: "npm test", "git push origin main". Raw: whoever shows it escapes it. */
  readonly label: string;
  /** Equal keys are the same permission; it holds all that the permission is bound to. */
  readonly key: string;
}

const STRICTNESS: { readonly [V in Verdict]: number } = { allow: 0, ask: 1, deny: 2 };

/** The stricter of two decisions; the first of two alike. `undefined` is no decision. */
export function stricter(one: Decision | undefined, other: Decision | undefined): Decision | undefined {
  if (one === undefined || other === undefined) return one ?? other;
  return STRICTNESS[other.verdict] > STRICTNESS[one.verdict] ? other : one;
}

/** What a person answered. A refusal may say why. */
export type Approval =
  /** This call only. */
  | { readonly answer: "once" }
  /** The same effects again in this toolkit, unasked. */
  | { readonly answer: "session" }
  | { readonly answer: "refuse"; readonly reason?: string };
