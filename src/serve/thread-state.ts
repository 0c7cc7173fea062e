import type { ActivityEventType, StoredEvent, ThreadSummary, TurnReason } from "../core/contract/activity.ts";
import type { CallId } from "../core/contract/identity.ts";
import type { MessageStatus } from "../core/contract/message.ts";
import { clip } from "../core/util/text.ts";
import { callLine } from "./call-line.ts";

/** A thread's entry in a list: its title and its current state. */
export interface ThreadState extends ThreadSummary {
  /** The name of the sub-agent that works in it. */
  readonly agent?: string;
  /** The number of calls made in it. */
  readonly calls: number;
  /** The last three calls, oldest first, preceded by older calls that are still running. */
  readonly recent: readonly RecentCall[];
  /** True while the model must act next: it got a message or a result, and has not reacted to it yet. */
  readonly awaitsModel: boolean;
  /** How the last turn of its agent ended. Absent once the next turn begins. */
  readonly turn?: { readonly reason: TurnReason; readonly message?: string; readonly at: number };
}

/** A summary of a call. */
export interface RecentCall {
  readonly call: CallId;
  readonly name: string;
  /** `false`: apps do not show it, unless a person is asked about it. */
  readonly userFacing?: false;
  /** Its arguments in one line of at most 200 characters. Not escaped. */
  readonly line: string;
  /** "waiting" while a person is asked. */
  readonly status: "running" | "waiting" | MessageStatus;
  readonly at: number;
  readonly endedMs?: number;
  /** The error, in at most 200 characters. */
  readonly error?: string;
}

/** The types of events that change a `ThreadState`. */
export const STATE_EVENTS: readonly ActivityEventType[] = [
  "thread.created",
  "message.added",
  "call.started",
  "approval.requested",
  "approval.decided",
  "turn.ended",
  "call.finished",
];

const MAX_TITLE = 200;
const RECENT = 3;

/** Returns the state of a thread after its next event. Pure: the server and the page fold the same events. */
export function foldThread(before: ThreadState | undefined, event: StoredEvent): ThreadState {
  const { thread, at } = event;
  const started = { thread, createdMs: at, changedMs: at, calls: 0, recent: [], awaitsModel: false };
  const state: ThreadState = { ...(before ?? started), changedMs: at };
  switch (event.type) {
    case "thread.created": {
      const { target, workDir, parent } = event;
      return { ...state, target, workDir, createdMs: at, ...(parent !== undefined && { parent }) };
    }
    case "message.added":
      return afterMessage(state, event.message);
    case "call.started": {
      const { call, name, input, agent, userFacing } = event;
      const shown = { call, name, line: callLine(input), ...(userFacing === false && { userFacing }) };
      const made = { ...shown, status: "running", at } as const;
      const next = { calls: state.calls + 1, recent: kept([...state.recent, made]), awaitsModel: false };
      return { ...state, ...next, ...(agent !== undefined && { agent }) };
    }
    case "approval.requested":
      return withCall(state, event.call, { status: "waiting" });
    case "approval.decided":
      return withCall(state, event.call, { status: "running" });
    case "call.finished": {
      const { status, error } = event;
      return withCall(state, event.call, { status, endedMs: at, ...(error !== undefined && { error }) });
    }
    case "turn.ended": {
      const { reason, message } = event;
      return { ...state, awaitsModel: false, turn: { reason, at, ...(message !== undefined && { message }) } };
    }
    default:
      return state;
  }
}

function afterMessage(state: ThreadState, message: Extract<StoredEvent, { type: "message.added" }>["message"]) {
  switch (message.role) {
    case "assistant":
      return { ...state, awaitsModel: false };
    case "tool":
      return { ...state, awaitsModel: true };
    case "user": {
      const isFirst = state.title === undefined && message.from === "person";
      const { turn: _, ...rest } = state;
      const words = message.content.map((part) => (part.type === "text" ? part.text : "[image]")).join(" ");
      return { ...rest, awaitsModel: true, ...(isFirst && { title: clip(words, MAX_TITLE) }) };
    }
  }
}

function withCall(state: ThreadState, call: CallId, change: Partial<RecentCall>): ThreadState {
  return { ...state, recent: kept(state.recent.map((each) => (each.call === call ? { ...each, ...change } : each))) };
}

function kept(calls: readonly RecentCall[]): readonly RecentCall[] {
  return calls.filter(({ endedMs }, index) => endedMs === undefined || index >= calls.length - RECENT);
}
