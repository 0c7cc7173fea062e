import type { CheckedCall } from "../contract/call.ts";
import { type Decision, type Policy, stricter } from "../contract/policy.ts";
import { messageOf } from "../util/errors.ts";

/**
 * The strictest of what the policies say. A call that touches nothing needs no word; any other that nobody judges is asked
 * about. A policy that throws counts as a denial: what cannot be judged does not run.
 */
export async function decide(call: CheckedCall, policies: readonly Policy[]): Promise<Decision> {
  let strictest: Decision | undefined;
  for (const policy of policies) {
    strictest = stricter(strictest, await judge(policy, call));
  }
  if (strictest) return strictest;
  if (call.effects.length === 0) return { verdict: "allow", risk: "low" };
  return { verdict: "ask", risk: "medium", rule: "default", reason: "No rule allows this" };
}

async function judge(policy: Policy, call: CheckedCall): Promise<Decision | undefined> {
  try {
    return await policy(call);
  } catch (error) {
    return { verdict: "deny", risk: "high", rule: "error", reason: `The policy could not judge this call: ${messageOf(error)}` };
  }
}
