import type { LanguageModelV3Prompt } from "@ai-sdk/provider";
import { text } from "../core/contract/content.ts";
import type { Message } from "../core/contract/message.ts";
import { formatSize } from "../core/output/size.ts";
import { clip } from "../core/util/text.ts";
import type { AgentEvent } from "./events.ts";
import { partsText } from "../core/output/part-text.ts";
import { CHARACTERS_A_TOKEN, charactersOf } from "./conversation.ts";
import type { ModelReply } from "./request.ts";
import type { Transcript } from "./transcript.ts";

/** The length to which an old result is cut, in characters. */
const OLD_RESULT = 300;
/**
 * Shares of the budget: how much the results of the last round may take, and how much of the conversation is kept
 * besides a summary.
 */
const LAST_ROUND = 0.5;
const KEPT = 0.3;

const SUMMARIZE =
  "You summarize a conversation between a user and an agent that works with tools, so that the agent can continue " +
  "from the summary alone. Keep what the user asked for and every decision and constraint in their words, what was " +
  "done and found (files, commands, errors), and what is still to do. Write at most 600 words. Write only the summary.";

export interface Compaction {
  readonly transcript: Transcript;
  /** How many tokens the messages may have. */
  readonly budget: number;
  /** The best known ratio of characters to tokens. */
  readonly charactersAToken: number;
  readonly askForSummary: (prompt: LanguageModelV3Prompt) => Promise<ModelReply>;
  readonly emit: (event: AgentEvent) => void;
  /**
   * Replaces everything before the last reply with a summary, also if the conversation fits. The text, which may be
   * empty, tells what the user wants to keep, and is added to the request.
   */
  readonly keep?: string;
  /** Runs the work when the conversation is to be shortened, or does not. */
  readonly around: <T>(work: () => Promise<T>) => Promise<T | undefined>;
}

/** What fills the context: estimated tokens. */
export interface ContextUse {
  readonly instructions: number;
  /** The definitions of the tools. */
  readonly tools: number;
  /** Messages and calls of the conversation, without results. */
  readonly messages: number;
  /** Results of calls. */
  readonly results: number;
  /** The size of the model's context. */
  readonly size: number;
}

/** Estimates the number of tokens of a conversation. */
export function measure({ characters }: Pick<Transcript, "characters">, ratio: number): number {
  return Math.ceil(characters.all / ratio);
}

/** Returns the characters per token, from the length of the last request and the provider's count of its tokens. */
export function charactersAToken(characters: number, counted: number): number {
  const ratio = counted === 0 ? CHARACTERS_A_TOKEN : characters / counted;
  return Math.min(6, Math.max(1.5, ratio)); // an estimate that is far off would shorten everything or nothing
}

/**
 * Shortens the conversation if it exceeds its budget: first cuts old tool results, then the results of the last round,
 * then replaces the older messages with a summary. Emits an event with what was kept. If the request for a summary
 * fails, returns the failed reply; otherwise `undefined`.
 */
export async function compact(options: Compaction): Promise<ModelReply | undefined> {
  const { transcript, budget, charactersAToken: ratio } = options;
  const before = measure(transcript, ratio);
  // A message alone is not summarized: its summary is not what was asked. The provider says whether it takes it.
  if (transcript.messages.length < 2) return undefined;
  if (before <= budget && options.keep === undefined) return undefined;
  return options.around(() => shorten(options, before));
}

async function shorten(options: Compaction, before: number): Promise<ModelReply | undefined> {
  const { transcript, budget, charactersAToken: ratio } = options;
  const count = transcript.messages.length;
  const isAsked = options.keep !== undefined; // a summary is made from the whole results
  let results = isAsked
    ? 0
    : shortenResults(transcript, { most: OLD_RESULT, from: 0, to: lastRoundAt(transcript.messages) });
  if (!isAsked && measure(transcript, ratio) > budget) {
    const from = lastRoundAt(transcript.messages);
    const share = (budget * LAST_ROUND * ratio) / Math.max(1, count - from);
    results += shortenResults(transcript, { most: Math.max(OLD_RESULT, Math.floor(share)), from, to: count });
  }
  let kept = count;
  if (isAsked || measure(transcript, ratio) > budget) {
    const failed = await summarize(options);
    if (failed !== undefined) return failed;
    kept = transcript.messages.length - 1;
  }
  const after = measure(transcript, ratio);
  options.emit({ type: "compacted", results, summarized: count - kept, kept, before, after });
  return undefined;
}

