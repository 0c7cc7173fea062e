import type { Content } from "../core/contract/content.ts";
import type { ThreadId } from "../core/contract/identity.ts";
import type { AgentStep, Drafts } from "./drafts.ts";
import { Problem } from "./problem.ts";

/** An agent in one thread, as far as the API uses it. */
export interface ThreadAgent {
  /** Passes a message to the model between two rounds of the running turn. If no turn is running, starts one. */
  steer(content: string | readonly Content[]): void;
  /** Stops the running turn. */
  stop(): Promise<void>;
  /** Continues a turn whose parked calls were answered. */
  resume(): Promise<unknown>;
  /** Yields what the agent does from now on, until it is closed. */
  events(): AsyncIterable<AgentStep>;
  close(): Promise<void>;
}

/**
 * Opens the agent of a thread. Rejects with an Error whose message is shown to people, for example when no model is
 * set.
 */
export type OpenAgent = (thread: ThreadId) => Promise<ThreadAgent>;

/** The agents of the threads that have been prompted. */
export interface Agents {
  /** Passes a message to a thread's agent. Rejects with a `Problem` when the agent cannot be opened. */
  prompt(thread: ThreadId, content: string | readonly Content[]): Promise<void>;
  /** Continues a turn whose parked calls were answered. Rejects like `prompt`. */
  resume(thread: ThreadId): Promise<void>;
  close(): Promise<void>;
}

export function createAgents(open: OpenAgent | undefined, drafts: Drafts): Agents {
  const agents = new Map<ThreadId, Promise<ThreadAgent>>();

  const openIn = async (thread: ThreadId, how: OpenAgent): Promise<ThreadAgent> => {
    const agent = await how(thread);
    void drafts.follow(thread, agent.events());
    return agent;
  };

  const agentOf = async (thread: ThreadId): Promise<ThreadAgent> => {
    if (open === undefined) throw new Problem(409, "This server runs no agent.");
    const agent = agents.get(thread) ?? openIn(thread, open);
    agents.set(thread, agent);
    try {
      return await agent;
    } catch (error) {
      agents.delete(thread);
      throw new Problem(409, error instanceof Error ? error.message : String(error));
    }
  };

  return {
    prompt: async (thread, content) => (await agentOf(thread)).steer(content),
    resume: async (thread) => void (await (await agentOf(thread)).resume()),
    async close() {
      const all = await Promise.allSettled(agents.values());
      await Promise.all(all.flatMap((each) => (each.status === "fulfilled" ? [each.value.close()] : [])));
    },
  };
}
