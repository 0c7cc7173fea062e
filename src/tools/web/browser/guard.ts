import { randomBytes } from "node:crypto";
import { lookup as lookUp } from "node:dns/promises";
import { once } from "node:events";
import { type AddressInfo, type Server, type Socket, connect } from "node:net";
import type { BrowserContext } from "playwright-core";
import type { PortAddress } from "../../../core/contract/backend.ts";
import { ToolFailure } from "../../../core/contract/failure.ts";
import { hostOf, portOf } from "../../../machine/network/hosts.ts";
import type { NetworkSettings } from "../../../machine/network/network-settings.ts";
import type { TargetJudgement } from "../../../machine/network/proxy/connector.ts";
import { guardedProxy } from "../../../machine/network/proxy/proxy.ts";
import { type Lookup, hostAndPort } from "../../../machine/network/targets.ts";
import { upstreamChoice } from "../../../machine/network/upstream.ts";
import { urlJudge } from "../../../machine/network/url.ts";
import { tried } from "../../../core/util/errors.ts";
import { type LimitOptions, limitOf } from "./limits.ts";
import { type BrowserRequest, type RequestVerdict, judgeRequests } from "./requests.ts";

export interface BrowserGuardOptions {
  /** The user's network settings, which limit every request. */
  readonly network?: NetworkSettings;
  /** Judges what a page requests by itself. Asks nobody. */
  judge(request: BrowserRequest): RequestVerdict | Promise<RequestVerdict>;
  /** Judges a document that a navigation leads to. May ask a person. */
  permit(request: BrowserRequest): Promise<RequestVerdict>;
  /** Where a port of a job of this thread is reached (`ToolJobs.reachPort`). */
  reachPort(port: number): Promise<PortAddress | undefined>;
  /** Makes the proxy listen on a loopback that Chromium reaches. Resolves to its port. Default: this machine's. */
  readonly listen?: ((server: Server) => Promise<number>) | undefined;
  /** Default: the system's resolver. */
  readonly lookup?: Lookup;
  /** As in `AgentOptions`. Default: the environment of this process. */
  readonly environment?: { readonly [name: string]: string | undefined };
}

/**
 * Contains the context of one thread: what it may reach is decided here, whatever a page does. Its Chromium must be
 * started with `CHROMIUM_ARGUMENTS`.
 */
export interface BrowserGuard {
  /** The proxy of the context, as Playwright's option. Its password is random. */
  readonly proxy: { readonly server: string; readonly username: string; readonly password: string };
  /** Judges all requests of the context from now on. Call it before its first page is opened. */
  guard(context: BrowserContext): Promise<void>;
  /**
   * Runs `work`, which navigates. The call was approved for the document of `url`. Another document, such as a
   * redirect's, needs `permit`. `url` is "" if it is not known beforehand, as for a click. @throws ToolFailure for a
   * URL that is never reached
   */
  navigating<T>(url: string, work: () => Promise<T>): Promise<T>;
  /** Returns what was refused since the last call, each URL once; at most 100. */
  takeRefused(): readonly { readonly url: string; readonly reason: string }[];
  /** Closes all connections. Never rejects. */
  close(): Promise<void>;
}

/** How many refused requests are remembered. */
const MOST_REFUSED = 100;

/** How long a port of a job is remembered, in milliseconds: a page requests many files of its server at once. */
const PORT_MS = 2_000;

const ALLOWED: RequestVerdict = { verdict: "allowed" };

/**
 * Starts the guard of one context. Three things judge its requests. CDP's Fetch domain, on the whole browser, sees the
 * URL of every request and of every redirect: pages, frames, workers, favicons, downloads. The proxy is the only way to
 * the network: it judges the host of every connection, WebSockets included, and every address of the host, when it
 * connects. Chromium's arguments close what would go around the proxy.
 *
 * `localhost:PORT` leads to the jobs of the thread and to nothing else. Other hosts are reached by https, and by http
 * if `network` names them.
 *
 * @throws TypeError for invalid settings. @throws The system's error if the proxy cannot listen.
 */
