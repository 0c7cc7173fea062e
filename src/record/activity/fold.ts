import type { ActivityChange, ActivityEvent } from "../../core/contract/activity.ts";
import type { CallId, ThreadId } from "../../core/contract/identity.ts";
import type { Json } from "../../core/contract/schema.ts";

/** The longest error in a cell, in characters: about two lines of a narrow window. */
export const MAX_ERROR = 200;

/** The cell of a call, as apps show it. Names and shape are those of `tool_activity` in the API. */
export interface ToolActivity {
  readonly id: CallId;
  readonly name: string;
  /** The tool's parameters in one line: "path (required), offset, limit". */
  readonly params_hint?: string;
  readonly status: "in_progress" | "success" | "failure";
  readonly input: Json;
  /** All output data of the tool. */
  readonly data: { readonly [key: string]: Json };
  /** What the call is doing, while it runs. */
  readonly display_message?: string;
  /** At most 200 characters; the result has the whole text. */
  readonly error?: string;
  /**
   * With `collapseRetries`: how many failed calls of the same tool this call has replaced, and these calls, the oldest
   * first.
   */
  readonly retry_count?: number;
  readonly retry_history?: readonly Pick<ToolActivity, "id" | "input" | "error">[];
}

/** The message of a call in its thread. */
export interface ToolMessage {
  readonly thread: ThreadId;
  /** Whether apps show the message. */
  readonly userFacing: boolean;
  readonly metadata: { readonly tool_activity: ToolActivity };
}

/**
 * Folds a call's events: takes the message so far and the call's next event. After the call's end only
 * `activity.updated` changes the message, and never its status. Pure.
 */
export function foldMessage(message: ToolMessage | undefined, event: ActivityEvent): ToolMessage | undefined {
  if (event.type === "call.started") return started(event);
  if (message !== undefined && event.type === "activity.updated") {
    return withActivity(message, changed(message.metadata.tool_activity, event.change));
  }
  if (message === undefined || message.metadata.tool_activity.status !== "in_progress") return message;
  const activity = message.metadata.tool_activity;
  switch (event.type) {
    case "call.updated":
      return withActivity(message, updated(activity, event.update));
    case "call.parked":
      return withActivity(message, updated(activity, { displayMessage: "Waiting for a person; no process waits" }));
    case "call.delivered":
      return withActivity(message, updated(activity, { displayMessage: `Waiting for ${event.target}` }));
    case "call.taken":
      return withActivity(message, updated(activity, { displayMessage: null }));
    case "call.finished":
      return withActivity(message, finished(activity, event));
    default:
      return message;
  }
}

function started(event: Extract<ActivityEvent, { type: "call.started" }>): ToolMessage {
  const activity: ToolActivity = {
    id: event.call,
    name: event.name,
    ...(event.paramsHint !== undefined && { params_hint: event.paramsHint }),
    status: "in_progress",
    input: event.input,
    data: {},
  };
  return { thread: event.thread, userFacing: event.userFacing ?? true, metadata: { tool_activity: activity } };
}

function updated(
  { display_message, ...activity }: ToolActivity,
  update: Extract<ActivityEvent, { type: "call.updated" }>["update"],
): ToolActivity {
  const message = update.displayMessage === undefined ? display_message : (update.displayMessage ?? undefined);
  return {
    ...activity,
    data: update.data === undefined ? activity.data : { ...activity.data, ...update.data },
    ...(message !== undefined && { display_message: message }),
  };
}

function changed(
  { display_message, error, ...activity }: ToolActivity,
  { deleted = [], ...change }: ActivityChange,
): ToolActivity {
  const runs = activity.status === "in_progress";
  const shown = deleted.includes("display_message") ? undefined : (change.display_message ?? display_message);
  const failure = deleted.includes("error") ? undefined : (change.error ?? error);
  return {
    ...activity,
    data: change.data === undefined ? activity.data : { ...activity.data, ...change.data },
    ...(shown !== undefined && runs && { display_message: shown }),
    ...(failure !== undefined && { error: failure }),
  };
}

/** Removes the display message at the call's end. A display message that the tool returned stays in the data. */
function finished(
  { display_message: _, ...activity }: ToolActivity,
  event: Extract<ActivityEvent, { type: "call.finished" }>,
): ToolActivity {
  return {
    ...activity,
    status: statusAtEnd(event),
    data: { ...activity.data, ...dataOf(event.data) },
    ...(event.error !== undefined && { error: event.error }),
  };
}

/** The status of a call that has ended. */
export function statusAtEnd({ status }: Extract<ActivityEvent, { type: "call.finished" }>): "success" | "failure" {
  return status === "ok" ? "success" : "failure";
}

function dataOf(data: Json | undefined): { readonly [key: string]: Json } {
  if (data === undefined || data === null) return {};
  if (typeof data === "object" && !Array.isArray(data)) return data as { readonly [key: string]: Json };
  return { result: data };
}

function withActivity(message: ToolMessage, activity: ToolActivity): ToolMessage {
  return { ...message, metadata: { tool_activity: activity } };
}
