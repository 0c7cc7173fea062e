import type { ActivityEvent, FeedOptions, Store, StoredEvent } from "../../core/contract/activity.ts";
import type { CallId, ThreadId } from "../../core/contract/identity.ts";
import type { ParkedCall } from "../../core/contract/parked.ts";
import type { AnswerOutcome, OpenQuestion, QuestionId } from "../../core/contract/question.ts";
import { untilAborted } from "../../core/util/abort.ts";
import { type Move, type Moved, afterEnd, closedBecause, isChosen, moved, outcomeOf, parkedNow } from "./parked.ts";
import { answerTo, openQuestion, parkedQuestion } from "./questions.ts";
import { recordedJobs } from "./recorded-jobs.ts";
import { createSearch } from "./search.ts";
import { type Choice, isAskedFor, summarize } from "./threads.ts";
import { type Wake, createWake } from "../../core/util/wake.ts";

export interface MemoryStoreOptions {
  /**
   * How many events are kept; older ones are removed. Default 1,000, some 400 calls. More make every call slower, since
   * objects that leave the young generation of the heap are copied (10,000 made a call three times as slow).
   */
  readonly limit?: number;
  /** Milliseconds since 1970. Default: the current time. */
  readonly now?: () => number;
}

/**
 * A store in memory, for this process only. `commit` is the same as `append`.
 *
 * @throws RangeError for a `limit` that is not an integer above 0.
 */
