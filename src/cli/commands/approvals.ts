import type { Store } from "../../core/contract/activity.ts";
import { whyNotFrom } from "../../core/contract/approvers.ts";
import type { Approval, FormInput } from "../../core/contract/decision.ts";
import { ToolFailure } from "../../core/contract/failure.ts";
import type { OpenQuestion } from "../../core/contract/question.ts";
import { onEvents } from "../../core/call/on-events.ts";
import { oneLine } from "../../core/output/terminal-text.ts";
import { describeCall, describedQuestion, foldedCall } from "../../policy/describe.ts";
import { longestGrant } from "../../policy/scopes.ts";
import { Stop } from "../../core/util/abort.ts";
import { createWake } from "../../core/util/wake.ts";
import { parseJson } from "../../core/util/json.ts";
import { askHere, questionOf } from "../approver.ts";
import { EXIT } from "../exit.ts";
import type { GlobalOptions } from "../options.ts";
import { withStore } from "../settings.ts";
import { untilStopped } from "../signals.ts";
import { hasTerminal } from "../terminal.ts";
import { note, say, sayJson, warn } from "../say.ts";
import type { Io } from "../io.ts";

/** The commands of `handrail approvals`. */
export const run = { list: listApprovals, show: showApproval, answer: answerApproval, wait: waitForApprovals };

/** What may open or close a question. */
const CHANGES = ["approval.requested", "approval.decided", "call.parked", "call.finished"] as const;

type Options = GlobalOptions & { readonly json?: true };

/**
 * Lists the open questions of all processes, parked ones included: a few lines each, or with `json` as
 * `[OpenQuestion]`.
 */
async function listApprovals(options: Options): Promise<void> {
  await withStore(options, async (store) => {
    const questions = await store.questions();
    if (options.json) return sayJson(options.io, questions);
    say(options.io, questionsText(questions));
  });
}

/** Lists open questions, a few lines each. */
export function questionsText(questions: readonly OpenQuestion[]): string {
  return questions.flatMap((each) => linesOf(each)).join("\n") || "(no open questions)";
}

/** Shows all of an open question. @throws ToolFailure when there is none. */
async function showApproval(id: string, options: Options): Promise<void> {
  await withStore(options, async (store) => {
    const question = (await store.questions()).find((each) => each.question === id);
    if (question === undefined) throw unknownQuestion(id);
    if (options.json) return sayJson(options.io, question);
    say(options.io, linesOf(question, "whole").join("\n"));
  });
}

const unknownQuestion = (id: string) =>
  new ToolFailure(`there is no question ${id}`, { hint: "`handrail approvals` lists them." });

/** Answers a question. Exit code 1 when it is no longer open. @throws Error without a terminal of its own. */
async function answerApproval(
  id: string,
  answer: Approval["answer"],
  { reason, input, ...options }: Options & { readonly reason?: string; readonly input?: string },
): Promise<number> {
  if (reason !== undefined && answer !== "refuse") throw new Error("--reason goes with refuse");
  if (input !== undefined && answer !== "once") throw new Error("--input goes with once");
  const filledIn = input === undefined ? {} : { input: fieldsOf(input) };
  // A process that a command started has no terminal, even if its marks are lost.
  if (!hasTerminal(options.io))
    throw new Error("a question is answered at a terminal: run this in one (over SSH: ssh -t), or use the console");
  return await withStore(options, async (store) => {
    const approval: Approval = { answer, ...(reason !== undefined && { reason }), ...filledIn };
    const { text, isAnswered } = await answerAtTerminal(store, id, approval);
    if (isAnswered) say(options.io, text);
    else warn(options.io, [text]);
    return isAnswered ? EXIT.ok : EXIT.notSucceeded;
  });
}

/**
 * Answers a question for the person at this terminal. Returns a sentence on what came of it.
 *
 * @throws ToolFailure when there is no such question, or the answer is not allowed.
 */
export async function answerAtTerminal(
  store: Pick<Store, "questions" | "answer">,
  id: string,
  approval: Approval,
): Promise<{ readonly text: string; readonly isAnswered: boolean }> {
  const { answer } = approval;
  const question = (await store.questions()).find((each) => each.question === id);
  const whyNot = question && answer !== "refuse" ? whyNotFrom("terminal", question.decision) : undefined;
  if (whyNot !== undefined) throw new ToolFailure(whyNot.replace(/\.$/, ""));
  const longest = question === undefined ? "always" : longestGrant(question.decision);
  if (answer === "always" ? longest !== "always" : answer === "session" && longest === "once") {
    const most = longest === "once" ? "one call" : "the session";
    throw new ToolFailure(`this cannot be allowed for longer than ${most}`, { hint: `Answer ${longest}.` });
  }
  const outcome = await store.answer(id, approval, "handrail approvals");
  if (outcome.status === "unknown") throw unknownQuestion(id);
  if (outcome.status === "answered") return { text: `${id} is answered: ${answer}.`, isAnswered: true };
  return { text: `${id} is not open any more: ${oneLine(outcome.reason, 1_000)}`, isAnswered: false };
}

/**
 * Waits for questions until it is stopped. Meanwhile, calls wait whose questions nobody else could answer. On a
 * terminal, asks each question there. Otherwise, or with `json`, only prints it, for `answerApproval`.
 */
