import type { CheckedCall } from "../contract/call.ts";
import { type Content, isReadable, text } from "../contract/content.ts";
import { ToolFailure } from "../contract/failure.ts";
import type { ToolResult } from "../contract/result.ts";
import type { Tool } from "../contract/tool.ts";
import { partsText } from "../output/part-text.ts";
import { messageOf } from "../util/errors.ts";
import { clip } from "../util/text.ts";
import { wellFormed } from "../util/well-formed.ts";

/** Thrown by a stage to end the call with this result. Does not leave the engine. */
export class CallEnded extends Error {
  readonly result: Exclude<ToolResult, { status: "ok" }>;

  constructor(result: Exclude<ToolResult, { status: "ok" }>) {
    super(result.status);
    this.result = result;
  }
}

/** Converts what a stage threw to the result of the call. Never throws. */
export function toResult(error: unknown, signal: Pick<AbortSignal, "aborted">): ToolResult {
  if (error instanceof CallEnded) return error.result;
  if (signal.aborted) return aborted(error);
  if (!(error instanceof ToolFailure)) return { status: "failed", message: messageOf(error) };
  return {
    status: "failed",
    message: error.message,
    ...(error.hint !== undefined && { hint: error.hint }),
    ...(error.content !== undefined && { content: error.content }),
    ...(error.data !== undefined && { data: error.data }),
  };
}

/** The result of a call in the words of its tool (`Tool.phrase`). */
export function phrased(result: ToolResult, tool: Pick<Tool, "phrase"> | undefined): ToolResult {
  if (tool?.phrase === undefined) return result;
  if (result.status === "failed") return { ...result, message: tool.phrase(result.message, "failed") };
  if (result.status !== "denied" || result.by === "person") return result;
  return { ...result, reason: tool.phrase(result.reason, "denied") };
}

/** The text of a refusal for the model. */
export function refusal(call: CheckedCall, reason?: string): string {
  const what = call.effects.some((effect) => effect.kind === "exec")
    ? "Command execution"
    : `Call of ${call.tool.name}`;
  return `${what} denied by user.${reason === undefined || reason === "" ? "" : ` ${reason}`}`;
}

/** The result as a model reads it, as text. What is not text is replaced by its type and size. */
export function asText(result: ToolResult): string {
  return wellFormed(textOf(result));
}

function textOf(result: ToolResult): string {
  switch (result.status) {
    case "ok":
      return partsText(result.content);
    case "unknown-tool":
      return unknownTool(result);
    case "invalid-input":
      return result.issues.map((issue) => `validation error: ${issue.message}`).join("\n");
    case "denied":
      return result.reason;
    case "failed":
      return lines(`Tool error: ${result.message}`, result.hint, partsText(result.content));
    case "parked":
      return waitingText(result);
    case "aborted":
      return lines("The call was stopped before it finished.", partsText(result.content));
  }
}

/**
 * The result as content parts, for MCP and model providers. Keeps images, audio and resources. `isError` is false for
 * "ok" and "parked".
 */
export function asContent(result: ToolResult): { content: readonly Content[]; isError: boolean } {
  if (result.status === "ok") return { content: wellFormed(result.content), isError: false };
  if (result.status === "parked") return { content: [text(asText(result))], isError: false };
  const others = ("content" in result ? (result.content ?? []) : []).filter((part) => !isReadable(part));
  return { content: [text(asText(result)), ...wellFormed(others)], isError: true };
}

/** The result as `{success, output, error}`, for programs. */
export function asOutcome(result: ToolResult): { success: boolean; output: string; error: string | null } {
  if (result.status === "ok") return { success: true, output: partsText(result.content), error: null };
  const output = "content" in result ? partsText(result.content) : "";
  if (result.status === "failed") return { success: false, output, error: lines(result.message, result.hint) };
  if (result.status === "aborted") return { success: false, output, error: asText({ status: "aborted" }) };
  return { success: false, output, error: asText(result) };
}

/** The error of a result in one string, for people; `undefined` when there is none. */
export function errorOf(result: ToolResult): string | undefined {
  return asOutcome(result).error ?? undefined;
}

/** Converts a JSON pointer to a path such as "edits[0].old_text"; "" for the whole value. */
export function issuePath(pointer: string): string {
  return pointer
    .split("/")
    .slice(1)
    .map((part) => part.replaceAll("~1", "/").replaceAll("~0", "~"))
    .reduce((path, part) => (/^\d+$/.test(part) ? `${path}[${part}]` : path === "" ? part : `${path}.${part}`), "");
}

function aborted(error: unknown): ToolResult {
  const content = error instanceof ToolFailure ? error.content : undefined;
  return { status: "aborted", ...(content !== undefined && { content }) };
}

function waitingText({ call, changed }: Extract<ToolResult, { status: "parked" }>): string {
  const why = changed === undefined ? "" : ` It was approved, but this has changed since: ${changed.join(", ")}.`;
  return `This call waits for a person's approval and has not run. Its id is ${call}.${why} Do not repeat it.`;
}

function unknownTool({ name, closest, hint }: Extract<ToolResult, { status: "unknown-tool" }>): string {
  const names = closest.map((near) => JSON.stringify(near)).join(", ");
  const what = name === "" ? "the call names no tool." : `unknown tool ${JSON.stringify(clip(name, 200))}.`;
  return lines(`${what}${names === "" ? " There are no tools." : ` Closest: ${names}`}`, hint);
}

function lines(...parts: readonly (string | undefined)[]): string {
  return parts.filter((part) => part !== undefined && part !== "").join("\n");
}
