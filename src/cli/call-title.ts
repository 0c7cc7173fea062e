import type { Toolset } from "../contract/toolkit.ts";
import { check } from "../engine/check.ts";
import { parse } from "../engine/parse.ts";
import { NO_MASK } from "../output/mask.ts";
import { describeCall } from "../policy/describe.ts";

/**
 * Returns the title of a call as in questions: "Run: npm test". For an invalid call, returns its name and arguments.
 * Raw: the caller escapes it.
 */
export async function callTitle(tools: Toolset, name: string, input: string): Promise<string> {
  try {
    return describeCall(await check(parse({ name, input }), { tools, mask: NO_MASK }));
  } catch {
    return `${name} ${input}`;
  }
}
