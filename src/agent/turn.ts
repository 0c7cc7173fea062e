import type { LanguageModelV3, LanguageModelV3CallOptions, LanguageModelV3Prompt } from "@ai-sdk/provider";
import { text } from "../core/contract/content.ts";
import type { TurnAnswer, TurnEvent } from "../core/contract/hooks.ts";
import type { ThreadId } from "../core/contract/identity.ts";
import type { AssistantPart, Message } from "../core/contract/message.ts";
import type { Toolkit } from "../core/contract/toolkit.ts";
import { parse } from "../core/call/parse.ts";
import { withoutBoundaries } from "../core/util/boundary.ts";
import { Stop, pause } from "../core/util/abort.ts";
import { randomName } from "../core/util/identifier.ts";
import { LONGEST_TIMER_MS } from "../core/util/keeping-alive.ts";
import { clip } from "../core/util/text.ts";
import {
  type CallResults,
  type Calling,
  type Failures,
  announce,
  answerCall,
  createFailures,
  notStarted,
  refuseCalls,
  runCalls,
} from "./calls.ts";
import { charactersAToken, compact, measure } from "./compact.ts";
import { charactersOf } from "./conversation.ts";
import type { Budget, CostReached, Price } from "./budget.ts";
import type { AgentEvent, TurnEnd } from "./events.ts";
import { isOffered } from "./offers.ts";
import { parkedEnd, settleParked, waitingMessage } from "./parked.ts";
import { removePictures } from "./pictures.ts";
import { partsText } from "../core/output/part-text.ts";
import { formatSize } from "../core/output/size.ts";
import { PROVIDER_OPTIONS, type Prompts, SHOWN_ARGUMENTS, toolsOf } from "./prompt.ts";
import { type ModelReply, type RequestOptions, request } from "./request.ts";
import type { ToolSearch } from "./tool-search.ts";
import type { Transcript } from "./transcript.ts";

export interface Limits {
  /** The maximum number of replies in a turn, including those of sub-agents. Default 100. */
  readonly rounds?: number;
  /** The maximum duration of a turn, in milliseconds. Default, and above 2,147,483,647 (24 days): no limit. */
  readonly timeMs?: number;
  /**
   * The maximum number of tokens of a turn: input and output together, including sub-agents. Requests that are running
   * when it is reached are completed. Default: no limit.
   */
  readonly tokens?: number;
  /**
   * The most that a turn may cost, including sub-agents, in US dollars. Requests that are running when it is reached
   * are completed. A model without a price counts as free. Default: no limit.
   */
  readonly cost?: number;
  /**
   * Called when `cost` is reached. Resolves to true to continue: the limit grows by the same amount each time. Also
   * called for sub-agents that have their own limit. Default: the turn ends.
   */
  readonly onCost?: (reached: CostReached, signal: AbortSignal) => Promise<boolean>;
  /** The price of the model, in US dollars. It is counted for `cost`. Default: none. */
  readonly price?: Price;
  /**
   * The maximum number of tokens of a request: the model's context. Default 128,000. Lowered when the provider reports
   * that a request was too long.
   */
  readonly context?: number;
  /** The pause before the first retry of a failed request, in milliseconds. Doubles each time. Default 1,000. */
  readonly retryMs?: number;
}

/** The limits of an agent, with the defaults. */
export type GivenLimits = Required<Omit<Limits, "price" | "onCost">> & Pick<Limits, "price" | "onCost">;

export const DEFAULT_LIMITS: GivenLimits = {
  rounds: 100,
  timeMs: Infinity,
  tokens: Infinity,
  cost: Infinity,
  context: 128_000,
  retryMs: 1_000,
};

export interface TurnOptions {
  readonly model: LanguageModelV3;
  readonly toolkit: Toolkit;
  readonly thread: ThreadId;
  readonly transcript: Transcript;
  readonly promptOf: Prompts;
  readonly instructions: string;
  readonly limits: GivenLimits;
  /** A new budget for the turn, with the same limits. */
  readonly budget: Budget;
  readonly emit: (event: AgentEvent) => void;
  /** Fires when the turn is stopped. */
  readonly signal: AbortSignal;
  /** Returns the messages that wait to be delivered, and removes them. */
  readonly takeWaiting: () => readonly Message[];
  /** Holds back definitions of tools. */
  readonly search: Pick<ToolSearch, "offered">;
  /** Instead of a turn, shortens the conversation: `keep` of `compact`. */
  readonly keep?: string;
  /** What is known from earlier turns. */
  readonly known: Known;
  /** The name of the sub-agent whose turn it is. */
  readonly agent?: string;
}

