import { isAbsolute } from "node:path";
import type { CheckedCall } from "../../contract/call.ts";
import type { Decision } from "../../contract/decision.ts";
import type { Approver } from "../../contract/policy.ts";
import { oneLine } from "../../output/terminal-text.ts";
import { parseDuration } from "../../tools/shared/duration.ts";

/** Who answers what the policy asks: the person each time, or what they have said for a while. */
export interface Approvals {
  readonly approver: Approver;
  /** Takes the words behind `/approve`, and returns a sentence on what holds from now on. */
  set(words: string): string;
}

/** `ask` asks the person. `isApproved`: everything is approved to begin with. */
export function createApprovals(ask: Approver, isApproved: boolean): Approvals {
  let answer: "all" | "ask" | "none" = isApproved ? "all" : "ask";
  let untilMs = Infinity;

  const approver: Approver = async (call, decision, signal) => {
    if (Date.now() >= untilMs) [answer, untilMs] = ["ask", Infinity];
    if (answer === "all") return { answer: "once" };
    if (answer === "none") return { answer: "refuse", reason: "The user has said that nothing is approved now." };
    return ask(call, decision, signal);
  };

  return {
    approver,
    set(words) {
      const forMs = /\d/.test(words) ? parseDuration(words) : undefined;
      if (forMs !== undefined) {
        [answer, untilMs] = ["all", Date.now() + forMs];
        return `What would be asked is approved until ${new Date(untilMs).toTimeString().slice(0, 8)}.`;
      }
      if (words === "all" || words === "ask" || words === "none") [answer, untilMs] = [words, Infinity];
      else if (words !== "") return `/approve ${words}: expected all, ask, none or a time such as 10m`;
      const until = untilMs === Infinity ? "" : ` until ${new Date(untilMs).toTimeString().slice(0, 8)}`;
      return `${SENTENCES[answer]}${until}.`;
    },
  };
}

const SENTENCES = {
  all: "What would be asked is approved",
  ask: "You are asked",
  none: "What would be asked is refused",
} as const;

/** "Medium risk, in /home/ann/project": what the question itself does not have. */
export function circumstances({ effects }: CheckedCall, { risk }: Decision, workDir: string): string {
  const folders = effects.flatMap((effect) => (effect.kind === "exec" ? [effect.real ?? effect.cwd ?? workDir] : []));
  const [folder = workDir] = folders.filter(isAbsolute);
  return `${risk.charAt(0).toUpperCase()}${risk.slice(1)} risk, in ${oneLine(folder, 200)}`;
}
