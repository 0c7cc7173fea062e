import type { LanguageModelV3 } from "@ai-sdk/provider";
import { text } from "../core/contract/content.ts";
import { ToolFailure } from "../core/contract/failure.ts";
import type { Message } from "../core/contract/message.ts";
import type { Tool, ToolContext } from "../core/contract/tool.ts";
import type { Toolkit } from "../core/contract/toolkit.ts";
import { onlyLook } from "../core/call/toolset.ts";
import { type Delegated, type Task, delegate } from "../tools/delegate.ts";
import { onAbort } from "../core/util/abort.ts";
import { clip } from "../core/util/text.ts";
import type { Budget } from "./budget.ts";
import type { AgentEvent, TurnEnd } from "./events.ts";
import { buildInstructions } from "./instructions.ts";
import type { GivenLimits, Limits } from "./turn.ts";

/** The maximum number of levels of sub-agents below the first agent. */
const MOST_DEPTH = 3;

/** An agent that others may delegate to. */
export interface SubAgentOptions {
  /** Default: the model of the agent that delegates. */
  readonly model?: LanguageModelV3;
  /** Default: the tools of the agent that delegates. */
  readonly tools?: readonly Tool[];
  /** Its purpose and how it works: `own` of `buildInstructions`. Other agents read the beginning as the purpose. */
  readonly instructions?: string;
  /** The size of core memories in the sub-agent's instructions, in bytes. Default: that of `buildInstructions`. */
  readonly coreBytes?: number;
  /** The limits of one task. The limits of the agents above it apply as well. */
  readonly limits?: Limits;
}

/** Agents by name. */
export type SubAgents = { readonly [name: string]: SubAgentOptions };

/** The position of an agent in the tree of agents. */
export interface Position {
  /** The agent's own name and the names of the agents above it, as far as they have names. */
  readonly names: readonly string[];
  /** 0 for the first agent. */
  readonly depth: number;
  /** The budget of the turn whose call started the agent. */
  readonly above?: Budget;
}

/** A sub-agent, for one task. */
export interface Worker {
  readonly thread: string;
  readonly messages: readonly Message[];
  begin(message: Message): Promise<TurnEnd>;
  events(): AsyncIterable<AgentEvent>;
  close(): Promise<void>;
}

export interface Delegating {
  readonly agents: SubAgents;
  readonly position: Position;
  readonly toolkit: Toolkit;
  /** Absent: agents without a model of their own cannot work. */
  readonly model: LanguageModelV3 | undefined;
  readonly limits: GivenLimits;
  /** Returns the budget of the running turn. */
  readonly budget: () => Budget | undefined;
  /** Opens an agent. */
  readonly open: (options: WorkerOptions, position: Position) => Promise<Worker>;
}

/** A part of `AgentOptions`. */
export interface WorkerOptions extends Required<Pick<SubAgentOptions, "model" | "limits">> {
  readonly toolkit: Toolkit;
  readonly instructions: string;
  readonly parent: string;
  readonly agents: SubAgents;
}

const TASK_RULES =
  "The first message is a task from another agent. Do only this task. Nobody can answer questions: if something is " +
  "missing, say what. The other agent sees only your last reply: put results, paths and open points into it.";

/**
 * Returns the tools with `delegate`, with which an agent delegates tasks; without it if it can delegate to no agent. It
 * takes the place of the one of an agent above. An agent delegates neither to itself nor to an agent above it. An agent
 * whose tools only look delegates only to agents whose tools only look. An agent without tools may delegate to all.
 */
export function withDelegate(
  own: Iterable<Tool>,
  { agents, position }: Pick<Delegating, "agents" | "position">,
  start: StartTask,
): readonly Tool[] {
  if (Object.keys(agents).length === 0) return [...own];
  const tools = [...own].filter(({ name }) => name !== "delegate");
  const mayAct = tools.length === 0 || !onlyLook(tools);
  const others = Object.entries(agents).filter(
    ([name, { tools: theirs = tools }]) => !position.names.includes(name) && (mayAct || onlyLook(theirs)),
  );
  if (others.length === 0 || position.depth >= MOST_DEPTH) return tools;
  const purposes = new Map(others.map(([name, options]) => [name, purposeOf(options)]));
  return [...tools, delegate({ agents: purposes, start })];
}

type StartTask = (task: Task, context: Context) => Promise<Delegated>;