async function waitForApprovals(options: Options): Promise<void> {
  const asks = options.json === undefined && options.io.stdout.isTTY && hasTerminal(options.io);
  const stopped = untilStopped(options.io);
  await withStore(options, async (store) => {
    const leave = await store.attend();
    note(options.io, "handrail: waiting for questions; Ctrl-C stops");
    const seen = new Set<string>();
    let change = createWake();
    void onEvents(store, CHANGES, () => change.resolve(), stopped.signal);
    try {
      while (!stopped.signal.aborted) {
        const changed = change;
        const next = (await store.questions()).find(({ question }) => !seen.has(question));
        if (next === undefined) {
          await changed.untilResolved(stopped.signal);
          change = createWake();
          continue;
        }
        seen.add(next.question);
        if (options.json) sayJson(options.io, next);
        else if (!asks || whyNotFrom("terminal", next.decision) !== undefined) show(options.io, next);
        else if ((await askAbout(options.io, store, next, stopped.signal)) === "left") return;
      }
    } finally {
      await leave();
    }
  }).finally(stopped.release);
}

/** Asks on the terminal. Removes the question when it is answered by another process or its call ends. */
async function askAbout(io: Io, store: Store, question: OpenQuestion, stop: AbortSignal): Promise<"asked" | "left"> {
  const { decision } = question;
  const closed = new Stop(stop);
  const done = new AbortController();
  void watchQuestion(store, question, done.signal).then((isClosed) => {
    if (isClosed) closed.abort(new Error("answered elsewhere"));
  });
  try {
    say(io, `${callerOf(question)}, risk ${decision.risk}:`);
    const approval = await askHere(io, questionOf(describedQuestion(question), decision), closed.signal);
    if (typeof approval === "string") return "left";
    const outcome = await store.answer(question.question, approval, "handrail approvals");
    if (outcome.status !== "answered") say(io, "It was not open any more.");
  } catch (error) {
    if (!closed.signal.aborted) throw error;
    if (!stop.aborted) say(io, "\n(answered elsewhere, or its call has ended)");
  } finally {
    done.abort();
    closed.unlink();
  }
  return "asked";
}

/** Resolves to true when the question is no longer open, and to false when the signal fires. */
async function watchQuestion(store: Store, { question }: OpenQuestion, signal: AbortSignal): Promise<boolean> {
  const closed = new Stop(signal);
  const look = async () => {
    const open = await store.questions().catch(() => undefined);
    if (open !== undefined && !open.some((each) => each.question === question)) closed.abort(undefined);
  };
  await onEvents(store, CHANGES, () => void look(), closed.signal);
  closed.unlink();
  return closed.aborted && !signal.aborted;
}

/** A duration for people: "40 s", "12 min", "3 h", "6 days". */
function inWords(ms: number): string {
  const seconds = Math.max(0, Math.round(ms / 1_000));
  if (seconds < 120) return `${seconds} s`;
  if (seconds < 7_200) return `${Math.round(seconds / 60)} min`;
  return seconds < 172_800 ? `${Math.round(seconds / 3_600)} h` : `${Math.round(seconds / 86_400)} days`;
}

function fieldsOf(text: string): FormInput {
  const parsed = parseJson(text);
  const input = parsed.ok ? parsed.value : undefined;
  if (typeof input === "object" && input !== null && !Array.isArray(input)) return input as FormInput;
  throw new Error(`--input: expected a JSON object with the fields of the form, got ${oneLine(text, 100)}`);
}

function show(io: Io, open: OpenQuestion): void {
  say(io, linesOf(open).join("\n"));
}

function linesOf(open: OpenQuestion, size: "folded" | "whole" = "folded"): readonly string[] {
  const { question, decision, parked, askedMs } = open;
  const waits = `asked ${inWords(Date.now() - askedMs)} ago`;
  const until = parked === undefined ? "" : `, parked for another ${inWords(parked.untilMs - Date.now())}`;
  const whyNot = whyNotFrom("terminal", decision);
  const changed = parked?.changed && oneLine(parked.changed.join(", "), 1_000);
  const { shown, whole, isFolded } = foldedCall(describeCall(describedQuestion(open)));
  const isCut = isFolded && size === "folded";
  return [
    `${question}  ${callerOf(open)}, risk ${decision.risk}, ${waits}${until}`,
    ...(changed === undefined ? [] : [`  It was approved before. Since then this has changed: ${changed}`]),
    ...(isCut ? shown : whole).split("\n").map((line) => `  ${line}`),
    ...(isCut ? [`  All of it: handrail approvals show ${question}`] : []),
    ...(whyNot === undefined ? [] : [`  ${whyNot}`]),
    ...(decision.reason === undefined ? [] : [`  (${oneLine(decision.reason, Infinity)})`]),
  ];
}

/** Describes the caller: "bash of agent coder in thread k3v9". */
function callerOf({ name, agent, thread }: OpenQuestion): string {
  const by = agent === undefined ? "" : ` of agent ${oneLine(agent, 100)}`;
  return `${oneLine(name, 100)}${by} in thread ${oneLine(thread, 100)}`;
}
