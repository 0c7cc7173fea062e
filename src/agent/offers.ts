import type { Store } from "../core/contract/activity.ts";
import type { ThreadId } from "../core/contract/identity.ts";
import type { Message } from "../core/contract/message.ts";
import { randomName } from "../core/util/identifier.ts";
import type { TurnEnd } from "./events.ts";
import type { Transcript } from "./transcript.ts";

// Only one agent at a time has a turn in a thread. Another agent of the thread, usually of another process, offers its
// message to that agent through the store. Whichever agent adds the message has the thread at that time, so it knows
// whether the other agent has added the message.

/** How long a turn waits for the thread before it reports that it waits, in milliseconds. */
const PATIENT_MS = 500;

const ELSEWHERE = "Another agent is working in this thread. This message waits until that turn has ended.";
const OFFERED = "Another agent is working in this thread. It reads this message after its current call.";

export interface TakingOptions {
  readonly store: Store;
  readonly thread: ThreadId;
  readonly transcript: Transcript;
  /** Ends the waiting. */
  readonly signal: AbortSignal;
  /** Called with a sentence for people if the turn waits. */
  readonly notify: (words: string) => void;
}

/**
 * Takes the thread when no other agent has a turn in it. Meanwhile the message is offered to the agent that has one.
 * Resolves to the message, with its offer if one was made, and a function that frees the thread.
 */
export async function takeThread<M extends Message | undefined>(
  first: M,
  { store, thread, transcript, signal, notify }: TakingOptions,
): Promise<{ readonly message: M | Message; readonly giveBack: () => Promise<void> }> {
  let message: M | Message = first;
  const waiting = setTimeout(() => {
    const offered = first && withOffer(first);
    notify(offered === undefined ? ELSEWHERE : OFFERED);
    if (offered === undefined) return;
    message = offered;
    recordOffer(store, thread, offered.offer, transcript.recorded(offered));
  }, PATIENT_MS);
  try {
    const giveBack = await store.takeThread(thread, signal);
    return { message, giveBack };
  } catch (error) {
    const offer = message && offerOf(message);
    if (offer !== undefined) recordOffer(store, thread, offer);
    throw error;
  } finally {
    clearTimeout(waiting);
  }
}

/** Returns the message with an offer; `undefined` if it waits for the thread: a notice, images, or offered before. */
function withOffer(message: Message): (Message & { readonly offer: string }) | undefined {
  if (message.role !== "user" || message.from !== "person" || message.offer !== undefined) return undefined;
  return message.content.every(({ type }) => type === "text") ? { ...message, offer: randomName(16) } : undefined;
}

/** Records an offer, or without a message its withdrawal. Ignores failures: the message then waits for the thread. */
function recordOffer(store: Store, thread: ThreadId, offer: string, message?: Message): void {
  const event = { type: "message.offered", thread, at: Date.now(), offer } as const;
  store.commit({ ...event, ...(message !== undefined && { message }) }).catch(() => {});
}

/** Returns the offer with which a message came, or with which it is offered. */
export function offerOf(message: Message): string | undefined {
  return message.role === "user" ? message.offer : undefined;
}

export function isOffered(message: Message): boolean {
  return offerOf(message) !== undefined;
}

/** Returns true if the agent of another turn has added the message. */
export function isTaken(message: Message, transcript: Transcript): boolean {
  const offer = offerOf(message);
  return offer !== undefined && transcript.hasOffer(offer);
}

/** Returns the last reply of the thread, and how the turn that gave it ended. */
export async function answerOfOther(
  store: Store,
  { messages }: Transcript,
  thread: ThreadId,
): Promise<Pick<TurnEnd, "reason" | "message"> & { readonly text: string }> {
  const parts = messages.findLast((message) => message.role === "assistant")?.content ?? [];
  let end: Pick<TurnEnd, "reason" | "message"> = { reason: "done" };
  for await (const event of store.events({ thread, messages: true, types: ["turn.ended"] })) {
    if (event.type !== "turn.ended") continue;
    const { reason, message } = event;
    end = { reason, ...(message !== undefined && { message }) };
  }
  return { ...end, text: parts.flatMap((part) => (part.type === "text" ? [part.text] : [])).join("") };
}
