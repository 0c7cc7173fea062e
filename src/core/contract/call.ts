import type { CallUpdate } from "./activity.ts";
import type { FileInfo, OpenFile } from "./backend.ts";
import type { Effect } from "./effect.ts";
import type { HookVerdict } from "./hook-verdict.ts";
import type { CallId, ThreadId } from "./identity.ts";
import type { Approval, Decision } from "./decision.ts";
import type { Tool } from "./tool.ts";

/** A call as a model made it. Nothing in it is trusted yet. */
export interface ToolCall {
  readonly id: CallId;
  readonly name: string;
  /** The parsed arguments, or the text if it is not JSON. */
  readonly input: unknown;
  /** Why the arguments cannot be used: "not valid JSON: …", "nested more than 100 levels deep". */
  readonly notJson?: string;
  readonly thread: ThreadId;
  /** The agent's turn, if an agent makes the call. */
  readonly turn?: string;
  /** The call that made this one, when a tool calls another tool. */
  readonly parent?: CallId;
  /** The name of the sub-agent that makes the call, if any. A question about the call shows it. */
  readonly agent?: string;
  /** The W3C `traceparent` of whatever makes the call, if it came from outside this process. */
  readonly trace?: string;
}

/** A call whose tool exists and whose input fits: what the policy and people judge. */
export interface CheckedCall {
  readonly request: ToolCall;
  readonly tool: Tool;
  /** Checked, coerced and, by a Standard Schema, transformed. */
  readonly input: unknown;
  /** Exactly what the call will touch. The policy judges these effects. */
  readonly effects: readonly Effect[];
  /** The files found at the real paths that the call writes; a path without an entry was not looked up. */
  readonly found?: ReadonlyMap<string, FileInfo | undefined>;
  /**
   * True: the real paths of the effects are the named paths, and were not looked up. Each access checks its path, and
   * the call is judged again if one is not real. Only for calls that read.
   */
  readonly isExpected?: true;
  /** The file that the call reads before it writes it, if it was opened while the write was judged. */
  readonly ahead?: ReadAhead;
  /** What hooks made of the call, if they made something of it. The request stays what the model made. */
  readonly hook?: HookVerdict;
}

/**
 * A file that was opened, after its reading was allowed, while the policy looked up what it needs about its writing.
 */
export interface ReadAhead {
  readonly real: string;
  /** What is at the path; `undefined` when nothing is. */
  readonly info: FileInfo | undefined;
  readonly opening: Promise<OpenFile>;
  /** Whether no call has written on the target since. */
  isFresh(): boolean;
}

declare const approved: unique symbol;

/**
 * A checked call that the policy, and a person if asked, has allowed. Only the approve stage can make one, because only
 * it can make the brand: nothing runs without approval.
 */
export interface ApprovedCall extends CheckedCall {
  readonly decision: Decision;
  /** The person's answer, if a person was asked. */
  readonly approval?: Approval;
  readonly [approved]: true;
}

/**
 * Runs before the first effect of an act (`isAct`); the act waits for it. When `ToolContext.permit` allows another act
 * in the same call, the hook runs again. `call.effects` holds the effects that are about to happen. A rejection ends
 * the call without these effects. `signal` fires when the call is stopped. `update` shows people what the hook does.
 */
export type BeforeAct = (
  call: ApprovedCall,
  signal: AbortSignal,
  update: (update: Pick<CallUpdate, "displayMessage">) => void,
) => Promise<ActFollowUp | undefined>;

/** What a `BeforeAct` hook adds to the end of the call. */
export interface ActFollowUp {
  /** A sentence added to the call's result. */
  readonly notice?: string;
  /** Called once, when the call has ended. It must not throw. May return a sentence for the call's result. */
  readonly ended?: () => string | undefined | void;
}
