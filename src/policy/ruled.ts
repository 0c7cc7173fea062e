import type { Decision } from "../contract/decision.ts";
import type { Ruling } from "./rules/rules.ts";

/** What a rule may allow. What is asked about for other reasons (protected files, hard links) stays asked about. */
const LEFT_TO_PEOPLE: ReadonlySet<string | undefined> = new Set(["autonomy", "outside"]);

/**
 * A rule tightens whatever the policy says, and allows what the policy leaves to people. A file that is asked about for
 * what it holds (`.env`) must be named without wildcards to be allowed.
 */
export function ruled(decision: Decision, ruling: Ruling | undefined): Decision {
  if (ruling === undefined || decision.verdict === "deny") return decision;
  const { verdict, rule, reason, isExact } = ruling;
  if (verdict !== "allow") return { ...decision, verdict, rule, reason };
  const mayLift = LEFT_TO_PEOPLE.has(decision.rule) || (decision.rule === "sensitive_files" && isExact === true);
  if (decision.verdict === "allow" || !mayLift) return decision;
  const { reason: _, ...rest } = decision;
  return { ...rest, verdict, rule };
}
