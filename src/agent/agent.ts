import type { LanguageModelV3 } from "@ai-sdk/provider";
import type { Store, StoredEvent } from "../core/contract/activity.ts";
import { type Content, text } from "../core/contract/content.ts";
import type { CallId, ThreadId } from "../core/contract/identity.ts";
import type { Message } from "../core/contract/message.ts";
import type { Tool } from "../core/contract/tool.ts";
import type { Toolkit, Toolset } from "../core/contract/toolkit.ts";
import { messageOf } from "../core/util/errors.ts";
import { randomName } from "../core/util/identifier.ts";
import { type Shape, anyObject, listOf, mapOf, requireShape, text as textOption } from "../core/util/shape.ts";
import { type Budget, createBudget } from "./budget.ts";
import { type Position, type SubAgents, type Worker, startTask, withDelegate } from "./delegation.ts";
import { type ContextUse, contextUse } from "./compact.ts";
import {
  type AgentEvent,
  type EventHub,
  NO_USAGE,
  type Spent,
  type TurnEnd,
  addSpent,
  createEventHub,
} from "./events.ts";
import { answerOfOther, isOffered, isTaken, offerOf, takeThread } from "./offers.ts";
import { partsText } from "../core/output/part-text.ts";
import { createPrompts, toolsOf } from "./prompt.ts";
import { type Skill, skillTool } from "./skills.ts";
import { type ToolSearch, createToolSearch } from "./tool-search.ts";
import { traceTurn } from "./trace.ts";
import { type Transcript, openTranscript } from "./transcript.ts";
import { DEFAULT_LIMITS, type GivenLimits, type Known, type Limits, type TurnOptions, runTurn } from "./turn.ts";
import { type Waking, createWaking } from "./wake.ts";

export type { SubAgentOptions, SubAgents } from "./delegation.ts";
export type { CostReached } from "./budget.ts";
export type { ContextUse } from "./compact.ts";
export type { AgentEvent, Spent, TurnEnd, Usage } from "./events.ts";
export { type InstructionsOptions, buildInstructions } from "./instructions.ts";
export { demoModel } from "./models/demo.ts";
export { type ModelSettings, loadModel, PROVIDERS } from "./models/load.ts";
export { type Skill, type SkillFolder, readSkills } from "./skills.ts";
export type { Limits } from "./turn.ts";

export interface AgentOptions {
  /** Any model of the AI SDK, from `loadModel` or a provider package. */
  readonly model: LanguageModelV3;
  /** Provides the agent's tools, looked up again in each round. Not closed with the agent. */
  readonly toolkit: Toolkit;
  /** The system prompt (see `buildInstructions`). Default: none. */
  readonly instructions?: string;
  /**
   * The thread to continue. If it is not in the toolkit's store, its first message creates it. Default: a new thread.
   */
  readonly thread?: ThreadId;
  /** The call that starts this agent, if any. It is recorded with the thread. */
  readonly parent?: CallId;
  /** Recorded with a new thread: what the program needs to continue it in the same way. Default: nothing. */
  readonly startedWith?: { readonly [name: string]: string };
  readonly limits?: Limits;
  /**
   * The agents that it may delegate tasks to, by name. It gets the tool `delegate`, and so do these agents. They work
   * in their own threads, with this toolkit's policy, grants and approver, within this agent's limits, and stop with
   * this agent. At most three levels deep. Default: none.
   */
  readonly agents?: SubAgents;
  /** The skills that the agent can read with the tool `skill`: see `readSkills`. Default: none. */
  readonly skills?: readonly Skill[];
  /** The agent's own name in `agents`, if it is in the list. No agent delegates to it then. */
  readonly name?: string;
  /**
   * Tools that are not added to the toolkit's tools: `delegate`, `skill`, `wake_on_job`, `search_tools`. Other names
   * are ignored.
   */
  readonly disable?: readonly string[];
}

