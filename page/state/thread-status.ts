import type { RecentCall, ThreadState } from "../../src/serve/thread-state.ts";

/** The status of a thread, for lists. */
export type ThreadStatus = "waiting" | "running" | "failed" | "stopped" | "interrupted" | "done";

/** A model that has not answered within this time is not going to: its process or its turn has ended. Milliseconds. */
const MODEL_PATIENCE_MS = 10 * 60_000;

export function statusOf({ recent, awaitsModel, changedMs, turn }: ThreadState, now: number): ThreadStatus {
  if (recent.some(({ status }) => status === "waiting")) return "waiting";
  if (recent.some(({ status }) => status === "running")) return "running";
  if (awaitsModel && now - changedMs < MODEL_PATIENCE_MS) return "running";
  if (turn !== undefined) {
    return turn.reason === "done" || turn.reason === "parked"
      ? "done"
      : turn.reason === "stopped"
        ? "stopped"
        : "failed";
  }
  switch (recent.at(-1)?.status) {
    case "failed":
    case "invalid-input":
    case "unknown-tool":
      return "failed";
    case "aborted":
    case "not-started":
      return "stopped";
    case "interrupted":
      return "interrupted";
    default:
      return "done";
  }
}

/** Tools that run commands. */
const RUNS: readonly string[] = ["bash", "shell", "run_shell"];

/** Returns the line below the title of a thread. Untrusted. */
export function wordsOf(state: ThreadState, status: ThreadStatus): string {
  const { recent, calls, turn } = state;
  const of = (wanted: RecentCall["status"]) => recent.findLast((each) => each.status === wanted);
  const made = `${calls} ${calls === 1 ? "call" : "calls"}`;
  switch (status) {
    case "waiting": {
      const { name, line } = of("waiting") ?? { name: "", line: "" };
      return RUNS.includes(name) ? `Asks to run ${line}` : `Asks: ${name} ${line}`;
    }
    case "running": {
      const call = recent.findLast((each) => each.status === "running" && each.userFacing !== false);
      if (call !== undefined) return `${call.name} · ${call.line}`;
      return state.awaitsModel ? "Waiting for the model" : "Working";
    }
    case "failed":
      return turn === undefined ? `${made}, the last one failed` : endOf(turn);
    case "stopped":
      return turn === undefined ? `${made}, stopped` : endOf(turn);
    case "interrupted":
      return "Interrupted: its process ended";
    case "done":
      return calls === 0 ? "No calls" : made;
  }
}

const ENDS = {
  done: "Done",
  stopped: "Stopped",
  parked: "Waits for a person",
  max_rounds: "Failed: the limit of replies was reached",
  max_time: "Failed: the limit of time was reached",
  max_tokens: "Failed: the limit of tokens was reached",
  max_cost: "Failed: the limit of cost was reached",
  cut_off: "Failed: the reply was cut off",
  failed: "Failed",
} as const;

/** Returns how a turn ended, as a sentence. Untrusted. */
export function endOf({ reason, message }: NonNullable<ThreadState["turn"]>): string {
  return reason === "failed" && message !== undefined ? `Failed: ${message}` : ENDS[reason];
}

/** Returns the title of a thread: the first text of a person, otherwise its name. Untrusted. */
export function titleOf({ title, thread, parent, agent }: ThreadState): string {
  if (title !== undefined && title.trim() !== "") return title.trim().replaceAll(/\s+/g, " ");
  if (parent !== undefined) return agent ?? "Sub-agent";
  if (thread === "terminal") return "Typed into the terminal";
  return thread === "main" ? "Calls without a thread" : `Thread ${thread}`;
}
