import { ToolFailure } from "../../src/core/contract/failure.ts";

/** Returns the message of the `ToolFailure` with which the work fails. Any other outcome is an error. */
export async function failureOf(work: Promise<unknown>): Promise<string> {
  const error: unknown = await work.then(
    () => "it did not fail",
    (reason: unknown) => reason,
  );
  if (error instanceof ToolFailure) return error.message;
  throw new Error(`expected a ToolFailure, got ${String(error)}`);
}
