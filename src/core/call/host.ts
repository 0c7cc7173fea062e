import type { CallEvent, Store } from "../contract/activity.ts";
import type { Approvers } from "../contract/approvers.ts";
import type { Backend } from "../contract/backend.ts";
import type { BeforeAct, CheckedCall } from "../contract/call.ts";
import type { Approval, Decision } from "../contract/decision.ts";
import type { Hooks } from "../contract/hooks.ts";
import type { Jobs, Notices } from "../contract/job.ts";
import type { Memories } from "../contract/memory.ts";
import type { ParkedCall } from "../contract/parked.ts";
import type { Approver, Policy } from "../contract/policy.ts";
import type { ToolResult } from "../contract/result.ts";
import type { Schedules } from "../contract/schedule.ts";
import type { QuestionId } from "../contract/question.ts";
import type { Toolset } from "../contract/toolkit.ts";
import type { FindNamedFiles } from "../contract/named-files.ts";
import type { JsonSchema } from "../contract/schema.ts";
import type { Outputs } from "../contract/tool.ts";
import type { SeenFiles, SeenVersion } from "../contract/seen.ts";
import type { Toolkit } from "../contract/toolkit.ts";
import type { Alarms } from "../contract/containment.ts";
import type { Fetcher } from "../contract/fetch.ts";
import type { Mask } from "../output/mask.ts";
import type { Conversations } from "../contract/conversations.ts";
import type { Stop } from "../util/abort.ts";
import type { Watch } from "./watch.ts";

/** Everything that the stages of a call need. Built by the composition root; the stages only read it. */
export interface Host {
  readonly tools: Toolset;
  /** Why a tool is absent; `undefined` when nothing is known about the name. */
  readonly absent?: ((name: string) => string | undefined) | undefined;
  /** Where a tool of this name is that the toolkit was made without; `undefined` when there is none. */
  readonly lacking?: ((name: string) => string | undefined) | undefined;
  /** The policies. Their strictest decision counts. */
  readonly policies: readonly Policy[];
  /** Asks a person. `undefined`: only people who answer questions of the store can be asked. */
  readonly approver: Approver | undefined;
  /** Which risk can be approved from which channel. Default: every risk from every channel. */
  readonly approvers?: Approvers | undefined;
  /** How long to wait for an answer from the store when there is no approver, in milliseconds. 0: nobody is asked. */
  readonly answerWithinMs: number;
  /**
   * After how many milliseconds a question without an answer is parked. 0: at once, unless an approver is asked.
   * Default: never.
   */
  readonly parkAfterMs?: number | undefined;
  /** How long a parked call waits for its answer, and then again for a process. Milliseconds. */
  readonly keepParkedMs: number;
  /** The last sentence of a denial when nobody could be asked: how to get approval. */
  readonly howToApprove: string;
  /** Called when a question opens that nobody here can answer, and when its call is parked. Must not throw. */
  readonly onWaiting?: ((waiting: Waiting) => void) | undefined;
  /** Stops and answers from other processes. */
  readonly watch: Watch;
  readonly grants: Grants;
  /** Whether a question about this call was answered before, other than by a grant. Default: it was not. */
  readonly isApproved?: ((call: CheckedCall) => Promise<boolean>) | undefined;
  /** Counts an act before it begins. Resolves to the reason when the act may not begin. Default: no limit. */
  readonly takeAct?: (() => Promise<string | undefined>) | undefined;
  /** Awaited one after the other before an act's first effect, once the act is recorded and counted. */
  readonly beforeAct: readonly BeforeAct[];
  /** The user's programs at stages of the call. */
  readonly hooks?: Hooks | undefined;
  readonly backend: Backend;
  /** Finds what a command names: an answer is for the files as they were when the person was asked. */
  readonly namedFiles: FindNamedFiles;
  /** Makes calls on workers. Default: every call is made here. */
  readonly elsewhere?: Elsewhere | undefined;
  /** Makes the network requests of tools. */
  readonly fetcher: Pick<Fetcher, "fetch">;
  /** What the conversations of threads have seen. */
  readonly conversations: Conversations;
  readonly outputs: Outputs & Toolkit["outputs"];
  readonly jobs: Jobs;
  readonly memories: Memories;
  readonly schedules: Schedules;
  readonly notices: Notices;
  readonly seen: SeenFiles;
  /** The schema that the data of a delivered call must fit too: that of its caller's tool. */
  readonly outputForCaller?: JsonSchema | undefined;
  /** What the call has seen of files so far, for its caller. Only for a call that was delivered. */
  readonly seenForCaller?: () => readonly SeenVersion[];
  /** Why a real path stays closed although its folder may be read or written; `undefined` when it is open. */
  readonly withheld: (operation: "read" | "write", path: string) => string | undefined;
  readonly store: Store;
  /** Masks secrets in everything that is shown or recorded. */
  readonly mask: Mask;
  /** Counts the sandbox's refusals and returns an alarm when there are too many. Default: no alarms. */
  readonly alarms?: Alarms | undefined;
  /** Gets this call's events as they are recorded. */
  readonly onEvent?: ((event: CallEvent) => void) | undefined;
}

/** Where calls are made that are not made in this process. */
export interface Elsewhere {
  /**
   * Makes a checked call and records its end. Resolves to `undefined`, and does nothing, for a call to make here.
   * Rejects if nothing was done elsewhere.
   */
  call(call: CheckedCall, host: Host, stop: Stop): Promise<ToolResult | undefined>;
  /** Waits for the end of a call that was parked elsewhere, or until it is parked again. Never rejects. */
  resume(parked: ParkedCall, host: Host, stop: Stop): Promise<ToolResult>;
}

/** A question that waits for somebody who is not here. */
export interface Waiting {
  readonly question: QuestionId;
  readonly call: CheckedCall;
  readonly decision: Decision;
}

/** Approvals that last longer than one call. */
export interface Grants {
  /**
   * Returns the decision with only the scopes that are not granted yet; `undefined` when all scopes are granted. A
   * decision without scopes cannot be granted for longer than the call.
   */
  remaining(call: CheckedCall, decision: Decision): Promise<Decision | undefined>;
  /** Stores the scopes of an answered question. Rejects with a `ToolFailure` when they cannot be stored. */
  remember(question: Decision, approval: Approval): Promise<void>;
}
