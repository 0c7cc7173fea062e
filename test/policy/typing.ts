import type { Backend } from "../../src/core/contract/backend.ts";
import type { Decision } from "../../src/core/contract/decision.ts";
import type { Effect } from "../../src/core/contract/effect.ts";
import type { Policy } from "../../src/core/contract/policy.ts";
import { defineTool } from "../../src/core/contract/tool.ts";
import { createPolicy } from "../../src/policy/policy.ts";
import type { PolicySettings } from "../../src/policy/policy-settings.ts";
import { layout } from "../support/layout.ts";

export type Typing = Omit<Extract<Effect, { kind: "terminal" }>, "kind">;

const tool = defineTool({
  name: "typing",
  description: "",
  input: {},
  touches: ["terminal"],
  effects: () => [],
  run: async () => null,
});

/** Judged by a new policy without history, unless one is given. */
export async function judged(
  backend: Backend,
  effect: Typing,
  policy: PolicySettings | Policy = {},
): Promise<Decision> {
  const call = {
    request: { id: "1", name: "typing", input: {}, thread: "main" },
    tool,
    input: {},
    effects: [{ kind: "terminal", ...effect } as const],
  };
  const decision = await (typeof policy === "function" ? policy : createPolicy(policy, backend))(call);
  if (decision === undefined) throw new Error("nothing was decided");
  return decision;
}

/** A backend without a terminal. */
export const plain = (await (await layout()).toolkit()).backend;
