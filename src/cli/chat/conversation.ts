import { type Agent, type AgentEvent, type Limits, createAgent } from "../../agent/agent.ts";
import { parseModel } from "../../agent/models/load.ts";
import type { Content } from "../../core/contract/content.ts";
import { takeReady } from "../../core/call/take-ready.ts";
import { type AgentParts, modelFor } from "../agent-parts.ts";
import { agentSettings } from "../agent-settings.ts";
import type { AgentOptions } from "../options.ts";
import { startedWith } from "../resume.ts";

/** The agent of a chat, which changes with its thread and its model. */
export interface Conversation {
  readonly agent: Agent;
  /** "anthropic:claude-sonnet-4-5". */
  readonly model: string;
  readonly languageModel: AgentParts["model"];
  /** The options, with the model that was chosen last. */
  readonly options: AgentOptions;
  /** Jobs whose end starts a turn. */
  readonly waitingFor: readonly string[];
  isBusy(): boolean;
  /** Sends a message, and resolves when its turn has ended and was shown. */
  send(message: string | readonly Content[]): Promise<void>;
  /** Continues another thread; `undefined` begins a new one. */
  reopen(thread: string | undefined): Promise<void>;
  /** Changes the model. Rejects like `loadModel`. */
  use(model: string): Promise<void>;
  close(): Promise<void>;
}

export interface ConversationListeners {
  /** Shows an event; the next one waits for it. */
  readonly show: (event: AgentEvent) => Promise<void>;
  /** Decides whether a turn continues at its cost limit. */
  readonly onCost: NonNullable<Limits["onCost"]>;
}

export async function createConversation(
  given: AgentOptions,
  parts: AgentParts,
  { show, onCost }: ConversationListeners,
): Promise<Conversation> {
  const { toolkit, instructions, agents, skills, name, disable } = parts;
  let { model } = parts;
  let limits: Limits = parts.limits;
  let options = given;
  let waitingFor: readonly string[] = [];
  let isBusy = false;
  let onShown: (() => void) | undefined;
  let takeNoMore = () => {};

  const follow = async (followed: Agent) => {
    for await (const event of followed.events()) {
      if (event.type === "message" || event.type === "tool_call") isBusy = true;
      if (event.type === "end") [isBusy, waitingFor] = [false, event.waitingFor];
      await show(event);
      if (event.type === "end") onShown?.();
    }
    onShown?.();
  };
  const start = async (thread: string | undefined): Promise<Agent> => {
    const started = await createAgent({
      ...{ model, toolkit, instructions, limits: { ...limits, onCost }, agents, skills, disable },
      ...(name !== undefined && { name }),
      startedWith: startedWith(options),
      ...(thread !== undefined && { thread }),
    });
    void follow(started);
    takeNoMore();
    takeNoMore = takeReady(toolkit, { thread: started.thread, agents: () => started.resume() });
    return started;
  };
  let agent = await start(parts.thread?.thread);
  const reopen = async (thread: string | undefined) => {
    await agent.close();
    waitingFor = [];
    agent = await start(thread);
  };

  return {
    get agent() {
      return agent;
    },
    get model() {
      return nameOf(model);
    },
    get languageModel() {
      return model;
    },
    get options() {
      return options;
    },
    get waitingFor() {
      return waitingFor;
    },
    isBusy: () => isBusy,
    async send(message) {
      const shown = new Promise<void>((resolve) => (onShown = resolve));
      await agent.send(message);
      await shown;
    },
    reopen,
    async use(written) {
      const { baseUrl, ...others } = given;
      const isSameProvider = nameOf(model).startsWith(`${parseModel(written).provider}:`);
      const next: AgentOptions = {
        ...{ ...others, model: written },
        ...(baseUrl !== undefined && isSameProvider && { baseUrl }), // keeps the key from other providers
      };
      const settings = await agentSettings(next);
      ({ model } = await modelFor(options.io, settings.model ?? parseModel(written)));
      options = next;
      const { context: _, ...kept } = limits;
      limits = { ...kept, ...settings.limits };
      await reopen(agent.thread);
    },
    async close() {
      takeNoMore();
      await agent.close();
    },
  };
}

function nameOf({ provider, modelId }: AgentParts["model"]): string {
  return provider === modelId ? modelId : `${provider.replace(/\..*$/, "")}:${modelId}`;
}
