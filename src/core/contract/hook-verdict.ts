import type { Verdict } from "./decision.ts";

/** What hooks made of a call before it is judged. */
export interface HookVerdict {
  /** The strictest decision. "allow" answers a question; it does not lift a denial. */
  readonly verdict?: Verdict;
  readonly reason?: string;
  /** For "allow": rules whose questions only a person answers. */
  readonly except?: readonly string[];
  /** The arguments in place of those of the model, not yet checked. */
  readonly input?: unknown;
  /** Texts for the model, beside the result. */
  readonly context: readonly string[];
  /** The hooks that decided or changed something, for people. */
  readonly by: readonly string[];
}
