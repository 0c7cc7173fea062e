import type { LanguageModelV3, LanguageModelV3CallOptions, LanguageModelV3Prompt } from "@ai-sdk/provider";
import { text } from "../contract/content.ts";
import type { ThreadId } from "../contract/identity.ts";
import type { AssistantPart, Message } from "../contract/message.ts";
import type { Toolkit } from "../contract/toolkit.ts";
import { parse } from "../engine/parse.ts";
import { withoutBoundaries } from "../util/boundary.ts";
import { Stop, pause } from "../util/abort.ts";
import { randomName } from "../util/identifier.ts";
import { clip } from "../util/text.ts";
import { type Calling, createFailures, answerCall, refuseCalls, runCalls } from "./calls.ts";
import { charactersAToken, charactersOf, compact, measure } from "./compact.ts";
import type { Price, Budget } from "./budget.ts";
import type { AgentEvent, TurnEnd } from "./events.ts";
import { isOffered } from "./offers.ts";
import { parkedEnd, settleParked, waitingMessage } from "./parked.ts";
import { PROVIDER_OPTIONS, SHOWN_ARGUMENTS, promptOf, joinedText, toolsOf } from "./prompt.ts";
import { type ModelReply, type RequestOptions, request } from "./request.ts";
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
   * The most that a turn may cost, including sub-agents, in the currency of `price`. Requests that are running when it
   * is reached are completed. A model without a price counts as free. Default: no limit.
   */
  readonly cost?: number;
  /** The price of the model, in any currency: it counts for `cost`. Default: none. */
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
export type GivenLimits = Required<Omit<Limits, "price">> & Pick<Limits, "price">;

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
  readonly instructions: string;
  readonly limits: GivenLimits;
  /** A new budget, with the same limits. */
  readonly budget: Budget;
  readonly emit: (event: AgentEvent) => void;
  /** Fires when the turn is stopped. */
  readonly signal: AbortSignal;
  /** Returns the messages that wait to be delivered, and removes them. */
  readonly takeWaiting: () => readonly Message[];
  /** What is known from earlier turns. */
  readonly known: Known;
}

/** What an agent has learned in earlier turns. */
export interface Known {
  charactersAToken: number;
  /** The size of its context, in tokens. */
  context: number;
  /** Whether a turn has waited for sources of tools. */
  hasWaited: boolean;
}

type Ending = Pick<TurnEnd, "reason" | "message">;

/** The longest delay of `setTimeout`, in milliseconds. */
const LONGEST_TIMER_MS = 2_147_483_647;
/** How long the last message after a limit may take, in milliseconds. */
const LAST_WORD_MS = 60_000;
/** The share of the context that the conversation may fill. The rest is for the reply. */
const FILLED = 0.8;
/** How long a turn waits for sources of tools that are still starting. Milliseconds. */
const STARTING_MS = 5_000;
/** How many times in a row a conversation that is too long for the model is shortened and sent again. */
const OVERFLOWS = 2;

const EMPTY_REPLY =
  "[Your reply had neither text nor a call of a tool. Answer the user, or call a tool to continue the work.]";

/**
 * Runs one turn: the model replies and its calls are run, until it answers without calls, a limit is reached or the
 * turn is stopped. Before, makes the parked calls that were approved. Ends when calls are parked, unless a person has
 * written meanwhile. Rejects only when the store cannot record the message that begins the turn. In any case, each call
 * in the transcript that is not parked has a result.
 *
 * @param first `undefined` continues a turn whose calls were parked; nothing happens while they wait
 */