export async function browserGuard(options: BrowserGuardOptions): Promise<BrowserGuard> {
  const { network = {}, judge, permit, reachPort, environment = process.env } = options;
  const { lookup = (name) => lookUp(name, { all: true }) } = options;
  const limits: LimitOptions = { settings: urlJudge(network), reachPort: remembered(reachPort) };
  const refused = new Map<string, string>();
  /** "host:port" of every target that was allowed because of its URL. */
  const admitted = new Set<string>();
  /** The hosts to which a navigation has led. Their pages may request more from these hosts. */
  const visited = new Set<string>();
  const navigations = new Set<Navigation>();

  const refuse = (url: string, reason: string): RequestVerdict => {
    if (refused.size < MOST_REFUSED) refused.set(url, reason);
    return { verdict: "refused", reason };
  };

  /** Whether a navigation may ask about this document; `undefined`: the call was approved for the document. */
  const mayAsk = (request: BrowserRequest, isPage: boolean): boolean | undefined => {
    if (!isPage) return false;
    for (const navigation of navigations) {
      if (navigation.expected !== withoutFragment(request.url)) continue;
      navigation.expected = undefined;
      return undefined;
    }
    return navigations.size > 0;
  };

  const decide = async ({
    isPage,
    ...request
  }: BrowserRequest & { readonly isPage: boolean }): Promise<RequestVerdict> => {
    if (request.type === "ServiceWorker") return { verdict: "refused", reason: "service workers are blocked" };
    const limit = await limitOf(request.url, limits);
    if (limit.verdict === "refused") return limit;
    if (limit.verdict === "harmless" || limit.verdict === "job") return ALLOWED;
    const host = hostAndPort({ host: hostOf(limit.url), port: portOf(limit.url) });
    const asks = mayAsk(request, isPage);
    const isOwn = asks === undefined || visited.has(host);
    const judged = asks === true ? await permit(request) : isOwn ? ALLOWED : await judge(request);
    if (judged.verdict === "refused") return judged;
    admitted.add(host);
    if (asks !== false) visited.add(host);
    return ALLOWED;
  };

  /** Judges a connection. The proxy knows only its host; its URL was judged before. */
  const judgeTarget = async (url: URL): Promise<TargetJudgement> => {
    const target = { host: hostOf(url), port: portOf(url) };
    const host = hostAndPort(target);
    const refusal = (reason: string): TargetJudgement => ({ verdict: "refused", host, reason });
    const limit = await limitOf(`${target.port === 80 ? "ws" : "wss"}://${host}/`, limits);
    if (limit.verdict === "refused") return refusal(limit.reason);
    if (limit.verdict === "harmless") return refusal("it is no host");
    if (limit.verdict === "job") {
      const { address } = limit;
      return { verdict: "allowed", target: { ...target, private: true }, dial: (signal) => dialJob(address, signal) };
    }
    const tunnel = { url: limit.url.href, method: "GET", type: "WebSocket" };
    const judged = admitted.has(host) ? ALLOWED : await judge(tunnel);
    if (judged.verdict === "refused") return refusal(judged.reason);
    return { verdict: "allowed", target: { ...target, private: limit.private } };
  };

  const [username, password] = ["handrail", randomBytes(24).toString("base64url")];
  const proxy = guardedProxy({
    judge: judgeTarget,
    refusal(host, reason = "it is not allowed") {
      refuse(host, reason);
      return `The browser may not reach ${host}: ${reason}`;
    },
    lookup,
    upstream: network.proxy === "environment" ? upstreamChoice(environment) : () => undefined,
    authorization: `Basic ${Buffer.from(`${username}:${password}`).toString("base64")}`,
  });
  const port = await (options.listen ?? listenHere)(proxy.server);

  return {
    proxy: { server: `http://127.0.0.1:${port}`, username, password },
    guard: (context) =>
      judgeRequests(context, async (request) => {
        const judged = await decide(request);
        return judged.verdict === "allowed" ? judged : refuse(request.url, judged.reason);
      }),
    async navigating(url, work) {
      const limit = url === "" ? undefined : await limitOf(url, limits);
      if (limit?.verdict === "refused") throw new ToolFailure(`${url} cannot be opened: ${limit.reason}`);
      const navigation: Navigation = { expected: url === "" ? undefined : withoutFragment(url) };
      navigations.add(navigation);
      try {
        return await work();
      } finally {
        navigations.delete(navigation);
      }
    },
    takeRefused() {
      const taken = Array.from(refused, ([url, reason]) => ({ url, reason }));
      refused.clear();
      return taken;
    },
    close: proxy.close,
  };
}

async function listenHere(server: Server): Promise<number> {
  await new Promise<void>((resolve, reject) => server.once("error", reject).listen(0, "127.0.0.1", resolve));
  return (server.address() as AddressInfo).port;
}

interface Navigation {
  /** The URL for which the call was approved, until its document is requested. */
  expected: string | undefined;
}

async function dialJob(address: PortAddress, signal: AbortSignal): Promise<Socket> {
  const socket = connect({ ...address, allowHalfOpen: true });
  try {
    await once(socket, "connect", { signal });
    return socket.on("error", () => undefined); // "close" follows
  } catch (error) {
    socket.destroy();
    throw error;
  }
}

/** Remembers for a short time where a port was reached. */
function remembered(reachPort: BrowserGuardOptions["reachPort"]): BrowserGuardOptions["reachPort"] {
  const known = new Map<number, { readonly address: PortAddress; readonly atMs: number }>();
  return async (port) => {
    const found = known.get(port);
    if (found !== undefined && performance.now() - found.atMs < PORT_MS) return found.address;
    const address = await reachPort(port);
    if (address === undefined) known.delete(port);
    else known.set(port, { address, atMs: performance.now() });
    return address;
  };
}

function withoutFragment(url: string): string {
  const parsed = tried(() => new URL(url));
  if (parsed === undefined) return url;
  parsed.hash = "";
  return parsed.href;
}
