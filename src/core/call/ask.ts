import { whyNotFrom } from "../contract/approvers.ts";
import type { CheckedCall } from "../contract/call.ts";
import type { Approval, Decision } from "../contract/decision.ts";
import type { Approver } from "../contract/policy.ts";
import type { Json } from "../contract/schema.ts";
import type { QuestionId } from "../contract/question.ts";
import { Stop, pause, untilAborted } from "../util/abort.ts";
import { messageOf } from "../util/errors.ts";
import { randomName } from "../util/identifier.ts";
import { plural } from "../util/text.ts";
import type { Host } from "./host.ts";
import { canPark, park } from "./park.ts";
import type { Recorder } from "./record.ts";
import { CallEnded } from "./result.ts";
import type { Decided } from "./watch.ts";

/** How often to check that a person who can answer is still connected, in milliseconds. */
const LOOK_MS = 2_000;

/**
 * Asks for approval of a call. Asks the call's approver, if it may approve the call, and everybody who answers
 * questions of the store. The first answer counts and closes the question for all others. Without an approver, waits up
 * to `answerWithinMs` for an answer from the store, as long as somebody is connected who can answer. With
 * `parkAfterMs`, parks the call instead of denying it, and parks it when the approver has not answered after that time.
 *
 * @throws CallEnded "denied" when nobody can answer or nobody did in time, or "parked"; the signal's reason when the
 * call is stopped.
 */
export async function ask(
  call: CheckedCall,
  decision: Decision,
  host: Host,
  record: Recorder,
  signal: AbortSignal,
): Promise<Approval> {
  const { watch } = host;
  const approver = whyNotFrom("terminal", decision) === undefined ? host.approver : undefined;
  const parkAfterMs = host.parkAfterMs !== undefined && canPark(call, host) ? host.parkAfterMs : undefined;
  if (approver === undefined && parkAfterMs === undefined && !(await untilAborted(canWait(host), signal)))
    throw denied(decision, NOBODY, host);
  const question = randomName(16);
  const done = new AbortController();
  const asking = new Stop(signal, done.signal);
  let forget = () => {};
  const elsewhere = new Promise<Decided>((resolve) => {
    forget = watch.question(question, resolve);
  });
  record.asked(question, call.effects, decision);
  if (approver === undefined) host.onWaiting?.({ question, call, decision });
  notifyHooks(call, host, signal);
  let parking: Promise<Decided> | undefined;
  const parked = () => (parking ??= park(question, call, decision, host));
  const refused = (reason: string) =>
    decide(question, { approval: { answer: "refuse", reason }, by: NO_ANSWER }, host, asking.signal);
  const here =
    approver === undefined
      ? nobodyAnswers(parkAfterMs ?? host.answerWithinMs, host, record, asking.signal).then((why) =>
          parkAfterMs === undefined ? refused(why) : parked(),
        )
      : answerOf(approver, shownOf(call, host), decision, asking.signal).then((own) =>
          decide(question, own, host, asking.signal),
        );
  const waits = approver !== undefined && parkAfterMs !== undefined && parkAfterMs > 0;
  const tooLate = waits ? [pause(parkAfterMs, asking.signal).then(() => (asking.aborted ? elsewhere : parked()))] : [];
  // ignored if the other one, or another process, answered
  for (const each of [here, ...tooLate]) each.catch(() => undefined);
  try {
    const first = Promise.race<Counting>([elsewhere, here, ...tooLate]);
    // Once it is being parked, only the store knows whether an answer came before: after that, another process has it.
    const answer = await untilAborted(
      first.then((given) => parking ?? given),
      signal,
    );
    record.answered(question, answer, { isStored: !("unstored" in answer) });
    const { approval, by } = answer;
    if (by === NO_ANSWER && "reason" in approval) throw denied(decision, approval.reason ?? NOBODY, host);
    if (approver === undefined) record.updated({ displayMessage: null });
    return usable(approval);
  } finally {
    forget();
    done.abort(new Error("the question was answered elsewhere"));
    asking.unlink();
  }
}

/** The call as people are shown it: known secrets are masked, by name. What is approved is the call itself. */
function shownOf(call: CheckedCall, { mask }: Pick<Host, "mask">): CheckedCall {
  const input = mask.json(call.request.input as Json);
  return { ...call, effects: mask.json(call.effects), request: { ...call.request, input } };
}

