import type { ActivityEvent, ActivityEventType, ThreadSummary } from "../contract/activity.ts";
import type { CallId, ThreadId } from "../contract/identity.ts";
import type { Database } from "../db/database.ts";
import { clip } from "../util/text.ts";
import { keyOf, threadKey } from "./event-rows.ts";

/** The longest title, in characters of the first message of a person. */
const MAX_TITLE = 200;

/** The filter of a feed. */
export interface Choice {
  readonly call?: CallId | undefined;
  readonly messages?: boolean | undefined;
  readonly types?: readonly ActivityEventType[] | undefined;
}

/**
 * Whether an event belongs to this call (if given) and has one of these types. `messages`: only events of threads
 * themselves.
 */
export function isAskedFor(event: ActivityEvent, { call, messages = false, types }: Choice): boolean {
  if (types !== undefined && !types.includes(event.type)) return false;
  if (event.call === undefined) return call === undefined;
  return !messages && (call === undefined || event.call === call);
}

/** The threads of these events, the one with the newest event last. */
export function summarize(events: readonly ActivityEvent[]): readonly ThreadSummary[] {
  const threads = new Map<ThreadId, ActivityEvent[]>();
  for (const event of events) {
    const own = threads.get(event.thread) ?? [];
    threads.delete(event.thread); // newest last
    threads.set(event.thread, [...own, event]);
  }
  return [...threads].flatMap(([, own]) => {
    const [first, last] = [own[0], own.at(-1)];
    if (first === undefined || last === undefined) return [];
    const created = own.find((event) => event.type === "thread.created");
    return [summaryOf({ first, last, created, firstWords: own.find(isOfPerson) })];
  });
}

/** The threads of a database, with some index lookups per thread. */
export function threadsIn({ connection }: Database): readonly ThreadSummary[] {
  const one = (sql: string, value: string | number): ActivityEvent | undefined => {
    const [row] = connection.all<{ body: string }>(`SELECT body FROM events WHERE ${sql} LIMIT 1`, [value]);
    return row === undefined ? undefined : (JSON.parse(row.body) as ActivityEvent);
  };
  // Steps from thread to thread: the index covers every event.
  const ends = connection.all<{ first: number; last: number }>(
    `WITH RECURSIVE threads(thread) AS (
       SELECT min(thread) FROM events
       UNION ALL
       SELECT (SELECT min(thread) FROM events WHERE thread > threads.thread) FROM threads WHERE thread IS NOT NULL)
     SELECT (SELECT min(id) FROM events WHERE events.thread = threads.thread) AS first,
            (SELECT max(id) FROM events WHERE events.thread = threads.thread) AS last
     FROM threads WHERE thread IS NOT NULL ORDER BY last`,
  );
  return ends.flatMap((end) => {
    const [first, last] = [one("id = ?", end.first), one("id = ?", end.last)];
    if (first === undefined || last === undefined) return [];
    const key = keyOf(threadKey(last.thread));
    const created = one("type = 'thread.created' AND call = ?", key);
    const firstWords = one(
      `call = ? AND type = 'message.added' AND json_extract(body, '$.message.from') = 'person' ORDER BY id`,
      key,
    );
    return [summaryOf({ first, last, created, firstWords })];
  });
}

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
