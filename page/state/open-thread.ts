import { messageOf } from "../../src/core/util/errors.ts";
import { type Signal, batch, signal } from "@preact/signals";
import {
  type CallMessage,
  type ThreadMessage,
  type ThreadView,
  createThreadView,
} from "../../src/record/activity/messages.ts";
import type { StoredEvent } from "../../src/core/contract/activity.ts";
import { RequestFailed, get, part } from "./api.ts";
import { type LiveOutput, createLiveOutput } from "./live-output.ts";

/** A message. `cut` is the full length of its texts if they were cut. */
export type Shown = ThreadMessage & { readonly cut?: number };

/** A message that represents a call. */
export type CallShown = Shown & CallMessage;

/** Messages that are rendered together, only while they are near the visible part. */
export interface Block {
  readonly key: number;
  readonly messages: Signal<readonly Shown[]>;
  /** The height in pixels, as last rendered or estimated. */
  height: number;
}

/** The shown thread, loaded from its newest messages backwards. */
export interface OpenThread {
  readonly thread: string;
  readonly blocks: Signal<readonly Block[]>;
  /** How many messages before the first block are not loaded. `undefined` until the newest messages are loaded. */
  readonly earlier: Signal<number | undefined>;
  /** Why messages could not be loaded. */
  readonly failure: Signal<string | undefined>;
  /** Loads messages before the first block. Resolves when they are loaded. Concurrent calls share one request. */
  loadEarlier(): Promise<void>;
  /** Returns the live output of a call. */
  output(call: string): LiveOutput;
  take(events: readonly StoredEvent[]): void;
  close(): void;
}

interface Newest {
  readonly messages: readonly Shown[];
  readonly earlier: number;
  readonly last: number;
}

/** Messages of one request, and of one block. */
const PAGE = 200;
const BLOCK = 40;
/** The estimated height of a message that has not been rendered, in pixels. */
const ESTIMATE = 30;

export function openThread(thread: string): OpenThread {
  const blocks = signal<readonly Block[]>([]);
  const earlier = signal<number | undefined>(undefined);
  const failure = signal<string | undefined>(undefined);
  const gone = new AbortController();
  const outputs = new Map<string, LiveOutput>();
  /** The block of each message. */
  const places = new Map<number, Block>();
  let view: ThreadView | undefined;
  /** Events that arrived before the newest messages were loaded, and the newest event included in those messages. */
  let early: StoredEvent[] = [];
  let loadedTo = 0;
  let loading: Promise<void> | undefined;

  const blocksOf = (messages: readonly Shown[]): Block[] => {
    const made: Block[] = [];
    for (let end = messages.length; end > 0; end -= BLOCK) {
      const own = messages.slice(Math.max(0, end - BLOCK), end);
      const block = { key: own[0]?.id ?? 0, messages: signal(own), height: own.length * ESTIMATE };
      for (const { id } of own) places.set(id, block);
      made.unshift(block);
    }
    return made;
  };

  const put = (message: Shown) => {
    const place = places.get(message.id);
    if (place !== undefined) {
      place.messages.value = place.messages.value.map((each) => (each.id === message.id ? message : each));
      return;
    }
    const last = blocks.value.at(-1);
    if (last === undefined || last.messages.value.length >= BLOCK) {
      blocks.value = [...blocks.value, ...blocksOf([message])];
      return;
    }
    places.set(message.id, last);
    last.messages.value = [...last.messages.value, message];
  };

  const apply = (event: StoredEvent) => {
    if (event.id <= loadedTo) return;
    const message = view?.add(event);
    if (message !== undefined) put(message);
    if (event.type === "call.started") outputs.set(event.call, createLiveOutput());
    if (event.type === "call.updated" && event.update.output !== undefined) {
      outputs.get(event.call)?.add(event.id, event.update.output);
    }
  };

  const load = async (before?: number) => {
    const query = `limit=${PAGE}${before === undefined ? "" : `&before=${before}`}`;
    return await get<Newest>(`/api/threads/${part(thread)}/newest?${query}`, gone.signal).catch((error: unknown) => {
      // A thread exists once its first event is recorded, which may not have happened yet.
      if (error instanceof RequestFailed && error.status === 404) return { messages: [], earlier: 0, last: 0 };
      throw error;
    });
  };

  const loadNewest = async () => {
    const { messages, earlier: count, last } = await load();
    view = createThreadView({ messages });
    blocks.value = blocksOf(messages);
    earlier.value = count;
    loadedTo = last;
    batch(() => early.forEach(apply));
    early = [];
  };

  const report = (error: unknown) => {
    if (!gone.signal.aborted) failure.value = messageOf(error);
  };

  void loadNewest().catch(report);

  return {
    ...{ thread, blocks, earlier, failure },
    loadEarlier() {
      const [first] = blocks.value;
      if (first === undefined || earlier.value === 0) return Promise.resolve();
      loading ??= (async () => {
        try {
          const { messages, earlier: count } = await load(first.key);
          blocks.value = [...blocksOf(messages), ...blocks.value];
          earlier.value = count;
        } catch (error) {
          report(error);
        } finally {
          loading = undefined;
        }
      })();
      return loading;
    },
    output(call) {
      const output = outputs.get(call) ?? createLiveOutput(call);
      outputs.set(call, output);
      return output;
    },
    take(events) {
      for (const event of events) {
        if (event.thread !== thread) continue;
        if (view === undefined) early.push(event);
        else apply(event);
      }
    },
    close: () => gone.abort(),
  };
}
