import { lookup as lookUp } from "node:dns/promises";
import { STATUS_CODES } from "node:http";
import { Agent, type Dispatcher, buildConnector, request } from "undici";
import { ToolFailure } from "../contract/failure.ts";
import type { FetchOptions, Fetched } from "../contract/fetch.ts";
import { untilAborted } from "../util/abort.ts";
import { ACCEPT_ENCODING, readBody } from "./body.ts";
import { dial, dialThrough } from "./dial.ts";
import { fetchProblem } from "./fetch-problem.ts";
import { hostOf, portOf } from "./hosts.ts";
import type { NetworkSettings } from "./settings.ts";
import { type Lookup, judgeAddresses } from "./targets.ts";
import { upstreamChoice } from "./upstream.ts";
import { type UrlJudge, urlJudge } from "./url.ts";

/** Makes requests through the guard. */
export interface Fetcher {
  /**
   * Makes a request and follows its redirects. Rejects with a `ToolFailure` when there is no response, and with whatever `permit` rejects with.
   */
  fetch(url: string, options: FetchOptions, by: FetchCaller): Promise<Fetched>;
  /** Closes all connections. */
  close(): Promise<void>;
}

/** On whose behalf a request is made. */
export interface FetchCaller {
  /** Is asked before every hop; rejects when the hop is refused. */
  permit(url: URL): Promise<void>;
  /** Stops the request. */
  readonly signal: AbortSignal;
}

export interface FetcherOptions {
  readonly network?: NetworkSettings | undefined;
  /** Default: the system's resolver. */
  readonly lookup?: Lookup;
  /** Whose HTTPS_PROXY, HTTP_PROXY, ALL_PROXY and NO_PROXY hold, where the settings say so. Default: our own. */
  readonly environment?: { readonly [name: string]: string | undefined };
}

const MOST_REDIRECTS = 5;
const MOST_BYTES = 10_485_760;
const TIMEOUT_MS = 30_000;
const CONNECT_MS = 10_000;
/** Of all headers of a response together, in bytes. */
const MAX_HEADER_BYTES = 16_384;
const CONNECTIONS_A_HOST = 8;

const USER_AGENT = `Mozilla/5.0 (compatible; Handrail/${__VERSION__})`;

/** These are the sender's own at one origin. */
const CREDENTIALS: ReadonlySet<string> = new Set(["authorization", "cookie", "proxy-authorization"]);

/**
 * Makes a fetcher. The URL of every hop is judged by the settings, and every address of its host before the connection is opened, to exactly
 * these addresses. Connections are kept for later requests to the same origin. A proxy of the user's is used only with `network.proxy:
 * "environment"`; it looks names up itself, so what they lead to is not judged then.
 *
 * @throws TypeError for settings that cannot be read, and for a proxy that is none.
 */
