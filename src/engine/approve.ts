import type { ApprovedCall, CheckedCall } from "../contract/call.ts";
import type { Approval, Decision } from "../contract/decision.ts";
import { type Stop, untilAborted } from "../util/abort.ts";
import { ask } from "./ask.ts";
import { decide } from "./decide.ts";
import type { Host } from "./host.ts";
import type { Recorder } from "./record.ts";
import { CallEnded } from "./result.ts";

/**
 * Asks the policy about a checked call and, if the policy demands it, a person. Only this function makes an
 * `ApprovedCall`.
 *
 * @throws CallEnded "denied"; the reason of the stop when the call is stopped while it is judged or a person is asked.
 */
export async function approve(checked: CheckedCall, host: Host, record: Recorder, stop: Stop): Promise<ApprovedCall> {
  const { call, decision } = await untilAborted(decide(checked, host), stop);
  if (decision.verdict === "deny") {
    throw new CallEnded({ status: "denied", reason: decision.reason ?? "Denied by the policy", by: "policy" });
  }
  if (decision.verdict === "allow") return brand(call, decision);
  const question = await untilAborted(host.grants.remaining(call, decision), stop);
  if (question === undefined) return brand(call, decision); // granted earlier
  const approval = await ask(call, question, host, record, stop.signal);
  if (approval.answer === "refuse") {
    throw new CallEnded({ status: "denied", reason: refusal(call, approval.reason), by: "person" });
  }
  await host.grants.remember(question, approval);
  stop.throwIfAborted();
  return brand(call, question, approval);
}

function refusal(call: CheckedCall, reason: string | undefined): string {
  // The text for commands is from seed 000; other calls use the same form.
  const what = call.effects.some((effect) => effect.kind === "exec")
    ? "Command execution"
    : `Call of ${call.tool.name}`;
  return `${what} denied by user.${reason === undefined || reason === "" ? "" : ` ${reason}`}`;
}

function brand({ request, tool, input, effects }: CheckedCall, decision: Decision, approval?: Approval): ApprovedCall {
  const call =
    approval === undefined
      ? { request, tool, input, effects, decision }
      : { request, tool, input, effects, decision, approval };
  return call as ApprovedCall;
}
