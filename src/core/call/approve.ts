import type { ApprovedCall, CheckedCall, ToolCall } from "../contract/call.ts";
import { type Approval, type Decision, type EditedInput, stricter } from "../contract/decision.ts";
import type { Effect } from "../contract/effect.ts";
import type { ParkedCall } from "../contract/parked.ts";
import type { Preview } from "../contract/toolkit.ts";
import { type Stop, untilAborted } from "../util/abort.ts";
import { ask, usable } from "./ask.ts";
import { check } from "./check.ts";
import { type KnownPaths, decide } from "./decide.ts";
import { editedNote } from "./edited.ts";
import { hooked, isAnsweredByHook, questionOfHook } from "./hooked.ts";
import type { Host } from "./host.ts";
import type { Recorder } from "./record.ts";
import { stillApproved } from "./park.ts";
import { CallEnded, asText, refusal } from "./result.ts";

/**
 * Asks the policy about a checked call and, if the policy demands it, a person. Only this function makes an
 * `ApprovedCall`.
 *
 * @param how.parked the parked call that is made now; its answer still counts if nothing has changed
 * @param how.paths how the real paths are found; see `decide`
 * @throws CallEnded "denied" or "parked"; the reason of the stop when the call is stopped while it is judged or a
 * person is asked.
 */
export async function approve(
  checked: CheckedCall,
  host: Host,
  record: Recorder,
  stop: Stop,
  { parked, paths }: { readonly parked?: ParkedCall; readonly paths?: KnownPaths } = {},
): Promise<ApprovedCall> {
  const { call, decision, question } = await judge(checked, host, stop, paths);
  if (question === undefined) return brand(call, decision);
  const approval = await answerTo(await untilAborted(withChange(call, host), stop), question);
  if (approval.answer === "refuse") throw refused(call, approval);
  if (approval.answer === "once" && approval.edited !== undefined)
    return approveEdited({ call, question }, approval.edited);
  await host.grants.remember(question, approval);
  stop.throwIfAborted();
  return brand(call, question, approval);

  async function answerTo(asked: CheckedCall, about: Decision): Promise<Approval> {
    if (isAnsweredByHook(asked, about)) return { answer: "once" };
    if (parked === undefined && (await host.isApproved?.(asked)) === true) return { answer: "once" };
    if (parked === undefined) return ask(asked, about, host, record, stop.signal);
    return usable(await stillApproved(asked, about, parked, host, record));
  }

  /**
   * Checks and judges a call as a person has changed it. What is denied stays denied. The person's answer counts for
   * the changed call too, unless that goes beyond the call they were asked about: then they are asked again.
   */
  async function approveEdited(asked: Questioned, edited: EditedInput): Promise<ApprovedCall> {
    const note = editedNote(edited, host);
    const { notJson: _, ...request } = { ...asked.call.request, input: edited };
    const judged = await check(request, host)
      .then((changed) => hooked(changed, host, record, stop))
      .then((changed) => judge(changed, host, stop))
      .catch((error: unknown) => {
        if (!(error instanceof CallEnded)) throw error;
        throw new CallEnded({
          status: "denied",
          reason: `${note} It did not run. ${asText(error.result)}`,
          by: "person",
        });
      });
    stop.throwIfAborted();
    if (judged.question === undefined) return brand(judged.call, judged.decision, { answer: "once", edited });
    const changed = { call: judged.call, question: judged.question };
    if (!goesBeyond(changed, asked)) return brand(judged.call, judged.question, { answer: "once", edited });
    const reason = judged.question.reason ?? "it needs approval";
    if (parked !== undefined) {
      const why = `${note} It did not run, because it needs an approval of its own: ${reason}`;
      throw new CallEnded({ status: "denied", reason: why, by: "person" });
    }
    const shown = await untilAborted(withChange(judged.call, host), stop);
    // The changed call is not parked: only arguments that the model wrote can be parked.
    const answer = await ask(shown, judged.question, { ...host, parkAfterMs: undefined }, record, stop.signal);
    if (answer.answer === "refuse") throw refused(judged.call, answer);
    if (answer.answer === "once" && answer.edited !== undefined) return approveEdited(changed, answer.edited);
    await host.grants.remember(judged.question, answer);
    stop.throwIfAborted();
    return brand(judged.call, judged.question, { answer: "once", edited });
  }
}