/** A model that works with tools, in one thread. */
export interface Agent {
  readonly thread: ThreadId;
  /**
   * The current tools of the agent's toolkit, and the tools of agents: `delegate`, `skill`, `wake_on_job`, and
   * `search_tools` where the toolset is large (over 40 tools, or over a tenth of the context) and has tools of plugins
   * or MCP servers. The model is then offered these only when a search has found them.
   */
  readonly tools: Toolset;
  /** The conversation so far, as far as the store has recorded it. */
  readonly messages: readonly Message[];
  /** What the thread has used so far, including the running turn and sub-agents. */
  readonly spent: Spent;
  /** Estimates what fills the model's context. After a reply, the estimate uses the provider's counts. */
  context(): ContextUse;
  /** Starts a turn after the earlier turns have ended. Resolves to how the turn ended; never rejects. */
  send(input: string | readonly Content[]): Promise<TurnEnd>;
  /**
   * Continues a turn that ended because calls were parked. Makes the calls that were approved, and continues when all
   * calls have a result. While some calls wait, the turn ends as "parked"; with nothing to continue, as "done" without
   * a reply. Never rejects.
   */
  resume(): Promise<TurnEnd>;
  /**
   * After the earlier turns, replaces the conversation before the last reply with a summary that the model writes. The
   * record keeps the whole conversation. Ends like a turn; never rejects.
   *
   * @param keep what the summary must keep, in a person's words; may be empty
   */
  compact(keep: string): Promise<TurnEnd>;
  /**
   * Passes a message to the model between two rounds of the running turn. If no turn is running, starts one. Returns a
   * function that takes the message back. That function returns false when it is too late.
   */
  steer(input: string | readonly Content[]): () => boolean;
  /** Stops the running turn. Its running calls are stopped, and each call has a result. Resolves at the turn's end. */
  stop(): Promise<void>;
  /** Yields the events from now on, until the agent is closed. */
  events(): AsyncIterableIterator<AgentEvent>;
  /** Stops the running turn and ends the stream of events. Turns that were sent later end as stopped. */
  close(): Promise<void>;
}

/**
 * Creates an agent. Reads its thread from the toolkit's store.
 *
 * @throws Error when the store cannot be read; RangeError for a limit that is not above 0.
 */
export async function createAgent({ name, ...options }: AgentOptions): Promise<Agent> {
  requireShape("createAgent", options, SHAPE);
  return await openAgent(options, { names: name === undefined ? [] : [name], depth: 0 });
}

const SHAPE: Shape<Omit<AgentOptions, "name">> = {
  ...{ model: () => [], toolkit: anyObject, instructions: textOption, thread: textOption, parent: textOption },
  ...{ startedWith: mapOf(textOption), limits: anyObject, agents: mapOf(anyObject), skills: listOf(anyObject) },
  disable: listOf(textOption),
};

async function openAgent(options: Omit<AgentOptions, "name">, position: Position): Promise<Agent & Worker> {
  const { model, thread = randomName(10), instructions = "" } = options;
  const limits = requireLimits({ ...DEFAULT_LIMITS, ...options.limits });
  const hub = createEventHub();
  const flags = { hasWaited: false, hasBegun: false };
  const known: Known = { charactersAToken: 4, context: limits.context, leftOut: new Set(), ...flags };
  let budget: Budget | undefined;
  const waking = createWaking((words) => turns.deliver({ role: "user", from: "handrail", content: [text(words)] }));
  const search = createToolSearch(limits.context, () => transcript.messages);
  const toolkit = withAgentTools({ ...options, thread, limits }, position, { waking, search, budget: () => budget });
  const transcript = await openTranscript(toolkit, thread, options);
  const promptOf = createPrompts();
  const place: Place = { hub, toolkit, thread, transcript, begunAfter: undefined };

  let spentBefore = transcript.spentBefore;
  let defined: { readonly of: Toolset; readonly characters: number } | undefined;
  const turns = createTurns(async (first, signal, keep) => {
    const own = (budget = createBudget(limits, position.above));
    const given: TurnOptions = {
      ...{ model, toolkit, thread, transcript, promptOf, instructions, limits, budget: own, known, signal, search },
      ...(keep !== undefined && { keep }),
      ...(position.depth > 0 && { agent: position.names.at(-1) ?? "agent" }),
      // A provider's error may contain the key.
      emit: (event) => hub.emit(event.type === "retry" ? toolkit.mask(event) : event),
      takeWaiting: () =>
        turns.take().filter((message) => !isOffered(message) || !(signal.aborted || isTaken(message, transcript))),
    };
    const run = () => alone(place, first, signal, (message) => runTurn(message, given));
    const end = await traceTurn(model, { thread, agent: position.names.at(-1) }, run).catch((error: unknown): TurnEnd =>
      signal.aborted ? { ...nothingIn(thread), reason: "stopped" } : failed(thread, error),
    );
    spentBefore = addSpent(spentBefore, own);
    budget = undefined;
    return toolkit.mask({ ...end, waitingFor: waking.jobs() });
  }, hub);

  const closing = new AbortController();
  void followRequests(toolkit.store, thread, closing.signal, (event) => {
    if (place.begunAfter === undefined || event.id <= place.begunAfter) return;
    if (event.type === "stop.requested") void turns.stop();
    if (event.type !== "message.offered") return;
    if (event.message === undefined) turns.withdraw((message) => offerOf(message) === event.offer);
    else turns.deliver(event.message);
  });

  return {
    thread,
    get tools() {
      return toolkit.tools;
    },
    get messages() {
      return [...transcript.messages];
    },
    get spent() {
      return budget === undefined ? spentBefore : addSpent(spentBefore, budget);
    },
    context() {
      const offered = search.offered(toolkit.tools);
      if (defined?.of !== offered) defined = { of: offered, characters: JSON.stringify(toolsOf(offered) ?? []).length };
      const { charactersAToken: ratio, context: size } = known;
      const fixed = { instructions: instructions.length, tools: defined.characters, size };
      return contextUse(transcript, ratio, fixed);
    },
    begin: turns.begin,
    resume: () => turns.begin(undefined),
    compact: (keep) => turns.begin(undefined, keep),
    send: (input) => turns.begin(fromPerson(input)),
    steer(input) {
      const given = fromPerson(input);
      turns.deliver(given);
      return () => turns.withdraw((message) => message === given);
    },
    stop: turns.stop,
    events: hub.follow,
    async close() {
      closing.abort();
      await turns.close();
      await toolkit.close();
      hub.close();
    },
  };
}

