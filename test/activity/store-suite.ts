import fc from "fast-check";
import { afterEach, describe, expect, test } from "vitest";
import type { ActivityEvent, FeedOptions, Store, StoredEvent, ThreadEvent } from "../../src/contract/activity.ts";

/** Now: a store may remove what is old. */
const AT = Date.now();

/** An event that says nothing but whose it is. */
export function event(call: string, thread = "main"): ActivityEvent {
  return { call, thread, at: AT, type: "job.ended", job: "1", exit: { how: "aborted" } };
}

/** All that a store keeps, or what the options choose of it. */
export async function all(store: Store, options?: FeedOptions): Promise<StoredEvent[]> {
  const events: StoredEvent[] = [];
  for await (const each of store.events(options)) events.push(each);
  return events;
}

export const idsOf = (events: readonly StoredEvent[]) => events.map(({ id }) => id);

/** Follows a store into a list, until it ends. */
export function following(store: Store, options: FeedOptions = {}): { seen: StoredEvent[]; ended: Promise<void> } {
  const seen: StoredEvent[] = [];
  const ended = (async () => {
    for await (const each of store.events({ follow: true, ...options })) seen.push(each);
  })();
  return { seen, ended };
}

/**
 * What every store does. Each test gets a store of its own, that keeps at least 1,000 events; it is closed afterwards.
 *
 * @param makeStore an empty store
 */
