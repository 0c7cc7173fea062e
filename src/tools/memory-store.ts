import { Type } from "typebox";
import { MAX_MEMORY_CONTENT, MAX_MEMORY_KEY, MEMORY_CATEGORIES } from "../core/contract/memory.ts";
import { defineTool } from "../core/contract/tool.ts";
import { type MemoryToolOptions, SHARED_BY } from "./shared/memory-scope.ts";

/** Stores a memory that outlives the conversation. */
export const memoryStore = ({ scope = "user", ...options }: MemoryToolOptions = {}) =>
  defineTool({
    name: "memory_store",
    title: "Store memory",
    description:
      "Store a fact or decision in long-term memory. A memory with the same key is replaced. " +
      `${SHARED_BY[scope]} Do not store passwords or keys.`,
    ...options,
    paramsHint: "key (required), content (required), category",
    touches: ["state"],
    input: Type.Object(
      {
        key: Type.String({ minLength: 1, maxLength: MAX_MEMORY_KEY, description: "Memory key (unique identifier)" }),
        content: Type.String({ minLength: 1, maxLength: MAX_MEMORY_CONTENT, description: "Content to remember" }),
        category: Type.Optional(
          Type.Union([Type.Literal("core"), Type.Literal("daily"), Type.Literal("conversation")], {
            description: "Memory category: core is part of every later conversation (default: core)",
            default: "core",
          }),
        ),
      },
      { additionalProperties: false },
    ),
    mend: knownCategory,
    effects: ({ key, content, category = "core" }) => [
      {
        ...{ kind: "state", store: "memory", change: true },
        ...(category === "core" && { core: true, about: `Remember in every later conversation: ${key}: ${content}` }),
      },
    ],
    async run({ key, content, category = "core" }, { memories, mask }) {
      await memories.store([{ key, content, category }]);
      return `Stored memory: ${mask(key.trim())}`;
    },
  });

/** Replaces an unknown category by core. */
function knownCategory(raw: unknown): unknown {
  if (typeof raw !== "object" || raw === null || !("category" in raw)) return raw;
  return MEMORY_CATEGORIES.some((category) => category === raw.category) ? raw : { ...raw, category: "core" };
}
