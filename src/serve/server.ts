import { X509Certificate } from "node:crypto";
import { createServer as createHttpsServer } from "node:https";
import type { Socket } from "node:net";
import { TLSSocket } from "node:tls";
import type { HttpBindings } from "@hono/node-server";
import { Hono } from "hono";
import type { Toolkit } from "../core/contract/toolkit.ts";
import { takeReady } from "../core/call/take-ready.ts";
import type { KeptGrants } from "../policy/kept-grants.ts";
import { messageOf } from "../core/util/errors.ts";
import { type Access, type Caller, type Peer, createAccess, userOf } from "./access.ts";
import { type OpenAgent, createAgents } from "./agents.ts";
import type { BrowserSessions } from "./browser-sessions.ts";
import { createDrafts } from "./drafts.ts";
import { isPeerPerson } from "./peer.ts";
import { openApi } from "./openapi.ts";
import { createOverview } from "./overview.ts";
import { createPageFiles } from "./page-files.ts";
import { Problem, problemResponse } from "./problem.ts";
import { type Route, route, runRoute } from "./route.ts";
import { createMetrics } from "./metrics.ts";
import { approvalRoutes } from "./routes/approvals.ts";
import { heldBackRoutes } from "./routes/held-back.ts";
import { keptRoutes } from "./routes/kept.ts";
import { metricsRoutes } from "./routes/metrics.ts";
import { outputRoutes } from "./routes/outputs.ts";
import { pageRoutes } from "./routes/pages.ts";
import { pairingLink, sessionRoutes } from "./routes/sessions.ts";
import { scheduleRoutes } from "./routes/schedules.ts";
import { threadRoutes } from "./routes/threads.ts";
import { turnRoutes } from "./routes/turns.ts";
import { typingRoutes } from "./routes/typing.ts";
import { workRoutes } from "./routes/work.ts";
import { workerRoutes } from "./routes/workers.ts";
import { BUILT_IN } from "../tools/presets/built-in.ts";
import { isOfAgent } from "../tools/presets/choose.ts";
import { type Users, whyNotBy } from "./users.ts";

export { isLoopback } from "./access.ts";
export type { OpenAgent } from "./agents.ts";

export interface ServerOptions {
  /** Not closed with the server. The server serves its store. */
  readonly toolkit: Toolkit;
  /** Opens the agent of a thread. Default: prompts are refused. */
  readonly openAgent?: OpenAgent;
  /** Answers requests to /mcp. Closed with the server. Default: MCP is not served. */
  readonly mcp?: McpEndpoint;
  /** The permanent grants of people. Default: the API does not serve them. */
  readonly grants?: KeptGrants;
  /** Authorizes its holder to use the whole API. */
  readonly token: string;
  /** The address to listen on. Default "127.0.0.1". */
  readonly host?: string;
  /** The port to listen on. Default 0: a free port. */
  readonly port?: number;
  /** Origins whose pages may use the API with the token: "https://app.example.org". Default: none but its own. */
  readonly origins?: readonly string[];
  /** Serves HTTPS with this certificate and its key, both in PEM. Default: HTTP. */
  readonly tls?: { readonly cert: string; readonly key: string };
  /** The sessions of browsers. Default: browsers cannot use the API. */
  readonly browsers?: BrowserSessions;
  /** People with tokens of their own, who may do less than the holder of `token`. Default: none. */
  readonly users?: Users;
  /** Returns the address at which other machines reach the server. Default: its `url`. */
  readonly reachable?: (url: string) => string;
  /** False if only MCP is served; then no questions can be answered here. Default true. */
  readonly api?: boolean;
  /** Called with failures inside the server. Must not throw. */
  readonly onError?: (error: Error) => void;
}

/** MCP over HTTP, for requests whose access was checked. */
export interface McpEndpoint {
  /**
   * Answers a request. Never rejects.
   *
   * @param isPerson returns false if a command started by Handrail sent the request, or nobody knows who did, and for a
   *   user who may not approve everything: its client is not asked then
   * @param user the user whose request it is, who gets no session of others. Default: the token's holder
   */
  fetch(request: Request, isPerson: () => boolean, user?: string): Promise<Response>;
  close(): Promise<void>;
}

