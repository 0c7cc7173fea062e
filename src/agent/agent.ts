import type { LanguageModelV3 } from "@ai-sdk/provider";
import type { Store } from "../contract/activity.ts";
import { type Content, text } from "../contract/content.ts";
import type { CallId, ThreadId } from "../contract/identity.ts";
import type { Message } from "../contract/message.ts";
import type { Toolkit } from "../contract/toolkit.ts";
import { messageOf } from "../util/errors.ts";
import { randomName } from "../util/identifier.ts";
import { type AgentEvent, NO_USAGE, type TurnEnd, createEventHub } from "./events.ts";
import { openTranscript } from "./transcript.ts";
import { DEFAULT_LIMITS, type Known, type Limits, runTurn } from "./turn.ts";
import { createWaking } from "./wake.ts";

export type { AgentEvent, TurnEnd, Usage } from "./events.ts";
export { type InstructionsOptions, buildInstructions } from "./instructions.ts";
export { demoModel } from "./models/demo.ts";
export { type ModelSettings, loadModel, PROVIDERS } from "./models/load.ts";
export type { Limits } from "./turn.ts";

export interface AgentOptions {
  /** Any model of the AI SDK, as `loadModel` or a provider package gives one. */
  readonly model: LanguageModelV3;
  /** Its tools are the agent's. It is not closed with the agent. */
  readonly toolkit: Toolkit;
  /** What the model is told before the conversation. See `buildInstructions`. Default: nothing. */
  readonly instructions?: string;
  /** The thread to continue; one that is not in the toolkit's store is created there with its first message. Default: a new one. */
  readonly thread?: ThreadId;
  /** The call that starts this agent, if one does: it is recorded with the thread. */
  readonly parent?: CallId;
  readonly limits?: Limits;
}

/** A model that works with tools, in one thread. */
export interface Agent {
  readonly thread: ThreadId;
  /** What was said before, as far as the store has it. */
  readonly messages: readonly Message[];
  /** Starts a turn when those before have ended. Resolves with how it ended; never rejects. */
  send(input: string | readonly Content[]): Promise<TurnEnd>;
  /** Gives the model a message between two rounds of the running turn. Where none runs, it starts one. */
  steer(input: string | readonly Content[]): void;
  /** Stops the running turn. Running calls are stopped, and all have a result. Resolves when the turn has ended. */
  stop(): Promise<void>;
  /** The events from now on, until the agent is closed. */
  events(): AsyncIterableIterator<AgentEvent>;
  /** Stops the running turn and ends the events. Turns that were sent later end as stopped. */
  close(): Promise<void>;
}

/**
 * Makes an agent. Its thread is read from the toolkit's store.
 *
 * @throws Error when the store cannot be read; RangeError for a limit that is not above 0.
 */
export async function createAgent(options: AgentOptions): Promise<Agent> {
  const { model, thread = randomName(10), parent, instructions = "" } = options;
  const limits = { ...DEFAULT_LIMITS, ...options.limits };
  for (const [name, limit] of Object.entries(limits)) {
    if (!(limit > 0)) throw new RangeError(`limits.${name} ${limit}: expected a number above 0`);
  }
  const hub = createEventHub();
  const known: Known = { charactersAToken: 4, context: limits.context };
  const waiting: Message[] = [];
  let running: { readonly stopping: AbortController; readonly ended: Promise<unknown> } | undefined;
  let last: Promise<unknown> = Promise.resolve();
  let isClosed = false;

  const waking = createWaking((words) => deliver({ role: "user", from: "handrail", content: [text(words)] }));
  const own = [...options.toolkit.tools.values()].filter(({ name }) => name !== waking.tool.name);
  const hasJobs = options.toolkit.tools.has("jobs");
  const toolkit = options.toolkit.with({
    ...(hasJobs && { tools: [...own, waking.tool] }),
    thread,
    ...(parent !== undefined && { parent }),
  });
  const transcript = await openTranscript(toolkit, thread, parent);

  const turn = async (first: Message): Promise<TurnEnd> => {
    const stopping = new AbortController();
    if (isClosed) stopping.abort();
    const ended = runTurn(first, {
      ...{ model, toolkit, thread, transcript, instructions, limits, known },
      // What a provider reports may have the key in it.
      emit: (event) => hub.emit(event.type === "retry" ? toolkit.mask(event) : event),
      signal: stopping.signal,
      takeWaiting: () => waiting.splice(0),
    }).catch((error: unknown): TurnEnd => {
      return { reason: "failed", message: messageOf(error), thread, rounds: 0, usage: NO_USAGE, waitingFor: [] };
    });
    running = { stopping, ended };
    const end = toolkit.mask({ ...(await ended), waitingFor: waking.jobs() });
    running = undefined;
    hub.emit({ type: "end", ...end });
    return end;
  };

  const begin = (message: Message): Promise<TurnEnd> => {
    const next = last.then(() => turn(message));
    last = next.then(() => {
      const [left, ...more] = waiting.splice(0); // came after the turn had taken what waited
      if (left === undefined || isClosed) return;
      waiting.push(...more);
      void begin(left);
    });
    return next;
  };

  const deliver = (message: Message) => {
    if (isClosed) return;
    if (running === undefined) void begin(message);
    else waiting.push(message);
  };

  const stop = async () => {
    running?.stopping.abort(new Error("the turn was stopped"));
    await running?.ended;
  };

  const closing = new AbortController();
  void stopWhenAsked(toolkit.store, thread, closing.signal, () =>
    running?.stopping.abort(new Error("the turn was stopped")),
  );

  return {
    thread,
    get messages() {
      return transcript.messages;
    },
    send: (input) => begin(fromPerson(input)),
    steer: (input) => deliver(fromPerson(input)),
    stop,
    events: hub.follow,
    async close() {
      isClosed = true;
      closing.abort();
      await stop();
      await last;
      await toolkit.close();
      hub.close();
    },
  };
}

/** Follows the store for a stop of the thread. Never rejects: in a store that cannot be read nobody can ask for one. */
async function stopWhenAsked(store: Store, thread: ThreadId, signal: AbortSignal, stop: () => void): Promise<void> {
  const events = store.events({
    thread,
    messages: true,
    types: ["stop.requested"],
    after: "now",
    follow: true,
    signal,
  });
  try {
    for await (const _ of events) stop();
  } catch {
    // what else is done with the store reports it
  }
}

function fromPerson(input: string | readonly Content[]): Message {
  return { role: "user", from: "person", content: typeof input === "string" ? [text(input)] : input };
}
