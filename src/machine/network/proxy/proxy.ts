import { createHash, timingSafeEqual } from "node:crypto";
import { type IncomingMessage, type Server, createServer } from "node:http";
import { Socket } from "node:net";
import { Answer, answerOf, answerOfParser, respond, respondAndEnd } from "./answer.ts";
import { type ConnectorOptions, createConnector } from "./connector.ts";
import { forward, forwardUpgrade } from "./forward.ts";
import { join } from "./join.ts";

/** A forward proxy that reaches only what its judge allows. */
export interface GuardedProxy {
  /** The server, which does not listen yet: on a socket, or on a port. */
  readonly server: Server;
  /** Ends all connections. Never rejects. */
  close(): Promise<void>;
}

export interface GuardedProxyOptions extends ConnectorOptions {
  /** Clients must send this value as `Proxy-Authorization`. Default: no client needs to identify itself. */
  readonly authorization?: string;
  /** How long a client may take to send its headers, in milliseconds. Default: 15,000. */
  readonly headersTimeoutMs?: number;
  /** The maximum number of client connections at a time. The proxy opens another connection for each of them. */
  readonly connections?: number;
}

/**
 * Makes the proxy of a sandboxed command and of the browser. It handles tunnels (CONNECT), plain requests (http:// in
 * the first line) and their upgrades. Each request is judged by itself, even on a connection that was used before: its
 * target by the judge, then every address of the name; it connects only to those addresses. Refused requests get 403
 * with an explanation, unreachable targets 502.
 *
 * The content of a tunnel is not inspected. Whether its TLS names the same server is not checked, so a server with many
 * names (a content network) can be reached under all of them. An upstream proxy resolves names, so their addresses
 * cannot be judged here; literal addresses and internal names still are.
 *
 * proxy-chain (3.0) was considered in its place. It destroys clients that have no remote address, as those of a unix
 * socket are, ignores upgrades of plain requests, and connects by itself: its hook for lookups cannot replace a
 * connection through a job's socket.
 */
export function guardedProxy(options: GuardedProxyOptions): GuardedProxy {
  const { authorization, headersTimeoutMs = 15_000, connections = 256 } = options;
  const connector = createConnector(options);
  const open = new Set<Socket>();
  const keep = <Held extends Socket>(socket: Held): Held => {
    open.add(socket);
    socket.once("close", () => open.delete(socket));
    if (!server.listening) socket.destroy(); // the proxy was closed while this request connected
    return socket;
  };
  const requireKnown = ({ headers }: IncomingMessage) => {
    const given = headers["proxy-authorization"] ?? "";
    if (authorization !== undefined && !isSame(given, authorization)) throw new Answer(407, "This proxy is private.");
  };

  const server = createServer({
    maxHeaderSize: 16_384,
    headersTimeout: headersTimeoutMs,
    requestTimeout: 0, // a long upload is not a slow client
    connectionsCheckingInterval: Math.min(headersTimeoutMs, 1_000),
    requireHostHeader: false, // the first line decides
  });
  server.maxConnections = connections;
  server.on("connection", keep);
  server.on("clientError", (error, socket) => {
    if (socket instanceof Socket) respondAndEnd(socket, answerOfParser(error));
    else socket.destroy();
  });
  server.on("request", (request, response) => {
    const answer = async () => {
      requireKnown(request);
      const onward = await connector.plain(request);
      keep(onward.socket);
      if (response.destroyed) onward.socket.destroy();
      else forward(request, response, onward, (message) => respond(response, silent(onward.host, message)));
    };
    answer().catch((error: unknown) => respond(response, answerOf(error)));
  });
  server.on("upgrade", (request, socket, head) => {
    if (!(socket instanceof Socket)) return void socket.destroy();
    socket.on("error", () => undefined); // "close" follows
    const upgrade = async () => {
      const { "transfer-encoding": coding, "content-length": length = "0" } = request.headers;
      if (coding !== undefined || Number(length) !== 0) throw new Answer(400, "A request for an upgrade has no body.");
      requireKnown(request);
      const onward = await connector.plain(request);
      keep(onward.socket);
      if (socket.destroyed) onward.socket.destroy();
      else
        forwardUpgrade(request, socket, head, onward, (message) => respondAndEnd(socket, silent(onward.host, message)));
    };
    upgrade().catch((error: unknown) => respondAndEnd(socket, answerOf(error)));
  });
  server.on("connect", (request, socket, head) => {
    if (!(socket instanceof Socket)) return void socket.destroy();
    socket.on("error", () => undefined);
    const tunnel = async () => {
      requireKnown(request);
      const outside = keep(await connector.tunnel(request));
      if (socket.destroyed) return void outside.destroy();
      socket.write("HTTP/1.1 200 Connection established\r\n\r\n");
      if (head.length > 0) socket.unshift(head);
      join(socket, outside);
    };
    tunnel().catch((error: unknown) => respondAndEnd(socket, answerOf(error)));
  });

  return {
    server,
    async close() {
      const closed = new Promise((resolve) => server.close(resolve));
      for (const socket of open) socket.destroy();
      await closed;
    },
  };
}

function silent(host: string, message: string): Answer {
  return new Answer(502, `${host} gave no answer: ${message}.`);
}

/** Compares in a time that depends on neither content. */
function isSame(one: string, other: string): boolean {
  const [first, second] = [one, other].map((text) => createHash("sha256").update(text).digest());
  return first !== undefined && second !== undefined && timingSafeEqual(first, second);
}
