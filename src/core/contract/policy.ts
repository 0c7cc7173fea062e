import type { CheckedCall } from "./call.ts";
import type { Approval, Decision } from "./decision.ts";

/** How much the tools may do without asking. */
export type Autonomy =
  /** Only read: all changes are refused. */
  | "readonly"
  /** Harmless calls run; a person is asked about all other calls. */
  | "supervised"
  /** A person is asked only when a rule demands it; what is forbidden stays forbidden. */
  | "full";

/** Every autonomy, strictest first. */
export const AUTONOMIES: readonly Autonomy[] = ["readonly", "supervised", "full"];

/**
 * Judges a call by its effects. A policy abstains with `undefined`. The strictest decision of all policies counts. If
 * all abstain, a person is asked; if nobody can be asked, the call is denied.
 */
export type Policy = (call: CheckedCall) => Promise<Decision | undefined>;

/**
 * Asks a person. Called at most once per question; the answer counts once, for this call. The signal fires when the
 * call is stopped or the question was answered elsewhere: close the question then. A rejection of the promise counts as
 * a refusal. `by` in the answer tells people where the answer came from; default "approver".
 */
export type Approver = (
  call: CheckedCall,
  decision: Decision,
  signal: AbortSignal,
) => Promise<Approval & { readonly by?: string }>;
