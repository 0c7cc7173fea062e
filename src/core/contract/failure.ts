import type { Content } from "./content.ts";
import type { Json } from "./schema.ts";

/** Details of a failure besides its message. */
export interface FailureDetails {
  /** The next step, one sentence. */
  readonly hint?: string;
  /** Partial results, such as output or a diff. */
  readonly content?: readonly Content[];
  readonly data?: Json;
  /** Whether the message is another program's words: models read it inside a boundary. */
  readonly foreign?: true;
  /** The underlying error, for logs. Not shown to models and people. */
  readonly cause?: unknown;
}

/** The error that tools and backends throw on purpose. The message says what was expected and what came. */
export class ToolFailure extends Error {
  override readonly name = "ToolFailure";
  readonly hint: string | undefined;
  readonly content: readonly Content[] | undefined;
  readonly data: Json | undefined;
  readonly foreign: true | undefined;

  constructor(message: string, { hint, content, data, foreign, cause }: FailureDetails = {}) {
    super(message, cause === undefined ? undefined : { cause });
    this.hint = hint;
    this.content = content;
    this.data = data;
    this.foreign = foreign;
  }
}

/**
 * A link is on the way to a path that was expected to be real (`PathOptions.real`). Nothing was done. `real` is the
 * path's real path, if the target has reported it.
 */
export class NotReal extends ToolFailure {
  readonly real: string | undefined;

  constructor(message: string, { real, ...details }: FailureDetails & { readonly real?: string } = {}) {
    super(message, details);
    this.real = real;
  }
}

/** The target cannot be reached, or no longer. Nothing about it is known, and nothing was done. */
export class Unreachable extends ToolFailure {
  /** Whether the target may become reachable again soon without a person's help. */
  readonly mayPass: boolean;

  constructor(message: string, { mayPass, ...details }: FailureDetails & { readonly mayPass: boolean }) {
    super(message, details);
    this.mayPass = mayPass;
  }
}
