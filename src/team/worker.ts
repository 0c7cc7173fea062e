import { hostname } from "node:os";
import type { Store, StoredEvent } from "../core/contract/activity.ts";
import type { BeforeAct } from "../core/contract/call.ts";
import { ToolFailure } from "../core/contract/failure.ts";
import type { CallId, ThreadId } from "../core/contract/identity.ts";
import type { ParkedCall } from "../core/contract/parked.ts";
import type { Toolkit } from "../core/contract/toolkit.ts";
import { type WorkerReport, type WorkerStore, workerTargetName } from "../core/contract/worker.ts";
import { pause } from "../core/util/abort.ts";
import { messageOf } from "../core/util/errors.ts";
import { randomName } from "../core/util/identifier.ts";
import { createWake } from "../core/util/wake.ts";

/**
 * How often a worker looks in the record for calls of which nothing has told it, and reports what has changed: on a
 * server, and in a file, whose processes see when another one dies. Milliseconds.
 */
const LOOK_MS = 1_000;
const LOOK_IN_FILE_MS = 10_000;

/** How often a worker reports at least. Milliseconds. */
const REPORT_MS = 10_000;

/** The pause before the record is followed again after a failure. Milliseconds. */
const RETRY_MS = 1_000;

/** How long running calls may take to end when the worker is closed. Milliseconds. */
const CLOSING_MS = 10_000;

/** How many threads keep what they have seen. */
const MOST_THREADS = 128;

/** How much the newest call counts in the average time of a call. */
const NEWEST = 0.1;

export interface WorkerOptions {
  readonly name: string;
  readonly id: string;
  /** How many calls run at once. */
  readonly concurrency: number;
  /** How many calls may wait for the name; those of several workers add up. */
  readonly maxWaiting: number;
  /** How many calls of a tool run at once, by its name. Default: no limit of its own. */
  readonly toolLimits: { readonly [tool: string]: number };
  /** Takes wake-ups from a queue. Without it, the record alone wakes the worker. */
  readonly queue?: (work: () => Promise<void>) => Promise<() => Promise<void>>;
  /** Called with a sentence when the store fails. */
  readonly onError: (message: string) => void;
}

interface Running {
  readonly row: ParkedCall;
  readonly stop: AbortController;
  readonly ended: Promise<unknown>;
}

/** The claims of a worker's running calls: what its toolkit must have before an act. */
export interface Claims {
  /** Refuses an act of a call that this process no longer has. Pass it to the toolkit as `beforeAct`. */
  readonly beforeAct: BeforeAct;
  readonly running: Map<CallId, Running>;
  use(workers: WorkerStore): void;
}

export function createClaims(): Claims {
  const running = new Map<CallId, Running>();
  let workers: WorkerStore | undefined;
  return {
    running,
    use: (given) => void (workers = given),
    async beforeAct({ request: { id, parent } }) {
      const { row } = running.get(id) ?? running.get(parent ?? "") ?? {};
      if (row?.claim === undefined || (await workers?.holds(row.call, row.claim)) === true) return undefined;
      throw new ToolFailure("this worker was taken for dead, and the call was closed", { hint: "Nothing was run." });
    },
  };
}

/**
 * Makes the calls that are delivered to the workers of a name, until it is closed.
 *
 * - The claim in the record decides who makes a call. The queue only wakes; the worker looks itself, on a server every
 * second.
 * - A call that waits for a person is parked, and takes no place meanwhile.
 * - Rejects if the store cannot be shared, or the queue's packages are missing.
 */
