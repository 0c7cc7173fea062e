import { once } from "node:events";
import { lookup as lookUp } from "node:dns/promises";
import { chmod, mkdtemp, rm } from "node:fs/promises";
import type { Server } from "node:http";
import { tmpdir } from "node:os";
import { dirname, join as joinPath } from "node:path";
import type { NetworkSettings } from "../../network/network-settings.ts";
import { guardedProxy } from "../../network/proxy/proxy.ts";
import type { Lookup } from "../../network/targets.ts";
import { upstreamChoice } from "../../network/upstream.ts";
import { makePrivateFolder } from "../../../core/util/private-file.ts";
import { targetJudge } from "./granted-hosts.ts";

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

/** How many refused hosts are remembered. */
const MOST_REFUSED = 100;

/**
 * Starts a proxy for one command (`guardedProxy`), which judges targets by `hosts` and `network`. If the user's
 * environment names a proxy, connections go through that one.
 *
 * @throws Error when the proxy cannot listen, or the environment names an unusable proxy.
 * @throws TypeError for an entry of `hosts` or `network` that is not a host.
 */
export async function startProxy(options: ProxyOptions): Promise<EgressProxy> {
  const { hosts, network, folder, environment = process.env, headersTimeoutMs } = options;
  const { lookup = (name) => lookUp(name, { all: true }) } = options;
  const refused = new Map<string, string | undefined>();
  const { server, close } = guardedProxy({
    judge: targetJudge(hosts, network),
    refusal(host, reason) {
      if (refused.size < MOST_REFUSED || refused.has(host)) refused.set(host, reason);
      return reason === undefined ? notGiven(host) : `The sandbox refused ${host}: ${reason}`;
    },
    lookup,
    upstream: upstreamChoice(environment),
    ...(headersTimeoutMs !== undefined && { headersTimeoutMs }),
  });
  const path = await listening(server, folder);
  return {
    socket: path,
    refused: () => [...refused].map(([host, reason]) => ({ host, ...(reason !== undefined && { reason }) })),
    async close() {
      await close();
      await rm(dirname(path), { recursive: true, force: true }).catch(() => undefined);
    },
  };
}

function notGiven(host: string): string {
  const rule = host.replace(/:(?:80|443)$/, "");
  return (
    `The sandbox refused ${host}: its call does not name this host. If the command needs it, ` +
    `run it again with network: ${JSON.stringify([rule])}; a person is asked.`
  );
}

/** Listens on a socket in a new folder. Resolves to its path. */
async function listening(server: Server, folder: string): Promise<string> {
  const path = joinPath(await ownFolder(folder), "s");
  server.listen(path);
  await once(server, "listening");
  server.on("error", () => undefined); // for example, no free descriptors: that connection is not accepted
  await chmod(path, 0o600);
  return path;
}

/** Creates a folder that only this user can enter, with a path short enough for a socket in it. */
export async function ownFolder(folder: string): Promise<string> {
  const fits = Buffer.byteLength(joinPath(folder, "p-123456", "s")) <= LONGEST_SOCKET_PATH;
  if (!fits) return mkdtemp(joinPath(tmpdir(), "handrail-"));
  await makePrivateFolder(folder);
  return mkdtemp(joinPath(folder, "p-"));
}
