import { Type } from "typebox";
import type { Command } from "../../../src/core/contract/backend.ts";
import type { Effect } from "../../../src/core/contract/effect.ts";
import type { Json } from "../../../src/core/contract/schema.ts";
import { type ToolContext, defineTool } from "../../../src/core/contract/tool.ts";

export type Run = (context: ToolContext) => Promise<unknown>;

/** A tool that declares the given effects and then does anything: only the confinement can refuse it. */
export function doingTool() {
  let now: { readonly effects: readonly Effect[]; readonly run: Run } = { effects: [], run: async () => null };
  const tool = defineTool({
    name: "doing",
    description: "Does it.",
    touches: ["exec", "terminal"],
    input: Type.Object({}),
    effects: () => now.effects,
    run: async (_, context) => ((await now.run(context)) ?? null) as Json,
  });
  return { tool, set: (effects: readonly Effect[], run: Run) => void (now = { effects, run }) };
}

export const shell = (script: string): Command["argv"] => ["bash", "-c", script];
export const SLEEPS = "exec sleep 1000";
