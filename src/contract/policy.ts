import type { CheckedCall } from "./call.ts";
import type { Approval, Decision } from "./decision.ts";

/** How far the tools may go by themselves. */
export type Autonomy =
  /** Only look: whatever changes something is refused. */
  | "readonly"
  /** Harmless things run; a person is asked about the rest. */
  | "supervised"
  /** Nothing is asked that no rule asks about; what is forbidden stays forbidden. */
  | "full";

/**
 * Judges a call by its effects. `undefined` abstains. Of several decisions the strictest wins; where nobody decides a person is
 * asked; where nobody can be asked the call is denied.
 */
export type Policy = (call: CheckedCall) => Promise<Decision | undefined>;

/**
 * Asks a person. Called at most once for a question; the answer is bound to this call and used up by it. The signal fires when the call is stopped
 * or the question was answered elsewhere: take the question away. A rejection counts as a refusal. `by` of the answer says through what it was
 * given, as people are shown it; default "approver".
 */
export type Approver = (
  call: CheckedCall,
  decision: Decision,
  signal: AbortSignal,
) => Promise<Approval & { readonly by?: string }>;
