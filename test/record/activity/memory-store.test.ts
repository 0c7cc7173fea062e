import fc from "fast-check";
import { afterAll, describe, expect, test } from "vitest";
import { memoryStore } from "../../../src/record/activity/memory-store.ts";
import type { StoredEvent } from "../../../src/core/contract/activity.ts";
import { storeSuite } from "../../suites/store-suite.ts";
import { all, event, idsOf } from "./events.ts";

storeSuite({ name: "memory", shared: false, open: async () => memoryStore() }, { describe, test, afterAll });

describe("a limit", () => {
  test("ids start at 1 and are consecutive", async () => {
    const store = memoryStore();
    for (const call of ["a", "b", "c"]) store.append(event(call));
    expect(idsOf(await all(store))).toEqual([1, 2, 3]);
  });

  test("above the limit the oldest events are removed, and ids continue", async () => {
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

  test("any read returns the end of what was appended", async () => {
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

  test("a slow follower misses only removed events, and gets none twice", async () => {
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

  test("that is invalid is rejected", () => {
    for (const limit of [0, -1, 1.5, NaN, Infinity])
      expect(() => memoryStore({ limit })).toThrow("expected a whole number above 0");
  });
});