/** Returns the function that runs a task in a sub-agent. */
export function startTask({ agents, position, toolkit, ...own }: Delegating): StartTask {
  return async function start(task, { callId, thread, signal, report }) {
    const { agent: name } = task;
    const { tools: theirs, model = own.model, limits, instructions, coreBytes } = agents[name] ?? {};
    if (model === undefined) {
      throw new ToolFailure(`agent ${name} has no model`, {
        hint: `A person chooses one: model, or agents.${name}.model, in the configuration.`,
      });
    }
    const { context, retryMs, price, onCost } = own.limits;
    const above = own.budget();
    const below: Position = {
      ...{ names: [...position.names, name], depth: position.depth + 1 },
      ...(above !== undefined && { above }),
    };
    const workers = toolkit.with({
      tools: (tools) => withDelegate(theirs ?? tools.values(), { agents, position: below }, start),
      ...{ agent: name, thread },
    });
    const worker = await own.open(
      {
        model,
        toolkit: workers,
        instructions: await buildInstructions(workers, {
          own: [instructions, TASK_RULES].filter((part) => part !== undefined && part.trim() !== "").join("\n\n"),
          ...(coreBytes !== undefined && { coreBytes }),
        }),
        limits: {
          retryMs,
          ...(onCost && { onCost }),
          ...(model === own.model && { context, ...(price && { price }) }),
          ...limits,
        },
        parent: callId,
        agents,
      },
      below,
    );
    const release = onAbort(signal, () => void worker.close());
    try {
      report({ data: { agent: name, thread: worker.thread } });
      void showProgress(worker, name, report);
      const end = await worker.begin(messageOf(task));
      signal.throwIfAborted();
      const jobs = toolkit.jobs.handOver(worker.thread, thread);
      return { ...outcome(name, worker, end), ...(jobs.length > 0 && { jobs: jobs.map(({ id }) => id) }) };
    } finally {
      toolkit.jobs.handOver(worker.thread, thread);
      release();
      await worker.close();
    }
  };
}

type Context = Pick<ToolContext, "callId" | "thread" | "signal" | "report">;

/** A task is written by a model, not a person: the policy learns no URLs from it. */
function messageOf({ prompt, context }: Task): Message {
  const words = context === undefined ? prompt : `[Context]\n${context}\n\n[Task]\n${prompt}`;
  return { role: "user", from: "handrail", content: [text(words)] };
}

/**
 * Returns the outcome of a task.
 *
 * @throws ToolFailure when the task failed or was stopped.
 */
function outcome(agent: string, { thread, messages }: Worker, end: TurnEnd): Delegated {
  const { reason, message, rounds, usage } = end;
  if (reason === "failed" || reason === "stopped") {
    const what = reason === "stopped" ? `agent ${agent} was stopped` : `agent ${agent} failed: ${message}`;
    throw new ToolFailure(what, { hint: "Do the task yourself, or tell the user.", data: { agent, thread } });
  }
  const last = messages.findLast(({ role }) => role === "assistant");
  const content = last?.role === "assistant" ? last.content : [];
  return {
    agent,
    thread,
    answer: content.flatMap((part) => (part.type === "text" ? [part.text] : [])).join("\n"),
    ...(reason !== "done" && { unfinished: message ?? reason }),
    rounds,
    tokens: usage.input + usage.output,
  };
}

/** Shows the progress of the sub-agent in the cell of the call. */
async function showProgress(worker: Worker, agent: string, report: ToolContext["report"]): Promise<void> {
  let rounds = 0;
  for await (const event of worker.events()) {
    if (event.type === "tool_call" && event.userFacing !== false)
      report({ displayMessage: `${agent}: ${event.name} ${clip(event.input, 120)}` });
    if (event.type === "approval" && event.status === "asked") {
      report({ displayMessage: `${agent}: waits for approval of ${event.name}` });
    }
    if (event.type === "tool_update" && event.name === "delegate" && event.update.displayMessage) {
      report({ displayMessage: `${agent}: ${clip(event.update.displayMessage, 200)}` });
    }
    if (event.type === "usage") report({ data: { rounds: ++rounds } });
    if (event.type === "retry") report({ displayMessage: `${agent}: ${event.message}` });
  }
}

function purposeOf({ instructions = "", tools }: SubAgentOptions): string {
  const [first = ""] = instructions.trim().split("\n");
  const names = tools?.map(({ name }) => name).join(", ");
  const has = names === undefined ? "your tools" : names === "" ? "no tools" : `tools ${names}`;
  return first === "" ? `an agent with ${has}` : `${first} (${has})`;
}