/** Cuts the results in a range of messages. Returns how many results it cut. */
function shortenResults(
  transcript: Transcript,
  { most, from, to }: { readonly most: number; readonly from: number; readonly to: number },
): number {
  let cut = 0;
  const shorter = transcript.messages.map((message, index) => {
    if (message.role !== "tool" || index < from || index >= to) return message;
    const whole = partsText(message.content);
    const hasImages = message.content.some((part) => part.type === "image");
    if (whole.length <= most + OLD_RESULT && !hasImages) return message;
    cut++;
    const head = clip(whole, most);
    const note =
      `[This result was cut from ${formatSize(whole.length)} to ${formatSize(head.length)} to save context. Make ` +
      "the call again, with a smaller range, to see more.]";
    return { ...message, content: [text(`${head}\n${note}`)] };
  });
  transcript.replace(shorter);
  return cut;
}

/** Returns what fills the context. `fixed`: the characters of the instructions and of the tools. */
export function contextUse(
  { characters }: Pick<Transcript, "characters">,
  ratio: number,
  fixed: { readonly instructions: number; readonly tools: number; readonly size: number },
): ContextUse {
  const all = Math.ceil(characters.all / ratio);
  const results = Math.ceil(characters.results / ratio);
  return {
    instructions: Math.ceil(fixed.instructions / ratio),
    tools: Math.ceil(fixed.tools / ratio),
    ...{ messages: all - results, results, size: fixed.size },
  };
}

/** Returns the index of the last reply. Its results follow it. */
function lastRoundAt(messages: readonly Message[]): number {
  return Math.max(
    0,
    messages.findLastIndex((message) => message.role === "assistant"),
  );
}

async function summarize(options: Compaction): Promise<ModelReply | undefined> {
  const { transcript, budget, charactersAToken: ratio, keep } = options;
  const { messages } = transcript;
  const first = firstKept(messages, keep === undefined ? budget * KEPT * ratio : 0);
  const older = messages.slice(0, first).map(asText).join("\n\n");
  const room = Math.floor(budget * ratio * 0.6);
  const shown =
    older.length <= room
      ? older
      : `${older.slice(0, room / 2)}\n\n[… cut …]\n\n${older.slice(older.length - room / 2)}`;
  const answer = await options.askForSummary([
    { role: "system", content: keep ? `${SUMMARIZE} The user asks you to keep above all: ${keep}` : SUMMARIZE },
    { role: "user", content: [{ type: "text", text: shown }] },
  ]);
  const summary = answer.parts.flatMap((part) => (part.type === "text" ? [part.text] : [])).join("");
  if (answer.error !== undefined) return answer;
  if (summary.trim() === "") {
    const message = "The conversation is too long, and the model wrote no summary of it.";
    return { ...answer, problem: { kind: "context-overflow", message, retries: 0 } };
  }
  const content = [text(`[Summary of the conversation so far, written by the model:]\n${summary.trim()}`)];
  transcript.add({ role: "user", from: "handrail", content, summary: { kept: messages.length - first } });
  return undefined;
}

/**
 * Returns the index of the first kept message, so that the rest fits into `room` characters. The first kept message is
 * never a result, because the result's call would be missing. Keeps at least the last reply.
 */
function firstKept(messages: readonly Message[], room: number): number {
  let first = messages.length;
  let size = 0;
  for (let index = messages.length - 1; index > 0; index--) {
    const message = messages[index];
    if (message === undefined) break;
    size += charactersOf(message);
    if (size > room && first < messages.length) break;
    if (message.role !== "tool") first = index;
  }
  return Math.max(1, first === messages.length ? lastRoundAt(messages) : first);
}

function asText(message: Message): string {
  if (message.role === "tool") return `Result: ${clip(partsText(message.content), 2_000)}`;
  if (message.role === "user") return `${message.from === "person" ? "User" : "Notice"}: ${partsText(message.content)}`;
  return message.content
    .flatMap((part) => {
      if (part.type === "call") return [`Call: ${part.name} ${clip(part.input, 1_000)}`];
      return part.type === "text" ? [`Agent: ${part.text}`] : [];
    })
    .join("\n");
}
