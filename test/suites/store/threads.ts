import { deepEqual, equal, rejects } from "node:assert/strict";
import type { ActivityEvent } from "../../../src/core/contract/activity.ts";
import type { JobLifetime } from "../../../src/core/contract/lifetime.ts";
import { type StoreCases, AT, all, created, event, finished, said, started, withoutId } from "./scene.ts";

/** `threads`, `search`, `jobs`, and messages apart from calls. */
export const threads: StoreCases = {
  "threads are listed with the newest change last, also those that were not created": async ({ store }) => {
    const events = [created("x"), created("y"), said("x", "one"), event("a"), said("y", "two"), said("x", "three")];
    for (const each of events) store.append(each);
    const place = { target: "local", createdMs: AT, changedMs: AT + 5 };
    deepEqual(await store.threads(), [
      { thread: "main", createdMs: AT, changedMs: AT },
      { thread: "y", workDir: "/w/y", title: "two", ...place },
      { thread: "x", workDir: "/w/x", title: "one", ...place },
    ]);
    const messages = await all(store, { thread: "x", messages: true });
    deepEqual(messages.map(withoutId), [created("x"), said("x", "one"), said("x", "three")]);
    equal((await all(store, { messages: true })).length, 5);
    deepEqual((await all(store, { call: "a" })).map(withoutId), [event("a")]);
  },

  "a thread is taken by one turn at a time, and by the next when it is given back": async ({ store }) => {
    const { signal } = new AbortController();
    const giveBack = await store.takeThread("x", signal);
    const order: string[] = [];
    const next = store.takeThread("x", signal).then((back) => {
      order.push("taken");
      return back;
    });
    await (
      await store.takeThread("y", signal)
    )();
    await rejects(store.takeThread("x", AbortSignal.abort(new Error("stopped"))), /stopped/);
    await rejects(store.takeThread("x", AbortSignal.timeout(50)), { name: "TimeoutError" });
    order.push("given back");
    await giveBack();
    await (
      await next
    )();
    deepEqual(order, ["given back", "taken"]);
    await giveBack();
    await (
      await store.takeThread("x", signal)
    )();
  },

  "a search finds messages, calls and results, newest first": async ({ store }) => {
    const long = `${"before ".repeat(100)}the 100%_"Needle"\nin it${" after".repeat(100)}`;
    const events = [created("x"), said("x", long), started("needle"), finished("needle"), said("main", "a needle")];
    for (const each of events) store.append(each);
    const found = async (text: string, options: object = {}) => {
      return (await store.search({ text, ...options })).hits.map(({ thread, call }) => call ?? thread);
    };
    deepEqual(await found("NEEDLE"), ["main", "needle", "x"]);
    deepEqual(await found("NEEDLE", { limit: 1 }), ["main"]);
    deepEqual(await found("needle", { thread: "x" }), ["x"]);
    deepEqual(await found('100%_"needle"\nin'), ["x"]);
    deepEqual(await found("100_%"), []);
    deepEqual(await found("message.added"), []);
    deepEqual(await found("done."), ["needle"]);
    const {
      hits: [hit],
      next: nothing,
    } = await store.search({ text: "needle", thread: "x" });
    equal(nothing, undefined);
    const first = await store.search({ text: "needle", limit: 2 });
    deepEqual(first.next, { before: first.hits[1]?.id, at: first.hits[1]?.at });
    deepEqual(await found("needle", { before: first.next?.before }), ["x"]);
    equal(hit?.excerpt.length, 200);
    equal(hit?.excerpt.includes("Needle"), true);
    equal(hit?.id, (await all(store, { thread: "x" })).at(-1)?.id);
    for (const text of ["", "x".repeat(1_001)]) await rejects(store.search({ text }), RangeError);
  },

  "jobs are listed with their state": async ({ store }) => {
    const begun = (call: string, job: string, lifetime: JobLifetime = "toolkit"): ActivityEvent => {
      return { call, thread: "main", at: AT, type: "job.started", job, command: `sleep ${job}`, lifetime };
    };
    store.append(begun("a", "1"));
    store.append(begun("a", "2", "detached"));
    store.append(begun("b", "1"));
    store.append({ ...event("b"), at: AT + 9 });
    const jobs = await store.jobs();
    const ids = (await all(store)).map(({ id }) => id);
    const common = { thread: "main", startedMs: AT };
    deepEqual(jobs, [
      { id: ids[0], call: "a", job: "1", command: "sleep 1", lifetime: "toolkit", ended: undefined, ...common },
      { id: ids[1], call: "a", job: "2", command: "sleep 2", lifetime: "detached", ended: undefined, ...common },
      {
        ...{ id: ids[2], call: "b", job: "1", command: "sleep 1", lifetime: "toolkit", ...common },
        ended: { exit: { how: "aborted" }, atMs: AT + 9 },
      },
    ]);
  },
};
