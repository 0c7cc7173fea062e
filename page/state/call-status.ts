import type { CallMessage } from "../../src/record/activity/messages.ts";
import type { IconName } from "../view/icons.tsx";

/** The status of a cell. Colour, icon and word are always shown together. */
export interface CallStatus {
  readonly state: "waiting" | "running" | "success" | "failed" | "refused" | "denied" | "stopped" | "interrupted";
  readonly icon: IconName;
  /** The colour class. */
  readonly look: "wait" | "run" | "ok" | "fail" | "off";
  /** "" for success, which is shown without a word. */
  readonly word: string;
}

/** @param isAgent true if the call started a thread */
export function callStatus(message: CallMessage, isAgent: boolean): CallStatus {
  const { question, result, answered, stopped, metadata } = message;
  if (question !== undefined) return { state: "waiting", icon: "ask", look: "wait", word: "Waiting for you" };
  const icon = isAgent ? "branch" : undefined;
  if (result === undefined) {
    const shownByTool = isAgent ? undefined : metadata.tool_activity.display_message; // the agent's own calls tell more
    const word = stopped === undefined ? (shownByTool ?? "Running") : "Stopping";
    return { state: "running", icon: icon ?? "run", look: "run", word };
  }
  switch (result) {
    case "parked":
      return { state: "waiting", icon: "ask", look: "wait", word: "Waiting for a person" };
    case "ok":
      return { state: "success", icon: icon ?? "check", look: "ok", word: "" };
    case "denied":
      return answered?.approval.answer === "refuse"
        ? { state: "refused", icon: "deny", look: "off", word: "Refused" }
        : { state: "denied", icon: "deny", look: "off", word: "Denied" };
    case "aborted":
      return { state: "stopped", icon: "stop", look: "off", word: stoppedBy(stopped?.by) };
    case "not-started":
      return { state: "stopped", icon: "stop", look: "off", word: "Not started" };
    case "interrupted":
      return { state: "interrupted", icon: "cut", look: "off", word: "Interrupted" };
    case "failed":
    case "invalid-input":
    case "unknown-tool":
      return { state: "failed", icon: "fail", look: "fail", word: "Failed" };
  }
}

/** Returns who stopped a call. Stops from the console and the API come from the person who reads this. */
function stoppedBy(by: string | undefined): string {
  return by === "API" || by === "console" ? "Stopped by you" : "Stopped";
}
