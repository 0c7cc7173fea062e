import type { CheckedCall, ToolCall } from "../contract/call.ts";
import type { Effect } from "../contract/effect.ts";
import { ToolFailure } from "../contract/failure.ts";
import type { Tool } from "../contract/tool.ts";
import type { Toolset } from "../contract/toolkit.ts";
import { messageOf } from "../util/errors.ts";
import { CallEnded } from "./result.ts";
import { closestTools, findTool } from "./toolset.ts";
import { validate } from "./validate.ts";

/**
 * Finds the tool, repairs and validates the input, and asks the tool what the call will touch.
 *
 * @throws CallEnded "unknown-tool" or "invalid-input"; an error when the tool itself is at fault.
 */
export async function check(request: ToolCall, tools: Toolset): Promise<CheckedCall> {
  const tool = findTool(tools, request.name);
  if (tool === undefined) {
    throw new CallEnded({ status: "unknown-tool", name: request.name, closest: closestTools(tools, request.name) });
  }
  const validated = await validate(tool, readable(request, tool));
  if (!validated.ok) throw new CallEnded({ status: "invalid-input", issues: validated.issues });
  return { request, tool, input: validated.input, effects: effectsOf(tool, validated.input) };
}

/** Some models send the one argument as it is, without JSON around it; a tool whose `mend` makes an object of it takes that. */
function readable({ input, notJson }: ToolCall, tool: Tool): unknown {
  const given = mended(tool, input);
  if (notJson === undefined) return given;
  // Broken JSON is not such an argument: running `{"command": "ls"` as a command would help nobody.
  if (typeof given === "object" && !/^\s*[[{"]/.test(String(input))) return given;
  const message = `the arguments are not valid JSON: ${notJson}. Send one JSON object.`;
  throw new CallEnded({ status: "invalid-input", issues: [{ path: "", message }] });
}

function mended(tool: Tool, raw: unknown): unknown {
  try {
    return tool.mend === undefined ? raw : tool.mend(raw);
  } catch {
    return raw; // validation says what is wrong with it
  }
}

function effectsOf(tool: Tool, input: unknown): readonly Effect[] {
  let effects: readonly Effect[];
  try {
    effects = tool.effects(input);
  } catch (error) {
    throw new ToolFailure(`tool "${tool.name}" could not tell what it would touch: ${messageOf(error)}`, {
      cause: error,
    });
  }
  const undeclared = effects.find((effect) => !tool.touches.includes(effect.kind));
  if (undeclared) {
    throw new ToolFailure(
      `tool "${tool.name}" has an effect of kind "${undeclared.kind}" that its \`touches\` does not name`,
    );
  }
  return effects;
}
