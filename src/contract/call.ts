import type { FileInfo } from "./backend.ts";
import type { Effect } from "./effect.ts";
import type { CallId, ThreadId } from "./identity.ts";
import type { Approval, Decision } from "./decision.ts";
import type { Tool } from "./tool.ts";

/** What a model asked for. Nothing about it is trusted yet. */
export interface ToolCall {
  readonly id: CallId;
  readonly name: string;
  /** The arguments, parsed; the text itself where it is not JSON. */
  readonly input: unknown;
  /** What is wrong with the text, where it is not JSON. */
  readonly notJson?: string;
  readonly thread: ThreadId;
  /** The agent's turn that it belongs to, if one made it. */
  readonly turn?: string;
  /** The call during which this one was made, when a tool calls another. */
  readonly parent?: CallId;
}

/** A call whose tool exists and whose input fits: what the policy and people judge. */
export interface CheckedCall {
  readonly request: ToolCall;
  readonly tool: Tool;
  /** Checked, coerced and, by a Standard Schema, transformed. */
  readonly input: unknown;
  /** Exactly what the call will touch. */
  readonly effects: readonly Effect[];
  /** What was found at the real paths that it writes to when those were looked up; a path that is not in it has not been looked at. */
  readonly found?: ReadonlyMap<string, FileInfo | undefined>;
}

declare const approved: unique symbol;

/**
 * A checked call that the policy, and where it asked a person, let through. Only the approve stage makes one (the brand has no
 * other maker), so that nothing can be executed that was not approved.
 */
export interface ApprovedCall extends CheckedCall {
  readonly decision: Decision;
  /** What the person answered, where one was asked. */
  readonly approval?: Approval;
  readonly [approved]: true;
}
