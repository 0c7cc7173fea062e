import type { CallEvent } from "../../core/contract/activity.ts";
import type { Approval } from "../../core/contract/decision.ts";
import type { ParkedCall } from "../../core/contract/parked.ts";
import type { AnswerOutcome, OpenQuestion, QuestionId } from "../../core/contract/question.ts";
import type { Dialect } from "../db/dialect.ts";
import { type Work, all, lock } from "../db/work.ts";
import { insertEvents, keyOf, rowOf } from "./event-rows.ts";
import { closedBecause } from "./parked.ts";
import { NO_SESSION, moveIn, parkedIn } from "./parked-rows.ts";

type Requested = Extract<CallEvent, { type: "approval.requested" }>;
type Decided = Extract<CallEvent, { type: "approval.decided" }>;
type Started = Extract<CallEvent, { type: "call.started" }>;

/**
 * Makes an open question from the event that asked it and the event that started its call, which may have been removed.
 */
export function openQuestion(
  { question, call, thread, effects, decision, at }: Requested,
  started: Pick<Started, "name" | "input" | "agent"> = { name: "", input: null },
): OpenQuestion {
  const { name, input, agent } = started;
  const by = agent !== undefined && { agent };
  return { question, call, thread, name, ...by, input, effects, decision, askedMs: at };
}

/** Adds to a question that its call is parked. */
export function parkedQuestion(question: OpenQuestion, { untilMs, changed }: ParkedCall): OpenQuestion {
  return { ...question, parked: { untilMs, ...(changed !== undefined && { changed }) } };
}

/** Makes the event that answers a question. */
export function answerTo(
  { question, call, thread }: Pick<OpenQuestion, "question" | "call" | "thread">,
  approval: Approval,
  { by, at }: { readonly by: string; readonly at: number },
): Decided {
  return { type: "approval.decided", call, thread, at, question, approval, by };
}

/** The condition of the index of questions, in the form that SQLite matches. */
const IS_QUESTION = "type IN ('approval.requested', 'approval.decided')";

const isOpen = ({ facet }: Dialect) => `NOT EXISTS (
    SELECT 1 FROM events AS decided WHERE ${IS_QUESTION} AND decided.type = 'approval.decided'
      AND ${facet("question", "decided")} = ${facet("question", "asked")})
  AND NOT EXISTS (
    SELECT 1 FROM events AS finished WHERE finished.call = asked.call AND finished.type = 'call.finished')`;

/** How many questions one statement reads. More, and PostgreSQL would read all events instead of these. */
const PAGE_QUESTIONS = 500;

/** The open questions in a database, oldest first. */
export function* questionsIn(dialect: Dialect): Work<readonly OpenQuestion[]> {
  const found: OpenQuestion[] = [];
  for (let after = 0; ;) {
    // Of a question that is answered while its call ends in another transaction, a row may be left.
    const rows = yield* all<{ id: number; asked: string | null; started: string | null; parked: string | null }>(
      `SELECT open.asked AS id, CASE WHEN ${isOpen(dialect)} THEN asked.body END AS asked,
         (SELECT body FROM parked_calls WHERE call = asked.call AND state = 'parked') AS parked,
         (SELECT body FROM events AS started
          WHERE started.call = asked.call AND started.type = 'call.started' LIMIT 1) AS started
       FROM (SELECT asked FROM open_questions WHERE asked > ? ORDER BY asked LIMIT ${PAGE_QUESTIONS}) AS open
       LEFT JOIN events AS asked ON asked.id = open.asked
       ORDER BY open.asked`,
      [after],
    );
    for (const { id, asked, started, parked } of rows) {
      after = id;
      if (asked === null) continue;
      const begun = started === null ? undefined : (JSON.parse(started) as Started);
      const question = openQuestion(JSON.parse(asked) as Requested, begun);
      found.push(parked === null ? question : parkedQuestion(question, JSON.parse(parked) as ParkedCall));
    }
    if (rows.length < PAGE_QUESTIONS) return found;
  }
}

/** Answers a question in a database if it is open. Call it inside a transaction. */
export function* answerIn(
  dialect: Dialect,
  question: QuestionId,
  approval: Approval,
  given: { readonly by: string; readonly at: number },
): Work<AnswerOutcome> {
  const [event] = yield* eventsOf(dialect, question);
  if (event !== undefined) yield* lock(keyOf(event.call));
  const [parked] = yield* parkedIn("question = ?", [keyOf(question)]);
  if (parked?.state === "parked") {
    const { by, at } = given;
    const { refused } = yield* moveIn(parked, { to: "ready", approval, by }, { at, session: NO_SESSION });
    return refused === undefined ? { status: "answered" } : { status: "closed", reason: refused };
  }
  const asked = yield* askedIn(dialect, question);
  if ("status" in asked) return asked;
  yield* insertEvents(NO_SESSION, [rowOf(answerTo(asked, approval, given))]);
  return { status: "answered" };
}

/** Returns the event that asked a question if the question is open, otherwise why it is not open. */
export function* askedIn(
  dialect: Dialect,
  question: QuestionId,
): Work<Requested | Exclude<AnswerOutcome, { status: "answered" }>> {
  const events = yield* eventsOf(dialect, question);
  const asked = events.find((event) => event.type === "approval.requested");
  if (asked === undefined) return { status: "unknown" };
  const decided = events.find((event) => event.type === "approval.decided");
  const call = keyOf(asked.call);
  const [finished] = yield* all<{ body: string }>("SELECT body FROM events WHERE call = ? AND type = 'call.finished'", [
    call,
  ]);
  if (decided === undefined && finished === undefined) return asked;
  const ending = finished && (JSON.parse(finished.body) as { error?: string });
  const [later] = yield* parkedIn("call = ? AND question <> ?", [call, keyOf(question)]);
  return closedBecause(decided, ending, later);
}

function* eventsOf(dialect: Dialect, question: QuestionId): Work<readonly (Requested | Decided)[]> {
  const rows = yield* all<{ body: string }>(
    `SELECT body FROM events WHERE ${IS_QUESTION} AND ${dialect.facet("question")} = ? ORDER BY id`,
    [keyOf(question)],
  );
  return rows.map(({ body }) => JSON.parse(body) as Requested | Decided);
}
