import {
  INVALID_REQUEST,
  McpServer,
  PARSE_ERROR,
  type Server,
  WebStandardStreamableHTTPServerTransport,
  createMcpHandler,
  hostHeaderValidationResponse,
  isInitializeRequest,
  isJsonContentType,
  isLegacyRequest,
  localhostAllowedHostnames,
  originValidationResponse,
  readRequestBody,
} from "@modelcontextprotocol/server";
import type { Toolkit } from "../../core/contract/toolkit.ts";
import { tried } from "../../core/util/errors.ts";
import { randomName } from "../../core/util/identifier.ts";
import { isRecord } from "../../core/util/record.ts";
import { idOf, messageIn } from "./incoming.ts";
import { type Calls, createCalls } from "./calls.ts";
import type { CallsOptions } from "./options.ts";
import type { Offering } from "../../tools/mcp/offering.ts";
import { MAX_MESSAGE_BYTES, createServer, tellChanged } from "./server.ts";

export interface HttpOptions extends CallsOptions, Offering {
  /** The reported version of the server. Default: that of this package. */
  readonly version?: string;
  /**
   * The maximum number of open sessions. A new session then closes the least recently used idle session; if no session
   * is idle, the new one gets status 503. Default 64.
   */
  readonly maxSessions?: number;
  /**
   * The host names in the headers Host and Origin that are answered; others get status 403. Otherwise a web page could
   * use the tools through a name of its own that DNS points at this machine. "checked": the caller has checked them.
   * Default: localhost, 127.0.0.1 and [::1].
   */
  readonly hosts?: readonly string[] | "checked";
  /** Called with errors outside calls. Must not throw. Default: ignored. */
  readonly onError?: (error: Error) => void;
}

/** MCP over streamable HTTP, as a handler for requests to one URL. */
export interface HttpEndpoint {
  /**
   * Answers a request. The caller must have checked that the sender may use the tools, for example by a token. Never
   * rejects.
   *
   * @param isPerson returns false if a command of a model sent the request; its client is not asked for approvals then
   * @param user who sends it, if the caller distinguishes senders: nobody else can use a session of theirs
   */
  fetch(request: Request, isPerson?: () => boolean, user?: string): Promise<Response>;
  /** Stops all calls and closes all sessions. Later requests get status 503. */
  close(): Promise<void>;
}

/** A connection of a revision up to 2025-11-25. The client names it in the header Mcp-Session-Id. */
interface Session {
  readonly transport: WebStandardStreamableHTTPServerTransport;
  readonly calls: Calls;
  readonly user: string | undefined;
}

/**
 * Serves the tools of a toolkit over streamable HTTP: revisions up to 2025-11-25 in sessions (at most `maxSessions`),
 * 2026-07-28 with independent requests. The toolkit is not closed with the endpoint.
 */