export async function runTurn(first: Message | undefined, options: TurnOptions): Promise<TurnEnd> {
  const { model, toolkit, thread, transcript, limits, budget, emit, known } = options;
  const failures = createFailures();
  const name = randomName(10);
  const clock = new AbortController();
  const timer = limits.timeMs > LONGEST_TIMER_MS ? undefined : setTimeout(() => clock.abort(), limits.timeMs);
  const signal = AbortSignal.any([options.signal, clock.signal]);
  const results = { toolkit, emit, onResult: transcript.add };
  let tools: ReturnType<typeof toolsOf>;
  let fixedCharacters = 0;
  let takenFrom: Toolkit["tools"] | undefined;
  /** Reads the tools again, because sources may add and remove tools between two rounds. */
  const takeTools = () => {
    if (toolkit.tools === takenFrom) return;
    takenFrom = toolkit.tools;
    tools = toolsOf(toolkit);
    fixedCharacters = options.instructions.length + JSON.stringify(tools ?? []).length;
  };

  const deliver = (message: Message) => {
    if (message.role === "user") {
      const { from, content } = message;
      emit({
        type: "message",
        from,
        text: withoutBoundaries(joinedText(content)),
        ...(isOffered(message) && { offered: true }),
      });
    }
    transcript.add(message);
  };
  const tell = (words: string) => deliver({ role: "user", from: "handrail", content: [text(words)] });

  const requestReply = async (
    asked: Pick<LanguageModelV3CallOptions, "prompt" | "tools">,
    how: Pick<RequestOptions, "emit" | "signal">,
  ): Promise<ModelReply> => {
    const given = { ...asked, providerOptions: PROVIDER_OPTIONS };
    const answer = await request(model, given, { ...how, retryMs: limits.retryMs });
    budget.spend(answer.usage, limits.price);
    if (answer.error === undefined) emit({ type: "usage", ...answer.usage });
    return answer;
  };

  const ask = async (to: AbortSignal): Promise<ModelReply> => {
    const { messages } = transcript;
    const prompt = promptOf(`${options.instructions}${stillStarting(toolkit.starting)}`, messages);
    const answer = await requestReply({ prompt, ...(tools !== undefined && { tools }) }, { emit, signal: to });
    const { input } = answer.usage;
    const sent = fixedCharacters + messages.reduce((sum, message) => sum + charactersOf(message), 0);
    if (input > 0) known.charactersAToken = charactersAToken(sent, input);
    return answer;
  };

  /** Emits no text: a summary is not the model's answer. */
  const askForSummary = (prompt: LanguageModelV3Prompt): Promise<ModelReply> =>
    requestReply({ prompt }, { emit: (event) => event.type === "retry" && emit(event), signal });

  /**
   * Adds a reply to the transcript: a complete one in full, one that broke off without its reasoning, which providers
   * would reject. Returns its calls.
   */
  const keep = ({ parts, error }: ModelReply): readonly Calling[] => {
    const content = error === undefined ? parts : parts.filter(({ type }) => type !== "reasoning");
    if (content.length > 0) transcript.add({ role: "assistant", content: content.map(recordable) });
    return content.filter((part) => part.type === "call");
  };

  /** Shortens the conversation if it would not fit. If the request for a summary fails, returns its answer. */
  const fit = (): Promise<ModelReply | undefined> => {
    const ratio = known.charactersAToken;
    const room = Math.max(1_000, known.context * FILLED - fixedCharacters / ratio);
    return compact({ transcript, budget: room, charactersAToken: ratio, askForSummary, emit });
  };

  /** Asks the model, after a limit was reached, what is done and what is left. */
  const lastWord = async (reason: Ending["reason"], what: string): Promise<Ending> => {
    const message = `The limit of ${what} for one turn is reached.`;
    tell(`[${message} Call no more tools. Say in a few sentences what is done and what is left to do.]`);
    budget.takeRound();
    const answer = await ask(AbortSignal.any([options.signal, AbortSignal.timeout(LAST_WORD_MS)]));
    refuseCalls(keep(answer), "the turn has reached a limit", results);
    return options.signal.aborted ? { reason: "stopped" } : { reason, message };
  };

  const limitReached = async (): Promise<Ending | undefined> => {
    const limit = budget.reached();
    if (limit?.isOwn === false) {
      const message = `The limit of ${limit.what} for the turn, sub-agents included, is reached.`;
      return { reason: limit.reason, message };
    }
    if (clock.signal.aborted) return await lastWord("max_time", `${limits.timeMs / 1_000} s`);
    return limit && (await lastWord(limit.reason, limit.what));
  };

  /** Lets sources start, so that the first request has their tools. A wait that was in vain is not repeated. */
  const waitForSources = async () => {
    const sources = toolkit.starting;
    if (sources.length === 0 || known.hasWaited) return;
    emit({ type: "starting", sources });
    const over = new Stop(signal);
    await Promise.race([toolkit.ready, pause(STARTING_MS, over.signal)]);
    over.abort(new Error("the wait is over"));
    over.unlink();
    known.hasWaited = true;
  };

  const loop = async (): Promise<Ending> => {
    await waitForSources();
    let emptyReplies = 0;
    let overflows = 0;
    for (;;) {
      for (const message of options.takeWaiting()) deliver(message);
      if (options.signal.aborted) return { reason: "stopped" };
      takeTools();
      const limited = await limitReached();
      if (limited !== undefined) return limited;
      const unfit = await fit();
      if (signal.aborted) continue; // the next round ends the turn, or asks for a last message
      if (unfit !== undefined) return failedWith(unfit);
      if (budget.reached() !== undefined) continue; // concurrent sub-agents may have used it up
      budget.takeRound();
      const answer = await ask(signal);
      if (answer.problem?.kind === "context-overflow" && overflows < OVERFLOWS) {
        overflows++;
        budget.returnRound();
        const ratio = known.charactersAToken;
        known.context = (measure(transcript.messages, ratio) + fixedCharacters / ratio) * 0.6;
        continue;
      }
      const calls = keep(answer);
      if (signal.aborted) {
        refuseCalls(calls, "the turn was stopped", results);
        continue;
      }
      if (answer.problem !== undefined) {
        refuseCalls(calls, "the reply broke off", results);
        return failedWith(answer);
      }
      if (calls.length > 0) {
        emptyReplies = 0;
        overflows = 0;
        const parked = await runCalls(calls, { ...results, turn: name, signal, failures, budget });
        const written = parked.length > 0 ? options.takeWaiting() : [];
        if (parked.length > 0 && options.signal.aborted) return { reason: "stopped" };
        if (parked.length > 0 && written.length === 0) return parkedEnd(parked);
        for (const call of parked) answerCall(call, waitingMessage(call), 0, results);
        for (const message of written) deliver(message);
        continue;
      }
      const ending = endingOf(answer);
      if (ending === undefined) {
        if (++emptyReplies > 1) return { reason: "failed", message: emptyMessage(answer, model) };
        tell(EMPTY_REPLY);
        continue;
      }
      const waiting = options.takeWaiting();
      if (waiting.length === 0) return ending;
      for (const message of waiting) deliver(message);
    }
  };

  const begin = async (): Promise<Ending | undefined> => {
    const { waiting, hasNews } = await settleParked({ ...options, deliver, signal });
    if (first === undefined) return waiting.length > 0 ? parkedEnd(waiting) : hasNews ? undefined : { reason: "done" };
    for (const call of waiting) answerCall(call, waitingMessage(call), 0, results);
    if (first.role === "user") emit({ type: "message", from: first.from, text: joinedText(first.content) });
    await transcript.commit(first);
    return undefined;
  };

  try {
    const ending = (await begin()) ?? (await loop());
    const unrecorded = transcript.problem && `The thread could not be recorded: ${transcript.problem}`;
    const message = [ending.message, unrecorded].filter((each) => each !== undefined).join(" ");
    const { rounds, usage, unasked } = budget;
    return {
      reason: ending.reason,
      ...(message !== "" && { message }),
      thread,
      rounds,
      usage,
      unasked,
      waitingFor: [],
    };
  } finally {
    clearTimeout(timer);
  }
}

/** A sentence for the instructions. */
function stillStarting(sources: readonly string[]): string {
  if (sources.length === 0) return "";
  return `\n\nStill starting: ${sources.join(", ")}. Their tools are not there yet and join when they are.`;
}

/** Arguments that cannot be used are recorded with their beginning, which is all that the model is shown of them. */
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