/** What an agent has learned in earlier turns. */
export interface Known {
  charactersAToken: number;
  /** The size of the model's context, in tokens. */
  context: number;
  /** Whether a turn has waited for sources of tools. */
  hasWaited: boolean;
  /** The tools whose definitions are left out, as people know. */
  readonly leftOut: Set<string>;
  /** Whether hooks know that the agent has begun. */
  hasBegun: boolean;
}

type Ending = Pick<TurnEnd, "reason" | "message">;

/** How long the model's last message after a limit may take, in milliseconds. */
const LAST_WORD_MS = 60_000;
/** The share of the context that the conversation may fill. The rest is for the reply. */
export const FILLED = 0.8;
/** How long a turn waits for sources of tools that are still starting. Milliseconds. */
const STARTING_MS = 5_000;
/** How many times in a row a conversation that is too long for the model is shortened and sent again. */
const OVERFLOWS = 2;

const EMPTY_REPLY =
  "[Your reply had neither text nor a call of a tool. Answer the user, or call a tool to continue the work.]";

/**
 * Runs one turn: the model replies and its calls are run, until it answers without calls, a limit is reached or the
 * turn is stopped. Before this, makes the parked calls that were approved. Ends when calls are parked, unless a person
 * has written meanwhile. Rejects only when the store cannot record the message that begins the turn. In any case, each
 * call in the transcript has a result, unless it is parked.
 *
 * @param first `undefined` continues a turn whose calls were parked; nothing happens while they wait
 */
export async function runTurn(first: Message | undefined, options: TurnOptions): Promise<TurnEnd> {
  const { toolkit, thread, transcript, limits, budget, emit } = options;
  const clock = new AbortController();
  const timer = limits.timeMs > LONGEST_TIMER_MS ? undefined : setTimeout(() => clock.abort(), limits.timeMs);
  const turn: Turn = {
    ...options,
    name: randomName(10),
    clock: clock.signal,
    over: AbortSignal.any([options.signal, clock.signal]),
    failures: createFailures(),
    results: { toolkit, emit, onResult: transcript.add },
    offered: offeredTools(options),
    counts: { emptyReplies: 0, overflows: 0, continued: 0 },
  };
  try {
    let ending = await (turn.keep === undefined ? begin(turn, first) : shorten(turn));
    if (ending === undefined) await waitForSources(turn);
    while (ending === undefined) ending = await round(turn);
    const unrecorded = transcript.problem && `The thread could not be recorded: ${transcript.problem}`;
    const message = [ending.message, unrecorded].filter((each) => each !== undefined).join(" ");
    const { rounds, usage, cost, unasked } = budget;
    const end = {
      ...{ reason: ending.reason, ...(message !== "" && { message }) },
      ...(cost !== undefined && { cost }),
    };
    return { ...end, thread, rounds, usage, unasked, waitingFor: [] };
  } finally {
    clearTimeout(timer);
  }
}

/** A turn that runs. */
interface Turn extends TurnOptions {
  readonly name: string;
  /** Fires at the time limit. */
  readonly clock: AbortSignal;
  /** Fires at the time limit, and when the turn is stopped. */
  readonly over: AbortSignal;
  readonly failures: Failures;
  readonly results: CallResults;
  /** The tools that the model is offered, and what is sent with each request besides the messages, in characters. */
  readonly offered: () => { readonly tools: ReturnType<typeof toolsOf>; readonly fixedCharacters: number };
  /**
   * Empty replies in a row, requests in a row that were too long for the model's context, and how often hooks made the
   * agent continue.
   */
  readonly counts: { emptyReplies: number; overflows: number; continued: number };
}

/**
 * Returns a function that reads the tools again when sources have added or removed some, or a search has found some.
 */
