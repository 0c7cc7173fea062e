import type { ThreadId } from "../contract/identity.ts";
import { Problem } from "./problem.ts";

/** An agent in one thread, as far as the API uses it. */
export interface ThreadAgent {
  /** Gives the model a message: between two rounds of the running turn or, where none runs, as a new turn. */
  steer(text: string): void;
  /** Stops the running turn. */
  stop(): Promise<void>;
  close(): Promise<void>;
}

/** Opens the agent of a thread. Rejects with an Error whose message a person reads, such as that no model is chosen. */
export type OpenAgent = (thread: ThreadId) => Promise<ThreadAgent>;

/** The agents of the threads that were prompted. */
export interface Agents {
  /** Gives a thread's agent a message. Rejects with a `Problem` where there can be none. */
  prompt(thread: ThreadId, text: string): Promise<void>;
  close(): Promise<void>;
}

export function createAgents(open: OpenAgent | undefined): Agents {
  const agents = new Map<ThreadId, Promise<ThreadAgent>>();

  return {
    async prompt(thread, text) {
      if (open === undefined) throw new Problem(409, "This server runs no agent.");
      const agent = agents.get(thread) ?? open(thread);
      agents.set(thread, agent);
      try {
        (await agent).steer(text);
      } catch (error) {
        agents.delete(thread);
        throw new Problem(409, error instanceof Error ? error.message : String(error));
      }
    },
    async close() {
      const all = await Promise.allSettled(agents.values());
      await Promise.all(all.flatMap((each) => (each.status === "fulfilled" ? [each.value.close()] : [])));
    },
  };
}