export function createHttpEndpoint(toolkit: Toolkit, options: HttpOptions = {}): HttpEndpoint {
  const { version = __VERSION__, askClient = true, maxSessions = 64, onError } = options;
  const { hosts = localhostAllowedHostnames() } = options;
  const errors = onError !== undefined && { onerror: onError };
  /** Least recently used first. */
  const sessions = new Map<string, Session>();
  const persons = new WeakMap<Request, () => boolean>();
  const modernCalls = createCalls(toolkit, options);
  const modern = createMcpHandler(
    ({ requestInfo }) => {
      const canAsk = requestInfo === undefined ? undefined : persons.get(requestInfo);
      const server = createServer(toolkit, {
        ...{ ...options, version, calls: modernCalls, era: "modern" },
        ...(canAsk !== undefined && { canAsk }),
      });
      return checkingHeaders(server, toolkit);
    },
    { legacy: "reject", ...errors },
  );
  const forget = toolkit.onToolsChanged(() => {
    modern.notify.toolsChanged();
    if (options.prompts !== undefined) modern.notify.promptsChanged();
  });
  let closed = false;

  const open = async (isPerson: () => boolean, user: string | undefined): Promise<Session | undefined> => {
    const idle = [...sessions.values()].find(({ calls: { isBusy } }) => !isBusy());
    if (sessions.size >= maxSessions) {
      if (idle === undefined) return undefined;
      await idle.transport.close();
    }
    // A session is a conversation: what it has seen, and its budget of what leaves the machine, are its own.
    const { thread = `mcp-${randomName(8)}` } = options;
    const calls = createCalls(toolkit, { ...options, thread, askClient: askClient && isPerson() });
    const transport = new WebStandardStreamableHTTPServerTransport({
      sessionIdGenerator: () => randomName(32),
      onsessioninitialized: (id) => void sessions.set(id, session),
    });
    const session: Session = { transport, calls, user };
    const server = createServer(toolkit, { ...options, version, calls, era: "legacy" });
    if (onError !== undefined) server.onerror = onError;
    const forgetSession = toolkit.onToolsChanged(() => void tellChanged(server));
    server.onclose = () => {
      forgetSession();
      sessions.delete(transport.sessionId ?? "");
      void calls.close();
    };
    await server.connect(transport);
    return session;
  };

  const answerInSession = async (
    request: Request,
    message: unknown,
    { isPerson, user }: { readonly isPerson: () => boolean; readonly user: string | undefined },
  ): Promise<Response> => {
    const id = request.headers.get("mcp-session-id");
    const known = id === null ? undefined : sessions.get(id);
    if (id !== null) {
      if (known === undefined || known.user !== user)
        return failure(404, INVALID_REQUEST, "Session not found. Open a new one: send initialize.");
      sessions.delete(id);
      sessions.set(id, known);
    } else if (!isInitializeRequest(message)) {
      return failure(400, INVALID_REQUEST, "Expected the header Mcp-Session-Id from the response to initialize.");
    }
    const session = known ?? (await open(isPerson, user));
    if (session === undefined) return failure(503, INVALID_REQUEST, `All ${maxSessions} sessions are busy. Try again.`);
    return session.transport.handleRequest(request, message === undefined ? {} : { parsedBody: message });
  };

  return {
    async fetch(given, isPerson = () => true, user?: string) {
      const request = accepting(given);
      if (closed) return failure(503, INVALID_REQUEST, "The server is closing.");
      if (hosts !== "checked") {
        const refused =
          hostHeaderValidationResponse(request, [...hosts]) ?? originValidationResponse(request, [...hosts]);
        if (refused !== undefined) return refused;
      }
      persons.set(request, isPerson);
      let message: unknown;
      if (request.method === "POST") {
        if (!isJsonContentType(request.headers.get("content-type")))
          return failure(415, INVALID_REQUEST, "Expected the content type application/json.");
        const body = await readRequestBody(request, MAX_MESSAGE_BYTES).catch(() => undefined);
        if (body === undefined) return failure(400, PARSE_ERROR, "Parse error: the body could not be read.");
        if (body.tooLarge)
          return failure(413, INVALID_REQUEST, `Expected a body of at most ${MAX_MESSAGE_BYTES} bytes.`);
        message = tried(() => messageIn(body.text));
        if (message === undefined) return failure(400, PARSE_ERROR, "Parse error: the body is not JSON.");
      }
      try {
        const isLegacy = await isLegacyRequest(request, message);
        const answer = isLegacy
          ? await answerInSession(request, message, { isPerson, user })
          : await modern.fetch(request, { parsedBody: message });
        return await withId(answer, message);
      } catch (error) {
        onError?.(error instanceof Error ? error : new Error(String(error)));
        return failure(500, INVALID_REQUEST, "The request failed.");
      }
    },
    async close() {
      closed = true;
      forget();
      const connected = [...sessions.values()];
      await Promise.all(connected.map(({ transport }) => transport.close()));
      await Promise.all([modernCalls.close(), ...connected.map(({ calls }) => calls.close())]);
      await modern.close();
    },
  };
}

/**
 * Makes the SDK compare the headers `Mcp-Param-…` of a tools/call with the arguments that a tool's schema marks with
 * `x-mcp-header`. It does so for an `McpServer` only, so the server is given to it as the one inside such a server.
 */
function checkingHeaders(server: Server, { tools }: Toolkit): McpServer {
  return Object.assign(new McpServer({ name: "handrail", version: __VERSION__ }), {
    server,
    toolInputSchemaJson: (name: string) => tools.get(name)?.input.json,
  });
}

/** Returns a JSON-RPC error. `withId` adds the id of the request. */
function failure(status: number, code: number, message: string): Response {
  return Response.json({ jsonrpc: "2.0", id: null, error: { code, message } }, { status });
}

/** Returns an error with the id of the request that it answers: clients pass it on by that. */
async function withId(response: Response, request: unknown): Promise<Response> {
  const id = idOf(request);
  if (id === null || response.ok || !isJsonContentType(response.headers.get("content-type"))) return response;
  const { status, headers } = response;
  const text = await response.text();
  const error: unknown = tried(() => JSON.parse(text));
  if (!isRecord(error) || error["id"] !== null) return new Response(text, { status, headers });
  return new Response(JSON.stringify({ ...error, id }), { status, headers });
}

/** Returns a POST that accepts what a POST can be answered with, if it accepts anything: as curl and others say. */
function accepting(request: Request): Request {
  const accepted = request.headers.get("accept");
  if (request.method !== "POST" || (accepted !== null && !/\*\/\*|(?:application|text)\/\*/.test(accepted)))
    return request;
  const headers = new Headers(request.headers);
  headers.set("accept", "application/json, text/event-stream");
  const { url, method, body, signal } = request;
  return new Request(url, { method, headers, body, signal, duplex: "half" } as RequestInit);
}
