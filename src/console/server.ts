import type { Socket } from "node:net";
import type { HttpBindings } from "@hono/node-server";
import { Hono } from "hono";
import type { Toolkit } from "../contract/toolkit.ts";
import { takeReady } from "../engine/take-ready.ts";
import type { KeptGrants } from "../policy/kept-grants.ts";
import { messageOf } from "../util/errors.ts";
import { type Access, createAccess } from "./access.ts";
import { type OpenAgent, createAgents } from "./agents.ts";
import { isPeerOfHandrail } from "./peer.ts";
import type { Finding } from "./finding.ts";
import { openApi } from "./openapi.ts";
import { createOverview } from "./overview.ts";
import { createPageFiles } from "./page-files.ts";
import { Problem, problemResponse } from "./problem.ts";
import { type Route, route, runRoute } from "./route.ts";
import { approvalRoutes } from "./routes/approvals.ts";
import { doctorRoutes } from "./routes/doctor.ts";
import { keptRoutes } from "./routes/kept.ts";
import { imageRoutes } from "./routes/images.ts";
import { outputLineRoutes } from "./routes/output-lines.ts";
import { outputSearchRoutes } from "./routes/output-search.ts";
import { threadRoutes } from "./routes/threads.ts";
import { typingRoutes } from "./routes/typing.ts";
import { workRoutes } from "./routes/work.ts";

export { isLoopback } from "./access.ts";
export type { OpenAgent } from "./agents.ts";

export interface ServerOptions {
  /** Not closed with the server. The server serves its store. */
  readonly toolkit: Toolkit;
  /** Authorizes its holder to use the whole API. */
  readonly token: string;
  /** The address to listen on. Default "127.0.0.1". */
  readonly host?: string;
  /** The port to listen on. Default 0: a free port. */
  readonly port?: number;
  /** Opens the agent of a thread. Default: prompts are refused. */
  readonly openAgent?: OpenAgent;
  /** Answers requests to /mcp. Closed with the server. Default: MCP is not served. */
  readonly mcp?: McpEndpoint;
  /** False if only MCP is served; then no questions can be answered here. Default true. */
  readonly api?: boolean;
  /** The permanent grants of people. Default: the API does not serve them. */
  readonly grants?: KeptGrants;
  /** Returns the results of `handrail doctor`. Default: the API does not serve them. */
  readonly doctor?: () => Promise<readonly Finding[]>;
  /** Called with failures inside the server. Must not throw. */
  readonly onError?: (error: Error) => void;
}

/** MCP over HTTP, for requests whose access was checked. */
export interface McpEndpoint {
  /**
   * Answers a request. Never rejects.
   *
   * @param isPerson returns false if a command started by Handrail sent the request
   */
  fetch(request: Request, isPerson: () => boolean): Promise<Response>;
  close(): Promise<void>;
}

export interface RunningServer {
  /** The base URL: "http://127.0.0.1:4711". */
  readonly url: string;
  /**
   * Ends open streams, running turns, and the heartbeat that tells other processes that this one can answer questions.
   */
  close(): Promise<void>;
}

/**
 * Serves the HTTP API (docs/api.md) and the console (docs/console.md) until it is closed.
 *
 * @throws Error when the address cannot be listened on, or the store is not writable
 */
export async function serveApi({
  toolkit,
  token,
  host = "127.0.0.1",
  port = 0,
  ...options
}: ServerOptions): Promise<RunningServer> {
  const { openAgent, grants, doctor, mcp, api = true, onError = () => undefined } = options;
  const agents = createAgents(openAgent);
  const ending = new AbortController();
  const { createAdaptorServer } = await import("@hono/node-server");
  const started: { access?: Access } = {}; // set once the port is known
  const allRoutes = () => [
    ...threadRoutes({ toolkit, agents, overview: createOverview(toolkit.store, ending.signal) }),
    ...approvalRoutes(toolkit),
    ...workRoutes(toolkit),
    ...typingRoutes(toolkit),
    ...outputSearchRoutes(toolkit),
    ...imageRoutes(toolkit),
    ...outputLineRoutes(toolkit),
    ...keptRoutes(grants, toolkit.memories),
    ...doctorRoutes(doctor),
  ];
  const app = application(api ? allRoutes() : undefined, {
    access: () => started.access,
    ended: ending.signal,
    mcp,
    onError,
  });
  const server = createAdaptorServer({ fetch: app.fetch, overrideGlobalObjects: false });
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject);
    server.listen(port, host, resolve);
  });
  const address = server.address();
  const actualPort = typeof address === "object" && address !== null ? address.port : port;
  started.access = createAccess({ token, host, port: actualPort });
  const leave = api ? await toolkit.store.attend() : async () => undefined;
  const takeNoMore = api ? takeReady(toolkit, { agents: agents.resume }) : () => undefined;
  return {
    url: `http://${host.includes(":") ? `[${host}]` : host}:${actualPort}`,
    async close() {
      ending.abort();
      takeNoMore();
      await mcp?.close();
      const closed = new Promise<void>((resolve) => server.close(() => resolve()));
      if ("closeAllConnections" in server) server.closeAllConnections();
      await Promise.all([agents.close(), leave(), closed]);
    },
  };
}

