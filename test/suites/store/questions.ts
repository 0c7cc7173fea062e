import { deepEqual, equal } from "node:assert/strict";
import { type StoreCases, AT, all, asked, finished, started } from "./scene.ts";

/** `questions`, `answer`, `attend`. */
export const questions: StoreCases = {
  "a question is open until it is answered": async ({ store }) => {
    for (const call of ["a", "b"]) {
      store.append(started(call));
      store.append(asked(call, `question-${call}`));
    }
    const { effects, decision } = asked("a", "") as Extract<ReturnType<typeof asked>, { type: "approval.requested" }>;
    const open = (call: string) => {
      const input = { command: `echo ${call}` };
      return {
        question: `question-${call}`,
        call,
        thread: "main",
        name: "bash",
        input,
        effects,
        decision,
        askedMs: AT,
      };
    };
    deepEqual(await store.questions(), [open("a"), open("b")]);
    deepEqual(await store.answer("question-a", { answer: "session" }, "one"), { status: "answered" });
    deepEqual(await store.questions(), [open("b")]);
    const first = { approval: { answer: "session" }, by: "one" };
    const reason = "it was answered before (session, one)";
    deepEqual(await store.answer("question-a", { answer: "refuse" }, "two"), { status: "closed", reason, first });
    const decided = await all(store, { call: "a", types: ["approval.decided"] });
    equal(decided.length, 1);
    deepEqual(
      { ...decided[0], id: 0, at: 0 },
      {
        ...{ id: 0, at: 0, call: "a", thread: "main", type: "approval.decided", question: "question-a" },
        ...first,
      },
    );
  },

  "a question closes with its call, and what was never asked is unknown": async ({ store }) => {
    store.append(started("a"));
    store.append(asked("a", "one"));
    store.append(finished("a"));
    deepEqual(await store.questions(), []);
    const reason = "its call has ended";
    deepEqual(await store.answer("one", { answer: "once" }, "test"), { status: "closed", reason });
    deepEqual(await store.answer("another", { answer: "once" }, "test"), { status: "unknown" });
    equal((await all(store, { types: ["approval.decided"] })).length, 0);
  },

  "of ten simultaneous answers one counts": async ({ store }) => {
    store.append(asked("a", "one"));
    const answers = Array.from({ length: 10 }, (_, index) => store.answer("one", { answer: "once" }, String(index)));
    const outcomes = await Promise.all(answers);
    const winner = outcomes.findIndex(({ status }) => status === "answered");
    const others = outcomes.filter((_, index) => index !== winner);
    const first = { approval: { answer: "once" }, by: String(winner) };
    deepEqual(
      others,
      others.map(() => ({ status: "closed", reason: `it was answered before (once, ${winner})`, first })),
    );
    equal(others.length, 9);
  },

  "it is attended while a process attends": async ({ store }) => {
    equal(await store.isAttended(), false);
    const [one, other] = [await store.attend(), await store.attend()];
    await one();
    await one();
    equal(await store.isAttended(), true);
    await other();
    equal(await store.isAttended(), false);
  },
};
