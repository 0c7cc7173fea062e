import type { CheckedCall, ToolCall } from "../contract/call.ts";
import { type Effect, isAct, unknownKind } from "../contract/effect.ts";
import { ToolFailure } from "../contract/failure.ts";
import type { Tool } from "../contract/tool.ts";
import type { Mask } from "../output/mask.ts";
import { messageOf } from "../util/errors.ts";
import { missingIssue } from "./explain.ts";
import type { Host } from "./host.ts";
import { CallEnded } from "./result.ts";
import { closestTools, findTool } from "./toolset.ts";
import { validate } from "./validate.ts";

/**
 * Finds the tool, repairs and validates the input, and asks the tool for the call's effects.
 *
 * @throws CallEnded "unknown-tool" or "invalid-input"; another error when the tool is absent for now, or is faulty.
 */
export async function check(
  request: ToolCall,
  { tools, absent, lacking, mask }: Pick<Host, "tools" | "absent" | "lacking" | "mask">,
): Promise<CheckedCall> {
  const tool = findTool(tools, request.name);
  if (tool === undefined) {
    const why = absent?.(request.name);
    if (why !== undefined) throw new ToolFailure(why, { hint: "Continue without it, or try again later." });
    const closest = closestTools(tools, request.name);
    const hint = lacking?.(request.name);
    throw new CallEnded({ status: "unknown-tool", name: request.name, closest, ...(hint !== undefined && { hint }) });
  }
  const validated = await validate(tool, readable(request, tool));
  if (!validated.ok) throw new CallEnded({ status: "invalid-input", issues: validated.issues });
  const missing = tool.missing?.(validated.input) ?? [];
  if (missing.length > 0) throw new CallEnded({ status: "invalid-input", issues: missing.map(missingIssue) });
  const effects = effectsOf(tool, validated.input);
  const tooLong = effects.flatMap(longTexts)[0];
  if (tooLong !== undefined) throw new CallEnded({ status: "invalid-input", issues: [{ path: "", message: tooLong }] });
  if (effects.some(isAct)) refuseMark(validated.input, mask);
  return { request, tool, input: validated.input, effects };
}

/**
 * The longest path of an effect (PATH_MAX of Linux), and the longest URL, in bytes. What follows costs time by them.
 */
const MOST_BYTES = { path: 4_096, cwd: 4_096, url: 65_536 };

/** Complaints about texts of an effect that no system takes. */
function longTexts(effect: Effect): readonly string[] {
  const texts = new Map<string, unknown>(Object.entries(effect));
  return (["path", "cwd", "url"] as const).flatMap((name) => {
    const text = texts.get(name);
    const bytes = typeof text === "string" ? Buffer.byteLength(text) : 0;
    const most = MOST_BYTES[name];
    if (bytes <= most) return [];
    return [`the ${name === "url" ? "URL" : "path"} has ${bytes} bytes; at most ${most} are possible. Shorten it`];
  });
}

/**
 * Refuses an act whose input contains the mark of a masked secret: the mark would be written instead of the secret.
 * Calls that only read may contain a mark. Text that looks like a mark but names no masked secret is allowed.
 */
function refuseMark(input: unknown, mask: Mask): void {
  const found = mask.markIn(input);
  if (found === undefined) return;
  const at = found.path === "" ? "the arguments contain" : `parameter "${found.path}" contains`;
  const message =
    `${at} ${found.mark}, which stands for a secret that you cannot see and would be used literally. Omit it: ` +
    "edit only the text around it, and in a command use the variable that holds the secret.";
  throw new CallEnded({ status: "invalid-input", issues: [{ path: found.path, message }] });
}

/** The input to validate. A bare string that is not JSON is accepted when the tool's `mend` makes an object of it. */
function readable({ input, notJson }: ToolCall, tool: Tool): unknown {
  const given = mended(tool, input);
  if (notJson === undefined) return given;
  // Broken JSON is not a bare argument: `{"command": "ls"` must not run as a command.
  if (typeof given === "object" && !/^\s*(```|[[{"])/.test(String(input))) return given;
  const message = `the arguments are ${notJson}. Send one JSON object.`;
  throw new CallEnded({ status: "invalid-input", issues: [{ path: "", message }] });
}

function mended(tool: Tool, raw: unknown): unknown {
  try {
    return tool.mend === undefined ? raw : tool.mend(raw);
  } catch {
    return raw; // validation reports what is wrong with it
  }
}

function effectsOf(tool: Tool, input: unknown): readonly Effect[] {
  let effects: readonly Effect[];
  try {
    effects = tool.effects(input);
  } catch (error) {
    throw new ToolFailure(`tool "${tool.name}" could not declare its effects: ${messageOf(error)}`, {
      cause: error,
    });
  }
  if (!Array.isArray(effects))
    throw new ToolFailure(`tool "${tool.name}" declared its effects as ${typeof effects}; expected a list`);
  const unknown = unknownKind(effects.map(({ kind }) => kind));
  if (unknown !== undefined) throw new ToolFailure(`tool "${tool.name}": ${unknown}`);
  const undeclared = effects.find((effect) => !tool.touches.includes(effect.kind));
  if (undeclared) {
    throw new ToolFailure(
      `tool "${tool.name}" has an effect of kind "${undeclared.kind}" that its \`touches\` does not name`,
    );
  }
  return effects;
}
