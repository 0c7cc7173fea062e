import type { CallEvent, Store } from "../contract/activity.ts";
import type { Backend } from "../contract/backend.ts";
import type { CheckedCall } from "../contract/call.ts";
import type { Approval, Decision } from "../contract/decision.ts";
import type { Jobs, Notices } from "../contract/job.ts";
import type { Memories } from "../contract/memory.ts";
import type { Approver, Policy } from "../contract/policy.ts";
import type { Toolset } from "../contract/toolkit.ts";
import type { Outputs, SeenFiles } from "../contract/tool.ts";
import type { Alarms } from "../contract/containment.ts";
import type { Fetcher } from "../network/fetch.ts";
import type { KnownHosts } from "../network/known-hosts.ts";
import type { Mask } from "../output/mask.ts";
import type { Watch } from "./watch.ts";

/** Everything a call needs beside itself. The composition root puts one together; the stages only read it. */
export interface Host {
  readonly tools: Toolset;
  /** Of several decisions the strictest wins. */
  readonly policies: readonly Policy[];
  /** `undefined`: only those who answer questions of the store can be asked. */
  readonly approver: Approver | undefined;
  /** How long an answer from the store is waited for where there is no approver, in milliseconds. 0: nobody is asked. */
  readonly answerWithinMs: number;
  /** Ends a denial where nobody could be asked: a sentence that says what whoever reads it can do. */
  readonly howToApprove: string;
  /** Stops and answers from other processes. */
  readonly watch: Watch;
  readonly grants: Grants;
  /** Counts acts as they begin; why one may not. Without it there is no limit. */
  readonly takeAct?: (() => Promise<string | undefined>) | undefined;
  readonly backend: Backend;
  /** The way out to the network for tools. */
  readonly fetcher: Pick<Fetcher, "fetch">;
  readonly knownHosts: KnownHosts;
  readonly outputs: Outputs;
  readonly jobs: Jobs;
  readonly memories: Memories;
  readonly notices: Notices;
  readonly seen: SeenFiles;
  /** Why a real path below a folder that may be read or written stays closed all the same; `undefined`: it does not. */
  readonly withheld: (operation: "read" | "write", path: string) => string | undefined;
  readonly store: Store;
  /** Keeps secrets out of what models and people are shown, and out of the record. */
  readonly mask: Mask;
  /** Counts what the sandbox refuses; an alarm when it is more than is usual. Without it there are none. */
  readonly alarms?: Alarms | undefined;
  /** Gets this call's events as they are recorded. */
  readonly onEvent?: ((event: CallEvent) => void) | undefined;
}

/** What people have allowed for longer than one call. */
export interface Grants {
  /**
   * The decision with what of it nobody has granted yet as its scopes; `undefined` when all of it was granted. No scopes: it cannot be
   * granted for longer than the call.
   */
  remaining(call: CheckedCall, decision: Decision): Promise<Decision | undefined>;
  /** Remembers the scopes of an answered question. Rejects with a `ToolFailure` when that cannot be done; the call does not run then. */
  remember(question: Decision, approval: Approval): Promise<void>;
}