export function memoryStore({ limit = 1_000, now = Date.now }: MemoryStoreOptions = {}): Store {
  if (!Number.isInteger(limit) || limit < 1) throw new RangeError(`limit ${limit}: expected a whole number above 0`);
  const ring = createRing(limit);
  /** Kept apart from the events, because a question may stay open longer than its events are kept. */
  const open = new Map<QuestionId, OpenQuestion>();
  const parkedCalls = new Map<CallId, ParkedCall>();
  let attending = 0;
  let closed = false;
  /** Followers that have read all events. */
  const waiting = new Set<{ readonly choice: Choice; readonly wake: Wake }>();

  const refuseClosed = () => {
    if (closed) throw new Error("the store is closed");
  };

  const append = (event: ActivityEvent) => {
    refuseClosed();
    if (event.type === "approval.requested") open.set(event.question, openQuestion(event, startOf(event.call)));
    if (open.size > 0) closeQuestions(event);
    if (event.type === "call.finished" && parkedCalls.size > 0) setParked(event.call, afterEnd);
    ring.add(event);
    for (const follower of waiting) if (isAskedFor(event, follower.choice)) follower.wake.resolve();
  };

  const closeQuestions = (event: ActivityEvent) => {
    if (event.type === "approval.decided") open.delete(event.question);
    if (event.type !== "call.finished") return;
    for (const { question, call } of open.values()) if (call === event.call) open.delete(question);
  };

  const setParked = (call: CallId, next: (row: ParkedCall) => ParkedCall | undefined) => {
    const row = parkedCalls.get(call);
    const after = row && next(row);
    if (after !== undefined) parkedCalls.set(call, after);
    else parkedCalls.delete(call);
  };

  const make = (row: ParkedCall | undefined, move: Move): Moved => {
    const result = moved(row, move, now());
    for (const event of result.events) append(event);
    if (row !== undefined) setParked(row.call, () => result.row);
    return result;
  };

  const expire = () => {
    for (const row of parkedCalls.values()) if (now() > row.untilMs) make(row, { to: "expired" });
  };

  const { kept } = ring;
  const startOf = (call: string) => {
    return kept().find((event) => event.type === "call.started" && event.call === call) as
      | Extract<StoredEvent, { type: "call.started" }>
      | undefined;
  };

  return {
    append,
    async commit(event) {
      append(event);
    },
    async *events({ after = 0, thread, follow = false, begun, signal, ...choice }: FeedOptions = {}) {
      let seen = after === "now" ? ring.lastId : after;
      begun?.();
      while (!signal?.aborted) {
        while (seen < ring.lastId) {
          seen = Math.max(seen, ring.lastId - limit) + 1;
          const event = ring.at(seen);
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
    threads: async () => summarize(kept()),
    async search(options) {
      const search = createSearch(options);
      for (const event of kept().toReversed()) search.look(event);
      return search.result();
    },
    async questions() {
      expire();
      return [...open.values()].map((question) => {
        const row = parkedCalls.get(question.call);
        return row?.state === "parked" ? parkedQuestion(question, row) : question;
      });
    },
    async answer(question, approval, by) {
      refuseClosed();
      expire();
      const asked = open.get(question);
      if (asked === undefined) return whyClosed(question, kept(), parkedCalls);
      const row = parkedCalls.get(asked.call);
      if (row?.state !== "parked") {
        append(answerTo(asked, approval, { by, at: now() }));
        return { status: "answered" };
      }
      const { refused } = make(row, { to: "ready", approval, by });
      return refused === undefined ? { status: "answered" } : { status: "closed", reason: refused };
    },
    async park(parking, claim) {
      refuseClosed();
      const row = parkedCalls.get(parking.call);
      const isOurs = claim !== undefined && row?.state === "taken" && row.claim === claim;
      if (!isOurs && row !== undefined) return { status: "closed", reason: "its call is parked" };
      if (!open.has(parking.question)) return whyClosed(parking.question, kept(), parkedCalls);
      const { row: parked, event } = parkedNow(parking, now());
      parkedCalls.delete(parking.call); // the newest comes last
      parkedCalls.set(parking.call, parked);
      append(event);
      return { status: "parked" };
    },
    async parked(filter = {}) {
      expire();
      return [...parkedCalls.values()].filter((row) => isChosen(row, filter));
    },
    async move(call, move) {
      refuseClosed();
      const row = parkedCalls.get(call);
      const { row: after = row, refused } = make(row, move);
      return outcomeOf(after, refused);
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
    takeThread: threadsInTurn(),
    jobs: async () => recordedJobs(kept()),
    async close() {
      closed = true;
      for (const { wake } of waiting) wake.resolve();
    },
  };
}

/** Why a question cannot be answered any more. */
function whyClosed(
  question: QuestionId,
  kept: readonly StoredEvent[],
  parkedCalls: ReadonlyMap<CallId, ParkedCall>,
): Exclude<AnswerOutcome, { status: "answered" }> {
  const events = kept.filter((event) => "question" in event && event.question === question);
  const [first] = events;
  if (first === undefined) return { status: "unknown" };
  const finished = kept.find((event) => event.type === "call.finished" && event.call === first.call);
  const decided = events.find((event) => event.type === "approval.decided");
  const later = parkedCalls.get(first.call ?? "");
  return closedBecause(
    decided,
    finished as { error?: string } | undefined,
    later?.question === question ? undefined : later,
  );
}

/** The newest events. Their ids begin with 1. */
function createRing(limit: number) {
  const ring: (ActivityEvent | undefined)[] = Array.from({ length: limit });
  let lastId = 0;
  const at = (id: number) => ring[(id - 1) % limit];
  return {
    add(event: ActivityEvent) {
      ring[lastId++ % limit] = event;
    },
    get lastId() {
      return lastId;
    },
    /** The event with this id, which is one of the last `limit`. */
    at,
    kept(): readonly StoredEvent[] {
      const first = Math.max(0, lastId - limit) + 1;
      return Array.from({ length: lastId - first + 1 }, (_, index) => first + index).flatMap((id) => {
        const event = at(id);
        return event === undefined ? [] : [{ ...event, id }];
      });
    },
  };
}

/** Returns a function that waits until no other turn has the thread. */
function threadsInTurn(): Store["takeThread"] {
  /** The taken threads, each with a promise that resolves when the turn gives the thread back. */
  const taken = new Map<ThreadId, Promise<void>>();
  return async (thread, signal) => {
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
  };
}
