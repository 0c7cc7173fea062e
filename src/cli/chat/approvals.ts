import type { Approver } from "../../core/contract/policy.ts";
import { isForPerson } from "../../policy/scopes.ts";
import { parseDuration } from "../../tools/shared/duration.ts";

/** Answers the questions of the policy: asks the person, or applies what they chose with `/approve`. */
export interface Approvals {
  readonly approver: Approver;
  /** Applies the arguments of `/approve`. Returns a sentence on what applies from now on. */
  set(words: string): string;
  /** What applies now. `untilMs`: when people are asked again; infinite if that is not limited. */
  state(): { readonly answer: "all" | "ask" | "none"; readonly untilMs: number };
}

/**
 * @param ask asks the person
 * @param isApproved true if everything is approved at first
 */
export function createApprovals(ask: Approver, isApproved: boolean): Approvals {
  let answer: "all" | "ask" | "none" = isApproved ? "all" : "ask";
  let untilMs = Infinity;

  const state = () => {
    if (Date.now() >= untilMs) [answer, untilMs] = ["ask", Infinity];
    return { answer, untilMs };
  };

  const approver: Approver = async (call, decision, signal) => {
    state();
    if (answer === "all" && !isForPerson(decision)) return { answer: "once" };
    if (answer === "none") return { answer: "refuse", reason: "The user has said that nothing is approved now." };
    return ask(call, decision, signal);
  };

  return {
    ...{ approver, state },
    set(words) {
      const forMs = /\d/.test(words) ? parseDuration(words) : undefined;
      if (forMs !== undefined) {
        [answer, untilMs] = ["all", Date.now() + forMs];
        return `Questions are approved until ${new Date(untilMs).toTimeString().slice(0, 8)}.`;
      }
      if (words === "all" || words === "ask" || words === "none") [answer, untilMs] = [words, Infinity];
      else if (words !== "") return `/approve ${words}: expected all, ask, none or a time such as 10m`;
      const until = untilMs === Infinity ? "" : ` until ${new Date(untilMs).toTimeString().slice(0, 8)}`;
      return `${SENTENCES[answer]}${until}.`;
    },
  };
}

const SENTENCES = {
  all: "Questions are approved",
  ask: "You are asked",
  none: "Questions are refused",
} as const;
