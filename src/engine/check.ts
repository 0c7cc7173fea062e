import type { CheckedCall, ToolCall } from "../contract/call.ts";
import { type Effect, isAct } from "../contract/effect.ts";
import { ToolFailure } from "../contract/failure.ts";
import type { Tool } from "../contract/tool.ts";
import type { Mask } from "../output/mask.ts";
import { messageOf } from "../util/errors.ts";
import type { Host } from "./host.ts";
import { CallEnded } from "./result.ts";
import { closestTools, findTool } from "./toolset.ts";
import { validate } from "./validate.ts";

/**
 * Finds the tool, repairs and validates the input, and asks the tool what the call will touch.
 *
 * @throws CallEnded "unknown-tool" or "invalid-input"; an error when the tool itself is at fault.
 */
export async function check(request: ToolCall, { tools, mask }: Pick<Host, "tools" | "mask">): Promise<CheckedCall> {
  const tool = findTool(tools, request.name);
  if (tool === undefined) {
    throw new CallEnded({ status: "unknown-tool", name: request.name, closest: closestTools(tools, request.name) });
  }
  const validated = await validate(tool, readable(request, tool));
  if (!validated.ok) throw new CallEnded({ status: "invalid-input", issues: validated.issues });
  const effects = effectsOf(tool, validated.input);
  if (effects.some(isAct)) refuseMark(validated.input, mask);
  return { request, tool, input: validated.input, effects };
}

/**
 * What a model was shown in place of a secret would be written in its place. Looking for it is harmless. (Text that only has the form of a
 * mark is let through: the name in it must be one that we mask.)
 */
function refuseMark(input: unknown, mask: Mask): void {
  const found = mask.markIn(input);
  if (found === undefined) return;
  const at = found.path === "" ? "the arguments have" : `parameter "${found.path}" has`;
  const message =
    `${at} ${found.mark} in it. It replaces a secret that you are not shown, and would be used as these words. Leave it out: ` +
    `edit only the text beside it, and in a command use the variable that holds the secret.`;
  throw new CallEnded({ status: "invalid-input", issues: [{ path: found.path, message }] });
}

/** Some models send the one argument as it is, without JSON around it; a tool whose `mend` makes an object of it takes that. */
function readable({ input, notJson }: ToolCall, tool: Tool): unknown {
  const given = mended(tool, input);
  if (notJson === undefined) return given;
  // Broken JSON is not such an argument: running `{"command": "ls"` as a command would help nobody.
  if (typeof given === "object" && !/^\s*(```|[[{"])/.test(String(input))) return given;
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
