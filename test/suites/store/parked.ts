import { deepEqual, equal } from "node:assert/strict";
import type { Parking } from "../../../src/core/contract/parked.ts";
import type { Store } from "../../../src/core/contract/activity.ts";
import { type StoreCases, all, asked, finished, started } from "./scene.ts";

const TARGET = "local:/w";
const take = (claim: string) => ({ to: "taken", claim, target: TARGET }) as const;

/** Parks a call that was asked about. */
async function parkIn(store: Store, call: string, more: Partial<Parking> = {}): Promise<Parking> {
  const parking: Parking = {
    ...{ call, thread: "main", question: `question-${call}`, target: TARGET, name: "bash", input: { command: "echo" } },
    ...{ about: { "the arguments": "1" }, refusal: "Denied by user.", keepMs: 60_000, ...more },
  };
  store.append(started(call));
  store.append(asked(call, parking.question));
  deepEqual(await store.park(parking), { status: "parked" });
  return parking;
}

const stateOf = async (store: Store, call: string) => (await store.parked({ call }))[0]?.state;
const endingOf = async (store: Store, call: string) =>
  (await all(store, { call, types: ["call.finished"] })).map((event) =>
    event.type === "call.finished" ? [event.status, event.error] : [],
  );

/** `park`, `parked`, `move`, and `answer` of parked calls. */
export const parked: StoreCases = {
  "a parked call stays open, becomes ready with its answer, and is taken once": async ({ store }) => {
    const parking = await parkIn(store, "a");
    const [question] = await store.questions();
    equal(question?.question, "question-a");
    equal(typeof question?.parked?.untilMs, "number");
    deepEqual(await store.move("a", take("one")), {
      ...{ status: "refused", reason: "it still waits for a person" },
      parked: (await store.parked())[0],
    });
    deepEqual(await store.answer("question-a", { answer: "once" }, "test"), { status: "answered" });
    deepEqual(await store.questions(), []);
    deepEqual(await store.parked({ states: ["parked"] }), []);
    const [ready] = await store.parked({ states: ["ready"], thread: "main", target: TARGET });
    deepEqual(
      { ...ready, sinceMs: 0, untilMs: 0 },
      {
        ...parking,
        ...{ state: "ready", sinceMs: 0, untilMs: 0, approval: { answer: "once" }, by: "test" },
      },
    );
    equal((await store.move("a", { ...take("one"), target: "local:/other" })).status, "refused");
    const claims = await Promise.all(["one", "two", "three"].map((claim) => store.move("a", take(claim))));
    deepEqual(claims.map(({ status }) => status).toSorted(), ["moved", "refused", "refused"]);
    const { claim = "" } = (await store.parked({ call: "a" }))[0] ?? {};
    equal((await store.move("a", take(claim))).status, "moved"); // the reply of the first was lost
    store.append(finished("a"));
    deepEqual(await store.parked(), []);
    const types = (await all(store, { call: "a" })).map(({ type }) => type);
    deepEqual(types, [
      ...["call.started", "approval.requested", "call.parked", "approval.decided", "call.taken", "call.finished"],
    ]);
  },

  "a refusal ends it, and a withdrawal before it is taken; later answers are told why": async ({ store }) => {
    await parkIn(store, "a");
    await parkIn(store, "b");
    await store.answer("question-a", { answer: "refuse", reason: "Not today." }, "test");
    deepEqual(await endingOf(store, "a"), [["denied", "Denied by user. Not today."]]);
    equal((await store.move("b", { to: "withdrawn", by: "Ann" })).status, "moved");
    deepEqual(await endingOf(store, "b"), [["aborted", "withdrawn by Ann before it ran"]]);
    const late = [
      await store.answer("question-a", { answer: "once" }, "late"),
      await store.answer("question-b", { answer: "once" }, "late"),
    ];
    deepEqual(
      late.map((outcome) => "reason" in outcome && outcome.reason),
      ["it was answered before (refuse, test)", "its call has ended: withdrawn by Ann before it ran"],
    );
    deepEqual(await store.parked(), []);
  },

  "after its time it expires, answered or not": async ({ store }) => {
    await parkIn(store, "a", { keepMs: -1 });
    deepEqual(await store.answer("question-a", { answer: "once" }, "late"), {
      ...{ status: "closed", reason: "its call has ended: nobody answered within -0.001 s, so it was not run" },
    });
    await parkIn(store, "b", { keepMs: -1 });
    deepEqual(await store.questions(), []);
    deepEqual(await endingOf(store, "b"), [["denied", "nobody answered within -0.001 s, so it was not run"]]);
  },

  "the result of an agent's call is kept until it is delivered": async ({ store }) => {
    await parkIn(store, "a", { turn: "t" });
    await store.answer("question-a", { answer: "once" }, "test");
    await store.move("a", take("one"));
    equal((await store.move("a", { to: "delivered" })).status, "refused");
    store.append(finished("a"));
    equal(await stateOf(store, "a"), "ended");
    deepEqual(await store.questions(), []);
    await store.move("a", { to: "delivered" });
    equal(await stateOf(store, "a"), undefined);
  },

  "who has taken it asks again, and an answer to the older form is told so": async ({ store }) => {
    const parking = await parkIn(store, "a");
    await store.answer("question-a", { answer: "once" }, "test");
    await store.move("a", take("one"));
    store.append(asked("a", "again"));
    const again = { ...parking, question: "again", changed: ["the content of /w/x"] };
    equal((await store.park(again, "another")).status, "closed");
    equal((await store.park(again, "one")).status, "parked");
    const { parked: asks } = (await store.questions())[0] ?? {};
    deepEqual(asks?.changed, ["the content of /w/x"]);
    const older = await store.answer("question-a", { answer: "once" }, "late");
    equal(
      "reason" in older && older.reason,
      "it was answered before (once, test); again asks again, since this has changed: the content of /w/x",
    );
    equal((await store.answer("again", { answer: "once" }, "test")).status, "answered");
    equal(await stateOf(store, "a"), "ready");
  },

  "a call whose question is closed is not parked": async ({ store }) => {
    const first = { approval: { answer: "once" }, by: "test" } as const;
    store.append(started("a"));
    store.append(asked("a", "question-a"));
    await store.answer("question-a", first.approval, first.by);
    const parking = { call: "a", thread: "main", question: "question-a", target: TARGET, name: "bash", input: {} };
    const outcome = await store.park({ ...parking, about: {}, refusal: "", keepMs: 1_000 });
    deepEqual(outcome, { status: "closed", reason: "it was answered before (once, test)", first });
    deepEqual(await store.parked(), []);
  },
};
