import type { ActivityEvent, FeedOptions, Store, StoredEvent } from "../contract/activity.ts";
import type { ThreadId } from "../contract/identity.ts";
import type { OpenQuestion, QuestionId } from "../contract/question.ts";
import { untilAborted } from "../util/abort.ts";
import { answerTo, closedBy, openQuestion } from "./questions.ts";
import { recordedJobs } from "./recorded-jobs.ts";
import { createSearch } from "./search.ts";
import { type Choice, isAskedFor, summarize } from "./threads.ts";
import { type Wake, createWake } from "./wake.ts";

export interface MemoryStoreOptions {
  /**
   * How many events are kept; older ones are removed. Default 1,000, some 400 calls. More make every call slower, since
   * objects that leave the young generation of the heap are copied (10,000 made a call three times as slow).
   */
  readonly limit?: number;
}

/**
 * A store in memory, for this process only. `commit` is the same as `append`.
 *
 * @throws RangeError for a `limit` that is not an integer above 0.
 */
export function memoryStore({ limit = 1_000 }: MemoryStoreOptions = {}): Store {
  if (!Number.isInteger(limit) || limit < 1) throw new RangeError(`limit ${limit}: expected a whole number above 0`);
  const ring: (ActivityEvent | undefined)[] = Array.from({ length: limit });
  /** Kept apart from the events, because a question may stay open longer than its events are kept. */
  const open = new Map<QuestionId, OpenQuestion>();
  /** Threads that a turn holds, with a promise that resolves when the turn releases it. */
  const taken = new Map<ThreadId, Promise<void>>();
  let attending = 0;
  let lastId = 0;
  let closed = false;
  /** Followers that have read everything. */
  const waiting = new Set<{ readonly choice: Choice; readonly wake: Wake }>();

  const refuseClosed = () => {
    if (closed) throw new Error("the store is closed");
  };

  const append = (event: ActivityEvent) => {
    refuseClosed();
    if (event.type === "approval.requested") open.set(event.question, openQuestion(event, startOf(event.call)));
    if (open.size > 0) closeQuestions(event);
    ring[lastId++ % limit] = event; // an event's id is its index + 1
    for (const follower of waiting) if (isAskedFor(event, follower.choice)) follower.wake.resolve();
  };

  const closeQuestions = (event: ActivityEvent) => {
    if (event.type === "approval.decided") open.delete(event.question);
    if (event.type !== "call.finished") return;
    for (const { question, call } of open.values()) if (call === event.call) open.delete(question);
  };

  const startOf = (call: string) => {
    return kept().find((event) => event.type === "call.started" && event.call === call) as
      | Extract<StoredEvent, { type: "call.started" }>
      | undefined;
  };

  const kept = (): readonly StoredEvent[] => {
    const first = Math.max(0, lastId - limit);
    return Array.from({ length: lastId - first }, (_, index) => first + index).flatMap((place) => {
      const event = ring[place % limit];
      return event === undefined ? [] : [{ ...event, id: place + 1 }];
    });
  };

  return {
    append,
    async commit(event) {
      append(event);
    },
    async *events({ after = 0, thread, follow = false, signal, ...choice }: FeedOptions = {}) {
      let seen = after === "now" ? lastId : after;
      while (!signal?.aborted) {
        while (seen < lastId) {
          seen = Math.max(seen, lastId - limit) + 1;
          const event = ring[(seen - 1) % limit];
          if (event === undefined) continue;
          if (thread !== undefined && event.thread !== thread) continue;
          if (!isAskedFor(event, choice)) continue;
          yield { ...event, id: seen };
          if (signal?.aborted) return;
        }
        if (!follow || closed) return;
        const follower = { choice, wake: createWake() };
        waiting.add(follower);
        await follower.wake.untilResolved(signal);
        waiting.delete(follower);
      }
    },
    async threads() {
      return summarize(kept());
    },
    async search(options) {
      const search = createSearch(options);
      for (const event of kept().toReversed()) search.look(event);
      return search.hits;
    },
    async questions() {
      return [...open.values()];
    },
    async answer(question, approval, by) {
      refuseClosed();
      const asked = open.get(question);
      if (asked !== undefined) {
        append(answerTo(asked, approval, { by, at: Date.now() }));
        return { status: "answered" };
      }
      const events = kept().filter((event) => "question" in event && event.question === question);
      if (events.length === 0) return { status: "unknown" };
      return closedBy(events.find((event) => event.type === "approval.decided"));
    },
    async attend() {
      refuseClosed();
      attending += 1;
      let ended = false;
      return async () => {
        if (!ended) attending -= 1;
        ended = true;
      };
    },
    async isAttended() {
      return attending > 0 && !closed;
    },
    async takeThread(thread, signal) {
      for (let other = taken.get(thread); other !== undefined; other = taken.get(thread)) {
        await untilAborted(other, signal);
      }
      signal.throwIfAborted();
      let free = () => {};
      const turn = new Promise<void>((resolve) => (free = resolve));
      taken.set(thread, turn);
      return async () => {
        if (taken.get(thread) === turn) taken.delete(thread);
        free();
      };
    },
    async jobs() {
      return recordedJobs(kept());
    },
    async close() {
      closed = true;
      for (const { wake } of waiting) wake.resolve();
    },
  };
}
