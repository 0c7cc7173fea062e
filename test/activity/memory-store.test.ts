import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { memoryStore } from "../../src/activity/memory-store.ts";
import type { ActivityEvent, FeedOptions, Store, StoredEvent } from "../../src/contract/activity.ts";

function event(call: string, thread = "main"): ActivityEvent {
  return { call, thread, at: 0, type: "call.updated", update: {} };
}

async function all(store: Store, options?: FeedOptions): Promise<StoredEvent[]> {
  const events: StoredEvent[] = [];
  for await (const each of store.events(options)) events.push(each);
  return events;
}

const idsOf = (events: readonly StoredEvent[]) => events.map(({ id }) => id);

/** Follows a store into a list, until it ends. */
function following(store: Store, options: FeedOptions = {}): { seen: StoredEvent[]; ended: Promise<void> } {
  const seen: StoredEvent[] = [];
  const ended = (async () => {
    for await (const each of store.events({ follow: true, ...options })) seen.push(each);
  })();
  return { seen, ended };
}

describe("events", () => {
  test("come back as they were, numbered from 1 in the order they were taken", async () => {
    const store = memoryStore();
    store.append(event("a"));
    await store.commit(event("b"));
    store.append(event("c"));
    expect(await all(store)).toEqual([
      { ...event("a"), id: 1 },
      { ...event("b"), id: 2 },
      { ...event("c"), id: 3 },
    ]);
    expect(await all(memoryStore())).toEqual([]);
  });

  test("are chosen by thread, by call and by the last one that was seen", async () => {
    const store = memoryStore();
    for (const [call, thread] of [
      ["a", "one"],
      ["b", "two"],
      ["a", "one"],
      ["c", "one"],
      ["b", "two"],
    ] as const)
      store.append(event(call, thread));
    expect(idsOf(await all(store, { thread: "one" }))).toEqual([1, 3, 4]);
    expect(idsOf(await all(store, { call: "b" }))).toEqual([2, 5]);
    expect(idsOf(await all(store, { thread: "one", call: "a", after: 1 }))).toEqual([3]);
    expect(idsOf(await all(store, { after: 3 }))).toEqual([4, 5]);
    expect(idsOf(await all(store, { after: 5 }))).toEqual([]);
    expect(idsOf(await all(store, { after: 500 }))).toEqual([]);
    expect(idsOf(await all(store, { after: -1 }))).toEqual([1, 2, 3, 4, 5]);
    expect(idsOf(await all(store, { thread: "none" }))).toEqual([]);
  });

  test("beyond the limit the oldest go, and the numbers go on", async () => {
    const store = memoryStore({ limit: 3 });
    for (let index = 0; index < 10; index++) store.append(event(`call-${index}`));
    expect((await all(store)).map(({ id, call }) => [id, call])).toEqual([
      [8, "call-7"],
      [9, "call-8"],
      [10, "call-9"],
    ]);
    expect(idsOf(await all(store, { after: 9 }))).toEqual([10]);
    expect(idsOf(await all(store, { after: 2 }))).toEqual([8, 9, 10]);
  });

  test("whatever is appended and asked for, it is the end of what there was", async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.integer({ min: 1, max: 8 }),
        fc.array(fc.constantFrom("a", "b", "c"), { maxLength: 30 }),
        fc.nat(40),
        async (limit, calls, after) => {
          const store = memoryStore({ limit });
          const expected: StoredEvent[] = [];
          for (const [index, call] of calls.entries()) {
            store.append(event(call));
            expected.push({ ...event(call), id: index + 1 });
          }
          const kept = expected.slice(-limit).filter(({ id }) => id > after);
          expect(await all(store, { after })).toEqual(kept);
          expect(await all(store, { after, call: "a" })).toEqual(kept.filter(({ call }) => call === "a"));
        },
      ),
    );
  });

  test("a limit that is none is refused", () => {
    for (const limit of [0, -1, 1.5, NaN, Infinity])
      expect(() => memoryStore({ limit })).toThrow("expected a whole number above 0");
  });
});

describe("following", () => {
  test("gives what is there and then what comes, once each and in order, to everybody", async () => {
    const store = memoryStore();
    store.append(event("a"));
    const feeds = [following(store), following(store), following(store, { after: 1 })];
    await expect.poll(() => feeds[0]?.seen.length).toBe(1);
    for (let index = 0; index < 50; index++) {
      store.append(event(`b${index}`));
      if (index % 7 === 0) await new Promise((resolve) => setImmediate(resolve));
    }
    await store.close();
    for (const feed of feeds) await feed.ended;
    const everything = Array.from({ length: 51 }, (_, index) => index + 1);
    expect(feeds.map(({ seen }) => idsOf(seen))).toEqual([everything, everything, everything.slice(1)]);
  });

  test("only what was asked for", async () => {
    const store = memoryStore();
    const feed = following(store, { call: "b" });
    for (const call of ["a", "b", "c", "b", "a"]) store.append(event(call));
    await store.close();
    await feed.ended;
    expect(idsOf(feed.seen)).toEqual([2, 4]);
  });

  test("a signal ends it: before, while it waits, and between two events", async () => {
    const store = memoryStore();
    for (const call of ["a", "b", "c"]) store.append(event(call));
    expect(await all(store, { follow: true, signal: AbortSignal.abort() })).toEqual([]);
    const waiting = new AbortController();
    const feed = following(store, { signal: waiting.signal });
    await expect.poll(() => feed.seen.length).toBe(3);
    waiting.abort();
    await feed.ended;
    const between = new AbortController();
    const seen: number[] = [];
    for await (const { id } of store.events({ follow: true, signal: between.signal })) {
      seen.push(id);
      if (id === 2) between.abort();
    }
    expect(seen).toEqual([1, 2]);
    store.append(event("d"));
    expect(idsOf(feed.seen)).toEqual([1, 2, 3]);
  });

  test("leaving the loop leaves nothing waiting behind", async () => {
    const store = memoryStore();
    const { signal } = new AbortController();
    for (let round = 0; round < 30; round++) {
      store.append(event("a"));
      for await (const _ of store.events({ follow: true, signal })) break;
    }
    await store.close();
    expect(await all(store)).toHaveLength(30);
  });

  test("one that is slow misses only what has gone, and never gets anything twice", async () => {
    const store = memoryStore({ limit: 5 });
    store.append(event("a"));
    const seen: number[] = [];
    for await (const { id } of store.events({ follow: true })) {
      seen.push(id);
      if (id === 1) for (let index = 0; index < 20; index++) store.append(event("b"));
      if (id === 21) await store.close();
    }
    expect(seen).toEqual([1, 17, 18, 19, 20, 21]);
  });

  test("closing ends it after what was there, and nothing more is taken", async () => {
    const store = memoryStore();
    const feed = following(store);
    store.append(event("a"));
    await store.close();
    await store.close();
    await feed.ended;
    expect(idsOf(feed.seen)).toEqual([1]);
    expect(() => store.append(event("b"))).toThrow("the store is closed");
    await expect(store.commit(event("b"))).rejects.toThrow("the store is closed");
    expect(idsOf(await all(store))).toEqual([1]);
    expect(idsOf(await all(store, { follow: true }))).toEqual([1]);
  });
});
