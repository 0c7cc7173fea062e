import type { CallUpdate } from "../contract/activity.ts";
import type { Approval } from "../contract/decision.ts";
import type { CallId, ThreadId } from "../contract/identity.ts";
import type { MessageStatus } from "../contract/message.ts";

/** What an agent does, as it does it. One stream feeds the terminal, a page, `--json` and tests. */
export type AgentEvent =
  /** A message enters the conversation: a prompt, steering, or a notice that no person wrote. */
  | { readonly type: "message"; readonly from: "person" | "handrail"; readonly text: string }
  /** A piece of the reply. The pieces of a reply joined are its text. */
  | { readonly type: "text" | "reasoning"; readonly text: string }
  /** The model has written a call. `input` is JSON text as the model wrote it. */
  | { readonly type: "tool_call"; readonly id: CallId; readonly name: string; readonly input: string }
  | { readonly type: "tool_update"; readonly id: CallId; readonly name: string; readonly update: CallUpdate }
  /** A person is asked about a call, and has answered. Where nobody can be asked there is none: the call is denied. */
  | {
      readonly type: "approval";
      readonly id: CallId;
      readonly name: string;
      readonly status: "asked" | "approved" | "refused";
      readonly reason?: string;
      readonly answer?: Approval["answer"];
    }
  /** The one result of a call. `text` is what the model reads; `ms` is 0 for a call that never started. */
  | {
      readonly type: "tool_result";
      readonly id: CallId;
      readonly name: string;
      readonly status: MessageStatus;
      readonly text: string;
      readonly ms: number;
    }
  /** What one reply used. */
  | ({ readonly type: "usage" } & Usage)
  /** A request failed and is made again. Text since the last `usage`, if any, is void: the reply begins anew. */
  | { readonly type: "retry"; readonly attempt: number; readonly waitMs: number; readonly message: string }
  /** The conversation was shortened to fit the model's context. */
  | {
      readonly type: "compacted";
      /** Tool results that were shortened. */
      readonly results: number;
      /** Messages that a summary replaces. */
      readonly summarized: number;
      /** Messages that stay as they were. */
      readonly kept: number;
      /** Estimated tokens before and after. */
      readonly before: number;
      readonly after: number;
    }
  | ({ readonly type: "end" } & TurnEnd);

/** Tokens. 0 where the provider reports none. */
export interface Usage {
  readonly input: number;
  /** Of `input`, read from the provider's cache. */
  readonly cached: number;
  readonly output: number;
}

/** How a turn ended. */
export interface TurnEnd {
  /**
   * "done": the model has given its answer. "stopped": `stop` was called. "max_rounds", "max_time", "max_tokens": a limit was reached, and the
   * model was asked for a last word. "cut_off": the reply reached the model's limit of output. "failed": `message` says why.
   */
  readonly reason: "done" | "stopped" | "max_rounds" | "max_time" | "max_tokens" | "cut_off" | "failed";
  readonly message?: string;
  readonly thread: ThreadId;
  /** Replies of the model in this turn. */
  readonly rounds: number;
  /** Of the whole turn. */
  readonly usage: Usage;
  /** Jobs that start a turn when they end. */
  readonly waitingFor: readonly string[];
}

export const NO_USAGE: Usage = { input: 0, cached: 0, output: 0 };

export function addUsage(one: Usage, other: Usage): Usage {
  return {
    input: one.input + other.input,
    cached: one.cached + other.cached,
    output: one.output + other.output,
  };
}

/** Hands events to everyone who follows. */
export interface EventHub {
  emit(event: AgentEvent): void;
  /** The events from now on, until the agent is closed. Nothing is lost between two reads. */
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
