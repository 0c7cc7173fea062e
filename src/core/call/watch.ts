import type { CallEvent, JobInput, Store } from "../contract/activity.ts";
import type { ToolCall } from "../contract/call.ts";
import type { CallId } from "../contract/identity.ts";
import type { QuestionId } from "../contract/question.ts";
import { pause } from "../util/abort.ts";

export type Decided = Pick<Extract<CallEvent, { type: "approval.decided" }>, "approval" | "by">;

/** Follows a store for what other processes request of this toolkit's calls and jobs. */
export interface Watch {
  /** Calls `stop` when somebody requests that the call or its thread stops. Returns a function that unsubscribes. */
  call(call: Pick<ToolCall, "id" | "thread">, stop: (reason: Error) => void): () => void;
  /** Calls `decided` when the question is answered. Returns a function that unsubscribes. */
  question(question: QuestionId, decided: (answer: Decided) => void): () => void;
  close(): void;
}

/** What other processes can request of jobs. */
export interface WatchedJobs {
  stop(call: CallId, job: string): void;
  watch(job: string, by: Pick<CallEvent, "call" | "thread">): void;
  write(input: JobInput, to: Pick<CallEvent, "call" | "thread">): void;
  open(job: string, port: number, by: Pick<CallEvent, "call" | "thread">): void;
}

/** The delay before a failed read of the store is retried, in milliseconds. */
const RETRY_MS = 1_000;

/**
 * Creates a watch. It starts to follow the store with the first call.
 *
 * @param jobs The jobs of the toolkit. Jobs of other toolkits are ignored.
 */
export function createWatch(store: Pick<Store, "events">, jobs: WatchedJobs): Watch {
  const calls = new Set<{ readonly call: Pick<ToolCall, "id" | "thread">; readonly stop: (reason: Error) => void }>();
  const questions = new Map<QuestionId, (answer: Decided) => void>();
  const closing = new AbortController();
  let started = false;

  const follow = async () => {
    const { signal } = closing;
    let after: number | "now" = "now";
    while (!signal.aborted) {
      try {
        const types = [
          "stop.requested",
          "approval.decided",
          "job.watched",
          "input.requested",
          "port.requested",
        ] as const;
        for await (const event of store.events({ follow: true, after, types, signal })) {
          after = event.id;
          if (event.type === "approval.decided") questions.get(event.question)?.(event);
          if (event.type === "job.watched") jobs.watch(event.job, event);
          if (event.type === "port.requested") jobs.open(event.job, event.port, event);
          if (event.type === "input.requested") jobs.write(event, event);
          if (event.type !== "stop.requested") continue;
          const reason = new Error(`stopped by ${event.by}`);
          if ("job" in event && event.job !== undefined) jobs.stop(event.call, event.job);
          else for (const { call, stop } of calls) if (isMeant(call, event)) stop(reason);
        }
        return; // the store was closed
      } catch {
        await pause(RETRY_MS, signal, { keepsAlive: false });
      }
    }
  };

  return {
    call(call, stop) {
      const entry = { call, stop };
      calls.add(entry);
      if (!started) void follow();
      started = true;
      return () => void calls.delete(entry);
    },
    question(question, decided) {
      questions.set(question, decided);
      return () => void questions.delete(question);
    },
    close: () => closing.abort(),
  };
}

function isMeant(
  { id, thread }: Pick<ToolCall, "id" | "thread">,
  event: { readonly call?: CallId | undefined; readonly thread: string },
): boolean {
  return event.call === undefined ? thread === event.thread : id === event.call;
}
