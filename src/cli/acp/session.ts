import type { AgentContext, McpServer, SessionUpdate, StopReason } from "@agentclientprotocol/sdk";
import { type Agent, type AgentEvent, type TurnEnd, createAgent } from "../../agent/agent.ts";
import type { McpChoice, McpChoices } from "../../app/config/mcp.ts";
import type { Content } from "../../core/contract/content.ts";
import type { Approver, Autonomy } from "../../core/contract/policy.ts";
import type { Toolset } from "../../core/contract/toolkit.ts";
import { oneLine } from "../../core/output/terminal-text.ts";
import { type AgentParts, openParts } from "../agent-parts.ts";
import { callTitle } from "../call-title.ts";
import { withOutput } from "../progress.ts";
import type { AgentOptions } from "../options.ts";
import { startedWith } from "../resume.ts";
import { askClient } from "./permission.ts";
import { type CallFacts, announcement, filesOf, kindOf, notice, updateOf, updatesOf } from "./updates.ts";

/** A conversation with a client: an agent in a thread of its own, whose id is that of the session. */
export interface Session {
  readonly id: string;
  readonly autonomy: Autonomy;
  /** Sends the conversation so far to the client. */
  replay(): Promise<void>;
  /** Runs a turn. Resolves when the client has all its updates. Rejects when the turn failed. */
  prompt(content: readonly Content[]): Promise<StopReason>;
  /** Stops the running turn. */
  cancel(): Promise<void>;
  /** Sets what runs without a question, from the next turn on. Approvals for the session end with the old setting. */
  setAutonomy(autonomy: Autonomy): void;
  /** Sends an update to the client, after the earlier ones. */
  tell(update: SessionUpdate): void;
  close(): Promise<void>;
}

export interface SessionOptions {
  readonly client: AgentContext;
  readonly options: AgentOptions;
  /** The servers that the client configures. They are added to those of the configuration. */
  readonly servers: readonly McpServer[];
  /** Whether the client shows forms. */
  readonly hasForms: boolean;
}

/** An agent, and the parts it was made of. */
interface Opened {
  readonly agent: Agent;
  readonly parts: AgentParts;
}

/**
 * Opens a session; with `options.resume`, a session of that thread.
 *
 * @throws Error with the next step, as `openParts` does.
 */
export async function openSession(given: SessionOptions): Promise<Session> {
  const { client, servers, hasForms } = given;
  const facts = new Map<string, CallFacts>();
  let sessionId = "";
  let sending: Promise<unknown> = Promise.resolve();

  /** Sends updates in the order in which they were added. A client that has disconnected gets none. */
  const send = (update: () => SessionUpdate | undefined | Promise<SessionUpdate | undefined>) => {
    sending = sending
      .then(async () => {
        const made = await update();
        if (made !== undefined) await client.notify("session/update", { sessionId, update: made });
      })
      .catch(() => {});
  };
  /** Resolves when the client has the updates of all events so far. */
  const flushed = async () => {
    await new Promise((resolve) => setImmediate(resolve)); // the waiting events are read first
    await sending;
  };

  const open = async (options: AgentOptions, thread?: string): Promise<Opened> => {
    const approver: Approver = async (call, decision, signal) => {
      const { agent, parts } = opened;
      await flushed();
      const { id } = call.request;
      const input = JSON.stringify(call.input);
      const host = parts.toolkit.backend.access === undefined ? undefined : parts.toolkit.backend.name;
      const asking = { client, sessionId, hasForms, signal, ...(host !== undefined && { host }) };
      const about = facts.get(id) ?? (await factsOf(agent.tools, parts, { name: call.tool.name, input }));
      return { ...(await askClient(call, decision, about, asking)), by: "ACP client" };
    };
    const tell = (text: string) => send(() => notice("warning", text));
    const parts = await openParts(options, approver, tell, choicesOf(servers));
    if (parts === undefined) throw new Error("handrail acp prints no texts: leave out --show-prompt and --resume");
    const { model, toolkit, instructions, limits, disable, agents, skills, name } = parts;
    const continued = thread ?? parts.thread?.thread;
    const agent = await createAgent({
      ...{ model, toolkit, instructions, limits, disable, agents, skills, startedWith: startedWith(parts.options) },
      ...(name !== undefined && { name }),
      ...(continued !== undefined && { thread: continued }),
    });
    sessionId = agent.thread;
    void follow({ agent, parts }, facts, send);
    return { agent, parts };
  };
  const shut = async ({ agent, parts }: Opened) => {
    await agent.close();
    await parts.close();
  };

  let opened = await open(given.options);
  let autonomy = given.options.autonomy ?? "supervised";
  let isChanged = false;
  return {
    id: sessionId,
    get autonomy() {
      return autonomy;
    },
    async replay() {
      const { agent, parts } = opened;
      for (const message of agent.messages) {
        const calls = message.role === "assistant" ? message.content.filter((part) => part.type === "call") : [];
        for (const call of calls) facts.set(call.id, await factsOf(agent.tools, parts, call));
        for (const update of updatesOf(message, facts)) send(() => update);
      }
      await flushed();
    },
    async prompt(content) {
      if (isChanged) {
        const { options } = opened.parts;
        await shut(opened);
        opened = await open({ ...options, autonomy }, sessionId);
        isChanged = false;
      }
      const end = await opened.agent.send(content);
      await flushed();
      return stopReasonOf(end);
    },
    cancel: () => opened.agent.stop(),
    setAutonomy(wanted) {
      isChanged ||= wanted !== autonomy;
      autonomy = wanted;
    },
    tell: (update) => send(() => update),
    close: () => shut(opened),
  };
}