export interface RunningServer {
  /** The base URL: "http://127.0.0.1:4711". */
  readonly url: string;
  /** Returns a link that begins the session of a phone, once; `undefined` without TLS. */
  pair(): string | undefined;
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
  token,
  host = "127.0.0.1",
  port = 0,
  ...options
}: ServerOptions): Promise<RunningServer> {
  const { api = true, onError = () => undefined, tls, browsers, users, origins, mcp } = options;
  const { reachable = (url: string) => url } = options;
  const certificate = tls && certificateOf(tls.cert);
  const ending = new AbortController();
  const { createAdaptorServer } = await import("@hono/node-server");
  const started: { access?: Access; url?: string } = {}; // set once the port is known
  const access = () => started.access;
  const phoneUrl = () => (tls && started.url !== undefined ? reachable(started.url) : undefined);
  const served = servedParts(options, { access, phoneUrl, signal: ending.signal });
  const app = application(api ? served.routes() : undefined, { access, ended: ending.signal, mcp, browsers, onError });
  const over = tls && { createServer: createHttpsServer, serverOptions: { ...tls } };
  const server = createAdaptorServer({ fetch: app.fetch, overrideGlobalObjects: false, ...over });
  try {
    if (api) await served.attend(); // first, so that nothing listens when the store cannot be written
    await new Promise<void>((resolve, reject) => {
      server.once("error", reject);
      server.listen(port, host, resolve);
    });
  } catch (error) {
    ending.abort();
    await served.close();
    throw error;
  }
  const address = server.address();
  const actualPort = typeof address === "object" && address !== null ? address.port : port;
  const isCertified = certificate && ((name: string) => certificate.checkHost(name) !== undefined);
  started.access = createAccess({ token, host, origins, browsers, users, isCertified });
  const url = `${tls === undefined ? "http" : "https"}://${host.includes(":") ? `[${host}]` : host}:${actualPort}`;
  started.url = url;
  if (api) served.take();
  return {
    url,
    pair() {
      const [base, code] = [phoneUrl(), started.access?.pair()];
      return base === undefined || code === undefined ? undefined : pairingLink(base, code);
    },
    async close() {
      ending.abort();
      const closed = new Promise<void>((resolve) => server.close(() => resolve()));
      if ("closeAllConnections" in server) server.closeAllConnections();
      await Promise.all([served.close(), closed]);
    },
  };
}

/** What the parts of a server need that is known only while it runs. */
interface Surroundings {
  readonly access: () => Access | undefined;
  readonly phoneUrl: () => string | undefined;
  readonly signal: AbortSignal;
}

/** The routes, and what runs beside them until it is closed. */
function servedParts(
  { toolkit, openAgent, mcp, grants, browsers }: Omit<ServerOptions, "token">,
  { access, phoneUrl, signal }: Surroundings,
) {
  const drafts = createDrafts(toolkit.mask);
  const agents = createAgents(openAgent, drafts);
  const ends: (() => unknown)[] = [];
  return {
    routes(): readonly Route[] {
      const overview = createOverview(toolkit.store, signal);
      const metrics = createMetrics(toolkit.store, {
        threads: async () => (await overview.read()).threads.length,
        isTool: (name) => toolkit.tools.has(name) || Object.hasOwn(BUILT_IN, name) || isOfAgent(name),
        signal,
      });
      return [
        ...metricsRoutes(metrics),
        ...threadRoutes({ toolkit, agents, drafts, overview }),
        ...turnRoutes({ toolkit, agents, drafts }),
        ...approvalRoutes(toolkit),
        ...workRoutes(toolkit),
        ...workerRoutes(toolkit.store),
        ...typingRoutes(toolkit),
        ...pageRoutes(toolkit),
        ...outputRoutes(toolkit),
        ...keptRoutes(grants, toolkit.memories),
        ...heldBackRoutes(toolkit),
        ...scheduleRoutes(toolkit),
        ...(browsers === undefined ? [] : sessionRoutes({ browsers, access, phoneUrl })),
      ];
    },
    /** Reports that questions can be answered here. Rejects if the store cannot be written. */
    async attend() {
      ends.push(await toolkit.store.attend());
    },
    /** Makes calls that were approved. */
    take() {
      ends.push(takeReady(toolkit, { agents: agents.resume }));
    },
    async close() {
      await mcp?.close();
      await Promise.all([agents.close(), ...ends.map((end) => end())]);
    },
  };
}

/** Throws Error for a certificate that cannot be read. */
function certificateOf(pem: string): X509Certificate {
  try {
    return new X509Certificate(pem);
  } catch (error) {
    throw new Error(`expected a certificate in PEM: ${messageOf(error)}`, { cause: error });
  }
}

interface ApplicationOptions {
  readonly access: () => Access | undefined;
  readonly ended: AbortSignal;
  readonly mcp: McpEndpoint | undefined;
  readonly browsers: BrowserSessions | undefined;
  readonly onError: (error: Error) => void;
}

/** Default headers of every response: not cached, not framed, not sniffed, nothing loaded from other hosts. */
const HEADERS = {
  "cache-control": "no-store",
  "content-security-policy": "default-src 'none'; frame-ancestors 'none'",
  "referrer-policy": "no-referrer",
  "x-content-type-options": "nosniff",
};