/** Tells hooks that a person is asked. Waits for none. */
function notifyHooks({ tool, request: { thread } }: CheckedCall, { hooks, backend }: Host, signal: AbortSignal) {
  const event = {
    event: "Notification",
    message: `${tool.name} waits for approval`,
    about: "permission_prompt",
  } as const;
  void hooks?.on(event, { workDir: backend.workDir, thread, signal })?.catch(() => undefined);
}

/** The answer that counts: the first one. `unstored`: the store does not have it. */
type Counting = Decided & { readonly unstored?: true };

async function decide(
  question: QuestionId,
  { approval, by }: Decided,
  { store, mask }: Pick<Host, "store" | "mask">,
  signal: AbortSignal,
): Promise<Counting> {
  signal.throwIfAborted(); // too late: the question is closed
  try {
    const outcome = await store.answer(question, mask.json(approval), by);
    if (outcome.status === "closed" && outcome.first !== undefined) return outcome.first;
    if (outcome.status === "answered") return { approval, by };
  } catch {
    // If the store is not writable, `begin` refuses acts; a call that only reads may run.
  }
  return { approval, by, unstored: true };
}

async function answerOf(
  approver: Approver,
  call: CheckedCall,
  decision: Decision,
  signal: AbortSignal,
): Promise<Decided> {
  try {
    const { by = "approver", ...approval } = await untilAborted(approver(call, decision, signal), signal);
    if (isAnswer(approval)) return { approval, by };
    throw new TypeError(`the approver answered ${JSON.stringify(approval)}`);
  } catch (error) {
    if (signal.aborted) throw error;
    return {
      approval: { answer: "refuse", reason: `Asking for approval failed: ${messageOf(error)}` },
      by: "approver",
    };
  }
}

// An approver without types may return anything: an unknown answer must not count as approval, nor an invalid time as
// no end.
const ANSWERS: ReadonlySet<unknown> = new Set<Approval["answer"]>(["once", "session", "always", "refuse"]);

/** The answer; a refusal in place of an invalid answer. */
export function usable(approval: Approval): Approval {
  return isAnswer(approval) ? approval : { answer: "refuse", reason: `The answer was ${JSON.stringify(approval)}.` };
}

function isAnswer(approval: Approval | undefined): boolean {
  if (!ANSWERS.has(approval?.answer) || approval === undefined) return false;
  if ("edited" in approval && !isObject(approval.edited)) return false;
  return !("until" in approval) || approval.until === undefined || Number.isFinite(approval.until);
}

function isObject(value: unknown): boolean {
  return value === undefined || (typeof value === "object" && value !== null && !Array.isArray(value));
}

/** Resolves to why nobody has answered: the time is over, or nobody who can answer is connected. */
async function nobodyAnswers(withinMs: number, host: Host, record: Recorder, signal: AbortSignal): Promise<string> {
  record.updated({ displayMessage: "Waiting for a person's answer" });
  const deadline = performance.now() + withinMs;
  for (;;) {
    const left = deadline - performance.now();
    if (left <= 0) return `nobody answered within ${inWords(withinMs)}`;
    if (!(await isAttended(host))) return "nobody who can answer is connected any more";
    await pause(Math.min(left, LOOK_MS), signal);
    signal.throwIfAborted();
  }
}

/** Recorded as the author of a refusal that no person made. */
export const NO_ANSWER = "nobody";

/** Why, when no person can be asked. */
export const NOBODY = "there is nobody to ask";

/** A time in words: "10 minutes". */
export function inWords(milliseconds: number): string {
  const seconds = Math.round(milliseconds / 1_000);
  return seconds >= 120 ? plural(Math.round(seconds / 60), "minute") : plural(seconds, "second");
}

async function canWait(host: Host): Promise<boolean> {
  return host.answerWithinMs > 0 && (await isAttended(host));
}

async function isAttended({ store }: Pick<Host, "store">): Promise<boolean> {
  return store.isAttended().catch(() => false);
}

/** The end of a call that a person must approve, when `why` nobody did. */
export function denied(
  { reason = "This call requires approval" }: Decision,
  why: string,
  { howToApprove }: Host,
): CallEnded {
  return new CallEnded({ status: "denied", reason: `${reason}, and ${why}. ${howToApprove}`, by: "nobody" });
}
