import type { Store, StoredEvent } from "../../core/contract/activity.ts";
import type { CallId, ThreadId } from "../../core/contract/identity.ts";
import type { Json } from "../../core/contract/schema.ts";
import type { Conversations, SeenFact } from "../../core/contract/conversations.ts";
import { type SeenState, fold, isKnownHost, judgeSeen, nothingSeen } from "./seen.ts";
import { linksOf } from "../../core/util/urls-in-text.ts";

/**
 * Creates the memory of conversations. A thread that an earlier process has begun is read from the store when it is
 * first asked about. A thread that was never created, such as "main", begins with the process.
 */
export function createConversations(store: Pick<Store, "events" | "threads">): Conversations {
  const above = new Map<ThreadId, ThreadId>();
  const states = new Map<ThreadId, SeenState>();
  const reading = new Map<ThreadId, Promise<void>>();

  const rootOf = (thread: ThreadId): ThreadId => {
    const parent = above.get(thread);
    return parent === undefined ? thread : rootOf(parent);
  };
  const stateOf = (thread: ThreadId): SeenState => {
    const root = rootOf(thread);
    const state = states.get(root) ?? nothingSeen();
    states.set(root, state);
    return state;
  };
  const join = (thread: ThreadId, parent: ThreadId) => {
    if (rootOf(parent) !== thread) above.set(thread, parent);
  };

  const read = async (thread: ThreadId): Promise<void> => {
    await findAbove(thread, join, store);
    const root = rootOf(thread);
    if (root !== thread) return ready(root);
    for (const fact of await recordedFacts(root, store)) fold(stateOf(root), fact);
  };
  /** Resolves when the conversation is in memory. A store that cannot be read leaves it as strict as a new one. */
  const ready = (thread: ThreadId): Promise<void> => {
    const root = rootOf(thread);
    const begun = reading.get(root) ?? read(root).catch(() => undefined);
    reading.set(root, begun);
    return begun;
  };

  return {
    add: (thread, fact) => fold(stateOf(thread), fact),
    join,
    async isKnown(thread, url) {
      await ready(thread);
      return isKnownHost(stateOf(thread), url);
    },
    async judge(thread, request, { take }) {
      await ready(thread);
      const state = stateOf(thread);
      const judgement = judgeSeen(state, request);
      if (take && judgement.verdict === "seen") fold(state, { kind: "sent", ...request });
      return judgement;
    },
  };
}

/** Joins a thread to the thread whose call started it, as recorded in the store. */
async function findAbove(thread: ThreadId, join: Conversations["join"], store: Pick<Store, "events">): Promise<void> {
  const parent = (await createdBy(thread, store))?.parent;
  if (parent === undefined) return;
  for await (const event of store.events({ call: parent })) {
    join(thread, event.thread);
    return findAbove(event.thread, join, store);
  }
}

async function createdBy(thread: ThreadId, store: Pick<Store, "events">) {
  for await (const event of store.events({ thread, messages: true, types: ["thread.created"] }))
    if (event.type === "thread.created") return event;
  return undefined;
}

/** The conversation's facts in the store: of its first thread, and of the threads that its calls started. */
async function recordedFacts(root: ThreadId, store: Pick<Store, "events" | "threads">): Promise<readonly SeenFact[]> {
  if ((await createdBy(root, store)) === undefined) return [];
  const facts: { readonly at: number; readonly fact: SeenFact }[] = [];
  const below = await store.threads();
  const left = [root];
  for (let thread = left.pop(); thread !== undefined; thread = left.pop()) {
    const calls = new Set<CallId>();
    for await (const event of store.events({ thread, types: ["message.added", "call.started", "call.approved"] })) {
      if (event.type === "call.started") calls.add(event.call);
      for (const fact of await factsOf(event, store)) facts.push({ at: event.id, fact });
    }
    for (const { thread: other, parent } of below) if (parent !== undefined && calls.has(parent)) left.push(other);
  }
  return facts.toSorted((one, other) => one.at - other.at).map(({ fact }) => fact);
}

async function factsOf(event: StoredEvent, store: Pick<Store, "events">): Promise<readonly SeenFact[]> {
  if (event.type === "message.added") {
    const { message } = event;
    if (message.role !== "user" || message.from !== "person") return [];
    return message.content.flatMap((part) => (part.type === "text" ? [{ kind: "message", text: part.text }] : []));
  }
  if (event.type !== "call.approved") return [];
  const facts: SeenFact[] = [];
  for (const effect of event.effects) {
    if (effect.kind === "search") return found(await finishOf(event.call, store));
    if (effect.kind !== "fetch") continue;
    const { url, headers } = effect;
    if (event.decision.verdict === "ask") facts.push({ kind: "approved", url });
    else facts.push({ kind: "sent", url, ...(headers !== undefined && { headers }) });
    const texts = (await finishOf(event.call, store))?.content ?? [];
    const page = texts.map((part) => (part.type === "text" ? part.text : "")).join("\n");
    facts.push({ kind: "linked", page: url, links: linksOf(url, page) });
  }
  return facts;
}

type Finish = Extract<StoredEvent, { type: "call.finished" }>;

async function finishOf(call: CallId, store: Pick<Store, "events">): Promise<Finish | undefined> {
  for await (const event of store.events({ call, types: ["call.finished"] }))
    if (event.type === "call.finished") return event;
  return undefined;
}

/** The URLs in the data of a search. */
function found(finish: Finish | undefined): readonly SeenFact[] {
  const hits: readonly Json[] = Array.isArray(finish?.data) ? finish.data : [];
  return hits.flatMap((hit): readonly SeenFact[] => {
    const url = typeof hit === "object" && hit !== null && "url" in hit ? hit["url"] : undefined;
    return typeof url === "string" ? [{ kind: "found", url }] : [];
  });
}