/**
 * Returns the toolkit with the tool `delegate`, for callers that are no agents: a shell, an MCP client. Without agents,
 * and where its tools only look and those of the agents do not, it has the same tools.
 *
 * @throws RangeError for a limit that is not above 0.
 */
export function withSubAgents(
  toolkit: Toolkit,
  {
    agents,
    model,
    limits,
    name,
  }: Pick<AgentOptions, "agents" | "limits" | "name"> & Partial<Pick<AgentOptions, "model">>,
): Toolkit {
  if (agents === undefined || Object.keys(agents).length === 0) return toolkit;
  const given = { agents, position: { names: name === undefined ? [] : [name], depth: 0 } };
  const start = startTask({
    ...{ ...given, toolkit, model, limits: requireLimits({ ...DEFAULT_LIMITS, ...limits }) },
    ...{ budget: () => undefined, open: openAgent },
  });
  return toolkit.with({ tools: (own) => withDelegate(own.values(), given, start) });
}

/** @throws RangeError for a limit that is not above 0. */
function requireLimits(limits: GivenLimits): GivenLimits {
  const { price, onCost: _, ...numbers } = limits;
  const prices = price && { "price.input": price.input, "price.output": price.output };
  for (const [name, limit] of Object.entries({ ...numbers, ...prices })) {
    if (!(limit > 0)) throw new RangeError(`limits.${name} ${limit}: expected a number above 0`);
  }
  return limits;
}

/** Returns the toolkit of one agent, in its thread, with the tools of agents. */
function withAgentTools(
  {
    model,
    toolkit,
    thread,
    parent,
    limits,
    agents = {},
    disable = [],
    skills = [],
  }: AgentOptions & { readonly thread: ThreadId; readonly limits: GivenLimits },
  position: Position,
  {
    waking,
    search,
    budget,
  }: { readonly waking: Waking; readonly search: ToolSearch; readonly budget: () => Budget | undefined },
): Toolkit {
  // A sub-agent is closed when its turn has ended.
  const wakes = position.depth === 0 && toolkit.tools.has("jobs");
  const withAgents = (own: Toolset): Iterable<Tool> => {
    const start = startTask({ agents, position, toolkit, model, limits, budget, open: openAgent });
    const theirs = disable.includes("delegate")
      ? own.values()
      : withDelegate(own.values(), { agents, position }, start);
    const added = [
      wakes ? waking.tool : undefined,
      skillTool(skills),
      disable.includes("search_tools") ? undefined : search.toolFor(own),
    ].filter((tool) => tool !== undefined && !disable.includes(tool.name)) as readonly Tool[];
    return new Map([...theirs, ...added].map((tool) => [tool.name, tool])).values();
  };
  return toolkit.with({
    tools: withAgents,
    thread,
    ...(parent !== undefined && { parent }),
  });
}

/** The turns of one agent, one after another, and the messages that wait for the running turn. */
interface Turns {
  /** Runs a turn when the earlier turns have ended; with `keep` shortens the conversation instead. Never rejects. */
  begin(message: Message | undefined, keep?: string): Promise<TurnEnd>;
  /** Passes a message to the running turn, or begins a turn with it. */
  deliver(message: Message): void;
  /** Returns the waiting messages, and removes them. */
  take(): readonly Message[];
  /** Removes a waiting message. Returns false if there is no such message. */
  withdraw(which: (message: Message) => boolean): boolean;
  /** Stops the running turn. Resolves when the turn has ended. */
  stop(): Promise<void>;
  /** Stops the running turn; later turns end as stopped. Resolves when all turns have ended. */
  close(): Promise<void>;
}

