import type { ApprovedCall, CheckedCall } from "../contract/call.ts";
import type { Approval, Decision } from "../contract/decision.ts";
import type { Approver } from "../contract/policy.ts";
import { messageOf } from "../util/errors.ts";
import { untilAborted } from "../util/abort.ts";
import { randomName } from "../util/identifier.ts";
import { decide } from "./decide.ts";
import type { Host } from "./host.ts";
import type { Recorder } from "./record.ts";
import { CallEnded } from "./result.ts";

/**
 * Asks the policy about a checked call and, if the policy says so, a person. The only maker of an `ApprovedCall`.
 *
 * @throws CallEnded "denied"; the signal's reason when the call is stopped while it is judged or a person is asked.
 */
export async function approve(
  checked: CheckedCall,
  host: Host,
  record: Recorder,
  signal: AbortSignal,
): Promise<ApprovedCall> {
  const { call, decision } = await untilAborted(decide(checked, host), signal);
  if (decision.verdict === "deny") {
    throw new CallEnded({ status: "denied", reason: decision.reason ?? "Denied by the policy", by: "policy" });
  }
  if (decision.verdict === "allow") return brand(call, decision);
  const question = await untilAborted(host.grants.remaining(call, decision), signal);
  if (question === undefined) return brand(call, decision); // all of it was granted before
  const approval = await ask(call, question, host, record, signal);
  if (approval.answer === "refuse") {
    throw new CallEnded({ status: "denied", reason: refusal(call, approval.reason), by: "person" });
  }
  await host.grants.remember(question, approval);
  signal.throwIfAborted();
  return brand(call, question, approval);
}

async function ask(
  call: CheckedCall,
  decision: Decision,
  { approver }: Host,
  record: Recorder,
  signal: AbortSignal,
): Promise<Approval> {
  if (approver === undefined) {
    throw new CallEnded({ status: "denied", reason: nobodyToAsk(decision), by: "policy" });
  }
  const question = randomName(16);
  record.asked(question, call.effects, decision);
  const approval = await answerOf(approver, call, decision, signal);
  record.answered(question, approval, "approver");
  return approval;
}

async function answerOf(
  approver: Approver,
  call: CheckedCall,
  decision: Decision,
  signal: AbortSignal,
): Promise<Approval> {
  try {
    const approval = await untilAborted(approver(call, decision, signal), signal);
    if (isAnswer(approval)) return approval;
    throw new TypeError(`the approver answered ${JSON.stringify(approval)}`);
  } catch (error) {
    if (signal.aborted) throw error;
    return { answer: "refuse", reason: `The approval could not be asked for: ${messageOf(error)}` };
  }
}

// A program without types may answer anything; a word we do not know must not count as leave, nor a time that is none as for ever.
const ANSWERS: ReadonlySet<unknown> = new Set<Approval["answer"]>(["once", "session", "always", "refuse"]);

function isAnswer(approval: Approval): boolean {
  if (!ANSWERS.has(approval.answer)) return false;
  return !("until" in approval) || approval.until === undefined || Number.isFinite(approval.until);
}

function refusal(call: CheckedCall, reason: string | undefined): string {
  // The text of seed 000 for a command; the same form for everything else.
  const what = call.effects.some((effect) => effect.kind === "exec")
    ? "Command execution"
    : `Call of ${call.tool.name}`;
  return `${what} denied by user.${reason === undefined || reason === "" ? "" : ` ${reason}`}`;
}

function nobodyToAsk({ reason = "This call requires approval" }: Decision): string {
  return (
    `${reason}, and there is nobody to ask. To allow it: run where a person can answer (a terminal, or an MCP client with ` +
    `elicitation), pass an approver, or approve in advance with --yes.`
  );
}

function brand({ request, tool, input, effects }: CheckedCall, decision: Decision, approval?: Approval): ApprovedCall {
  const call =
    approval === undefined
      ? { request, tool, input, effects, decision }
      : { request, tool, input, effects, decision, approval };
  return call as ApprovedCall;
}