function offeredTools({ toolkit, instructions, search, known, emit }: TurnOptions): Turn["offered"] {
  const leftOut = (tool: string, why: string) => {
    if (known.leftOut.has(tool)) return;
    known.leftOut.add(tool);
    emit({ type: "message", from: "handrail", text: `The tool ${tool} is left out of requests: ${why}.` });
  };
  let takenFrom: Toolkit["tools"] | undefined;
  let offered: ReturnType<Turn["offered"]>;
  return () => {
    const now = search.offered(toolkit.tools);
    if (now !== takenFrom) {
      takenFrom = now;
      const tools = toolsOf(now, leftOut);
      offered = { tools, fixedCharacters: instructions.length + JSON.stringify(tools ?? []).length };
    }
    return offered;
  };
}

/** Makes the parked calls that were approved, and records the first message. */
async function begin(turn: Turn, first: Message | undefined): Promise<Ending | undefined> {
  const { transcript, emit, results, over } = turn;
  const { waiting, hasNews } = await settleParked({
    ...turn,
    deliver: (message) => deliver(turn, message),
    signal: over,
  });
  if (first === undefined) return waiting.length > 0 ? parkedEnd(waiting) : hasNews ? undefined : { reason: "done" };
  for (const call of waiting) answerCall(call, waitingMessage(call), 0, results);
  const before = transcript.messages.length === 0 ? "startup" : "resume";
  if (first.role === "user") emit({ type: "message", from: first.from, text: partsText(first.content) });
  const hooked = await prompted(turn, first);
  if (hooked?.blocked !== undefined) return { reason: "failed", message: `The prompt was refused: ${hooked.blocked}` };
  await transcript.commit(first);
  await sessionStarted(turn, before);
  for (const words of hooked?.context ?? []) tell(turn, words);
  return hooked?.ended === undefined ? undefined : { reason: "stopped", message: hooked.ended };
}

/** Asks the hooks of the user about something in the turn. Resolves to `undefined` without such hooks. */
async function askHooks({ toolkit, thread, over }: Turn, event: TurnEvent): Promise<TurnAnswer | undefined> {
  const { backend, hooks } = toolkit;
  return hooks?.on(event, { workDir: backend.workDir, thread, signal: over });
}

/** Asks the hooks about a message, if a person wrote it. */
async function prompted(turn: Turn, message: Message): Promise<TurnAnswer | undefined> {
  if (message.role !== "user" || message.from !== "person") return undefined;
  return askHooks(turn, { event: "UserPromptSubmit", prompt: partsText(message.content) });
}

/** Tells the hooks once that a session has started. Sub-agents have none. */
async function sessionStarted(turn: Turn, source: "startup" | "resume" | "compact"): Promise<void> {
  if (turn.agent !== undefined || (turn.known.hasBegun && source !== "compact")) return;
  turn.known.hasBegun = true;
  const hooked = await askHooks(turn, { event: "SessionStart", source });
  for (const words of hooked?.context ?? []) tell(turn, words);
}

/** Takes the messages that wait, each with what hooks add to it. One that a hook refuses is dropped. */
async function takeWaiting(turn: Turn): Promise<readonly (readonly [Message, context: readonly string[]])[]> {
  const taken: (readonly [Message, readonly string[]])[] = [];
  for (const message of turn.takeWaiting()) {
    const hooked = await prompted(turn, message);
    if (hooked?.blocked === undefined) taken.push([message, hooked?.context ?? []]);
    else turn.emit({ type: "message", from: "handrail", text: `The message was refused: ${hooked.blocked}` });
  }
  return taken;
}

function deliverAll(turn: Turn, taken: Awaited<ReturnType<typeof takeWaiting>>): void {
  for (const [message, context] of taken) {
    deliver(turn, message);
    for (const words of context) tell(turn, words);
  }
}

/** How often hooks can make the agent continue in one turn. Source: Claude Code. */
const MOST_CONTINUED = 8;