export async function startWorker(
  toolkit: Toolkit,
  { running, use }: Claims,
  { name, id, concurrency, maxWaiting, toolLimits, queue, onError }: WorkerOptions,
): Promise<{ close(): Promise<void> }> {
  const { store, backend } = toolkit;
  const { workers } = store;
  if (workers === undefined) throw new Error("a worker needs a store that its callers share: store: postgres://…");
  use(workers);
  const targets = [workerTargetName(name), workerTargetName(name, id)];
  const startedMs = Date.now();
  const closing = new AbortController();
  const { signal } = closing;
  const threads = new Map<ThreadId, Toolkit>();
  /** Stops of calls that were claimed and had not begun. */
  const stopped = new Map<CallId, string>();
  let [claiming, averageMs, told] = [0, 0, ""];
  let unsure: string | undefined;
  let change = createWake();

  const failed = (error: unknown) => {
    const message = messageOf(error);
    if (message !== told) onError(message);
    told = message;
  };

  const report = (): WorkerReport => ({
    ...{ id, name, host: hostname(), pid: process.pid, workDir: backend.workDir, home: backend.home },
    ...{ tools: [...toolkit.tools.keys()], sandboxed: backend.sandbox !== undefined },
    ...{ hasTerminal: backend.terminal !== undefined },
    ...{ concurrency, maxWaiting, running: running.size, averageMs: Math.round(averageMs), startedMs },
  });

  const isFull = () => running.size + claiming >= concurrency;

  const freeTools = () => {
    const busy = [...running.values()].map(({ row }) => row.name);
    return [...toolkit.tools.keys()].filter((tool) => {
      const limit = toolLimits[tool];
      return limit === undefined || busy.filter((each) => each === tool).length < limit;
    });
  };

  /**
   * Claims the next call and begins it. Resolves to `undefined` if there is none. One at a time: a claim must know the
   * calls of the claims before it, for the limits of tools.
   */
  const begin = (why?: "woken"): Promise<Running | undefined> => (begun = begun.then(() => beginNext(why)));
  let begun: Promise<Running | undefined> = Promise.resolve(undefined);
  const beginNext = async (why: "woken" | undefined): Promise<Running | undefined> => {
    if (signal.aborted || isFull()) return undefined;
    claiming += 1;
    const claim = unsure ?? randomName(16);
    try {
      const again = unsure === claim ? "again" : why;
      const row = await workers.claim({ worker: id, targets, tools: freeTools(), claim, why: again });
      if (unsure === claim) unsure = undefined;
      told = "";
      return row === undefined ? undefined : make(row);
    } catch (error) {
      unsure ??= claim; // it may have claimed a call
      failed(error);
      return undefined;
    } finally {
      claiming -= 1;
    }
  };

  const make = (row: ParkedCall): Running => {
    const stop = new AbortController();
    const startedAt = performance.now();
    const ended = toolkitOf(row.thread)
      .resume(row, { signal: stop.signal })
      .finally(() => {
        running.delete(row.call);
        averageMs += (performance.now() - startedAt - averageMs) * (averageMs === 0 ? 1 : NEWEST);
        change.resolve();
        change = createWake();
        void fill(); // the look also writes the call's end at once
      });
    const made = { row, stop, ended };
    running.set(row.call, made);
    const by = stopped.get(row.call);
    if (by !== undefined) stop.abort(new Error(`stopped by ${by}`));
    return made;
  };

  /** The toolkit of a thread, with what the thread has seen. */
  const toolkitOf = (thread: ThreadId): Toolkit => {
    const known = threads.get(thread) ?? toolkit.with({ thread });
    threads.delete(thread);
    threads.set(thread, known); // the newest comes last
    const [oldest] = threads.keys();
    if (threads.size > MOST_THREADS && oldest !== undefined) threads.delete(oldest);
    return known;
  };

  let filling: Promise<void> | undefined;
  let isAsked = false;
  /** How many calls this worker was asked first to make. */
  let certain = 0;
  const fill = (why?: "woken"): Promise<void> => {
    if (why === "woken") certain += 1;
    else isAsked = true;
    filling ??= (async () => {
      while (isAsked || certain > 0) {
        if (certain > 0) {
          certain -= 1;
          await begin("woken");
          continue;
        }
        isAsked = false;
        while ((await begin()) !== undefined);
      }
    })().finally(() => (filling = undefined));
    return filling;
  };

  const heard = (event: StoredEvent) => {
    if (event.type === "stop.requested" && event.call !== undefined && !("job" in event)) {
      const made = running.get(event.call);
      made?.stop.abort(new Error(`stopped by ${event.by}`));
      if (made === undefined && claiming > 0) stopped.set(event.call, event.by);
      if (claiming === 0) stopped.clear();
    }
    if (event.type === "approval.decided") void fill();
  };

  /** The work of one wake-up: waits for a place, then makes the next call to its end. */
  const work = async () => {
    while (isFull() && !signal.aborted) await change.untilResolved(signal);
    await (
      await begin()
    )?.ended;
  };

  let reported = "";
  let reportedMs = 0;
  const tell = async () => {
    const own = report();
    const text = JSON.stringify(own);
    if (text === reported && Date.now() - reportedMs < REPORT_MS) return;
    await workers.report(own);
    [reported, reportedMs] = [text, Date.now()];
  };

  await tell();
  const stopQueue = await queue?.(work);
  void follow(store, signal, heard);
  const unheard = workers.deliveries({ id, name }, (isCertain) => void fill(isCertain ? "woken" : undefined));
  void fill();
  const lookMs = store.url === undefined ? LOOK_IN_FILE_MS : LOOK_MS;
  const looking = setInterval(() => {
    tell().catch(failed);
    void fill();
  }, lookMs);

  return {
    async close() {
      closing.abort();
      unheard();
      clearInterval(looking);
      await filling;
      const over = new AbortController();
      const ended = Promise.all([...running.values()].map((each) => each.ended)).then(() => over.abort());
      await Promise.race([ended, pause(CLOSING_MS, over.signal)]);
      await stopQueue?.();
      await workers.leave(id).catch(failed);
    },
  };
}

/** Calls `heard` for answers and stops from now on, until the signal fires. Never rejects. */
async function follow(store: Store, signal: AbortSignal, heard: (event: StoredEvent) => void): Promise<void> {
  const types = ["approval.decided", "stop.requested"] as const;
  let after: number | "now" = "now";
  while (!signal.aborted) {
    try {
      for await (const event of store.events({ types, after, follow: true, signal })) {
        after = event.id;
        heard(event);
      }
      return;
    } catch {
      await pause(RETRY_MS, signal, { keepsAlive: false });
    }
  }
}
