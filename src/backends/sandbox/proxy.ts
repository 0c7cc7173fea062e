import { lookup as lookUp } from "node:dns/promises";
import { chmod, mkdtemp, rm } from "node:fs/promises";
import { type Server, createServer } from "node:http";
import { Socket } from "node:net";
import { tmpdir } from "node:os";
import { dirname, join as joinPath } from "node:path";
import { ToolFailure } from "../../contract/failure.ts";
import type { NetworkSettings } from "../../network/settings.ts";
import type { Lookup } from "../../network/targets.ts";
import { type UpstreamChoice, upstreamChoice } from "../../network/upstream.ts";
import { messageOf } from "../../util/errors.ts";
import { makePrivateFolder } from "../../util/private-file.ts";
import { Answer, answerOf, answerOfParser, respond, respondAndEnd } from "./egress/answer.ts";
import { forward, forwardUpgrade } from "./egress/forward.ts";
import { join } from "./egress/join.ts";
import { createReach } from "./egress/reach.ts";

/** The way out of a sandbox: an HTTP proxy that reaches what a command was given, and nothing else. */
export interface EgressProxy {
  /** Real path of the unix socket on which it listens; only this user can connect. */
  readonly socket: string;
  /** Hosts refused so far, as "name:port", each once; at most 100. No reason: nobody allowed it. */
  refused(): readonly { readonly host: string; readonly reason?: string }[];
  /** Ends all connections and removes the socket. Never rejects. */
  close(): Promise<void>;
}

export interface ProxyOptions {
  /** Rules as `Needs.network` has them; none reach nothing. */
  readonly hosts: readonly string[];
  /** What no grant lets through. */
  readonly network?: NetworkSettings;
  /** Where the socket is made, in a folder of its own. Where its path would be too long for a socket: among the temporary files. */
  readonly folder: string;
  /** Default: the system's resolver. */
  readonly lookup?: Lookup;
  /** Whose HTTPS_PROXY, HTTP_PROXY, ALL_PROXY and NO_PROXY hold. Default: our own. */
  readonly environment?: { readonly [name: string]: string | undefined };
  /** A client has so long to say what it wants. Default 15 s. */
  readonly headersTimeoutMs?: number;
}

/** sockaddr_un has 108 bytes, one of them for the end (unix(7)). */
const LONGEST_SOCKET_PATH = 107;

/** One command cannot make us hold more open; each has another connection behind it. */
const MOST_CONNECTIONS = 256;

/**
 * Starts a proxy for one command: tunnels (CONNECT), plain requests (http:// in the first line) and their upgrades. Each request is judged
 * by itself, whatever came before on its connection: host and port by `hosts` and `network`, then every address that the name has; those
 * addresses are connected to and no others. What is refused gets 403 with words, what cannot be reached 502.
 *
 * What goes through a tunnel is not looked at: that its TLS names the same server is not checked, so a server that has many names (a
 * content network) is reached under all of them. Where the user's own environment names a proxy, connections go through that: it looks
 * names up, so what they lead to cannot be judged here; addresses, and names of inside, still are.
 *
 * @throws ToolFailure when it cannot listen, or the environment names a proxy that cannot be used.
 * @throws TypeError for an entry of `hosts` or `network` that is no host.
 */
export async function startProxy({
  hosts,
  network,
  folder,
  lookup = (name) => lookUp(name, { all: true }),
  environment = process.env,
  headersTimeoutMs = 15_000,
}: ProxyOptions): Promise<EgressProxy> {
  const reach = createReach({ hosts, network, lookup, upstream: userProxy(environment) });
  const open = new Set<Socket>();
  const keep = <Held extends Socket>(socket: Held): Held => {
    open.add(socket);
    socket.once("close", () => open.delete(socket));
    if (!server.listening) socket.destroy(); // it was closed while this connected
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
      const onward = await reach.plain(request);
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
      const onward = await reach.plain(request);
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
      const outside = keep(await reach.tunnel(request));
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
    refused: reach.refused,
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
    throw new ToolFailure(`The sandbox cannot use the proxy that the environment names. ${messageOf(error)}`);
  }
}

/** Listens on a socket in a new folder, and says where. */
async function listening(server: Server, folder: string): Promise<string> {
  try {
    const path = joinPath(await ownFolder(folder), "s");
    await new Promise<void>((resolve, reject) => {
      server.once("error", reject);
      server.listen(path, resolve);
    });
    server.on("error", () => undefined); // no more files to be had, say: that connection is not taken
    await chmod(path, 0o600);
    return path;
  } catch (error) {
    throw new ToolFailure(`The proxy of the sandbox cannot listen in ${folder}: ${messageOf(error)}`);
  }
}

/** A new folder that only this user can enter, with a name so short that a socket fits into it. */
async function ownFolder(folder: string): Promise<string> {
  const fits = Buffer.byteLength(joinPath(folder, "p-123456", "s")) <= LONGEST_SOCKET_PATH;
  if (!fits) return mkdtemp(joinPath(tmpdir(), "handrail-"));
  await makePrivateFolder(folder);
  return mkdtemp(joinPath(folder, "p-"));
}