/** Asks the hooks whether the agent may stop. Resolves to whether it continues. */
async function continues(turn: Turn): Promise<boolean> {
  const { agent, counts, transcript } = turn;
  const last = transcript.messages.findLast(({ role }) => role === "assistant");
  const parts = last?.role === "assistant" ? last.content : [];
  const lastMessage = parts.flatMap((part) => (part.type === "text" ? [part.text] : [])).join("\n");
  const about = { again: counts.continued > 0, lastMessage };
  const event = agent === undefined ? ({ event: "Stop" } as const) : ({ event: "SubagentStop", agent } as const);
  const hooked = await askHooks(turn, { ...event, ...about });
  if (hooked?.blocked === undefined || hooked.ended !== undefined || turn.over.aborted) return false;
  if (++counts.continued > MOST_CONTINUED) return false;
  tell(turn, `[A ${event.event} hook asks you to continue: ${hooked.blocked}]`);
  return true;
}

/** Lets sources start, so that the first request has their tools. If a wait was in vain, later turns do not wait. */
async function waitForSources({ toolkit, known, emit, over }: Turn): Promise<void> {
  const sources = toolkit.starting;
  if (sources.length === 0 || known.hasWaited) return;
  emit({ type: "starting", sources });
  const waited = new Stop(over);
  await Promise.race([toolkit.ready, pause(STARTING_MS, waited.signal)]);
  waited.abort(new Error("the wait is over"));
  waited.unlink();
  known.hasWaited = true;
}

/** Asks the model once and runs the calls of its reply. Resolves to how the turn ends; `undefined`: it continues. */
async function round(turn: Turn): Promise<Ending | undefined> {
  const { model, budget, counts, over, results } = turn;
  deliverAll(turn, await takeWaiting(turn));
  if (turn.signal.aborted) return { reason: "stopped" };
  const ended = turn.toolkit.hooks?.takeStop(turn.thread);
  if (ended !== undefined) return { reason: "stopped", message: ended };
  const limited = await limitReached(turn);
  if (limited !== undefined) return limited;
  const unfit = await fit(turn);
  if (over.aborted) return undefined; // the next round ends the turn, or asks for a last message
  if (unfit !== undefined) return failedWith(unfit);
  if (budget.reached() !== undefined) return undefined; // concurrent sub-agents may have used it up
  budget.takeRound();
  const answer = await ask(turn, over);
  const taken = takeBack(turn, answer);
  if (taken !== undefined) return taken === "again" ? undefined : taken;
  const calls = keep(turn, answer);
  if (over.aborted) {
    refuseCalls(calls, "the turn was stopped", results);
    return undefined;
  }
  if (answer.problem !== undefined) {
    refuseCalls(calls, "the reply broke off", results);
    return failedWith(answer);
  }
  if (calls.length > 0) return makeCalls(turn, answer.finish === "length" ? withoutCut(turn, calls) : calls);
  const ending = endingOf(answer);
  if (ending === undefined) {
    if (++counts.emptyReplies > 1) return { reason: "failed", message: emptyMessage(answer, model) };
    tell(turn, EMPTY_REPLY);
    return undefined;
  }
  const waiting = await takeWaiting(turn);
  deliverAll(turn, waiting);
  if (waiting.length > 0) return undefined;
  return ending.reason === "done" && (await continues(turn)) ? undefined : ending;
}

/**
 * Takes back a request that the provider refused, if another can be made: a shorter one when it was too long, one
 * without pictures when it does not take one. The request is not counted. `undefined` when nothing is to be done.
 */
function takeBack(turn: Turn, { problem }: ModelReply): "again" | Ending | undefined {
  const { budget, counts, known, emit, offered, toolkit, transcript } = turn;
  if (problem?.kind === "picture" && removePictures(transcript)) {
    budget.returnRound();
    const words = toolkit.mask(`${problem.message} The model is asked again without images.`);
    emit({ type: "message", from: "handrail", text: words });
    return "again";
  }
  if (problem?.kind !== "context-overflow") return undefined;
  const newest = transcript.messages.at(-1);
  const length = newest?.role === "user" ? charactersOf(newest) : 0;
  if (length > 0.8 * (transcript.characters.all + offered().fixedCharacters)) {
    const message = `${problem.message} Your message alone has ${formatSize(length)}: ${SHORTER}`;
    return { reason: "failed", message };
  }
  if (counts.overflows >= OVERFLOWS || transcript.messages.length < 2) return undefined;
  counts.overflows++;
  budget.returnRound();
  const ratio = known.charactersAToken;
  known.context = (measure(transcript, ratio) + offered().fixedCharacters / ratio) * 0.6;
  return "again";
}

