import type { ActivityEvent, Store } from "../contract/activity.ts";
import type { Backend } from "../contract/backend.ts";
import type { CheckedCall } from "../contract/call.ts";
import type { Jobs, Notices } from "../contract/job.ts";
import type { Approver, Policy } from "../contract/policy.ts";
import type { Toolset } from "../contract/toolkit.ts";
import type { Outputs, SeenFiles } from "../contract/tool.ts";

/** Everything a call needs beside itself. The composition root puts one together; the stages only read it. */
export interface Host {
  readonly tools: Toolset;
  /** Of several decisions the strictest wins. */
  readonly policies: readonly Policy[];
  /** `undefined`: nobody can be asked. */
  readonly approver: Approver | undefined;
  readonly grants: Grants;
  readonly backend: Backend;
  readonly outputs: Outputs;
  readonly jobs: Jobs;
  readonly notices: Notices;
  readonly seen: SeenFiles;
  readonly store: Store;
  /** Gets this call's events as they are recorded. */
  readonly onEvent?: ((event: ActivityEvent) => void) | undefined;
}

/** What people have allowed for longer than one call. */
export interface Grants {
  /** True when every effect of the call was granted before. */
  cover(call: CheckedCall): boolean;
  /** Remembers the effects of the call, exactly as they are. */
  remember(call: CheckedCall): void;
}