/** @param run runs one turn until it ends, or until the signal fires; never rejects */
function createTurns(
  run: (first: Message | undefined, signal: AbortSignal, keep?: string) => Promise<TurnEnd>,
  hub: Pick<EventHub, "emit">,
): Turns {
  const waiting: Message[] = [];
  let running: { readonly stopping: AbortController; readonly ended: Promise<unknown> } | undefined;
  let last: Promise<unknown> = Promise.resolve();
  let isClosed = false;

  const turn = async (first: Message | undefined, keep?: string): Promise<TurnEnd> => {
    const stopping = new AbortController();
    if (isClosed) stopping.abort();
    const ended = run(first, stopping.signal, keep);
    running = { stopping, ended };
    const end = await ended;
    running = undefined;
    hub.emit({ type: "end", ...end });
    return end;
  };
  const begin = (message: Message | undefined, keep?: string): Promise<TurnEnd> => {
    const next = last.then(() => turn(message, keep));
    last = next.then(() => {
      // Those that arrived after the turn took its last messages. The agents that offered the others run them.
      const [left, ...more] = waiting.splice(0).filter((each) => !isOffered(each));
      if (left === undefined || isClosed) return;
      waiting.push(...more);
      void begin(left);
    });
    return next;
  };
  const stop = async () => {
    running?.stopping.abort(new Error("the turn was stopped"));
    await running?.ended;
  };
  return {
    begin,
    deliver(message) {
      if (isClosed) return;
      if (running === undefined) void begin(message);
      else waiting.push(message);
    },
    take: () => waiting.splice(0),
    withdraw(which) {
      const index = waiting.findIndex(which);
      return index !== -1 && waiting.splice(index, 1).length > 0;
    },
    stop,
    async close() {
      isClosed = true;
      await stop();
      await last;
    },
  };
}

/** Where the turns of one agent run. */
interface Place {
  readonly hub: Pick<EventHub, "emit">;
  readonly toolkit: Toolkit;
  readonly thread: ThreadId;
  readonly transcript: Transcript;
  /**
   * While a turn of this agent has the thread: the last event before the turn. A request to stop concerns only the turn
   * that has the thread at that time, not a turn that waits.
   */
  begunAfter: number | undefined;
}

/** Runs a turn while no other agent runs one in the thread, in this process or another. */
async function alone(
  place: Place,
  first: Message | undefined,
  signal: AbortSignal,
  work: (message: Message | undefined) => Promise<TurnEnd>,
): Promise<TurnEnd> {
  const { hub, toolkit, thread, transcript } = place;
  const { store } = toolkit;
  const notify = (words: string) => hub.emit({ type: "message", from: "handrail", text: words });
  const { message, giveBack } = await takeThread(first, { store, thread, transcript, signal, notify });
  try {
    await transcript.begin();
    place.begunAfter = transcript.position;
    if (message !== undefined && isTaken(message, transcript)) {
      const { text: answer, ...end } = await answerOfOther(store, transcript, thread);
      if (message.role === "user") hub.emit({ type: "message", from: message.from, text: partsText(message.content) });
      hub.emit({ type: "text", text: answer });
      return { ...nothingIn(thread), ...end };
    }
    const end = await work(message).catch((error: unknown) => failed(thread, error));
    if (message !== undefined || end.rounds > 0) recordEnd(store, toolkit.mask(end));
    return end;
  } finally {
    place.begunAfter = undefined;
    await giveBack();
  }
}

/** The end of a turn that did nothing. */
function nothingIn(thread: ThreadId): Omit<TurnEnd, "reason"> {
  return { thread, rounds: 0, usage: NO_USAGE, unasked: 0, waitingFor: [] };
}

function failed(thread: ThreadId, error: unknown): TurnEnd {
  return { ...nothingIn(thread), reason: "failed", message: messageOf(error) };
}

/** Records how a turn ended. A failure is ignored, because the transcript has already reported it. */
function recordEnd(store: Store, { thread, reason, message, usage, cost }: TurnEnd): void {
  const spent = { usage, ...(cost !== undefined && { cost }) };
  const why = message !== undefined && { message };
  try {
    store.append({ type: "turn.ended", thread, at: Date.now(), reason, ...why, spent });
  } catch {
    // the event that ends the turn reports it
  }
}

/**
 * Follows the store for requests to stop the thread, and for messages of other agents. Never rejects: if the store
 * cannot be read, nothing is reported.
 */
async function followRequests(
  store: Store,
  thread: ThreadId,
  signal: AbortSignal,
  take: (event: StoredEvent) => void,
): Promise<void> {
  const types = ["stop.requested", "message.offered"] as const;
  try {
    const events = store.events({ thread, messages: true, types, after: "now", follow: true, signal });
    for await (const event of events) take(event);
  } catch {
    // other uses of the store report it
  }
}

function fromPerson(input: string | readonly Content[]): Message {
  return { role: "user", from: "person", content: typeof input === "string" ? [text(input)] : input };
}
