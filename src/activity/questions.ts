import type { CallEvent } from "../contract/activity.ts";
import type { Approval } from "../contract/decision.ts";
import type { AnswerOutcome, OpenQuestion, QuestionId } from "../contract/question.ts";
import type { Connection } from "../db/driver.ts";
import { insertEvents, keyOf, rowOf } from "./event-rows.ts";

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

/** Makes the event that answers a question. */
export function answerTo(
  { question, call, thread }: Pick<OpenQuestion, "question" | "call" | "thread">,
  approval: Approval,
  { by, at }: { readonly by: string; readonly at: number },
): Decided {
  return { type: "approval.decided", call, thread, at, question, approval, by };
}

/** The outcome of a late answer. */
export function closedBy(decided: Decided | undefined): AnswerOutcome {
  if (decided === undefined) return { status: "closed" };
  const { approval, by } = decided;
  return { status: "closed", first: { approval, by } };
}

/** The condition of the index of questions, in the form that SQLite matches. */
const IS_QUESTION = "type IN ('approval.requested', 'approval.decided')";

const IS_OPEN = `NOT EXISTS (
    SELECT 1 FROM events AS decided WHERE ${IS_QUESTION} AND decided.type = 'approval.decided'
      AND json_extract(decided.body, '$.question') = json_extract(asked.body, '$.question'))
  AND NOT EXISTS (
    SELECT 1 FROM events AS finished WHERE finished.call = asked.call AND finished.type = 'call.finished')`;

/** The open questions in a database, oldest first. */
export function questionsIn(connection: Connection): readonly OpenQuestion[] {
  return connection
    .all<{ asked: string; started: string | null }>(
      `SELECT asked.body AS asked,
         (SELECT body FROM events AS started
          WHERE started.call = asked.call AND started.type = 'call.started') AS started
       FROM events AS asked INDEXED BY events_questions WHERE ${IS_QUESTION} AND asked.type = 'approval.requested'
         AND json_extract(asked.body, '$.question') IS NOT NULL AND ${IS_OPEN}
       ORDER BY id`,
    )
    .map(({ asked, started }) => {
      return openQuestion(
        JSON.parse(asked) as Requested,
        started === null ? undefined : (JSON.parse(started) as Started),
      );
    });
}

/** Answers a question in a database if it is open. Call it inside a transaction. */
export function answerIn(
  connection: Connection,
  question: QuestionId,
  approval: Approval,
  given: { readonly by: string; readonly at: number },
): AnswerOutcome {
  const events = connection
    .all<{ body: string }>(
      `SELECT body FROM events WHERE ${IS_QUESTION} AND json_extract(body, '$.question') = ? ORDER BY id`,
      [keyOf(question)],
    )
    .map(({ body }) => JSON.parse(body) as Requested | Decided);
  const asked = events.find((event) => event.type === "approval.requested");
  if (asked === undefined) return { status: "unknown" };
  const decided = events.find((event) => event.type === "approval.decided");
  const [finished] = connection.all("SELECT 1 FROM events WHERE call = ? AND type = 'call.finished'", [
    keyOf(asked.call),
  ]);
  if (decided !== undefined || finished !== undefined) return closedBy(decided);
  insertEvents(connection, NO_SESSION, [rowOf(answerTo(asked, approval, given))]);
  return { status: "answered" };
}

/** An answer needs no session: nothing must be closed when its process dies. */
const NO_SESSION = 0;
