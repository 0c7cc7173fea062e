import { lookup as lookUp } from "node:dns/promises";
import { Agent, buildConnector } from "undici";
import { ToolFailure } from "../../core/contract/failure.ts";
import { untilAborted } from "../../core/util/abort.ts";
import { dial, dialThrough } from "./dial.ts";
import { hostOf, portOf } from "./hosts.ts";
import type { NetworkSettings } from "./network-settings.ts";
import { type Lookup, judgeAddresses } from "./targets.ts";
import { upstreamChoice } from "./upstream.ts";
import { type UrlJudge, urlJudge } from "./url.ts";

export interface AgentOptions {
  readonly network?: NetworkSettings | undefined;
  /** Default: the system's resolver. */
  readonly lookup?: Lookup;
  /**
   * Environment with HTTPS_PROXY, HTTP_PROXY, ALL_PROXY and NO_PROXY, if the settings allow a proxy. Default: that of
   * this process.
   */
  readonly environment?: { readonly [name: string]: string | undefined };
}

const CONNECT_MS = 10_000;
/** The maximum size of all headers of a response together, in bytes. */
const MAX_HEADER_BYTES = 16_384;
const CONNECTIONS_A_HOST = 8;

/**
 * Creates a pool of connections. The settings judge each URL and, before the connection, every address of its host. The
 * connection uses only these addresses. Connections are reused for the same origin. The user's proxy is used only with
 * `network.proxy: "environment"`. It resolves names itself, so addresses are not judged then. Responses have no time
 * limit of their own.
 *
 * @throws TypeError for invalid settings, and for an invalid proxy.
 */
export function guardedAgent({
  network = {},
  lookup = (name) => lookUp(name, { all: true }),
  environment = process.env,
}: AgentOptions = {}): { readonly agent: Agent; readonly judge: UrlJudge } {
  const judge = urlJudge(network);
  const proxyOf = network.proxy === "environment" ? upstreamChoice(environment) : () => undefined;
  const secure = buildConnector({ timeout: CONNECT_MS });

  const open = async (url: URL) => {
    const target = { host: hostOf(url), port: portOf(url), private: reachable(judge, url.href).private };
    const signal = AbortSignal.timeout(CONNECT_MS);
    const proxy = proxyOf(target, url.protocol === "https:" ? "tunnel" : "forward");
    if (proxy !== undefined) return dialThrough(proxy, target, signal);
    const judged = await untilAborted(judgeAddresses(target, lookup), signal);
    if (judged.verdict === "allowed") return dial(target, judged.addresses, signal);
    throw new ToolFailure(`URL not allowed by security policy: ${judged.reason}`);
  };

  const connect = async (options: buildConnector.Options, callback: buildConnector.Callback) => {
    try {
      const socket = await open(new URL(`${options.protocol}//${options.host ?? options.hostname}`));
      if (options.protocol === "https:") secure({ ...options, httpSocket: socket }, callback);
      else callback(null, socket);
    } catch (error) {
      callback(error instanceof Error ? error : new Error(String(error)), null);
    }
  };

  const agent = new Agent({
    connections: CONNECTIONS_A_HOST,
    maxHeaderSize: MAX_HEADER_BYTES,
    headersTimeout: 0, // the caller's signal limits the whole request
    bodyTimeout: 0,
    connect(options, callback) {
      void connect(options, callback);
    },
  });
  return { agent, judge };
}

/** @throws ToolFailure for a URL that is refused. */
export function reachable(judge: UrlJudge, text: string): { readonly url: URL; readonly private: boolean } {
  const judged = judge(text);
  if (judged.verdict === "refused") throw new ToolFailure(judged.reason);
  return judged;
}
