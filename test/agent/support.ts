import type { LanguageModelV3CallOptions } from "@ai-sdk/provider";
import { Type } from "typebox";
import { type Agent, type AgentEvent, type AgentOptions, createAgent } from "../../src/agent/agent.ts";
import { type Tool, defineTool } from "../../src/core/contract/tool.ts";
import type { Toolkit } from "../../src/core/contract/toolkit.ts";
import { type ScriptedModel, type ScriptedReply, scriptedModel } from "../suites/scripted-model.ts";
import type { ToolkitOptions } from "../../src/app/toolkit-options.ts";
import { toolkitWith } from "../support/workspace.ts";

type Script = Parameters<typeof scriptedModel>[0];

/** Opens an agent with a scripted model, and collects its events. */
export async function scripted(
  script: Script,
  {
    toolkit: toolkitOptions = {},
    ...options
  }: { readonly toolkit?: ToolkitOptions } & Partial<Omit<AgentOptions, "toolkit" | "model">> = {},
): Promise<{ agent: Agent; model: ScriptedModel; events: AgentEvent[]; toolkit: Toolkit }> {
  const toolkit = await toolkitWith({ preset: "none", ...toolkitOptions });
  const model = scriptedModel(script);
  const { limits, ...rest } = options;
  const agent = await createAgent({ model, toolkit, limits: { retryMs: 1, ...limits }, ...rest });
  const events: AgentEvent[] = [];
  const stream = agent.events();
  void (async () => {
    for await (const event of stream) events.push(event);
  })();
  const send = async (input: Parameters<Agent["send"]>[0]) => {
    const end = await agent.send(input);
    await new Promise((resolve) => setImmediate(resolve)); // lets the events be read
    return end;
  };
  return { agent: Object.assign(Object.create(agent) as Agent, { send }), model, events, toolkit };
}

/** A tool that only looks and runs the given function. */
export function looking(name: string, run: Tool["run"]): Tool {
  return defineTool({
    name,
    description: name,
    touches: [],
    input: Type.Object({ value: Type.Optional(Type.String()) }),
    effects: () => [],
    run,
  }) as Tool;
}

/** A tool that writes a path. */
export function acting(name: string, run: Tool["run"]): Tool {
  return defineTool({
    name,
    description: name,
    touches: ["write"],
    input: Type.Object({ path: Type.String() }),
    effects: ({ path }) => [{ kind: "write", path }],
    run,
  }) as Tool;
}

export const calls = (...given: NonNullable<ScriptedReply["calls"]>): ScriptedReply => ({ calls: given });

/** Returns what the model was given for each call, by its id. Fails when a call has not exactly one result. */
export function resultsIn({ prompt }: LanguageModelV3CallOptions): { readonly [id: string]: string } {
  const asked: string[] = [];
  const results: { [id: string]: string } = {};
  for (const message of prompt) {
    if (message.role === "assistant") {
      for (const part of message.content) if (part.type === "tool-call") asked.push(part.toolCallId);
    }
    if (message.role !== "tool") continue;
    for (const part of message.content) {
      if (part.type !== "tool-result") continue;
      if (part.toolCallId in results) throw new Error(`call ${part.toolCallId} has two results`);
      results[part.toolCallId] =
        "value" in part.output && typeof part.output.value === "string" ? part.output.value : "";
    }
  }
  if (new Set(asked).size !== asked.length) throw new Error(`an id repeats: ${asked.join(", ")}`);
  const missing = asked.filter((id) => !(id in results));
  if (missing.length > 0 || Object.keys(results).length !== asked.length) {
    throw new Error(`calls ${asked.join(", ")}, results ${Object.keys(results).join(", ")}`);
  }
  return results;
}

export function textOf(events: readonly AgentEvent[]): string {
  return events.map((event) => (event.type === "text" ? event.text : "")).join("");
}

export function ofType<T extends AgentEvent["type"]>(
  events: readonly AgentEvent[],
  type: T,
): Extract<AgentEvent, { type: T }>[] {
  return events.filter((event) => event.type === type) as Extract<AgentEvent, { type: T }>[];
}
