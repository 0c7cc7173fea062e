import { deepEqual, equal } from "node:assert/strict";
import { until } from "../backend/scene.ts";
import { type StoreCases, all, asked, callsOf, event, follow, idsOf, started } from "./scene.ts";

/** What connections to one store see of each other. */
export const shared: StoreCases = {
  "followers miss nothing of several writers, and get nothing twice": async ({ store, open }) => {
    const writers = [await open(), await open(), await open()];
    const feed = follow(store);
    const commits = writers.flatMap((writer, place) => {
      return Array.from({ length: 60 }, (_, index) => {
        if (index % 3 === 0) return writer.commit(event(`${place}-${index}`));
        return Promise.resolve(writer.append(event(`${place}-${index}`)));
      });
    });
    await Promise.all(commits);
    await Promise.all(writers.map((writer) => writer.close()));
    await until("all are seen", () => feed.seen.length >= 180);
    const kept = await all(store);
    deepEqual(idsOf(feed.seen), idsOf(kept));
    equal(new Set(callsOf(kept)).size, 180);
    for (const place of [0, 1, 2]) {
      const own = callsOf(kept).filter((call) => call?.startsWith(`${place}-`));
      deepEqual(
        own,
        own.map((_, index) => `${place}-${index}`),
      );
    }
  },

  "another process can answer a question, and of two answers one counts": async ({ store, open }) => {
    const other = await open();
    store.append(started("a"));
    store.append(asked("a", "one"));
    await until("the other sees it", async () => (await other.questions()).length === 1);
    const feed = follow(store, { types: ["approval.decided"] });
    const outcomes = await Promise.all(
      [store, other, store, other].map((each) => each.answer("one", { answer: "once" }, "test")),
    );
    deepEqual(outcomes.map(({ status }) => status).toSorted(), ["answered", "closed", "closed", "closed"]);
    await until("the answer is seen", () => feed.seen.length === 1);
    deepEqual([await store.questions(), await other.questions()], [[], []]);
  },

  "attendance and stops are seen by the other": async ({ store, open }) => {
    const other = await open();
    const feed = follow(store, { after: "now", types: ["stop.requested"] });
    const leave = await other.attend();
    equal(await store.isAttended(), true);
    const stop = { type: "stop.requested", thread: "main", at: Date.now(), by: "test" } as const;
    await until("a stop is seen", async () => {
      await other.commit({ ...stop, call: "a", job: "1" });
      await other.commit(stop);
      return feed.seen.length > 1;
    });
    await leave();
    equal(await store.isAttended(), false);
  },

  "a thread that the other has taken is waited for, and what it recorded is read": async ({ store, open }) => {
    const other = await open();
    const turns = Array.from({ length: 10 }, (_, index) => ({ index, in: index % 2 === 0 ? store : other }));
    const running = new Set<number>();
    const ended: string[] = [];
    const alone = turns.map(async (turn) => {
      const giveBack = await turn.in.takeThread("main", new AbortController().signal);
      running.add(turn.index);
      deepEqual(callsOf(await all(turn.in)), ended);
      deepEqual([...running], [turn.index]);
      running.delete(turn.index);
      ended.push(`${turn.index}`);
      turn.in.append(event(`${turn.index}`));
      await giveBack();
    });
    await Promise.all(alone);
  },

  "closing ends the attendance": async ({ store, open }) => {
    const other = await open();
    await other.attend();
    await other.close();
    equal(await store.isAttended(), false);
  },
};
