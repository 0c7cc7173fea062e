import type { ApprovedCall, CheckedCall } from "../contract/call.ts";
import type { Approval, Decision } from "../contract/decision.ts";
import type { ParkedCall } from "../contract/parked.ts";
import { type Stop, untilAborted } from "../util/abort.ts";
import { ask, usable } from "./ask.ts";
import { decide } from "./decide.ts";
import type { Host } from "./host.ts";
import type { Recorder } from "./record.ts";
import { stillApproved } from "./park.ts";
import { CallEnded, refusal } from "./result.ts";

/**
 * Asks the policy about a checked call and, if the policy demands it, a person. Only this function makes an
 * `ApprovedCall`.
 *
 * @param parked the parked call that is made now: it has its answer, which holds if nothing has changed
 * @throws CallEnded "denied" or "parked"; the reason of the stop when the call is stopped while it is judged or a
 * person is asked.
 */
export async function approve(
  checked: CheckedCall,
  host: Host,
  record: Recorder,
  stop: Stop,
  parked?: ParkedCall,
): Promise<ApprovedCall> {
  const { call, decision } = await untilAborted(decide(checked, host), stop);
  if (decision.verdict === "deny") {
    throw new CallEnded({ status: "denied", reason: decision.reason ?? "Denied by the policy", by: "policy" });
  }
  if (decision.verdict === "allow") return brand(call, decision);
  const remaining = await untilAborted(host.grants.remaining(call, decision), stop);
  if (remaining === undefined) return brand(call, decision); // granted earlier
  const question = host.approvers === undefined ? remaining : { ...remaining, approvers: host.approvers };
  const approval = await answerTo(await untilAborted(withChange(call, host), stop), question);
  if (approval.answer === "refuse") {
    throw new CallEnded({ status: "denied", reason: refusal(call, approval.reason), by: "person" });
  }
  await host.grants.remember(question, approval);
  stop.throwIfAborted();
  return brand(call, question, approval);

  async function answerTo(asked: CheckedCall, about: Decision): Promise<Approval> {
    if (parked === undefined && (await host.isApproved?.(asked)) === true) return { answer: "once" };
    if (parked === undefined) return ask(asked, about, host, record, stop.signal);
    return usable(await stillApproved(asked, about, parked, host, record));
  }
}

/**
 * The call with what it would change, for people. Its approval is for that content: the input cannot change any more.
 */
async function withChange(call: CheckedCall, { backend }: Pick<Host, "backend">): Promise<CheckedCall> {
  if (call.tool.change === undefined || !call.effects.some(({ kind }) => kind === "write")) return call;
  const change = await call.tool.change(call.input, backend).catch(() => undefined);
  if (change === undefined || change === "") return call;
  return {
    ...call,
    effects: call.effects.map((effect) => (effect.kind === "write" ? { ...effect, change } : effect)),
  };
}

function brand({ request, tool, input, effects }: CheckedCall, decision: Decision, approval?: Approval): ApprovedCall {
  const call =
    approval === undefined
      ? { request, tool, input, effects, decision }
      : { request, tool, input, effects, decision, approval };
  return call as ApprovedCall;
}
