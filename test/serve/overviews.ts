import fc from "fast-check";
import { expect, test } from "vitest";
import type { ActivityEvent, Store } from "../../src/core/contract/activity.ts";
import { createOverview } from "../../src/serve/overview.ts";
import { all } from "../record/activity/events.ts";
import { cases } from "../support/cases.ts";

const KINDS = ["user", "notice", "assistant", "result", "turn", "start", "ask", "decide", "noise", "finish"] as const;
type Kind = (typeof KINDS)[number];

const AT = Date.now();
const text = (words: string) => [{ type: "text", text: words }] as const;

/** Makes events of random kinds in a thread. Each call is one that runs, or begins if none does. */
function eventsOf(thread: string, kinds: readonly (readonly [Kind, number])[]): readonly ActivityEvent[] {
  const running: string[] = [];
  return kinds.flatMap(([kind, number], index): readonly ActivityEvent[] => {
    const at = AT + index;
    const say = (message: Extract<ActivityEvent, { type: "message.added" }>["message"]) =>
      [{ type: "message.added", thread, at, message }] as const;
    const which = number % Math.max(1, running.length);
    const call = running[which];
    if (kind === "user" || kind === "notice")
      return say({ role: "user", from: kind === "user" ? "person" : "handrail", content: text(`${kind} ${index}`) });
    if (kind === "assistant") return say({ role: "assistant", content: [...text("Well")] });
    if (kind === "result") return say({ role: "tool", call: "any", status: "ok", content: text("It is done") });
    if (kind === "turn") return [{ type: "turn.ended", thread, at, reason: "done" }];
    if (kind === "start" || call === undefined) {
      const id = `${thread}-${index}`;
      running.push(id);
      return [
        {
          type: "call.started",
          call: id,
          thread,
          at,
          name: "ls",
          input: {},
          ...(thread === "thread1" && { agent: "a" }),
        },
      ];
    }
    const asked = { call, thread, at, question: `of ${call}`, effects: [] };
    switch (kind) {
      case "ask":
        return [{ ...asked, type: "approval.requested", decision: { verdict: "ask", risk: "low" } }];
      case "decide":
        return [{ ...asked, type: "approval.decided", approval: { answer: "once" }, by: "test" }];
      case "noise":
        return [{ call, thread, at, type: "call.updated", update: { output: "more" } }];
      case "finish":
        running.splice(which, 1);
        return [{ call, thread, at, type: "call.finished", status: "ok" }];
    }
  });
}

/** @param open opens an empty store; called for each case */
export function overviewTests(open: () => Promise<Store>, runs: number): void {
  test("the overview that is made of the ends of threads is the one that all their events give", async () => {
    const thread = fc.array(fc.tuple(fc.constantFrom(...KINDS), fc.nat({ max: 9 })), { minLength: 1, maxLength: 40 });
    await fc.assert(
      fc.asyncProperty(fc.array(thread, { minLength: 1, maxLength: 3 }), async (threads) => {
        const store = await open();
        const gone = new AbortController();
        try {
          const created = { type: "thread.created", at: AT, target: "local", workDir: "/w" } as const;
          for (const [index, kinds] of threads.entries()) {
            const name = `thread${index}`;
            if (index > 0) store.append({ ...created, thread: name });
            for (const event of eventsOf(name, kinds)) store.append(event);
          }
          const { events } = store;
          const ends = await createOverview(store, gone.signal).read();
          const whole = await createOverview({ events }, gone.signal).read();
          const byThread = (states: typeof ends.threads) => new Map(states.map((each) => [each.thread, each]));
          expect(byThread(ends.threads)).toEqual(byThread(whole.threads));
          expect(ends.last).toBe((await all(store)).at(-1)?.id);
        } finally {
          gone.abort();
          await store.close();
        }
      }),
      { numRuns: cases(runs) },
    );
  });
}