/** Sends what the agent does, until it is closed. */
async function follow(
  { agent, parts }: Opened,
  facts: Map<string, CallFacts>,
  send: (update: () => SessionUpdate | undefined | Promise<SessionUpdate | undefined>) => void,
): Promise<void> {
  const hidden = new Set<string>();
  /** The end of each running call's output, and whether it waits to be sent. */
  const outputs = new Map<string, { text: string; waits: boolean }>();
  const addOutput = ({ id, update }: Extract<AgentEvent, { type: "tool_update" }>) => {
    const output = outputs.get(id) ?? { text: "", waits: false };
    outputs.set(id, output);
    output.text = withOutput(output.text, update.output ?? (update.displayMessage ? `${update.displayMessage}\n` : ""));
    if (output.waits || output.text === "") return;
    output.waits = true;
    send(() => {
      output.waits = false;
      const content = { type: "text" as const, text: output.text };
      return { sessionUpdate: "tool_call_update", toolCallId: id, content: [{ type: "content", content }] };
    });
  };
  for await (const event of agent.events()) {
    if (event.type === "tool_call" && event.userFacing === false) hidden.add(event.id);
    if ("id" in event && hidden.has(event.id)) continue;
    if (event.type === "tool_update") addOutput(event);
    else if (event.type === "tool_call") {
      send(async () => {
        const about = await factsOf(agent.tools, parts, event);
        facts.set(event.id, about);
        return announcement(event, about);
      });
    } else send(() => updateOf(event, facts));
    if (event.type === "usage" || event.type === "compacted" || event.type === "end") send(() => usageOf(agent));
  }
}

/** What fills the context, and what the session has cost, including sub-agents. */
function usageOf({ context, spent: { cost } }: Agent): SessionUpdate {
  const { size, ...parts } = context();
  const used = Object.values(parts).reduce((sum, tokens) => sum + tokens, 0);
  const money = cost !== undefined && { cost: { amount: cost, currency: "USD" } };
  return { sessionUpdate: "usage_update", used, size, ...money };
}

async function factsOf(
  tools: Toolset,
  { toolkit }: AgentParts,
  { name, input }: { readonly name: string; readonly input: string },
): Promise<CallFacts> {
  const kind = kindOf(tools, name);
  const title = oneLine(await callTitle(tools, name, input), 200);
  return { title, kind, ...filesOf(input, kind, toolkit.backend.workDir) };
}

/** @throws Error with the cause, when the turn failed. */
function stopReasonOf({ reason, message = "the turn failed" }: TurnEnd): StopReason {
  switch (reason) {
    case "done":
    case "parked":
      return "end_turn";
    case "stopped":
      return "cancelled";
    case "max_rounds":
    case "max_time":
    case "max_cost":
      return "max_turn_requests";
    case "max_tokens":
    case "cut_off":
      return "max_tokens";
    case "failed":
      throw new Error(message);
  }
}

/** Converts the servers of a client to those of the configuration, by name. */
function choicesOf(servers: readonly McpServer[]): McpChoices {
  return Object.fromEntries(
    servers.map((server): [string, McpChoice] => {
      if ("command" in server) {
        const { name, command, args, env } = server;
        return [name, { command, args, setEnv: Object.fromEntries(env.map((each) => [each.name, each.value])) }];
      }
      const { name, url, headers } = server;
      return [name, { url, headers: Object.fromEntries(headers.map((each) => [each.name, each.value])) }];
    }),
  );
}