export function createFetcher({
  network = {},
  lookup = (name) => lookUp(name, { all: true }),
  environment = process.env,
}: FetcherOptions = {}): Fetcher {
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
    connect(options, callback) {
      void connect(options, callback);
    },
  });

  const send = (url: URL, options: FetchOptions, signal: AbortSignal): Promise<Dispatcher.ResponseData> => {
    const { method = "GET", body } = options;
    const { username, password } = url;
    const credentials = `${decodeURIComponent(username)}:${decodeURIComponent(password)}`;
    const bare = new URL(url);
    bare.username = bare.password = bare.hash = "";
    return request(bare, {
      dispatcher: agent,
      method,
      headers: {
        "user-agent": USER_AGENT,
        "accept-encoding": ACCEPT_ENCODING,
        ...(credentials !== ":" && { authorization: `Basic ${Buffer.from(credentials).toString("base64")}` }),
        ...options.headers,
      },
      ...(body !== undefined && { body }),
      signal,
      headersTimeout: 0, // the signal has the time for all of it
      bodyTimeout: 0,
    });
  };

  return {
    async fetch(text, options, { permit, signal }) {
      const { method = "GET", maxBytes = MOST_BYTES, timeoutMs = TIMEOUT_MS, maxRedirects = MOST_REDIRECTS } = options;
      const mayFollow = method === "GET" || method === "HEAD" ? Math.min(maxRedirects, MOST_REDIRECTS) : 0;
      const startedMs = performance.now();
      const met: string[] = [];
      let { url } = reachable(judge, text);
      let headers = withSmallNames(options.headers);
      let left = timeoutMs;
      for (;;) {
        await permit(url);
        reachable(judge, url.href);
        met.push(url.href);
        const began = performance.now();
        const deadline = AbortSignal.timeout(Math.ceil(left));
        try {
          const hop = { ...options, headers };
          const response = await send(url, hop, AbortSignal.any([signal, deadline]));
          const next = mayFollow === 0 ? undefined : redirectOf(response, url);
          if (next === undefined) {
            const encoding = method === "HEAD" ? "" : String(response.headers["content-encoding"] ?? "");
            const { bytes, truncated } = await readBody(response.body, encoding, maxBytes);
            const ms = Math.round(performance.now() - startedMs);
            return { ...headOf(response), url: url.href, body: bytes, truncated, redirects: met.length - 1, ms };
          }
          await response.body.dump({ limit: MAX_HEADER_BYTES }); // what is read to its end leaves the connection open
          if (met.length > mayFollow) throw tooMany(met, mayFollow);
          if (url.protocol === "https:" && next.protocol === "http:") throw downgraded(url, next);
          if (next.origin !== url.origin) headers = withoutCredentials(headers);
          url = next;
        } catch (error) {
          if (signal.aborted) throw signal.reason;
          throw fetchProblem(error, url, deadline.aborted ? timeoutMs : undefined);
        }
        left = Math.max(1, left - (performance.now() - began));
      }
    },
    close: () => agent.destroy(),
  };
}

/** @throws ToolFailure for a URL that is refused. */
function reachable(judge: UrlJudge, text: string): { readonly url: URL; readonly private: boolean } {
  const judged = judge(text);
  if (judged.verdict === "refused") throw new ToolFailure(judged.reason);
  return judged;
}

/** Where a redirect leads; `undefined` for any other response. The fragment stays, where it names none (RFC 9110, 10.2.2). */
function redirectOf({ statusCode, headers }: Dispatcher.ResponseData, from: URL): URL | undefined {
  const { location } = headers;
  if (!REDIRECTS.has(statusCode) || typeof location !== "string" || !URL.canParse(location, from.href))
    return undefined;
  const next = new URL(location, from);
  if (next.hash === "") next.hash = from.hash;
  return next;
}

const REDIRECTS: ReadonlySet<number> = new Set([301, 302, 303, 307, 308]);

function headOf({ statusCode, statusText, headers }: Dispatcher.ResponseData) {
  const entries = Object.entries(headers).map(([name, value = ""]): [string, string] => {
    return [name, typeof value === "string" ? value : value.join(name === "set-cookie" ? "\n" : ", ")];
  });
  return {
    status: statusCode,
    statusText: statusText || (STATUS_CODES[statusCode] ?? ""),
    headers: Object.fromEntries(entries),
  };
}

function withSmallNames(headers: FetchOptions["headers"] = {}): { readonly [name: string]: string } {
  return Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]));
}

function withoutCredentials(headers: { readonly [name: string]: string }): { readonly [name: string]: string } {
  return Object.fromEntries(Object.entries(headers).filter(([name]) => !CREDENTIALS.has(name)));
}

function tooMany(met: readonly string[], most: number): ToolFailure {
  const isCircle = new Set(met).size < met.length;
  const what = isCircle ? "redirects lead in a circle" : `there are more than ${most} redirects`;
  return new ToolFailure(`${what}: ${met.join(" -> ")}`, { hint: "Fetch the page that you want by its own URL." });
}

function downgraded(from: URL, to: URL): ToolFailure {
  return new ToolFailure(`${from.href} redirects from https to http, which is not followed: ${to.href}`, {
    hint: "Fetch that URL itself if it may be read without encryption.",
  });
}