/**
 * What a page of another origin may send (https://fetch.spec.whatwg.org/#http-cors-protocol). No credentials of the
 * browser: there are none.
 */
const PREFLIGHT = {
  "access-control-allow-methods": "GET, POST",
  "access-control-allow-headers": "authorization, content-type, last-event-id",
  "access-control-allow-private-network": "true",
  "access-control-max-age": "600",
};

const HINT = "GET /api/openapi.json describes the API.";

/** Builds the request handler. Without routes it serves only MCP. */
function application(
  routes: readonly Route[] | undefined,
  { access, ended, mcp, browsers, onError }: ApplicationOptions,
): Hono<{ Bindings: HttpBindings }> {
  const app = new Hono<{ Bindings: HttpBindings }>();
  const description: Route = route("GET /api/openapi.json", {
    summary: "This description.",
    answer: { status: 200, description: "An OpenAPI 3.1 document.", types: ["application/json"] },
    handle: async () => openApi(all, __VERSION__),
  });
  const all: readonly Route[] = routes === undefined ? [] : [...routes, description];

  app.use(async (context, next) => {
    await next();
    for (const [name, value] of Object.entries(HEADERS)) {
      if (!context.res.headers.has(name)) context.res.headers.set(name, value);
    }
  });
  const granted = (): Access => {
    const known = access();
    if (known === undefined) throw new Problem(503, "The server is starting.");
    return known;
  };
  app.use(async (context, next) => {
    const origin = granted().checkSource(context.req.raw);
    if (origin === undefined) return await next();
    const sharing = { "access-control-allow-origin": origin, vary: "origin" };
    if (context.req.method === "OPTIONS") return context.body(null, 204, { ...sharing, ...PREFLIGHT });
    await next();
    for (const [name, value] of Object.entries(sharing)) context.res.headers.set(name, value);
    return undefined;
  });
  for (const each of all) {
    app.on(each.method, each.path.replaceAll(/\{(\w+)\}/g, ":$1"), async ({ req, env }) => {
      const peer = peerOf(env.incoming.socket);
      const { accepts } = each;
      const caller: Caller = accepts === "signature" ? { kind: "program" } : granted().callerOf(req.raw, peer, accepts);
      const revoked = "session" in caller ? browsers?.ended(caller.session) : undefined;
      const signals = [req.raw.signal, ended, ...(revoked === undefined ? [] : [revoked])];
      const isPerson = () => isPeerPerson(env.incoming.socket);
      const path = req.param() as { readonly [name: string]: string };
      return await runRoute(each, {
        request: req.raw,
        path,
        caller,
        peer,
        signal: AbortSignal.any(signals),
        isPerson,
      });
    });
  }
  if (mcp !== undefined) {
    app.all("/mcp", async ({ req, env }) => {
      const caller = granted().callerOf(req.raw, peerOf(env.incoming.socket));
      if (caller.kind !== "program" && caller.kind !== "user")
        throw new Problem(403, "MCP is for programs with a token, not for browsers.");
      const user = userOf(caller);
      const whyNot = whyNotBy(user, "prompt");
      if (whyNot !== undefined) throw new Problem(403, whyNot);
      const mayApprove = user === undefined || (user.scopes.includes("answer") && user.risk === "high");
      return await mcp.fetch(req.raw, () => mayApprove && isPeerPerson(env.incoming.socket), user?.name);
    });
  }
  const hint = routes === undefined ? "MCP is served at /mcp." : HINT;
  const page = routes === undefined ? undefined : createPageFiles();
  app.notFound(({ req, env }) => {
    const acceptsGzip = /\bgzip\b/.test(req.header("accept-encoding") ?? "");
    const file = req.method === "GET" ? page?.answer(req.path, acceptsGzip) : undefined;
    if (file !== undefined) return file; // the page itself has no secrets
    granted().callerOf(req.raw, peerOf(env.incoming.socket));
    const methods = all.filter(({ path }) => matches(path, req.path)).map(({ method }) => method);
    const allow = methods.join(", ");
    if (methods.length === 0) return problemResponse(new Problem(404, `There is nothing here. ${hint}`));
    return problemResponse(new Problem(405, `Expected ${allow}.`), { allow });
  });
  app.onError((error) => {
    if (error instanceof Problem) return problemResponse(error);
    onError(error);
    return problemResponse(new Problem(500, `The request failed: ${messageOf(error)}.`));
  });
  return app;
}

function peerOf(socket: Socket): Peer {
  return { address: socket.remoteAddress ?? "", isEncrypted: socket instanceof TLSSocket };
}

function matches(path: string, asked: string): boolean {
  return new RegExp(`^${path.replaceAll(".", "\\.").replaceAll(/\{\w+\}/g, "[^/]+")}$`).test(asked);
}
