import { Type } from "typebox";
import { type ToolContext, type ToolOptions, defineTool } from "../core/contract/tool.ts";
import type { ThreadId } from "../core/contract/identity.ts";
import { clip } from "../core/util/text.ts";

/** A task for a sub-agent. */
export interface Task {
  readonly agent: string;
  readonly prompt: string;
  readonly context?: string;
}

/** The result of a sub-agent. */
export type Delegated = {
  readonly agent: string;
  readonly thread: ThreadId;
  /** The text of its last reply. */
  readonly answer: string;
  /** The limit that kept it from finishing. */
  readonly unfinished?: string;
  /** Replies of models and their tokens, including those of all agents that the sub-agent started. */
  readonly rounds: number;
  readonly tokens: number;
  /** The ids of its jobs that are still running. Their ends are reported to the caller. */
  readonly jobs?: readonly string[];
};

export interface DelegateOptions extends ToolOptions {
  /** The purpose of each agent, by name. At least one. */
  readonly agents: ReadonlyMap<string, string>;
  /** Runs the task in a sub-agent, and stops it with the call. Rejects with a `ToolFailure` when it fails. */
  readonly start: (
    task: Task,
    context: Pick<ToolContext, "callId" | "thread" | "signal" | "report">,
  ) => Promise<Delegated>;
}

/** How many characters of each purpose the tool's description shows. */
const PURPOSE_SHOWN = 300;
/** Delegates a task to another agent and returns its answer. */
export const delegate = ({ agents, start, ...options }: DelegateOptions) =>
  defineTool({
    name: "delegate",
    title: "Delegate",
    description: [
      "Delegate a self-contained task to another agent and wait for its answer. The agent has its own tools and its " +
        "own conversation and cannot see yours: put everything it needs into prompt and context. To run tasks in " +
        "parallel, make several calls in one reply. Check what the agent reports before you rely on it. Agents:",
      ...[...agents].map(([name, purpose]) => `- ${name}: ${clip(purpose, PURPOSE_SHOWN)}`),
    ].join("\n"),
    ...options,
    touches: ["delegate"],
    input: Type.Object(
      {
        agent: Type.Union(
          [...agents.keys()].map((name) => Type.Literal(name)),
          { description: "The agent" },
        ),
        prompt: Type.String({ minLength: 1, description: "The task, and what to answer with" }),
        context: Type.Optional(Type.String({ description: "What the agent should know: paths, findings, code" })),
      },
      { additionalProperties: false },
    ),
    effects: ({ agent, prompt }) => [{ kind: "delegate", agent, task: prompt }],
    run: ({ agent, prompt, context }, { callId, thread, signal, report }) =>
      start({ agent, prompt, ...(context !== undefined && { context }) }, { callId, thread, signal, report }),
    render: ({ agent, answer, unfinished, jobs = [] }) =>
      [
        answer || "(no answer)",
        ...(unfinished === undefined ? [] : [`[Agent ${agent} did not finish: ${unfinished}]`]),
        ...(jobs.length === 0 ? [] : [`[Jobs of agent ${agent} still running: ${jobs.join(", ")}]`]),
      ].join("\n"),
  });
