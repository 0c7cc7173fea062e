import { Type } from "typebox";
import { MEMORY_CATEGORIES, type Memories, type Memory } from "../../core/contract/memory.ts";
import type { KeptGrants } from "../../policy/kept-grants.ts";
import { Problem } from "../problem.ts";
import { type Route, route } from "../route.ts";
import { GRANT, MEMORY, list } from "../schemas.ts";

/** The number of memories in one answer. */
const MEMORIES = 100;

/** Routes for what outlives sessions: permanent grants, and memories. */
export function keptRoutes(grants: KeptGrants | undefined, memories: Memories): readonly Route[] {
  return [
    ...(grants === undefined ? [] : grantRoutes(grants)),
    route("GET /api/memories", {
      summary: "Memories: the newest first, or the best matches first.",
      query: Type.Object({
        text: Type.Optional(Type.String({ minLength: 1, maxLength: 1_000, description: "What to search for." })),
        category: Type.Optional(Type.Enum([...MEMORY_CATEGORIES], { description: "Only without `text`." })),
        before: Type.Optional(
          Type.Integer({
            minimum: 1,
            description: "Only those with a smaller id: the next page. Only without `text`.",
          }),
        ),
      }),
      answer: { status: 200, description: `At most ${MEMORIES} memories.`, schema: list("memories", MEMORY) },
      async handle({ query: { text, category, before } }) {
        const page = { ...(category !== undefined && { category }), ...(before !== undefined && { before }) };
        const found =
          text === undefined
            ? await memories.list({ limit: MEMORIES, ...page })
            : await memories.recall(text, MEMORIES);
        return { memories: found satisfies readonly Memory[] };
      },
    }),
    route("POST /api/memories/forget", {
      summary: "Forget a memory.",
      body: Type.Object({ key: Type.String({ minLength: 1, maxLength: 1_000 }) }),
      answer: { status: 200, description: "It is forgotten.", schema: Type.Object({ key: Type.String() }) },
      problems: { 404: "There is no memory with this key." },
      async handle({ body: { key } }) {
        if (!(await memories.forget(key))) throw new Problem(404, `There is no memory with the key ${key}.`);
        return { key };
      },
    }),
  ];
}

function grantRoutes(grants: KeptGrants): readonly Route[] {
  return [
    route("GET /api/grants", {
      summary: "The permanent grants, the oldest first.",
      answer: { status: 200, description: "The grants.", schema: list("grants", GRANT) },
      handle: async () => ({ grants: (await grants.list()).map(({ key: _, ...grant }) => grant) }),
    }),
    route("POST /api/grants/{grant}/revoke", {
      summary: "Revoke a grant, in every process.",
      answer: { status: 200, description: "It is revoked.", schema: Type.Object({ grant: Type.String() }) },
      problems: { 404: "There is no such grant." },
      async handle({ path: { grant = "" } }) {
        if (!(await grants.revoke(grant))) throw new Problem(404, `There is no grant ${grant}.`);
        return { grant };
      },
    }),
  ];
}