interface Surroundings {
  readonly access: () => Access | undefined;
  readonly ended: AbortSignal;
  readonly mcp: McpEndpoint | undefined;
  readonly onError: (error: Error) => void;
}

/** Default headers of every response: not cached, not framed, not sniffed, nothing loaded from other hosts. */
const HEADERS = {
  "cache-control": "no-store",
  "content-security-policy": "default-src 'none'; frame-ancestors 'none'",
  "referrer-policy": "no-referrer",
  "x-content-type-options": "nosniff",
};

/** What a browser without the cookie shows, also on a phone. */
const NO_ACCESS =
  '<!doctype html><html lang="en"><meta name="viewport" content="width=device-width">' +
  '<meta name="color-scheme" content="light dark"><title>Handrail</title>' +
  "<p>This browser has no access. Open the address that <code>handrail serve</code> prints.</p>\n";

/** Builds the request handler. Without routes it serves only MCP. */
function application(
  routes: readonly Route[] | undefined,
  { access, ended, mcp, onError }: Surroundings,
): Hono<{ Bindings: HttpBindings }> {
  const app = new Hono<{ Bindings: HttpBindings }>();
  const description: Route = route({
    ...{ method: "GET", path: "/api/openapi.json", summary: "This description." },
    answer: { status: 200, description: "An OpenAPI 3.1 document.", types: ["application/json"] },
    handle: async () => openApi(all, __VERSION__),
  });
  const all: readonly Route[] = routes === undefined ? [] : [...routes, description];
  const askPeer = peers();

  app.use(async (context, next) => {
    await next();
    for (const [name, value] of Object.entries(HEADERS)) {
      if (!context.res.headers.has(name)) context.res.headers.set(name, value);
    }
  });
  app.use(async (context, next) => {
    const granted = access();
    if (granted === undefined) throw new Problem(503, "The server is starting.");
    const exchanged = granted.exchange(context.req.raw);
    if (exchanged !== undefined) return exchanged;
    granted.check(context.req.raw);
    return await next();
  });
  for (const each of all) {
    app.on(each.method, each.path.replaceAll(/\{(\w+)\}/g, ":$1"), async ({ req, env }) => {
      const isPerson = askPeer(env.incoming.socket);
      const path = req.param() as { readonly [name: string]: string };
      return await runRoute(each, {
        request: req.raw,
        path,
        signal: AbortSignal.any([req.raw.signal, ended]),
        isPerson,
      });
    });
  }
  if (mcp !== undefined) {
    app.all("/mcp", ({ req, env }) => mcp.fetch(req.raw, askPeer(env.incoming.socket)));
  }
  const hint = routes === undefined ? "MCP is served at /mcp." : "GET /api/openapi.json describes the API.";
  const page = routes === undefined ? undefined : createPageFiles();
  app.notFound(({ req }) => {
    const acceptsGzip = /\bgzip\b/.test(req.header("accept-encoding") ?? "");
    const file = req.method === "GET" ? page?.answer(req.path, acceptsGzip) : undefined;
    if (file !== undefined) return file;
    const methods = all.filter(({ path }) => matches(path, req.path)).map(({ method }) => method);
    const allow = methods.join(", ");
    if (methods.length === 0) return problemResponse(new Problem(404, `There is nothing here. ${hint}`));
    return problemResponse(new Problem(405, `Expected ${allow}.`), { allow });
  });
  app.onError((error, { req }) => {
    if (error instanceof Problem && error.status === 401 && /\btext\/html\b/.test(req.header("accept") ?? "")) {
      return new Response(NO_ACCESS, { status: 401, headers: { "content-type": "text/html; charset=utf-8" } });
    }
    if (error instanceof Problem) return problemResponse(error);
    onError(error);
    return problemResponse(new Problem(500, `The request failed: ${messageOf(error)}.`));
  });
  return app;
}

/**
 * Finds out once per connection whether a person's program opened it. Returns false if a command started by Handrail
 * did.
 */
function peers(): (socket: Socket) => () => boolean {
  const known = new WeakMap<Socket, boolean>();
  return (socket) => () => {
    const isPerson = known.get(socket) ?? !isPeerOfHandrail(socket);
    known.set(socket, isPerson);
    return isPerson;
  };
}

function matches(path: string, asked: string): boolean {
  return new RegExp(`^${path.replaceAll(".", "\\.").replaceAll(/\{\w+\}/g, "[^/]+")}$`).test(asked);
}
