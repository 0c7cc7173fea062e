import { lookup as lookUp } from "node:dns/promises";
import { chmod, mkdtemp, rm } from "node:fs/promises";
import { type Server, createServer } from "node:http";
import { Socket } from "node:net";
import { tmpdir } from "node:os";
import { dirname, join as joinPath } from "node:path";
import { ToolFailure } from "../../contract/failure.ts";
import type { NetworkSettings } from "../../network/network-settings.ts";
import type { Lookup } from "../../network/targets.ts";
import { type UpstreamChoice, upstreamChoice } from "../../network/upstream.ts";
import { messageOf } from "../../util/errors.ts";
import { makePrivateFolder } from "../../util/private-file.ts";
import { Answer, answerOf, answerOfParser, respond, respondAndEnd } from "./egress/answer.ts";
import { forward, forwardUpgrade } from "./egress/forward.ts";
import { join } from "./egress/join.ts";
import { createConnector } from "./egress/connector.ts";

/** The only way out of a sandbox: an HTTP proxy that reaches the hosts that a command was granted. */
export interface EgressProxy {
  /** Real path of the unix socket that the proxy listens on. Only this user can connect. */
  readonly socket: string;
  /** Hosts refused so far as "name:port", each once; at most 100. Without a reason: not granted. */
  refused(): readonly { readonly host: string; readonly reason?: string }[];
  /** Ends all connections and removes the socket. Never rejects. */
  close(): Promise<void>;
}

export interface ProxyOptions {
  /** Rules as in `SandboxAccess.network`. Without rules, nothing can be reached. */
  readonly hosts: readonly string[];
  /** The user's network settings. They also limit what a grant opens. */
  readonly network?: NetworkSettings;
  /** The socket gets a new folder in this folder, or in the system's temporary folder if its path would be too long. */
  readonly folder: string;
  /** Default: the system's resolver. */
  readonly lookup?: Lookup;
  /** Environment with HTTPS_PROXY, HTTP_PROXY, ALL_PROXY and NO_PROXY. Default: that of this process. */
  readonly environment?: { readonly [name: string]: string | undefined };
  /** How long a client may take to send its headers, in milliseconds. Default: 15,000. */
  readonly headersTimeoutMs?: number;
}

/** sockaddr_un has 108 bytes for the path, one of them for the final NUL (unix(7)). */
const LONGEST_SOCKET_PATH = 107;

/** Limits the connections of one command. The proxy opens another connection for each of them. */
const MOST_CONNECTIONS = 256;

/**
 * Starts a proxy for one command. It handles tunnels (CONNECT), plain requests (http:// in the first line) and their
 * upgrades. Each request is judged by itself, even on a connection that was used before: host and port by `hosts` and
 * `network`, then every address of the name. The proxy connects only to those addresses. Refused requests get 403 with
 * an explanation, unreachable targets 502.
 *
 * The content of a tunnel is not inspected. Whether its TLS names the same server is not checked, so a server with many
 * names (a content network) can be reached under all of them. If the user's environment names a proxy, connections go
 * through that proxy. It resolves names, so their addresses cannot be judged here; literal addresses and internal names
 * still are.
 *
 * @throws ToolFailure when the proxy cannot listen, or the environment names an unusable proxy.
 * @throws TypeError for an entry of `hosts` or `network` that is not a host.
 */
export async function startProxy(options: ProxyOptions): Promise<EgressProxy> {
  const { hosts, network, folder, environment = process.env, headersTimeoutMs = 15_000 } = options;
  const { lookup = (name) => lookUp(name, { all: true }) } = options;
  const connector = createConnector({ hosts, network, lookup, upstream: userProxy(environment) });
  const open = new Set<Socket>();
  const keep = <Held extends Socket>(socket: Held): Held => {
    open.add(socket);
    socket.once("close", () => open.delete(socket));
    if (!server.listening) socket.destroy(); // the proxy was closed while this connected
    return socket;
  };

  const server = createServer({
    maxHeaderSize: 16_384,
    headersTimeout: headersTimeoutMs,
    requestTimeout: 0, // a long upload is not a slow client
    connectionsCheckingInterval: Math.min(headersTimeoutMs, 1_000),
    requireHostHeader: false, // the first line decides
  });
  server.maxConnections = MOST_CONNECTIONS;
  server.on("connection", keep);
  server.on("clientError", (error, socket) => {
    if (socket instanceof Socket) respondAndEnd(socket, answerOfParser(error));
    else socket.destroy();
  });
  server.on("request", (request, response) => {
    const answer = async () => {
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
      const outside = keep(await connector.tunnel(request));
      if (socket.destroyed) return void outside.destroy();
      socket.write("HTTP/1.1 200 Connection established\r\n\r\n");
      if (head.length > 0) socket.unshift(head);
      join(socket, outside);
    };
    tunnel().catch((error: unknown) => respondAndEnd(socket, answerOf(error)));
  });

  const path = await listening(server, folder);
  return {
    socket: path,
    refused: connector.refused,
    async close() {
      const closed = new Promise((resolve) => server.close(resolve));
      for (const socket of open) socket.destroy();
      await closed;
      await rm(dirname(path), { recursive: true, force: true }).catch(() => undefined);
    },
  };
}

function silent(host: string, message: string): Answer {
  return new Answer(502, `${host} gave no answer: ${message}.`);
}

function userProxy(environment: NonNullable<ProxyOptions["environment"]>): UpstreamChoice {
  try {
    return upstreamChoice(environment);
  } catch (error) {
    throw new ToolFailure(`The sandbox cannot use the proxy in the environment. ${messageOf(error)}`);
  }
}

/** Listens on a socket in a new folder. Resolves to its path. */
async function listening(server: Server, folder: string): Promise<string> {
  try {
    const path = joinPath(await ownFolder(folder), "s");
    await new Promise<void>((resolve, reject) => {
      server.once("error", reject);
      server.listen(path, resolve);
    });
    server.on("error", () => undefined); // for example, no free descriptors: that connection is not accepted
    await chmod(path, 0o600);
    return path;
  } catch (error) {
    throw new ToolFailure(`The proxy of the sandbox cannot listen in ${folder}: ${messageOf(error)}`);
  }
}

/** Creates a folder that only this user can enter, with a path short enough for a socket in it. */
export async function ownFolder(folder: string): Promise<string> {
  const fits = Buffer.byteLength(joinPath(folder, "p-123456", "s")) <= LONGEST_SOCKET_PATH;
  if (!fits) return mkdtemp(joinPath(tmpdir(), "handrail-"));
  await makePrivateFolder(folder);
  return mkdtemp(joinPath(folder, "p-"));
}
