import { createHash } from "node:crypto";
import { setTimeout as delay } from "node:timers/promises";
import type { Client, ClientConfig } from "pg";
import { onAbort } from "../../core/util/abort.ts";
import { tried } from "../../core/util/errors.ts";
import { randomName } from "../../core/util/identifier.ts";
import { SIGNALS } from "./signals.ts";
import { type Change, type Interest, bothChanges, isOfInterest } from "./sql.ts";

/** The pause before the next attempt: doubles from the first value to the second. Milliseconds. */
export const SHORTEST_PAUSE_MS = 50;
export const LONGEST_PAUSE_MS = 2_000;

/** The longest text of a notification. The server's limit is 8,000 bytes. */
const MOST_WORDS = 6_000;

/** How many channels all threads share. */
const THREAD_CHANNELS = 64;

/** A notification: whose, and which events came. One that is too long, or empty, is for all. */
function payloadOf({ types, threads }: Change, token: string): string {
  const words = JSON.stringify([token, [...types], [...threads]]);
  return Buffer.byteLength(words) > MOST_WORDS ? JSON.stringify([token]) : words;
}

/** What a notification says; `undefined` for one of this process, which knows already. */
function heard(payload: string | undefined, token: string): { readonly change?: Change } | undefined {
  const said = tried(() => JSON.parse(payload ?? "")) as [string, string[]?, string[]?] | undefined;
  if (!Array.isArray(said)) return {};
  const [from, types, threads] = said;
  if (from === token) return undefined;
  return types === undefined || threads === undefined
    ? {}
    : { change: { types: new Set(types), threads: new Set(threads) } };
}

/**
 * The channels of a schema. One is for all changes. Signals, deliveries and threads have others, so that a client is
 * sent only what it waits for: a worker signals and its own deliveries, a caller its threads.
 */
function channelsOf(schema: string) {
  const named = (topic: string) => `handrail_${digestOf(`${schema} ${topic}`).toString("hex", 0, 12)}`;
  const ofThread = (thread: string) => named(`thread ${(digestOf(thread)[0] ?? 0) % THREAD_CHANNELS}`);
  const ofType = (type: string) => {
    if (SIGNALS.includes(type)) return named("signals");
    return type.startsWith("call.delivered ") ? named(type) : undefined;
  };
  return {
    ofChange({ types, threads }: Change): readonly string[] {
      const ofTypes = [...types].map(ofType).filter((channel) => channel !== undefined);
      return [...new Set([schema, ...ofTypes, ...[...threads].map(ofThread)])];
    },
    ofInterest({ types, thread }: Interest): readonly string[] {
      if (thread !== undefined) return [ofThread(thread)];
      const ofTypes = (types ?? [""]).map(ofType);
      return ofTypes.includes(undefined) ? [schema] : [...new Set(ofTypes as string[])];
    },
  };
}

const digestOf = (text: string) => createHash("sha1").update(text).digest();

interface Watcher {
  readonly changed: (change?: Change) => void;
  readonly interest: Interest;
  readonly channels: readonly string[];
}

/** Those who wait for events. While there are any, the server is listened to. */
export function watchersOf({
  Client: Listener,
  config,
  schema,
}: {
  readonly Client: new (config: ClientConfig) => Client;
  readonly config: ClientConfig;
  readonly schema: string;
}) {
  const token = randomName(8);
  const channels = channelsOf(schema);
  const watchers = new Set<Watcher>();
  let listener: AbortController | undefined;
  let listening: { readonly client: Client; readonly to: Set<string> } | undefined;

  const changed = (change?: Change) => {
    for (const each of watchers) if (change === undefined || isOfInterest(each.interest, change)) each.changed(change);
  };

  /** Listens until the signal fires. Connects again whenever the connection is lost. Never rejects. */
  const listen = async (until: AbortSignal) => {
    for (let wait = SHORTEST_PAUSE_MS; !until.aborted; wait = Math.min(2 * wait, LONGEST_PAUSE_MS)) {
      const client: Client = new Listener(config);
      let release = () => {};
      const ended = new Promise<void>((resolve) => {
        client.on("error", () => resolve());
        client.on("end", () => resolve());
        release = onAbort(until, resolve);
      });
      client.on("notification", ({ payload }) => {
        const said = heard(payload, token);
        if (said !== undefined) changed(said.change);
      });
      try {
        await client.connect();
        (client as Client & { unref(): void }).unref();
        listening = { client, to: new Set() };
        await update();
        wait = SHORTEST_PAUSE_MS;
        changed();
        await ended;
      } catch {
        // the next attempt comes soon
      }
      if (listening?.client === client) listening = undefined;
      release();
      await client.end().catch(() => {});
      await delay(wait, undefined, { ref: false, signal: until }).catch(() => {});
    }
  };

  /** Listens to the channels of all watchers, and to no others. One at a time. Rejects if the connection is lost. */
  const update = (): Promise<void> => (updated = updated.catch(() => {}).then(updateNow));
  let updated = Promise.resolve();
  const updateNow = async () => {
    if (listening === undefined) return;
    const { client, to } = listening;
    const wanted = new Set([...watchers].flatMap((watcher) => watcher.channels));
    const more = [...wanted].filter((channel) => !to.has(channel));
    const unwanted = [...to].filter((channel) => !wanted.has(channel));
    for (const channel of more) to.add(channel);
    for (const channel of unwanted) to.delete(channel);
    const statements = [...unwanted.map((each) => `UNLISTEN ${each}`), ...more.map((each) => `LISTEN ${each}`)];
    if (statements.length > 0) await client.query(statements.join("; "));
  };

  const stop = () => {
    listener?.abort();
    listener = undefined;
  };

  const add = (each: (change?: Change) => void, interest: Interest = {}) => {
    const watcher = { changed: each, interest, channels: channels.ofInterest(interest) };
    const isNew = watcher.channels.some((channel) => listening?.to.has(channel) === false);
    watchers.add(watcher);
    if (listener === undefined) void listen((listener = new AbortController()).signal);
    if (isNew)
      void update().then(
        () => each(),
        () => {},
      ); // it may have missed what came before
    return () => {
      watchers.delete(watcher);
      if (watchers.size === 0) stop();
      else void update().catch(() => {});
    };
  };
  return { token, channels, add, changed, stop };
}

type Watchers = ReturnType<typeof watchersOf>;

/** Wakes readers of other processes. Outside of transactions: inside, it serializes all commits of the database. */
export function notifier(
  query: (text: string, values: readonly unknown[]) => Promise<unknown>,
  { token, channels }: Pick<Watchers, "token" | "channels">,
) {
  let notifying: Promise<unknown> | undefined;
  let next: Change | undefined;
  const notify = (change: Change) => {
    next = next === undefined ? change : bothChanges(next, change);
    if (notifying !== undefined) return;
    const values = [channels.ofChange(next), payloadOf(next, token)];
    next = undefined;
    notifying = query(NOTIFY, values)
      .catch(() => {}) // followers check anyway
      .finally(() => {
        notifying = undefined;
        if (next !== undefined) notify(next);
      });
  };
  return Object.assign(notify, { settled: async () => void (await notifying) });
}

const NOTIFY = "SELECT pg_notify(channel, $2) FROM unnest($1::text[]) AS channel";
