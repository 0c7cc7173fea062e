import type { Store } from "../contract/activity.ts";
import { text } from "../contract/content.ts";
import type { CallId, ThreadId } from "../contract/identity.ts";
import type { AssistantPart, Message } from "../contract/message.ts";
import type { Toolkit } from "../contract/toolkit.ts";
import { messageOf } from "../util/errors.ts";
import { type Calling, type ToolMessage, notStarted } from "./calls.ts";
import { textOf } from "./prompt.ts";

const IMAGE_GONE =
  "[This image is no longer in the conversation. To see it again, read its file or ask the user for it.]";

/** A thread's messages, in memory and in the store. */
export interface Transcript {
  /** As a model reads them. */
  readonly messages: readonly Message[];
  /** Why messages could not be recorded, if so: the conversation continues in memory. */
  readonly problem: string | undefined;
  /** Adds a message, and records it a little later. Never throws. */
  add(message: Message): void;
  /** Adds a message; it is durable when the promise resolves. Rejects when it cannot be recorded. */
  commit(message: Message): Promise<void>;
  /** Shortens results, in memory only: the record keeps them whole. */
  replace(messages: readonly Message[]): void;
}

/**
 * Opens a thread: reads its messages from the store. A new one is created there with its first message. Calls whose result was not recorded, since the process ended,
 * get one, so that the conversation is valid.
 *
 * @throws Error when the store cannot be read or written.
 */
export async function openTranscript(toolkit: Toolkit, thread: ThreadId, parent?: CallId): Promise<Transcript> {
  const { store, mask, backend } = toolkit;
  let messages: Message[] = [];
  /** Hosts in a person's words are known to the policy. */
  const hear = (message: Message) => {
    if (message.role === "user" && message.from === "person") toolkit.hear(textOf(message.content), thread);
  };
  let isNew = true;
  let problem: string | undefined;
  for await (const event of store.events({ thread, messages: true })) {
    isNew = false;
    if (event.type !== "message.added") continue;
    messages = withMessage(messages, event.message);
    hear(event.message);
  }
  const record = (message: Message) =>
    ({ type: "message.added", thread, at: Date.now(), message: kept(message, mask) }) as const;
  const create = () => {
    if (!isNew) return;
    isNew = false;
    const { name: target, workDir } = backend;
    const by = parent !== undefined && { parent };
    store.append({ type: "thread.created", thread, at: Date.now(), target, workDir, ...by });
  };
  const add = (message: Message) => {
    messages = withMessage(messages, message);
    hear(message);
    try {
      create();
      store.append(record(message));
    } catch (error) {
      problem = messageOf(error);
    }
  };
  for (const call of unanswered(messages)) add(await lostResult(call, store));
  return {
    get messages() {
      return messages;
    },
    get problem() {
      return problem;
    },
    add,
    async commit(message) {
      messages = withMessage(messages, message);
      create();
      hear(message);
      await store.commit(record(message));
    },
    replace(others) {
      messages = [...others];
    },
  };
}

/** The messages with one more. A summary takes the place of those that it does not keep. */
function withMessage(messages: Message[], message: Message): Message[] {
  if (message.role !== "user" || message.summary === undefined) return [...messages, message];
  return [message, ...messages.slice(messages.length - message.summary.kept)];
}

function unanswered(messages: readonly Message[]): readonly Calling[] {
  const answered = new Set(messages.flatMap((message) => (message.role === "tool" ? [message.call] : [])));
  return messages
    .flatMap((message): readonly AssistantPart[] => (message.role === "assistant" ? message.content : []))
    .filter((part) => part.type === "call")
    .filter(({ id }) => !answered.has(id));
}

/** What is known of a call whose message was not recorded: what the model would have read, where the call finished. */
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

/** As it is recorded: secrets masked, and of images their kind and size, for one image would be larger than a long conversation. */
function kept(message: Message, mask: Toolkit["mask"]): Message {
  if (message.role !== "assistant") {
    const withoutImages = message.content.map((part) =>
      part.type === "text" ? part : text(`${textOf([part])}\n${IMAGE_GONE}`),
    );
    return { ...message, content: mask(withoutImages) };
  }
  // What is opaque stays as the provider wrote it: it may be signed.
  const content = message.content.map((part) =>
    part.type === "call" ? { ...part, input: mask(part.input) } : { ...part, text: mask(part.text) },
  );
  return { ...message, content };
}