/** A call that a person was asked about. */
interface Questioned {
  readonly call: CheckedCall;
  readonly question: Decision;
}

/**
 * Returns what would come of a call if it were made now. Records nothing, and asks nobody.
 *
 * @throws what `check` and `approve` throw
 */
export async function previewOf(request: ToolCall, host: Host, stop: Stop): Promise<Preview> {
  const { call, question } = await judge(await check(request, host), host, stop);
  if (question === undefined) return { status: "runs" };
  return { status: "asks", call: await withChange(call, host), decision: question };
}

/** Judges a call. `question` is what a person is to be asked; absent if the call is allowed, or was granted earlier. */
async function judge(
  checked: CheckedCall,
  host: Host,
  stop: Stop,
  paths?: KnownPaths,
): Promise<{ readonly call: CheckedCall; readonly decision: Decision; readonly question?: Decision }> {
  const asks = questionOfHook(checked);
  const known = asks === undefined || paths !== "expected" ? paths : undefined;
  const { call, decision: judged } = await untilAborted(decide(checked, host, known), stop);
  const decision = stricter(judged, asks) ?? judged;
  if (decision.verdict === "deny") {
    throw new CallEnded({ status: "denied", reason: decision.reason ?? "Denied by the policy", by: "policy" });
  }
  if (decision.verdict === "allow") return { call, decision };
  const remaining = await untilAborted(host.grants.remaining(call, decision), stop);
  if (remaining === undefined) return { call, decision }; // granted earlier
  const question = host.approvers === undefined ? remaining : { ...remaining, approvers: host.approvers };
  return { call, decision, question };
}

const RISKS: readonly Decision["risk"][] = ["low", "medium", "high"];

/**
 * Whether a changed call needs its own question. It does when, compared with the call that the person was asked about,
 * it has another kind of effect, a higher risk, more access for a command, or something that only a person may approve.
 */
function goesBeyond(changed: Questioned, asked: Questioned): boolean {
  const kinds = new Set(asked.call.effects.map(({ kind }) => kind));
  const accesses = new Set(asked.call.effects.map(accessOf));
  const isForPerson = ({ scopes = [] }: Decision) => scopes.some(({ onlyPerson }) => onlyPerson === true);
  return (
    changed.call.effects.some((effect) => !kinds.has(effect.kind) || !accesses.has(accessOf(effect))) ||
    RISKS.indexOf(changed.question.risk) > RISKS.indexOf(asked.question.risk) ||
    (isForPerson(changed.question) && !isForPerson(asked.question))
  );
}

/** What a command may reach besides its own effect: whether it leaves the sandbox, and whether it outlives the call. */
function accessOf(effect: Effect): string {
  return effect.kind === "exec" ? JSON.stringify([effect.within ?? {}, effect.lifetime ?? "call"]) : "";
}

function refused(call: CheckedCall, { reason }: Extract<Approval, { answer: "refuse" }>): CallEnded {
  return new CallEnded({ status: "denied", reason: refusal(call, reason), by: "person" });
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

function brand(checked: CheckedCall, decision: Decision, approval?: Approval): ApprovedCall {
  const { request, tool, input, effects, hook, isExpected, ahead } = checked;
  const call =
    approval === undefined
      ? { request, tool, input, effects, decision, ...(isExpected && { isExpected }), ...(ahead && { ahead }) }
      : { request, tool, input, effects, decision, approval };
  return (hook === undefined ? call : { ...call, hook }) as ApprovedCall;
}
