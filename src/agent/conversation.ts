import type { CallId } from "../core/contract/identity.ts";
import type { AssistantPart, Message } from "../core/contract/message.ts";
import { partText } from "../core/output/part-text.ts";
import type { Calling } from "./calls.ts";

/** Characters per token, until the provider has reported a count. */
export const CHARACTERS_A_TOKEN = 4;
const IMAGE_TOKENS = 1_500;

/**
 * The messages of a thread as a model reads them. What is asked in each round is kept up to date, so that a round does
 * not read the whole conversation.
 */
export interface Conversation {
  /** The same array until messages are replaced: it grows. */
  readonly messages: readonly Message[];
  /** The length of what is sent of the messages, and of the results among them. */
  readonly characters: { readonly all: number; readonly results: number };
  /** The calls without a result, in their order. */
  unanswered(): readonly Calling[];
  /** Adds a message. A summary replaces the messages that it does not keep. */
  add(message: Message): void;
  replace(messages: readonly Message[]): void;
}

export function createConversation(): Conversation {
  let messages: Message[] = [];
  let characters = { all: 0, results: 0 };
  const open = new Map<CallId, Calling>();

  const put = (message: Message) => {
    messages.push(message);
    const length = charactersOf(message);
    characters.all += length;
    if (message.role === "tool") {
      characters.results += length;
      open.delete(message.call);
    }
    if (message.role === "assistant") for (const call of callsOf(message.content)) open.set(call.id, call);
  };
  const replace = (others: readonly Message[]) => {
    messages = [];
    characters = { all: 0, results: 0 };
    open.clear();
    for (const message of others) put(message);
  };
  return {
    get messages() {
      return messages;
    },
    get characters() {
      return characters;
    },
    unanswered: () => [...open.values()],
    add(message) {
      if (message.role !== "user" || message.summary === undefined) return put(message);
      replace([message, ...messages.slice(messages.length - message.summary.kept)]);
    },
    replace,
  };
}

/** The calls in a reply. */
export function callsOf(parts: readonly AssistantPart[]): readonly Calling[] {
  return parts.filter((part) => part.type === "call");
}

/** Counts the characters of all that is sent of a message. An image counts as text with the same number of tokens. */
export function charactersOf(message: Message): number {
  if (message.role === "assistant") {
    return message.content.reduce(
      (sum, part) => sum + (part.type === "call" ? part.name.length + part.input.length : part.text.length),
      0,
    );
  }
  return message.content.reduce(
    (sum, part) => sum + (part.type === "image" ? IMAGE_TOKENS * CHARACTERS_A_TOKEN : partText(part).length),
    0,
  );
}