export function storeSuite(name: string, makeStore: () => Store | Promise<Store>): void {
  const stores: Store[] = [];
  const fresh = async () => {
    const store = await makeStore();
    stores.push(store);
    return store;
  };

  afterEach(async () => {
    for (const store of stores.splice(0)) await store.close();
  });

  describe(`${name}: events`, () => {
    test("come back as they were, numbered upwards in the order they were taken", async () => {
      const store = await fresh();
      const given: ActivityEvent[] = [
        {
          call: "a",
          thread: "main",
          at: AT + 1,
          type: "call.started",
          name: "bash",
          input: { command: "ls", list: [1, null, "é\0"] },
        },
        {
          call: "a",
          thread: "main",
          at: AT + 2,
          type: "call.approved",
          effects: [{ kind: "read", path: "/x" }],
          decision: { verdict: "allow", risk: "low" },
          userFacing: true,
        },
        {
          call: "a",
          thread: "main",
          at: AT + 3,
          type: "call.updated",
          update: { displayMessage: null, output: "\u{1F600}" },
        },
        { call: "a", thread: "main", at: AT + 4, type: "call.finished", status: "failed", error: "no" },
      ];
      for (const [index, each] of given.entries()) {
        if (index === 1) await store.commit(each);
        else store.append(each);
      }
      const kept = await all(store);
      expect(kept).toEqual(given.map((each, index) => ({ ...each, id: kept[index]?.id })));
      const ids = idsOf(kept);
      expect(ids).toEqual([...new Set(ids)].sort((one, other) => one - other));
      expect(ids[0]).toBeGreaterThan(0);
      expect(await all(await fresh())).toEqual([]);
    });

    test("are chosen by thread, by call and by the last one that was seen", async () => {
      const store = await fresh();
      for (const [call, thread] of [
        ["a", "one"],
        ["b", "two"],
        ["a", "one"],
        ["c", "one"],
        ["b", "two"],
      ] as const)
        store.append(event(call, thread));
      const ids = idsOf(await all(store));
      expect(ids).toHaveLength(5);
      const at = (...places: number[]) => places.map((place) => ids[place - 1]);
      const third = ids[2] ?? 0;
      expect(idsOf(await all(store, { thread: "one" }))).toEqual(at(1, 3, 4));
      expect(idsOf(await all(store, { call: "b" }))).toEqual(at(2, 5));
      expect(idsOf(await all(store, { thread: "one", call: "a", after: ids[0] ?? 0 }))).toEqual(at(3));
      expect(idsOf(await all(store, { after: third }))).toEqual(at(4, 5));
      expect(idsOf(await all(store, { after: ids[4] ?? 0 }))).toEqual([]);
      expect(idsOf(await all(store, { after: third + 500 }))).toEqual([]);
      expect(idsOf(await all(store, { after: -1 }))).toEqual(at(1, 2, 3, 4, 5));
      expect(idsOf(await all(store, { thread: "none" }))).toEqual([]);
      expect(idsOf(await all(store, { thread: "two", call: "a" }))).toEqual([]);
    });

    test("whatever is appended, committed and asked for in whatever order, each is there once and in its place", async () => {
      const step = fc.record({
        how: fc.constantFrom("append", "commit", "commit unawaited", "read", "turn"),
        call: fc.constantFrom("a", "b", "\0", "\ud800", '"\\u0000"', "\u{1F600}'--"),
      });
      await fc.assert(
        fc.asyncProperty(fc.array(step, { maxLength: 30 }), async (steps) => {
          const store = await makeStore();
          const taken: ActivityEvent[] = [];
          const commits: Promise<void>[] = [];
          for (const [at, { how, call }] of steps.entries()) {
            const next = { ...event(call), at: AT + at };
            if (how === "turn") await new Promise((resolve) => setImmediate(resolve));
            else if (how === "read") {
              const kept = await all(store, { call });
              expect(kept.map(withoutId)).toEqual(taken.filter((each) => each.call === call));
            } else {
              taken.push(next);
              if (how === "append") store.append(next);
              else commits.push(store.commit(next));
              if (how === "commit") await commits.at(-1);
            }
          }
          await Promise.all(commits);
          expect((await all(store)).map(withoutId)).toEqual(taken);
          await store.close();
        }),
        { numRuns: 40 },
      );
    });
  });

  describe("threads and their messages", () => {
    const created = (thread: string): ThreadEvent => ({
      type: "thread.created",
      thread,
      at: AT,
      target: "local",
      workDir: `/w/${thread}`,
    });
    const said = (thread: string, text: string): ThreadEvent => ({
      ...{ type: "message.added", thread, at: AT + 5 },
      message: { role: "user", from: "person", content: [{ type: "text", text }] },
    });

    test("are listed with the newest change last, and messages are read apart from calls", async () => {
      const store = await fresh();
      for (const each of [
        created("x"),
        created("y"),
        said("x", "one"),
        event("a"),
        said("y", "two"),
        said("x", "three"),
      ])
        store.append(each);
      expect(await store.threads()).toEqual([
        { thread: "y", target: "local", workDir: "/w/y", createdMs: AT, changedMs: AT + 5 },
        { thread: "x", target: "local", workDir: "/w/x", createdMs: AT, changedMs: AT + 5 },
      ]);
      const messages = await all(store, { thread: "x", messages: true });
      expect(messages.map(withoutId)).toEqual([created("x"), said("x", "one"), said("x", "three")]);
      expect(await all(store, { messages: true })).toHaveLength(5);
      expect((await all(store, { call: "a" })).map(withoutId)).toEqual([event("a")]);
    });
  });

  describe(`${name}: following`, () => {
    test("gives what is there and then what comes, once each and in order, to everybody", async () => {
      const store = await fresh();
      store.append(event("a"));
      const [first] = idsOf(await all(store));
      const feeds = [following(store), following(store), following(store, { after: first ?? 0 })];
      await expect.poll(() => feeds[0]?.seen.length).toBe(1);
      for (let index = 0; index < 250; index++) {
        store.append(event(`b${index}`));
        if (index % 7 === 0) await new Promise((resolve) => setImmediate(resolve));
      }
      await store.close();
      for (const feed of feeds) await feed.ended;
      const everything = ["a", ...Array.from({ length: 250 }, (_, index) => `b${index}`)];
      expect(feeds.map(({ seen }) => seen.map(({ call }) => call))).toEqual([
        everything,
        everything,
        everything.slice(1),
      ]);
    });

    test("gives what comes while it waits, without being asked again", async () => {
      const store = await fresh();
      const feed = following(store);
      for (let index = 0; index < 5; index++) {
        store.append(event(`call-${index}`));
        await expect.poll(() => feed.seen.length).toBe(index + 1);
      }
    });

    test("only what was asked for", async () => {
      const store = await fresh();
      const feed = following(store, { call: "b" });
      for (const call of ["a", "b", "c", "b", "a"]) store.append({ ...event(call), at: AT + 7 });
      await store.close();
      await feed.ended;
      expect(feed.seen.map(withoutId)).toEqual([
        { ...event("b"), at: AT + 7 },
        { ...event("b"), at: AT + 7 },
      ]);
    });

    test("a signal ends it: before, while it waits, and between two events", async () => {
      const store = await fresh();
      for (const call of ["a", "b", "c"]) store.append(event(call));
      expect(await all(store, { follow: true, signal: AbortSignal.abort() })).toEqual([]);
      const waiting = new AbortController();
      const feed = following(store, { signal: waiting.signal });
      await expect.poll(() => feed.seen.length).toBe(3);
      waiting.abort();
      await feed.ended;
      const between = new AbortController();
      const seen: string[] = [];
      for await (const { call = "" } of store.events({ follow: true, signal: between.signal })) {
        seen.push(call);
        if (call === "b") between.abort();
      }
      expect(seen).toEqual(["a", "b"]);
      store.append(event("d"));
      expect(feed.seen.map(({ call }) => call)).toEqual(["a", "b", "c"]);
    });

    test("leaving the loop leaves nothing waiting behind", async () => {
      const store = await fresh();
      const { signal } = new AbortController();
      for (let round = 0; round < 30; round++) {
        store.append(event("a"));
        for await (const _ of store.events({ follow: true, signal })) break;
      }
      await store.close();
      expect(await all(store)).toHaveLength(30);
    });

    test("closing ends it after what was there, and nothing more is taken", async () => {
      const store = await fresh();
      const feed = following(store);
      store.append(event("a"));
      await store.close();
      await store.close();
      await feed.ended;
      expect(feed.seen.map(({ call }) => call)).toEqual(["a"]);
      expect(() => store.append(event("b"))).toThrow("the store is closed");
      await expect(store.commit(event("b"))).rejects.toThrow("the store is closed");
      expect((await all(store)).map(({ call }) => call)).toEqual(["a"]);
      expect((await all(store, { follow: true })).map(({ call }) => call)).toEqual(["a"]);
    });
  });
}

function withoutId({ id: _, ...rest }: StoredEvent): Omit<StoredEvent, "id"> {
  return rest;
}
