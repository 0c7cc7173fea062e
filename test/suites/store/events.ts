import { deepEqual, ok } from "node:assert/strict";
import { setImmediate as nextTurn } from "node:timers/promises";
import type { ActivityEvent } from "../../../src/core/contract/activity.ts";
import { type StoreCases, AT, all, asked, event, finished, idsOf, withoutId } from "./scene.ts";

/** `append`, `commit`, and `events` without following. */
export const events: StoreCases = {
  "are returned unchanged, numbered in the order in which they were recorded": async ({ store }) => {
    const own = { call: "a", thread: "main" };
    const given: ActivityEvent[] = [
      { ...own, at: AT + 1, type: "call.started", name: "bash", input: { command: "ls", list: [1, null, "é\0"] } },
      {
        ...own,
        at: AT + 2,
        type: "call.approved",
        effects: [{ kind: "read", path: "/x" }],
        decision: { verdict: "allow", risk: "low" },
      },
      { ...own, at: AT + 3, type: "call.updated", update: { displayMessage: null, output: "\u{1F600}" } },
      finished("a"),
    ];
    for (const [index, each] of given.entries()) {
      if (index === 1) await store.commit(each);
      else store.append(each);
    }
    const kept = await all(store);
    deepEqual(kept.map(withoutId), given);
    const ids = idsOf(kept);
    deepEqual(
      ids,
      [...new Set(ids)].toSorted((one, other) => one - other),
    );
    ok((ids[0] ?? 0) > 0);
  },

  "are returned whole when the text that a model read is also in the data": async ({ store }) => {
    const file = 'a line \ud83d\ude00 "quoted"\n'.repeat(200);
    const text = `${file}\n[Showing lines 1-200 of 300.]`;
    const image = { type: "image", mimeType: "image/png", bytes: 3 } as const;
    const parts = [file, text, "another text"].map((each) => ({ type: "text", text: each }) as const);
    const ended = { ...finished("a"), content: [...parts, image] };
    const given = [
      { ...ended, data: { path: "x", text: file, ["__proto__"]: file } },
      { ...ended, call: "b", data: ["x", file] },
      { ...ended, call: "c", data: { short: "a line" } },
    ];
    for (const each of given) store.append(each);
    deepEqual((await all(store)).map(withoutId), given);
    const { hits } = await store.search({ text: "[Showing lines 1-200" });
    deepEqual(
      hits.map(({ call }) => call),
      ["c", "b", "a"],
    );
    const last = { ...ended, call: "d", data: { text: file } };
    store.append(last);
    const tails = await store.tails?.();
    if (tails !== undefined) deepEqual(tails.tails.flatMap((tail) => tail.events.map(withoutId)).at(-1), last);
  },

  "are selected by thread, by call, by type and by the last seen id": async ({ store }) => {
    for (const [call, thread] of [
      ["a", "one"],
      ["b", "two"],
      ["a", "one"],
      ["c", "one"],
      ["b", "two"],
    ] as const)
      store.append(event(call, thread));
    store.append(asked("d", "q"));
    const ids = idsOf(await all(store));
    const third = ids[2] ?? 0;
    const chosen = [
      [{ thread: "one" }, [1, 3, 4]],
      [{ call: "b" }, [2, 5]],
      [{ thread: "one", call: "a", after: ids[0] ?? 0 }, [3]],
      [{ after: third }, [4, 5, 6]],
      [{ after: third + 500 }, []],
      [{ after: "now" }, []],
      [{ after: -1 }, [1, 2, 3, 4, 5, 6]],
      [{ thread: "none" }, []],
      [{ thread: "two", call: "a" }, []],
      [{ types: ["approval.requested"] }, [6]],
      [{ types: ["job.ended"], call: "b", after: third }, [5]],
      [{ types: ["job.ended", "approval.requested"], thread: "two" }, [2, 5]],
    ] as const;
    for (const [options, places] of chosen) {
      const expected = places.map((place) => ids[place - 1]);
      deepEqual(idsOf(await all(store, options)), expected, JSON.stringify(options));
    }
  },

  "are each returned once and in order, however they were recorded and read": async ({ store }) => {
    const names = ["a", "b", "\0", "\ud800", '"\\u0000"', "\u{1F600}'--"];
    const taken: ActivityEvent[] = [];
    const commits: Promise<void>[] = [];
    for (let step = 0; step < 300; step++) {
      // Every way of recording comes before and after every other: 7 and 6 have no common divisor.
      const [how, call = ""] = [step % 7, names[Math.floor(step / 2) % names.length]];
      if (how === 0) await nextTurn();
      if (how === 1) {
        const kept = await all(store, { call });
        deepEqual(
          kept.map(withoutId),
          taken.filter((each) => each.call === call),
        );
      }
      if (how < 2) continue;
      const next = { ...event(call), at: AT + step };
      taken.push(next);
      if (how < 5) store.append(next);
      else commits.push(store.commit(next));
      if (how === 6) await commits.at(-1);
    }
    await Promise.all(commits);
    deepEqual((await all(store)).map(withoutId), taken);
  },
};
