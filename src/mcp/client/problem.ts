import { ToolFailure } from "../../contract/failure.ts";
import { GivenUp } from "../../engine/restarting.ts";
import { messageOf } from "../../util/errors.ts";
import { clip } from "../../util/text.ts";
import { sourceName } from "./tools.ts";

/** The maximum length of a server's error message, in characters. */
const MAX_MESSAGE = 2_000;

/** Returns true if a server has lost the session of a request (status 404). It has not started the request then. */
export function isSessionLost(error: unknown): boolean {
  return error instanceof Error && "status" in error && error.status === 404;
}

/** Describes to people why connecting to a server failed. */
export async function problemOf(server: string, error: unknown): Promise<Error> {
  const { UnauthorizedError } = await import("@modelcontextprotocol/client");
  const isRefused =
    UnauthorizedError.isInstance(error) || (error instanceof Error && "status" in error && error.status === 401);
  if (isRefused) return new GivenUp(`needs a login: a person runs \`handrail mcp login ${server}\`.`);
  return new Error(clip(causes(error), MAX_MESSAGE));
}

/** Returns the failure of a call of a server's tool. */
export async function failureOf(server: string, error: unknown): Promise<ToolFailure> {
  if (error instanceof ToolFailure) return error;
  const name = sourceName(server);
  const { SdkError, SdkErrorCode } = await import("@modelcontextprotocol/client");
  if (SdkError.isInstance(error) && error.code === SdkErrorCode.ConnectionClosed) {
    return new ToolFailure(`${name} ended during the call`, {
      hint: "Whether the call took effect is unknown. The server is being restarted.",
    });
  }
  const problem = await problemOf(server, error);
  return new ToolFailure(`${name}${problem instanceof GivenUp ? "" : ":"} ${problem.message}`);
}

/** Returns the messages of the causes: "fetch failed" alone is not helpful. */
function causes(error: unknown): string {
  const message = messageOf(error);
  const { cause } = error instanceof Error ? error : {};
  return cause === undefined ? message : `${message}: ${messageOf(cause)}`;
}
