import type { Store } from "../../contract/activity.ts";
import type { Approval } from "../../contract/decision.ts";
import { ToolFailure } from "../../contract/failure.ts";
import type { OpenQuestion } from "../../contract/question.ts";
import { oneLine } from "../../output/terminal-text.ts";
import { describeCall } from "../../policy/describe.ts";
import { longestGrant } from "../../policy/scopes.ts";
import { linkedTo, pause } from "../../util/abort.ts";
import { questionOf } from "../approver.ts";
import { EXIT } from "../exit.ts";
import type { GlobalOptions } from "../options.ts";
import { withStore } from "../settings.ts";
import { untilStopped } from "../signals.ts";
import { askOnTerminal, hasTerminal } from "../terminal.ts";

/** How often it is looked for questions, in milliseconds. */
const LOOK_MS = 500;

type Options = GlobalOptions & { readonly json?: true };

/** Lists the open questions of all processes: some lines each, or with `json` `[OpenQuestion]`. */
export async function listApprovals(options: Options): Promise<void> {
  await withStore(options, async (store) => {
    const questions = await store.questions();
    if (options.json) return say(JSON.stringify(questions));
    if (questions.length === 0) say("(no open questions)");
    for (const question of questions) show(question);
  });
}

/** Answers a question. Exit code 1 when it is not open any more. */
export async function answerApproval(
  id: string,
  answer: Approval["answer"],
  { reason, ...options }: Options & { readonly reason?: string },
): Promise<void> {
  if (reason !== undefined && answer !== "refuse") throw new Error("--reason goes with refuse");
  await withStore(options, async (store) => {
    const question = (await store.questions()).find((each) => each.question === id);
    const longest = question === undefined ? "always" : longestGrant(question.decision);
    if (answer === "always" ? longest !== "always" : answer === "session" && longest === "once") {
      throw new ToolFailure(
        `this cannot be allowed for longer than ${longest === "once" ? "one call" : "the session"}`,
        {
          hint: `Answer ${longest}.`,
        },
      );
    }
    const approval = answer === "refuse" ? { answer, ...(reason !== undefined && { reason }) } : { answer };
    const outcome = await store.answer(id, approval, "handrail approvals");
    if (outcome.status === "answered") return say(`${id} is answered: ${answer}.`);
    if (outcome.status === "unknown")
      throw new ToolFailure(`there is no question ${id}`, { hint: "`handrail approvals` lists them." });
    const { first } = outcome;
    const how = first === undefined ? "its call has ended" : `answered through ${first.by}: ${first.approval.answer}`;
    process.stderr.write(`handrail: ${id} is not open any more: ${how}\n`);
    process.exitCode = EXIT.notSucceeded;
  });
}

/**
 * Waits for questions until it is stopped: calls that nobody else could be asked about wait meanwhile. On a terminal each question is asked there;
 * elsewhere, or with `json`, it is only printed, for `answerApproval`.
 */
export async function waitForApprovals(options: Options): Promise<void> {
  const asks = options.json === undefined && process.stdout.isTTY && hasTerminal();
  const stopped = untilStopped();
  await withStore(options, async (store) => {
    const leave = await store.attend();
    process.stderr.write("handrail: waiting for questions; Ctrl-C ends it\n");
    const seen = new Set<string>();
    try {
      while (!stopped.signal.aborted) {
        const next = (await store.questions()).find(({ question }) => !seen.has(question));
        if (next === undefined) {
          await pause(LOOK_MS, stopped.signal);
          continue;
        }
        seen.add(next.question);
        if (options.json) say(JSON.stringify(next));
        else if (!asks) show(next);
        else if ((await askHere(store, next, stopped.signal)) === "left") return;
      }
    } finally {
      await leave();
    }
  }).finally(stopped.release);
}

/** Asks on the terminal. The question goes away when it is answered elsewhere or its call ends. */
async function askHere(store: Store, question: OpenQuestion, stop: AbortSignal): Promise<"asked" | "left"> {
  const { name, thread, effects, decision } = question;
  const closed = linkedTo([stop]);
  const done = new AbortController();
  const { text, choices } = questionOf({ tool: { name }, effects }, decision);
  void watchQuestion(store, question, done.signal).then((isClosed) => {
    if (isClosed) closed.abort(new Error("answered elsewhere"));
  });
  try {
    say(`${oneLine(name, 100)} in thread ${oneLine(thread, 100)}, risk ${decision.risk}:`);
    const answer = await askOnTerminal(text, closed.signal, choices);
    if (answer === "left" || answer === "no terminal") return "left";
    const approval: Approval =
      typeof answer === "object"
        ? { answer: "refuse", reason: answer.no }
        : { answer: answer === "yes" ? "once" : answer === "no" ? "refuse" : answer };
    const outcome = await store.answer(question.question, approval, "handrail approvals");
    if (outcome.status !== "answered") say("It was not open any more.");
  } catch (error) {
    if (!closed.signal.aborted) throw error;
    if (!stop.aborted) say("\n(answered elsewhere, or its call has ended)");
  } finally {
    done.abort();
    closed.unlink();
  }
  return "asked";
}

/** Resolves to true when the question is not open any more, to false when the signal fires. */
async function watchQuestion(store: Store, { question }: OpenQuestion, signal: AbortSignal): Promise<boolean> {
  while (!signal.aborted) {
    await pause(LOOK_MS, signal);
    const open = await store.questions().catch(() => undefined);
    if (open !== undefined && !open.some((each) => each.question === question)) return !signal.aborted;
  }
  return false;
}

function show({ question, name, thread, effects, decision }: OpenQuestion): void {
  say(`${question}  ${oneLine(name, 100)} in thread ${oneLine(thread, 100)}, risk ${decision.risk}`);
  for (const line of describeCall({ tool: { name }, effects }).split("\n")) say(`  ${oneLine(line, Infinity)}`);
  if (decision.reason !== undefined) say(`  (${oneLine(decision.reason, 400)})`);
}

function say(line: string): void {
  process.stdout.write(`${line}\n`);
}
