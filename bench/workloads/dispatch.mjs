import { createToolkit, defineTool } from "handrail";
import { within } from "./shared.mjs";

const CALLS = 20_000;

/** @type {readonly import("./shared.mjs").Workload[]} */
export const DISPATCH = [
  {
    name: "dispatch",
    what: "a no-op call of 6 fields, JSON in and out, record in memory",
    unit: "µs",
    scale: 1_000 / CALLS,
    target: within(5, "µs"),
    async prepare() {
      const noop = defineTool({
        name: "noop",
        description: "Nothing.",
        touches: [],
        input: {
          type: "object",
          properties: {
            a: { type: "string" },
            b: { type: "integer" },
            c: { type: "boolean" },
            d: { type: "string" },
            e: { type: "array", items: { type: "string" } },
            f: { type: "number" },
          },
          required: ["a", "b", "c", "e", "f"],
        },
        effects: () => [],
        run: async ({ a }) => ({ a }),
      });
      const toolkit = await createToolkit({ tools: [noop] });
      const input = JSON.stringify({ a: "x", b: 1, c: true, e: ["p"], f: 1.5 });
      const bare = async (/** @type {{ a: string }} */ { a }) => ({ a });
      return {
        ours: async () => {
          for (let call = 0; call < CALLS; call++) JSON.stringify(await toolkit.call({ name: "noop", input }));
        },
        ceiling: async () => {
          for (let call = 0; call < CALLS; call++) JSON.stringify(await bare(JSON.parse(input)));
        },
        cleanUp: () => toolkit.close(),
      };
    },
  },
];
