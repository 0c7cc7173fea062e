import type { Content } from "./content.ts";
import type { Json } from "./schema.ts";

/** What a failure carries beside its message. */
export interface FailureDetails {
  /** The next step, one sentence. */
  readonly hint?: string;
  /** What there was before it failed: partial output, a diff. */
  readonly content?: readonly Content[];
  readonly data?: Json;
  /** The error underneath, for logs; models and people are not shown it. */
  readonly cause?: unknown;
}

/** The one error a tool or a backend throws on purpose. The message says what was expected and what came. */
export class ToolFailure extends Error {
  override readonly name = "ToolFailure";
  readonly hint: string | undefined;
  readonly content: readonly Content[] | undefined;
  readonly data: Json | undefined;

  constructor(message: string, { hint, content, data, cause }: FailureDetails = {}) {
    super(message, cause === undefined ? undefined : { cause });
    this.hint = hint;
    this.content = content;
    this.data = data;
  }
}

/** There is no way to where work happens, or no more: nothing can be said of it, and nothing done. */
export class Unreachable extends ToolFailure {
  /** True: it may be there again in a moment, without anybody's doing. */
  readonly mayPass: boolean;

  constructor(message: string, { mayPass, ...details }: FailureDetails & { readonly mayPass: boolean }) {
    super(message, details);
    this.mayPass = mayPass;
  }
}
