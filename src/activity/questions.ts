import type { CallEvent } from "../contract/activity.ts";
import type { Approval } from "../contract/decision.ts";
import type { ParkedCall } from "../contract/parked.ts";
import type { AnswerOutcome, OpenQuestion, QuestionId } from "../contract/question.ts";
import type { DatabaseConnection } from "../db/driver.ts";
import { insertEvents, keyOf, rowOf } from "./event-rows.ts";
import { closedBecause } from "./parked.ts";
import { NO_SESSION, moveIn, parkedIn } from "./parked-rows.ts";

type Requested = Extract<CallEvent, { type: "approval.requested" }>;
type Decided = Extract<CallEvent, { type: "approval.decided" }>;
type Started = Extract<CallEvent, { type: "call.started" }>;

/**
 * Makes an open question from the event that asked it and the one that started its call, which may have been removed.
 */
export function openQuestion(
  { question, call, thread, effects, decision, at }: Requested,
  started: Pick<Started, "name" | "input" | "agent"> = { name: "", input: null },
): OpenQuestion {
  const { name, input, agent } = started;
  const by = agent !== undefined && { agent };
  return { question, call, thread, name, ...by, input, effects, decision, askedMs: at };
}

/** Adds that its call is parked. */
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

const IS_OPEN = `NOT EXISTS (
    SELECT 1 FROM events AS decided WHERE ${IS_QUESTION} AND decided.type = 'approval.decided'
      AND json_extract(decided.body, '$.question') = json_extract(asked.body, '$.question'))
  AND NOT EXISTS (
    SELECT 1 FROM events AS finished WHERE finished.call = asked.call AND finished.type = 'call.finished')`;

/** The open questions in a database, oldest first. */
export function questionsIn(connection: DatabaseConnection): readonly OpenQuestion[] {
  return connection
    .all<{ asked: string; started: string | null; parked: string | null }>(
      `SELECT asked.body AS asked,
         (SELECT body FROM parked_calls WHERE call = asked.call AND state = 'parked') AS parked,
         (SELECT body FROM events AS started
          WHERE started.call = asked.call AND started.type = 'call.started') AS started
       FROM events AS asked INDEXED BY events_questions WHERE ${IS_QUESTION} AND asked.type = 'approval.requested'
         AND json_extract(asked.body, '$.question') IS NOT NULL AND ${IS_OPEN}
       ORDER BY id`,
    )
    .map(({ asked, started, parked }) => {
      const question = openQuestion(
        JSON.parse(asked) as Requested,
        started === null ? undefined : (JSON.parse(started) as Started),
      );
      return parked === null ? question : parkedQuestion(question, JSON.parse(parked) as ParkedCall);
    });
}

/** Answers a question in a database if it is open. Call it inside a transaction. */
export function answerIn(
  connection: DatabaseConnection,
  question: QuestionId,
  approval: Approval,
  given: { readonly by: string; readonly at: number },
): AnswerOutcome {
  const parked = parkedIn(connection, "question = ?", [keyOf(question)])[0];
  if (parked?.state === "parked") {
    const { by, at } = given;
    const { refused } = moveIn(connection, parked, { to: "ready", approval, by }, { at, session: NO_SESSION });
    return refused === undefined ? { status: "answered" } : { status: "closed", reason: refused };
  }
  const asked = askedIn(connection, question);
  if ("status" in asked) return asked;
  insertEvents(connection, NO_SESSION, [rowOf(answerTo(asked, approval, given))]);
  return { status: "answered" };
}

/** Returns the event that asked a question which is open, or why it is not. */
export function askedIn(
  connection: DatabaseConnection,
  question: QuestionId,
): Requested | Exclude<AnswerOutcome, { status: "answered" }> {
  const events = connection
    .all<{ body: string }>(
      `SELECT body FROM events WHERE ${IS_QUESTION} AND json_extract(body, '$.question') = ? ORDER BY id`,
      [keyOf(question)],
    )
    .map(({ body }) => JSON.parse(body) as Requested | Decided);
  const asked = events.find((event) => event.type === "approval.requested");
  if (asked === undefined) return { status: "unknown" };
  const decided = events.find((event) => event.type === "approval.decided");
  const call = keyOf(asked.call);
  const [finished] = connection.all<{ body: string }>(
    "SELECT body FROM events WHERE call = ? AND type = 'call.finished'",
    [call],
  );
  if (decided === undefined && finished === undefined) return asked;
  const ending = finished && (JSON.parse(finished.body) as { error?: string });
  const [later] = parkedIn(connection, "call = ? AND question <> ?", [call, keyOf(question)]);
  return closedBecause(decided, ending, later);
}
