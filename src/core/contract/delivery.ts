import type { Decision } from "./decision.ts";
import type { Json, JsonSchema } from "./schema.ts";
import type { SeenVersion } from "./seen.ts";

/** What the caller of a call adds for the worker that makes it. */
export interface Delivery {
  /** The caller's policy settings. The worker judges by these and by its own; the stricter decision counts. */
  readonly policy: { readonly [setting: string]: Json };
  /** The decision of the caller's own policies, which are functions. Absent: they have decided nothing. */
  readonly decision?: Decision;
  /** Whether the caller runs commands only in a sandbox. */
  readonly contained?: true;
  /** Whether the caller has an approver, which answers through the store. */
  readonly answers?: true;
  /** Whether the call may be made again when its worker dies. Only for a call that declares no act. */
  readonly repeatable?: true;
  /** The schema that the caller's tool promises for the data (`Tool.output`): the worker's tool may be another. */
  readonly output?: JsonSchema;
  /** How the call's thread last saw the files that the call names, on whichever worker. Absent: it has seen none. */
  readonly seen?: readonly SeenVersion[];
}
