/** The options of our MCP server that programs set. Nothing here names a type of the SDK: it is bundled. */
import type { ThreadId } from "../../core/contract/identity.ts";

export interface CallsOptions {
  /** The thread that the calls belong to. Default: over HTTP one for each session, else "main". */
  readonly thread?: ThreadId;
  /** False to ask the toolkit's own approver and never the client. Default true. */
  readonly askClient?: boolean;
  /** How long a person may take to answer, in milliseconds. Default 10 minutes. */
  readonly answerWithinMs?: number;
  /** The last sentence of a denial when nobody could be asked. */
  readonly howToApprove?: string;
}
