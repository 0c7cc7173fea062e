import type { AgentEvent } from "../../agent/agent.ts";
import type { CallEvent } from "../../core/contract/activity.ts";
import { type Content, text } from "../../core/contract/content.ts";
import type { Toolkit } from "../../core/contract/toolkit.ts";
import { asText } from "../../core/call/result.ts";
import { withoutBoundaries } from "../../core/util/boundary.ts";
import { randomName } from "../../core/util/identifier.ts";

/** Runs the person's own commands (`!npm test`) as calls, and keeps what the model should read about them. */
export interface OwnCalls {
  /** Runs a command line through the policy. Resolves when the command has ended; never rejects. */
  run(command: string): Promise<void>;
  /** Stops the running commands. Returns false if none is running. */
  stop(): boolean;
  /** Returns the commands and results since the last time, as parts of the next message. */
  taken(): readonly Content[];
}

/** The tools that run a command line, the preferred one first. */
const SHELLS = ["bash", "shell", "run_shell"];

export interface OwnCallsOptions {
  readonly toolkit: Pick<Toolkit, "tools" | "call">;
  /** Returns the thread that the calls belong to. */
  readonly thread: () => string;
  readonly show: (event: AgentEvent) => Promise<void>;
  readonly say: (text: string) => void;
}

export function createOwnCalls({ toolkit, thread, show, say }: OwnCallsOptions): OwnCalls {
  const running = new Set<AbortController>();
  let results: string[] = [];

  const showEvent = (event: CallEvent, { id, name }: { readonly id: string; readonly name: string }) => {
    if (event.type === "call.updated") return show({ type: "tool_update", id, name, update: event.update });
    if (event.type === "approval.requested") return show({ type: "approval", id, name, status: "asked" });
    if (event.type !== "approval.decided") return undefined;
    const status = event.approval.answer === "refuse" ? "refused" : "approved";
    return show({ type: "approval", id, name, status });
  };

  return {
    async run(command) {
      const name = SHELLS.find((each) => toolkit.tools.has(each));
      if (name === undefined) return say(`This toolset has no tool that runs commands: ${SHELLS.join(", ")}.`);
      const call = { id: randomName(12), name };
      const input = { command };
      const stopping = new AbortController();
      running.add(stopping);
      const startedMs = performance.now();
      await show({ type: "tool_call", ...call, input: JSON.stringify(input) });
      await show({ type: "tool_started", ...call });
      const result = await toolkit.call(
        { ...call, input, thread: thread() },
        { signal: stopping.signal, park: false, onEvent: (event) => void showEvent(event, call) },
      );
      running.delete(stopping);
      const answer = asText(result);
      const ms = Math.round(performance.now() - startedMs);
      const status = result.status === "parked" ? "denied" : result.status;
      await show({ type: "tool_result", ...call, status, text: withoutBoundaries(answer), ms });
      results.push(`[I ran this command myself.]\n$ ${command}\n${answer}`);
    },
    stop() {
      for (const each of running) each.abort(new Error("the person stopped it"));
      return running.size > 0;
    },
    taken() {
      const parts = results.map(text);
      results = [];
      return parts;
    },
  };
}
