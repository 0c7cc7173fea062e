import type { HttpBindings } from "@hono/node-server";
import { Hono } from "hono";
import type { Toolkit } from "../contract/toolkit.ts";
import { messageOf } from "../util/errors.ts";
import { type Access, createAccess } from "./access.ts";
import { type OpenAgent, createAgents } from "./agents.ts";
import { isPeerOfHandrail } from "./peer.ts";
import { openApi } from "./openapi.ts";
import { Problem, problemResponse } from "./problem.ts";
import { type Route, route, runRoute } from "./route.ts";
import { approvalRoutes } from "./routes/approvals.ts";
import { threadRoutes } from "./routes/threads.ts";
import { workRoutes } from "./routes/work.ts";

export { isLoopback } from "./access.ts";
export type { OpenAgent } from "./agents.ts";

export interface ServerOptions {
  /** Is not closed with the server. Its store is the one that is served. */
  readonly toolkit: Toolkit;
  /** Who knows it may do everything that the API offers. */
  readonly token: string;
  /** The address to listen on. Default "127.0.0.1". */
  readonly host?: string;
  /** Default 0: one that is free. */
  readonly port?: number;
  /** Default: prompts are refused. */
  readonly openAgent?: OpenAgent;
  /** Gets failures inside the server. Must not throw. */
  readonly onError?: (error: Error) => void;
}

export interface RunningServer {
  /** "http://127.0.0.1:4711" */
  readonly url: string;
  /** Ends open streams, running turns and the heartbeat that tells others that questions can be answered here. */
  close(): Promise<void>;
}

/**
 * Serves the HTTP API (docs/api.md) until it is closed.
 *
 * @throws Error when the address cannot be listened on, or the store cannot be written.
 */
export async function serveApi({
  toolkit,
  token,
  host = "127.0.0.1",
  port = 0,
  ...options
}: ServerOptions): Promise<RunningServer> {
  const { openAgent, onError = () => undefined } = options;
  const agents = createAgents(openAgent);
  const ending = new AbortController();
  const { createAdaptorServer } = await import("@hono/node-server");
  const started: { access?: Access } = {}; // once the port is known
  const app = application(
    [...threadRoutes({ toolkit, agents }), ...approvalRoutes(toolkit.store), ...workRoutes(toolkit)],
    {
      access: () => started.access,
      ended: ending.signal,
      onError,
    },
  );
  const server = createAdaptorServer({ fetch: app.fetch, overrideGlobalObjects: false });
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject);
    server.listen(port, host, resolve);
  });
  const address = server.address();
  const actualPort = typeof address === "object" && address !== null ? address.port : port;
  started.access = createAccess({ token, host, port: actualPort });
  const leave = await toolkit.store.attend();
  return {
    url: `http://${host.includes(":") ? `[${host}]` : host}:${actualPort}`,
    async close() {
      ending.abort();
      const closed = new Promise<void>((resolve) => server.close(() => resolve()));
      if ("closeAllConnections" in server) server.closeAllConnections();
      await Promise.all([agents.close(), leave(), closed]);
    },
  };
}

interface Surroundings {
  readonly access: () => Access | undefined;
  readonly ended: AbortSignal;
  readonly onError: (error: Error) => void;
}

/** Sent with every answer: nothing is kept, framed, sniffed or loaded from elsewhere. */
const HEADERS = {
  "cache-control": "no-store",
  "content-security-policy": "default-src 'none'; frame-ancestors 'none'",
  "referrer-policy": "no-referrer",
  "x-content-type-options": "nosniff",
};

function application(
  routes: readonly Route[],
  { access, ended, onError }: Surroundings,
): Hono<{ Bindings: HttpBindings }> {
  const app = new Hono<{ Bindings: HttpBindings }>();
  const description: Route = route({
    ...{ method: "GET", path: "/api/openapi.json", summary: "This description." },
    answer: { status: 200, description: "An OpenAPI 3.1 document.", types: ["application/json"] },
    handle: async () => openApi(all, __VERSION__),
  });
  const all: readonly Route[] = [...routes, description];

  app.use(async (context, next) => {
    await next();
    for (const [name, value] of Object.entries(HEADERS)) context.res.headers.set(name, value);
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
      const isPerson = () => !isPeerOfHandrail(env.incoming.socket);
      const path = req.param() as { readonly [name: string]: string };
      return await runRoute(each, {
        request: req.raw,
        path,
        signal: AbortSignal.any([req.raw.signal, ended]),
        isPerson,
      });
    });
  }
  app.get("/", () => new Response("Handrail serves its API here: GET /api/openapi.json describes it.\n"));
  app.notFound(({ req }) => {
    const methods = all.filter(({ path }) => matches(path, req.path)).map(({ method }) => method);
    const allow = methods.join(", ");
    if (methods.length === 0)
      return problemResponse(new Problem(404, "There is nothing here. GET /api/openapi.json lists what there is."));
    return problemResponse(new Problem(405, `Expected ${allow}.`), { allow });
  });
  app.onError((error) => {
    if (error instanceof Problem) return problemResponse(error);
    onError(error);
    return problemResponse(new Problem(500, `The request failed: ${messageOf(error)}.`));
  });
  return app;
}

function matches(path: string, asked: string): boolean {
  return new RegExp(`^${path.replaceAll(".", "\\.").replaceAll(/\{\w+\}/g, "[^/]+")}$`).test(asked);
}
