import { ToolFailure } from "../../core/contract/failure.ts";
import { GivenUp } from "../../core/call/restarting.ts";
import { messageOf } from "../../core/util/errors.ts";
import { clip } from "../../core/util/text.ts";
import { NO_ANSWER } from "./answer.ts";
import type { TokenProvider } from "./server-settings.ts";
import { sourceName } from "./tools.ts";

/** The maximum length of a server's error message, in characters. */
const MAX_MESSAGE = 2_000;
const MAX_CAUSES = 5;
const HTML = /<(?:!doctype|html)\b.*/is;

/**
 * Whether a refused request means that the server has lost its session, and with "repeat", that the request was not
 * started: status 404 (https://modelcontextprotocol.io/specification/2025-11-25/basic/transports#session-management).
 * Many servers answer with 400 or 401, also for other reasons; only those that name a session have started nothing.
 */
export function lostSession(error: unknown, hasSession: boolean): "repeat" | "unknown" | undefined {
  const status = error instanceof Error && "status" in error ? error.status : undefined;
  if (status === 404) return "repeat";
  if (!hasSession || (status !== 400 && status !== 401)) return undefined;
  return /session|not initialized/i.test(messageOf(error)) ? "repeat" : "unknown";
}

/** A request that was sent, whose answer did not come whole. */
function isUnanswered(error: unknown): boolean {
  const { code, status } = error instanceof Error ? (error as { code?: unknown; status?: unknown }) : {};
  if (code === NO_ANSWER || error instanceof SyntaxError) return true;
  return error instanceof TypeError || (typeof status === "number" && status >= 500);
}

const UNKNOWN = "Whether the call took effect is unknown.";

/** A server, as its problems describe it. */
export interface Described {
  /** The name in the configuration. */
  readonly server: string;
  /** Whether a person can log in to the server. */
  readonly hasLogin: boolean;
  /** `TokenProvider.changed`. */
  readonly changed?: TokenProvider["changed"];
}

/** Describes to people why connecting to a server failed. */
export async function problemOf({ server, hasLogin, changed }: Described, error: unknown): Promise<Error> {
  const { InsufficientScopeError, UnauthorizedError } = await import("@modelcontextprotocol/client");
  if (InsufficientScopeError.isInstance(error) && hasLogin) {
    const remedy = `A person runs \`handrail mcp login ${server}\`, which then asks for it.`;
    return new Error(`${error.message}, which the login does not have. ${remedy}`);
  }
  const isRefused =
    UnauthorizedError.isInstance(error) || (error instanceof Error && "status" in error && error.status === 401);
  if (isRefused && hasLogin)
    return new GivenUp(`needs a login: a person runs \`handrail mcp login ${server}\`.`, changed);
  if (isRefused) return new GivenUp("answers with HTTP 401: it does not accept the token that it is sent.");
  return new Error(causesOf(error));
}

/** Returns the failure of a call of a server's tool. */
export async function failureOf(described: Described, error: unknown): Promise<ToolFailure> {
  if (error instanceof ToolFailure) return error;
  const name = sourceName(described.server);
  const { SdkError, SdkErrorCode } = await import("@modelcontextprotocol/client");
  if (SdkError.isInstance(error) && error.code === SdkErrorCode.ConnectionClosed) {
    return new ToolFailure(`${name} ended during the call`, {
      hint: `${UNKNOWN} The server is being restarted.`,
    });
  }
  const problem = await problemOf(described, error);
  if (problem instanceof GivenUp) return new ToolFailure(`${name} ${problem.message}`);
  const hint = isUnanswered(error) && { hint: UNKNOWN };
  return new ToolFailure(`${name}: ${problem.message}`, { foreign: true, ...hint });
}

/** Returns the status and the messages of an error and its causes: "fetch failed" alone is not helpful. */
export function causesOf(error: unknown): string {
  const messages: string[] = [];
  for (let each = error; each !== undefined && messages.length < MAX_CAUSES;) {
    messages.push(
      messageOf(each)
        .replace(/^Version negotiation probe failed: /, "")
        .replace(HTML, "a web page")
        .trim(),
    );
    each = each instanceof Error ? each.cause : undefined;
  }
  const text = [...new Set(messages)].join(": ");
  const status = error instanceof Error && "status" in error ? `HTTP ${String(error.status)}` : "";
  return clip(text.includes(status) ? text : `${status}: ${text}`, MAX_MESSAGE);
}
