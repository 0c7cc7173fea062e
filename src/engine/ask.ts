import type { CheckedCall } from "../contract/call.ts";
import type { Approval, Decision } from "../contract/decision.ts";
import type { Approver } from "../contract/policy.ts";
import type { QuestionId } from "../contract/question.ts";
import { Stop, pause, untilAborted } from "../util/abort.ts";
import { messageOf } from "../util/errors.ts";
import { randomName } from "../util/identifier.ts";
import { plural } from "../util/text.ts";
import type { Host } from "./host.ts";
import type { Recorder } from "./record.ts";
import { CallEnded } from "./result.ts";
import type { Decided } from "./watch.ts";

/** How often to check that a person who can answer is still connected, in milliseconds. */
const LOOK_MS = 2_000;

/**
 * Asks for approval of a call: its own approver, and everybody who answers questions of the store. The first answer
 * counts and closes the question for all others. Without an approver, waits up to `answerWithinMs` for an answer from
 * the store, as long as somebody is connected who can answer.
 *
 * @throws CallEnded "denied" when nobody can answer or nobody did in time; the signal's reason when the call is
 * stopped.
 */
export async function ask(
  call: CheckedCall,
  decision: Decision,
  host: Host,
  record: Recorder,
  signal: AbortSignal,
): Promise<Approval> {
  const { approver, watch } = host;
  if (approver === undefined && !(await untilAborted(canWait(host), signal))) throw denied(decision, NOBODY, host);
  const question = randomName(16);
  const done = new AbortController();
  const asking = new Stop(signal, done.signal);
  let forget = () => {};
  const elsewhere = new Promise<Decided>((resolve) => {
    forget = watch.question(question, resolve);
  });
  record.asked(question, call.effects, decision);
  const here =
    approver === undefined
      ? nobodyAnswers(question, host, record, asking.signal)
      : answerOf(approver, call, decision, asking.signal).then((own) => decide(question, own, host, asking.signal));
  here.catch(() => undefined); // ignored if the question was answered by another process
  try {
    const answer = await untilAborted(Promise.race([elsewhere, here]), signal);
    record.answered(question, answer, { isStored: !("unstored" in answer) });
    const { approval, by } = answer;
    if (!isAnswer(approval)) return { answer: "refuse", reason: `The answer was ${JSON.stringify(approval)}.` };
    if (by === NO_ANSWER && "reason" in approval) throw denied(decision, approval.reason ?? NOBODY, host);
    if (approver === undefined) record.updated({ displayMessage: null });
    return approval;
  } finally {
    forget();
    done.abort(new Error("the question was answered elsewhere"));
    asking.unlink();
  }
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
    // If the store is not writable, `begin` refuses acts; this call may only read.
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

function isAnswer(approval: Approval | undefined): boolean {
  if (!ANSWERS.has(approval?.answer) || approval === undefined) return false;
  return !("until" in approval) || approval.until === undefined || Number.isFinite(approval.until);
}

/** Closes the question when its time is over, or when nobody is connected who can answer it. */
async function nobodyAnswers(
  question: QuestionId,
  host: Host,
  record: Recorder,
  signal: AbortSignal,
): Promise<Counting> {
  record.updated({ displayMessage: "Waiting for a person's answer" });
  const deadline = performance.now() + host.answerWithinMs;
  for (;;) {
    const left = deadline - performance.now();
    await pause(Math.max(0, Math.min(left, LOOK_MS)), signal);
    signal.throwIfAborted();
    const hasTime = left > LOOK_MS;
    if (hasTime && (await isAttended(host))) continue;
    const reason = hasTime
      ? "nobody who can answer is connected any more"
      : `nobody answered within ${inWords(host.answerWithinMs)}`;
    return decide(question, { approval: { answer: "refuse", reason }, by: NO_ANSWER }, host, signal);
  }
}

/** Recorded as the author of a refusal that no person made. */
const NO_ANSWER = "nobody";

const NOBODY = "there is nobody to ask";

function inWords(milliseconds: number): string {
  const seconds = Math.round(milliseconds / 1_000);
  return seconds >= 120 ? plural(Math.round(seconds / 60), "minute") : plural(seconds, "second");
}

async function canWait(host: Host): Promise<boolean> {
  return host.answerWithinMs > 0 && (await isAttended(host));
}

async function isAttended({ store }: Pick<Host, "store">): Promise<boolean> {
  return store.isAttended().catch(() => false);
}

function denied({ reason = "This call requires approval" }: Decision, why: string, { howToApprove }: Host): CallEnded {
  return new CallEnded({ status: "denied", reason: `${reason}, and ${why}. ${howToApprove}`, by: "nobody" });
}
