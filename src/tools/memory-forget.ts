import { Type } from "typebox";
import { defineTool } from "../core/contract/tool.ts";
import { type MemoryToolOptions, SHARED_BY } from "./shared/memory-scope.ts";

/** Removes a memory. */
export const memoryForget = ({ scope = "user", ...options }: MemoryToolOptions = {}) =>
  defineTool({
    name: "memory_forget",
    title: "Forget memory",
    description: `Remove a memory by its key, when it is wrong or no longer wanted. ${SHARED_BY[scope]}`,
    ...options,
    paramsHint: "key (required)",
    touches: ["state"],
    input: Type.Object(
      { key: Type.String({ minLength: 1, description: "Memory key" }) },
      { additionalProperties: false },
    ),
    mend: (raw) => (typeof raw === "string" ? { key: raw } : raw),
    effects: () => [{ kind: "state", store: "memory", change: true }],
    run: async ({ key }, { memories }) =>
      (await memories.forget(key.trim())) ? `Forgot memory: ${key.trim()}` : `No memory found with key: ${key.trim()}`,
  });