const SHORTER = "send a shorter one, or put it in a file and name the file, so that the model reads it in parts.";

/** Answers the last call of a reply that reached the limit of output, if its arguments were cut. Returns the others. */
function withoutCut({ failures, results }: Turn, calls: readonly Calling[]): readonly Calling[] {
  const last = calls.at(-1);
  if (last === undefined || (last.input.trim() !== "" && parse(last).notJson === undefined)) return calls;
  announce(last, results);
  answerCall(last, failures.noted(last, { ...notStarted(last, CUT), status: "invalid-input" }), 0, results);
  return calls.slice(0, -1);
}

const CUT =
  "your reply reached the model's limit of output inside its arguments, so the rest of them is missing. Nothing was run. " +
  "Make the call with shorter arguments: write a long file in several parts";

async function makeCalls(turn: Turn, calls: readonly Calling[]): Promise<Ending | undefined> {
  const { name, over, failures, budget, results } = turn;
  Object.assign(turn.counts, { emptyReplies: 0, overflows: 0 });
  const parked = await runCalls(calls, { ...results, turn: name, signal: over, failures, budget });
  if (parked.length === 0) return undefined;
  const written = await takeWaiting(turn);
  if (turn.signal.aborted) return { reason: "stopped" };
  if (written.length === 0) return parkedEnd(parked);
  for (const call of parked) answerCall(call, waitingMessage(call), 0, results);
  deliverAll(turn, written);
  return undefined;
}

async function limitReached(turn: Turn): Promise<Ending | undefined> {
  await turn.budget.extend(turn.over);
  if (turn.signal.aborted) return { reason: "stopped" };
  const limit = turn.budget.reached();
  if (limit?.isOwn === false) {
    const message = `The limit of ${limit.what} for the turn, sub-agents included, is reached.`;
    return { reason: limit.reason, message };
  }
  if (turn.clock.aborted) return lastWord(turn, "max_time", `${turn.limits.timeMs / 1_000} s`);
  return limit && lastWord(turn, limit.reason, limit.what);
}

/** Asks the model, after a limit was reached, what is done and what is left. */
async function lastWord(turn: Turn, reason: Ending["reason"], what: string): Promise<Ending> {
  const message = `The limit of ${what} for one turn is reached.`;
  tell(turn, `[${message} Call no more tools. Say in a few sentences what is done and what is left to do.]`);
  turn.budget.takeRound();
  const answer = await ask(turn, AbortSignal.any([turn.signal, AbortSignal.timeout(LAST_WORD_MS)]));
  refuseCalls(keep(turn, answer), "the turn has reached a limit", turn.results);
  return turn.signal.aborted ? { reason: "stopped" } : { reason, message };
}

/** Adds a message to the conversation, and shows it if a person wrote it. */
function deliver({ emit, transcript }: Turn, message: Message): void {
  if (message.role === "user") {
    const shown = withoutBoundaries(partsText(message.content));
    emit({ type: "message", from: message.from, text: shown, ...(isOffered(message) && { offered: true }) });
  }
  transcript.add(message);
}

function tell(turn: Turn, words: string): void {
  deliver(turn, { role: "user", from: "handrail", content: [text(words)] });
}

async function ask(turn: Turn, signal: AbortSignal): Promise<ModelReply> {
  const { toolkit, transcript, known, emit } = turn;
  const { tools, fixedCharacters } = turn.offered();
  const sent = fixedCharacters + transcript.characters.all;
  const prompt = turn.promptOf(`${turn.instructions}${stillStarting(toolkit.starting)}`, transcript.messages);
  const answer = await requestReply(turn, { prompt, ...(tools !== undefined && { tools }) }, { emit, signal });
  const { input } = answer.usage;
  if (input > 0) known.charactersAToken = charactersAToken(sent, input);
  return answer;
}

