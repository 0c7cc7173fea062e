import { deepEqual, equal, rejects, throws } from "node:assert/strict";
import { setImmediate as nextTurn } from "node:timers/promises";
import { until } from "../backend/scene.ts";
import { AT, type StoreCases, all, callsOf, event, follow, idsOf, withoutId } from "./scene.ts";

/** `events` with `follow`, and `close`. */
export const following: StoreCases = {
  "yields what exists and then what comes, once each and in order, to every follower": async ({ store }) => {
    store.append(event("a"));
    const [first = 0] = idsOf(await all(store));
    const feeds = [follow(store), follow(store), follow(store, { after: first })];
    await until("the first is seen", () => feeds[0]?.seen.length === 1);
    for (let index = 0; index < 250; index++) {
      store.append(event(`b${index}`));
      if (index % 7 === 0) await nextTurn();
    }
    await store.close();
    for (const feed of feeds) await feed.ended;
    const everything = ["a", ...Array.from({ length: 250 }, (_, index) => `b${index}`)];
    deepEqual(
      feeds.map(({ seen }) => callsOf(seen)),
      [everything, everything, everything.slice(1)],
    );
  },

  "yields new events while it waits": async ({ store }) => {
    const feed = follow(store);
    for (let index = 0; index < 5; index++) {
      store.append(event(`call-${index}`));
      await until("it is seen", () => feed.seen.length === index + 1);
    }
  },

  "after: now yields only later events": async ({ store }) => {
    store.append(event("before"));
    await all(store);
    const feed = follow(store, { after: "now" });
    await until("something new is seen", () => {
      store.append(event("later"));
      return feed.seen.length > 0;
    });
    equal(feed.seen[0]?.call, "later");
  },

  "yields only the selected events": async ({ store }) => {
    const feed = follow(store, { call: "b" });
    for (const call of ["a", "b", "c", "b", "a"]) store.append({ ...event(call), at: AT + 7 });
    await store.close();
    await feed.ended;
    const wanted = { ...event("b"), at: AT + 7 };
    deepEqual(feed.seen.map(withoutId), [wanted, wanted]);
  },

  "ends with the signal: before, while it waits, and between two events": async ({ store }) => {
    for (const call of ["a", "b", "c"]) store.append(event(call));
    deepEqual(await all(store, { follow: true, signal: AbortSignal.abort() }), []);
    const waiting = new AbortController();
    const feed = follow(store, { signal: waiting.signal });
    await until("all are seen", () => feed.seen.length === 3);
    waiting.abort();
    await feed.ended;
    const between = new AbortController();
    const seen: string[] = [];
    for await (const { call = "" } of store.events({ follow: true, signal: between.signal })) {
      seen.push(call);
      if (call === "b") between.abort();
    }
    deepEqual(seen, ["a", "b"]);
    store.append(event("d"));
    deepEqual(callsOf(feed.seen), ["a", "b", "c"]);
  },

  "leaves nothing behind when the loop ends early": async ({ store }) => {
    const { signal } = new AbortController();
    for (let round = 0; round < 30; round++) {
      store.append(event("a"));
      for await (const _ of store.events({ follow: true, signal })) break;
    }
    await store.close();
    equal((await all(store)).length, 30);
  },

  "ends after the existing events when the store is closed": async ({ store }) => {
    const feed = follow(store);
    store.append(event("a"));
    await store.close();
    await store.close();
    await feed.ended;
    deepEqual(callsOf(feed.seen), ["a"]);
    throws(() => store.append(event("b")), /the store is closed/);
    await rejects(store.commit(event("b")), /the store is closed/);
    await rejects(store.answer("q", { answer: "once" }, "test"), /the store is closed/);
    await rejects(store.attend(), /the store is closed/);
    deepEqual(callsOf(await all(store)), ["a"]);
    deepEqual(callsOf(await all(store, { follow: true })), ["a"]);
  },
};
