import fc from "fast-check";
import { expect, test } from "vitest";
import { type ToolMessage, foldMessage } from "../../../src/record/activity/fold.ts";
import { type EventRow, rowOf } from "../../../src/record/activity/event-rows.ts";
import { mergeUpdates } from "../../../src/record/activity/updates.ts";
import type { ActivityEvent, CallUpdate } from "../../../src/core/contract/activity.ts";
import type { Json } from "../../../src/core/contract/schema.ts";

const update: fc.Arbitrary<CallUpdate> = fc.record(
  {
    displayMessage: fc.option(fc.string()),
    data: fc.dictionary(fc.constantFrom("a", "b", "__proto__"), fc.jsonValue() as fc.Arbitrary<Json>, { maxKeys: 2 }),
    output: fc.oneof(fc.string({ unit: "binary" }), fc.constant("x".repeat(30_000))),
  },
  { requiredKeys: [] },
);

const happening = fc.oneof(
  { weight: 8, arbitrary: update.map((each) => ({ type: "call.updated" as const, update: each })) },
  { weight: 1, arbitrary: fc.constant({ type: "call.started" as const, name: "bash", input: {} }) },
  {
    weight: 1,
    arbitrary: fc.constant({ type: "call.finished" as const, status: "ok" as const, data: { done: true } }),
  },
);

const events: fc.Arbitrary<ActivityEvent[]> = fc
  .array(fc.tuple(fc.constantFrom("a", "b"), happening), { maxLength: 20 })
  .map((list) => list.map(([call, each], at): ActivityEvent => ({ call, thread: "main", at, ...each })));

const eventsIn = (rows: readonly EventRow[]) => rows.map(({ body }) => JSON.parse(body) as ActivityEvent);

function stateOf(call: string, list: readonly ActivityEvent[]): ToolMessage | undefined {
  return list.filter((each) => each.call === call).reduce<ToolMessage | undefined>(foldMessage, undefined);
}

function outputOf(call: string, list: readonly ActivityEvent[]): string {
  return list
    .map((each) => (each.type === "call.updated" && each.call === call ? (each.update.output ?? "") : ""))
    .join("");
}

test("merged or not, each call ends with the same state and output, and its other events in order", () => {
  fc.assert(
    fc.property(events, (list) => {
      const plain = eventsIn(list.map(rowOf));
      const merged = eventsIn(mergeUpdates(list.map(rowOf), () => true));
      for (const call of ["a", "b"]) {
        expect(stateOf(call, merged)).toEqual(stateOf(call, plain));
        expect(outputOf(call, merged)).toBe(outputOf(call, plain));
        const others = (of: readonly ActivityEvent[]) =>
          of.filter((each) => each.call === call && each.type !== "call.updated");
        expect(others(merged)).toEqual(others(plain));
      }
      expect(Math.max(0, ...merged.map((each) => JSON.stringify(each).length))).toBeLessThan(66_000);
    }),
  );
});

test("updates that may not be merged stay as they are, and in order", () => {
  const list = ["1", "2", "3", "4"].map((output, at): ActivityEvent => {
    return { call: "a", thread: "main", at, type: "call.updated", update: { output } };
  });
  const merged = eventsIn(mergeUpdates(list.map(rowOf), (index) => index !== 2));
  expect(merged).toMatchObject([
    { update: { output: "12" } },
    { update: { output: "3" } },
    { update: { output: "4" } },
  ]);
});