/** Shortens the conversation if it would not fit. If the request for a summary fails, returns the failed reply. */
function fit(turn: Turn): Promise<ModelReply | undefined> {
  const { transcript, known, emit, over: signal } = turn;
  const ratio = known.charactersAToken;
  const room = Math.max(1_000, known.context * FILLED - turn.offered().fixedCharacters / ratio);
  /** Emits no text: a summary is not the model's answer. */
  const askForSummary = (prompt: LanguageModelV3Prompt) =>
    requestReply(turn, { prompt }, { emit: (event) => event.type === "retry" && emit(event), signal });
  const { keep: asked } = turn;
  const compaction = { transcript, budget: room, charactersAToken: ratio, askForSummary, emit };
  return compact({
    ...compaction,
    ...(asked !== undefined && { keep: asked }),
    around: (work) => aroundCompact(turn, work),
  });
}

/** Shortens the conversation unless a hook refuses, and tells the hooks that it was shortened. */
async function aroundCompact<T>(turn: Turn, work: () => Promise<T>): Promise<T | undefined> {
  const trigger = turn.keep === undefined ? "auto" : "manual";
  const hooked = await askHooks(turn, { event: "PreCompact", trigger, keep: turn.keep ?? "" });
  if (hooked?.blocked !== undefined) {
    turn.emit({ type: "message", from: "handrail", text: `The conversation is not shortened: ${hooked.blocked}` });
    return undefined;
  }
  const done = await work();
  await sessionStarted(turn, "compact");
  return done;
}

/** Shortens the conversation because a person asked. */
async function shorten(turn: Turn): Promise<Ending> {
  if (turn.transcript.messages.length < 2) return { reason: "done", message: "There is nothing to shorten yet." };
  turn.budget.takeRound();
  const unfit = await fit(turn);
  if (turn.over.aborted) return { reason: "stopped" };
  return unfit === undefined ? { reason: "done" } : failedWith(unfit);
}

async function requestReply(
  { model, limits, budget, emit }: Turn,
  asked: Pick<LanguageModelV3CallOptions, "prompt" | "tools">,
  how: Pick<RequestOptions, "emit" | "signal">,
): Promise<ModelReply> {
  const given = { ...asked, providerOptions: PROVIDER_OPTIONS };
  const answer = await request(model, given, { ...how, retryMs: limits.retryMs });
  budget.spend(answer.usage, limits.price);
  if (answer.error === undefined) emit({ type: "usage", ...answer.usage });
  return answer;
}

/**
 * Adds a reply to the transcript. A reply that broke off is added without its reasoning, which providers would reject.
 * Returns its calls.
 */
function keep({ transcript }: Turn, { id, parts, error }: ModelReply): readonly Calling[] {
  const content = error === undefined ? parts : parts.filter(({ type }) => type !== "reasoning");
  if (content.length > 0) transcript.add({ role: "assistant", content: content.map(recordable), reply: id });
  return content.filter((part) => part.type === "call");
}

/** The sentence that tells the model which sources of tools are still starting. */
function stillStarting(sources: readonly string[]): string {
  if (sources.length === 0) return "";
  return `\n\nStill starting: ${sources.join(", ")}. Their tools are not there yet and join when they are.`;
}

/** Of arguments that cannot be used, only the beginning is recorded: the model is shown no more. */
function recordable(part: AssistantPart): AssistantPart {
  if (part.type !== "call" || part.input.length <= SHOWN_ARGUMENTS) return part;
  return parse(part).notJson === undefined ? part : { ...part, input: clip(part.input, SHOWN_ARGUMENTS) };
}

/** Returns how a turn ends after a reply without calls; `undefined` if the reply is empty. */
function endingOf({ parts, finish }: ModelReply): Ending | undefined {
  if (finish === "content-filter") {
    return { reason: "failed", message: "The provider's content filter stopped the reply." };
  }
  if (finish === "length") {
    return { reason: "cut_off", message: "The reply reached the model's limit of output and was cut off." };
  }
  return parts.some((part) => part.type === "text" && part.text.trim() !== "") ? { reason: "done" } : undefined;
}

function emptyMessage({ parts }: ModelReply, { modelId }: LanguageModelV3): string {
  const what = parts.some(({ type }) => type === "reasoning") ? "only reasoning and no answer" : "nothing";
  return `${modelId} replied with ${what}, twice. Ask again, or try another model.`;
}

function failedWith({ problem }: ModelReply): Ending {
  return { reason: "failed", message: problem?.message ?? "The model gave no answer." };
}
