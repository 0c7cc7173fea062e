import { codeOf, messageOf } from "../../core/util/errors.ts";

/** Explains why a host could not be reached, as a sentence without its full stop. */
export function unreachableBecause(error: unknown): string {
  const code = codeOf(error);
  if (code === "ENOTFOUND" || code === "ENODATA") return "there is no such host (it has no address in the DNS)";
  if (code === "EAI_AGAIN") return "its name could not be looked up, because this machine's DNS does not answer";
  if (error instanceof AggregateError) return error.errors.map(messageOf).join("; ");
  return messageOf(error);
}
