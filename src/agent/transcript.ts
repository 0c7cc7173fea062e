import type { Store } from "../core/contract/activity.ts";
import { text } from "../core/contract/content.ts";
import type { CallId, ThreadId } from "../core/contract/identity.ts";
import type { Message } from "../core/contract/message.ts";
import type { Toolkit } from "../core/contract/toolkit.ts";
import { messageOf } from "../core/util/errors.ts";
import { type Calling, type ToolMessage, notStarted } from "./calls.ts";
import { type Conversation, createConversation } from "./conversation.ts";
import { NO_SPENT, type Spent, addSpent } from "./events.ts";
import { partText, partsText } from "../core/output/part-text.ts";

const IMAGE_GONE =
  "[This image is no longer in the conversation. To see it again, read its file or ask the user for it.]";

/** A thread's messages, in memory and in the store. */
export interface Transcript extends Pick<Conversation, "messages" | "characters" | "unanswered"> {
  /**
   * Begins a turn, while this agent holds the thread. Reads what other agents have added since. Adds a result to each
   * call without a recorded result, because its process ended, except parked calls; the conversation is valid then.
   *
   * @throws Error when the store cannot be read.
   */
  begin(): Promise<void>;
  /** What turns had used, as recorded when the thread was opened. */
  readonly spentBefore: Spent;
  /** The id of the thread's last event that `begin` has read. */
  readonly position: number;
  /** Why messages could not be recorded; `undefined` if they were. The conversation then continues only in memory. */
  readonly problem: string | undefined;
  /** Adds a message, and records it a little later. Never throws. */
  add(message: Message): void;
  /** Adds a message. Resolves when the message is durable. Rejects when it cannot be recorded. */
  commit(message: Message): Promise<void>;
  /** Whether the thread has the message with this offer. */
  hasOffer(offer: string): boolean;
  /** Returns the message as it is recorded: secrets masked, and images replaced with their type and size. */
  recorded(message: Message): Message;
  /** Replaces messages with shortened messages, in memory only: the record keeps the whole messages. */
  replace(messages: readonly Message[]): void;
}

/** What is recorded with a new thread. */
interface Origin {
  readonly parent?: CallId;
  readonly startedWith?: { readonly [name: string]: string };
}

/**
 * Opens a thread: reads its messages from the store. A new thread is created there by its first message.
 *
 * @throws Error when the store cannot be read.
 */
export async function openTranscript(
  toolkit: Toolkit,
  thread: ThreadId,
  { parent, startedWith }: Origin = {},
): Promise<Transcript> {
  const { store, mask, backend } = toolkit;
  const conversation = createConversation();
  const offers = new Set<string>();
  /** Tells the policy which URLs and hosts a person has named. */
  const hear = (message: Message) => {
    if (message.role === "user" && message.from === "person") toolkit.hear(partsText(message.content), thread);
  };
  let isNew = true;
  let problem: string | undefined;
  /** The last event that was read, and how many messages this agent has recorded since. */
  let last = 0;
  let spent = NO_SPENT;
  let recorded = 0;
  const take = (message: Message) => {
    conversation.add(message);
    if (message.role === "user" && message.offer !== undefined) offers.add(message.offer);
    hear(message);
  };
  const read = async (after: number) => {
    const found: Message[] = [];
    for await (const event of store.events({ thread, messages: true, after })) {
      isNew = false;
      last = event.id;
      if (event.type === "message.added") found.push(event.message);
      if (event.type === "turn.ended" && event.spent !== undefined) spent = addSpent(spent, event.spent);
    }
    return found;
  };
  const load = async () => {
    conversation.replace([]);
    for (const message of await read(0)) take(message);
    recorded = 0;
  };
  await load();
  const spentBefore = spent;
  const record = (message: Message) =>
    ({ type: "message.added", thread, at: Date.now(), message: kept(message, mask) }) as const;
  const create = () => {
    if (!isNew) return;
    isNew = false;
    const { name: target, workDir } = backend;
    const by = {
      ...(parent !== undefined && { parent }),
      ...(startedWith !== undefined && { startedWith: mask(startedWith) }),
    };
    store.append({ type: "thread.created", thread, at: Date.now(), target, workDir, ...by });
  };
  const add = (message: Message) => {
    take(message);
    try {
      create();
      store.append(record(message));
      recorded++;
    } catch (error) {
      problem = messageOf(error);
    }
  };
  return {
    async begin() {
      const found = await read(last);
      if (found.length > recorded) await load();
      recorded = 0;
      const parked = new Set((await store.parked({ thread })).map(({ call }) => call));
      const lost = conversation.unanswered().filter(({ id }) => !parked.has(id));
      for (const call of lost) add(await lostResult(call, store));
    },
    spentBefore,
    get position() {
      return last;
    },
    get messages() {
      return conversation.messages;
    },
    get characters() {
      return conversation.characters;
    },
    unanswered: conversation.unanswered,
    get problem() {
      return problem;
    },
    add,
    async commit(message) {
      take(message);
      create();
      await store.commit(record(message));
      recorded++;
    },
    hasOffer: (offer) => offers.has(offer),
    recorded: (message) => kept(message, mask),
    replace: conversation.replace,
  };
}

/**
 * Returns the result of a call whose result message was not recorded. If the call finished, this is the result that the
 * model would have read.
 */
async function lostResult(call: Calling, store: Store): Promise<ToolMessage> {
  let wasStarted = false;
  let ending =
    "The process ended while this call was in progress. Whether it took effect is unknown. It was not run again.";
  for await (const event of store.events({ call: call.id })) {
    if (event.type === "call.started") wasStarted = true;
    if (event.type !== "call.finished") continue;
    if (event.content === undefined) {
      ending = event.error ?? ending;
      continue;
    }
    const texts = event.content.map((part) => (part.type === "text" ? part.text : `[Image: ${part.mimeType}]`));
    return { role: "tool", call: call.id, status: event.status, content: [text(texts.join("\n"))] };
  }
  if (!wasStarted) return notStarted(call, "the process ended before");
  return { role: "tool", call: call.id, status: "interrupted", content: [text(ending)] };
}

/**
 * Returns the message as it is recorded: secrets masked, and images replaced with their type and size, because one
 * image would be larger than a long conversation.
 */
function kept(message: Message, mask: Toolkit["mask"]): Message {
  if (message.role !== "assistant") {
    const withoutImages = message.content.map((part) =>
      part.type === "text" ? part : text(part.type === "image" ? `${partText(part)}\n${IMAGE_GONE}` : partText(part)),
    );
    return { ...message, content: mask(withoutImages) };
  }
  // Opaque parts stay as the provider wrote them, because they may be signed.
  const content = message.content.map((part) =>
    part.type === "call" ? { ...part, input: mask(part.input) } : { ...part, text: mask(part.text) },
  );
  return { ...message, content };
}
