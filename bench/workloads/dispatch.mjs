import { join } from "node:path";
import { createToolkit, defineTool, memoryStore, sqliteStore } from "handrail";
import { within } from "./shared.mjs";

const CALLS = 20_000;

/** A store that keeps nothing. @type {import("handrail").Store} */
const NO_RECORD = { append: () => {}, commit: async () => {}, async *events() {}, close: async () => {} };

/** @type {readonly import("./shared.mjs").Workload[]} */
export const DISPATCH = [
  dispatching({ name: "dispatch-unrecorded", record: "no record", store: () => NO_RECORD, target: within(5, "µs") }),
  dispatching({ name: "dispatch", record: "record in memory", store: () => memoryStore(), target: within(5, "µs") }),
  dispatching({
    name: "dispatch-sqlite",
    record: "record in SQLite",
    store: (folder) => sqliteStore({ file: join(folder, "dispatch.db") }),
    target: within(10, "µs"),
  }),
];

/**
 * @param {{ name: string, record: string, store: (folder: string) => import("handrail").Store, target:
 *   import("./shared.mjs").Workload["target"] }} options
 * @returns {import("./shared.mjs").Workload}
 */
function dispatching({ name, record, store, target }) {
  return {
    name,
    what: `a no-op call of 6 fields, JSON in and out, ${record}`,
    unit: "µs",
    scale: 1_000 / CALLS,
    target,
    async prepare(folder) {
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
      const toolkit = await createToolkit({ tools: [noop], store: store(folder) });
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
  };
}
