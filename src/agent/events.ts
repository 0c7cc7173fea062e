import type { CallUpdate, TurnReason } from "../core/contract/activity.ts";
import type { Approval } from "../core/contract/decision.ts";
import type { CallId, ThreadId } from "../core/contract/identity.ts";
import type { MessageStatus } from "../core/contract/message.ts";

/** What an agent does, as it happens. One stream feeds the terminal, the page, `--json` and tests. */
export type AgentEvent =
  /**
   * A message was added to the conversation: a prompt, steering, or a notice that no person wrote. `offered`: the
   * person wrote the message to another agent of the thread, usually in another process.
   */
  | {
      readonly type: "message";
      readonly from: "person" | "handrail";
      readonly text: string;
      readonly offered?: true;
    }
  /**
   * A piece of the reply. The reply's text is the joined pieces. `reply` names it: the recorded message has the same.
   * Absent for the answer of another agent, which is recorded already.
   */
  | { readonly type: "text" | "reasoning"; readonly text: string; readonly reply?: string }
  /**
   * The model has written a call, which may wait for earlier calls. `input` is JSON text as the model wrote it.
   * `userFacing: false`: apps hide the call.
   */
  | {
      readonly type: "tool_call";
      readonly id: CallId;
      readonly name: string;
      readonly input: string;
      readonly userFacing?: false;
    }
  /** A call begins: it no longer waits for other calls. Not emitted for a call that never starts. */
  | { readonly type: "tool_started"; readonly id: CallId; readonly name: string }
  | { readonly type: "tool_update"; readonly id: CallId; readonly name: string; readonly update: CallUpdate }
  /**
   * A person is asked about a call, or has answered. "parked": nobody has answered, and the call has no result in this
   * turn; when the turn continues, `tool_call` announces the call again. Not emitted when nobody can be asked: the call
   * is denied then. `edited`: the arguments as the person has changed them, as JSON text.
   */
  | {
      readonly type: "approval";
      readonly id: CallId;
      readonly name: string;
      readonly status: "asked" | "approved" | "refused" | "parked";
      readonly reason?: string;
      readonly answer?: Approval["answer"];
      readonly edited?: string;
    }
  /**
   * The result of a call; each call has exactly one result. `text` is what the model reads. `ms` is 0 for a call that
   * never started.
   */
  | {
      readonly type: "tool_result";
      readonly id: CallId;
      readonly name: string;
      readonly status: MessageStatus;
      readonly text: string;
      readonly ms: number;
    }
  /** The model is asked once these sources of tools have started, or after five seconds. */
  | { readonly type: "starting"; readonly sources: readonly string[] }
  /** The tokens that one reply used. */
  | ({ readonly type: "usage" } & Usage)
  /** A request failed and is made again. Text since the last `usage` is void, because the reply starts again. */
  | { readonly type: "retry"; readonly attempt: number; readonly waitMs: number; readonly message: string }
  /** The conversation was shortened to fit the model's context. */
  | {
      readonly type: "compacted";
      /** Tool results that were shortened. */
      readonly results: number;
      /** Messages that were replaced by a summary. */
      readonly summarized: number;
      /** Messages that were kept. */
      readonly kept: number;
      /** Estimated tokens before and after. */
      readonly before: number;
      readonly after: number;
    }
  | ({ readonly type: "end" } & TurnEnd);

/** Counts of tokens. 0 if the provider reports none. */
export interface Usage {
  readonly input: number;
  /** The part of `input` that was read from the provider's cache. */
  readonly cached: number;
  readonly output: number;
}

/** How a turn ended. */
export interface TurnEnd {
  /** If "failed", `message` is the cause. */
  readonly reason: TurnReason;
  readonly message?: string;
  readonly thread: ThreadId;
  /** Replies of the model in this turn, including those of sub-agents. */
  readonly rounds: number;
  /** The usage of the whole turn, including sub-agents. */
  readonly usage: Usage;
  /** What the turn cost, by the prices of the models; absent if one of them has no price. */
  readonly cost?: number;
  /** Calls that were denied because they need a person's approval and nobody could be asked. Includes sub-agents. */
  readonly unasked: number;
  /** Jobs that start a turn when they end. */
  readonly waitingFor: readonly string[];
}

/** What a thread has used, including sub-agents. `cost` as in `TurnEnd`. */
export type Spent = Pick<TurnEnd, "usage" | "cost">;

export const NO_USAGE: Usage = { input: 0, cached: 0, output: 0 };
export const NO_SPENT: Spent = { usage: NO_USAGE, cost: 0 };

export function addUsage(one: Usage, other: Usage): Usage {
  return {
    input: one.input + other.input,
    cached: one.cached + other.cached,
    output: one.output + other.output,
  };
}

/** Adds up what turns have used. The cost of the sum is known if both costs are known. */
export function addSpent(one: Spent, other: Pick<Spent, "usage"> & { readonly cost?: number | undefined }): Spent {
  const usage = addUsage(one.usage, other.usage);
  if (one.cost === undefined || other.cost === undefined) return { usage };
  return { usage, cost: one.cost + other.cost };
}

/** Distributes events to all followers. */
export interface EventHub {
  emit(event: AgentEvent): void;
  /** Yields the events from now on, until the agent is closed. Events between two reads are buffered. */
  follow(): AsyncIterableIterator<AgentEvent>;
  close(): void;
}

export function createEventHub(): EventHub {
  const followers = new Set<{ readonly queue: AgentEvent[]; wake: (() => void) | undefined }>();
  let closed = false;

  return {
    emit(event) {
      for (const follower of followers) {
        follower.queue.push(event);
        follower.wake?.();
      }
    },
    follow() {
      const follower: { readonly queue: AgentEvent[]; wake: (() => void) | undefined } = { queue: [], wake: undefined };
      if (!closed) followers.add(follower);
      const events = (async function* () {
        try {
          for (;;) {
            const event = follower.queue.shift();
            if (event !== undefined) yield event;
            else if (closed) return;
            else await new Promise<void>((resolve) => (follower.wake = resolve));
          }
        } finally {
          followers.delete(follower);
        }
      })();
      return events;
    },
    close() {
      closed = true;
      for (const follower of followers) follower.wake?.();
    },
  };
}
