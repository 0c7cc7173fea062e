import type { ActivityEvent, ActivityEventType, ThreadSummary } from "../../core/contract/activity.ts";
import type { CallId, ThreadId } from "../../core/contract/identity.ts";
import type { Dialect } from "../db/dialect.ts";
import { type Work, all } from "../db/work.ts";
import { clip } from "../../core/util/text.ts";
import { eventOf, keyOf, threadKey } from "./event-rows.ts";

/** The longest title, in characters of the first message of a person. */
const MAX_TITLE = 200;

/** Which events a reader wants. */
export interface Choice {
  readonly call?: CallId | undefined;
  readonly messages?: boolean | undefined;
  readonly types?: readonly ActivityEventType[] | undefined;
}

/**
 * Whether an event belongs to this call (if given) and has one of these types. With `messages`, only events of threads
 * themselves count.
 */
export function isAskedFor(event: ActivityEvent, { call, messages = false, types }: Choice): boolean {
  if (types !== undefined && !types.includes(event.type)) return false;
  if (event.call === undefined) return call === undefined;
  return !messages && (call === undefined || event.call === call);
}

/** The threads of these events. The thread with the newest event comes last. */
export function summarize(events: readonly ActivityEvent[]): readonly ThreadSummary[] {
  const threads = new Map<ThreadId, ActivityEvent[]>();
  for (const event of events) {
    const own = threads.get(event.thread) ?? [];
    threads.delete(event.thread); // the newest comes last
    threads.set(event.thread, [...own, event]);
  }
  return [...threads].flatMap(([, own]) => {
    const [first, last] = [own[0], own.at(-1)];
    if (first === undefined || last === undefined) return [];
    const created = own.find((event) => event.type === "thread.created");
    return [summaryOf({ first, last, created, firstWords: own.find(isOfPerson) })];
  });
}

/** How many threads one statement looks up. */
const STEP_THREADS = 100;

/** The threads of a database, with some index lookups per thread. */
export function* threadsIn({ facet }: Dialect): Work<readonly ThreadSummary[]> {
  // Steps from thread to thread: the index covers every event.
  const ends = yield* all<{ first: string; last: string }>(
    `WITH RECURSIVE threads(thread) AS (
       SELECT min(thread) FROM events
       UNION ALL
       SELECT (SELECT min(thread) FROM events WHERE thread > threads.thread) FROM threads WHERE thread IS NOT NULL),
     ends AS (
       SELECT (SELECT min(id) FROM events WHERE events.thread = threads.thread) AS first,
              (SELECT max(id) FROM events WHERE events.thread = threads.thread) AS last
       FROM threads WHERE thread IS NOT NULL)
     SELECT (SELECT body FROM events WHERE id = first) AS first, (SELECT body FROM events WHERE id = last) AS last
     FROM ends ORDER BY ends.last`,
  );
  const threads = ends.map((end) => ({ first: eventOf(end.first), last: eventOf(end.last) }));
  const summaries: ThreadSummary[] = [];
  for (let next = 0; next < threads.length; next += STEP_THREADS) {
    const some = threads.slice(next, next + STEP_THREADS);
    const rows = yield* all<{ key: string; created: string | null; words: string | null }>(
      `SELECT column1 AS key,
         (SELECT body FROM events WHERE call = column1 AND type = 'thread.created' LIMIT 1) AS created,
         (SELECT body FROM events WHERE call = column1 AND type = 'message.added'
          AND ${facet("message.from")} = 'person' ORDER BY id LIMIT 1) AS words
       FROM (VALUES ${some.map(() => "(?)").join(", ")}) AS keys`,
      some.map(({ last }) => keyOf(threadKey(last.thread))),
    );
    const found = new Map(rows.map((row) => [row.key, row]));
    for (const { first, last } of some) {
      const { created = null, words = null } = found.get(keyOf(threadKey(last.thread))) ?? {};
      const own = { created: optional(created), firstWords: optional(words) };
      summaries.push(summaryOf({ first, last, ...own }));
    }
  }
  return summaries;
}

const optional = (body: string | null) => (body === null ? undefined : eventOf(body));

function isOfPerson(event: ActivityEvent): boolean {
  return event.type === "message.added" && event.message.role === "user" && event.message.from === "person";
}

interface Ends {
  readonly first: ActivityEvent;
  readonly last: ActivityEvent;
  /** Its `thread.created`, and the first message of a person. */
  readonly created: ActivityEvent | undefined;
  readonly firstWords: ActivityEvent | undefined;
}

function summaryOf({ first, last, created, firstWords }: Ends): ThreadSummary {
  const { target, workDir, parent, startedWith, fork } = created?.type === "thread.created" ? created : {};
  const { content } = firstWords?.type === "message.added" ? firstWords.message : {};
  const title = content?.map((part) => ("text" in part ? part.text : "[image]")).join(" ");
  return {
    thread: last.thread,
    ...(target !== undefined && { target }),
    ...(workDir !== undefined && { workDir }),
    ...(parent !== undefined && { parent }),
    ...(startedWith !== undefined && { startedWith }),
    ...(fork !== undefined && { fork }),
    ...(title !== undefined && { title: clip(title, MAX_TITLE) }),
    createdMs: (created ?? first).at,
    changedMs: last.at,
  };
}
