import { STATUS_CODES } from "node:http";
import { type Dispatcher, request } from "undici";
import { ToolFailure } from "../../core/contract/failure.ts";
import type { FetchOptions, Fetcher } from "../../core/contract/fetch.ts";
import { type AgentOptions, guardedAgent, reachable } from "./agent.ts";
import { ACCEPT_ENCODING, readBody } from "./body.ts";
import { createCookies } from "./cookies.ts";
import { fetchProblem } from "./fetch-problem.ts";
import { tried } from "../../core/util/errors.ts";

const MOST_REDIRECTS = 5;
const MOST_BYTES = 10_485_760;
const TIMEOUT_MS = 30_000;
/** Bytes of a redirect's body that are read, so that the connection can be used again. */
const MOST_DUMPED = 16_384;

const USER_AGENT = `Mozilla/5.0 (compatible; Handrail/${__VERSION__})`;

/** Headers with credentials, which are sent to one origin only. */
const CREDENTIALS: ReadonlySet<string> = new Set(["authorization", "cookie", "proxy-authorization"]);

/**
 * Makes a fetcher. The settings judge the URL of every hop and, before the connection, every address of its host. The
 * connection uses only these addresses. Connections are kept for later requests to the same origin. A proxy of the
 * user's is used only with `network.proxy: "environment"`; it looks names up itself, so what they lead to is not judged
 * then.
 *
 * @throws TypeError for settings that cannot be read, and for a proxy that is none.
 */
export function createFetcher(guard: AgentOptions = {}): Fetcher {
  const { agent, judge } = guardedAgent(guard);

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
      headersTimeout: 0, // the signal limits the whole request
      bodyTimeout: 0,
    });
  };

  return {
    async fetch(text, options, { permit, signal }) {
      const { method = "GET", maxBytes = MOST_BYTES, timeoutMs = TIMEOUT_MS, maxRedirects = MOST_REDIRECTS } = options;
      const mayFollow = method === "GET" || method === "HEAD" ? Math.min(maxRedirects, MOST_REDIRECTS) : 0;
      const startedMs = performance.now();
      const met: string[] = [];
      const cookies = createCookies();
      let { url } = reachable(judge, text);
      let headers = withSmallNames(options.headers);
      let left = timeoutMs;
      for (;;) {
        await permit(url);
        reachable(judge, url.href);
        met.push(url.href);
        const began = performance.now();
        const deadline = AbortSignal.timeout(Math.ceil(left));
        const late = () => (deadline.aborted ? timeoutMs : undefined);
        try {
          const cookie = [headers["cookie"], cookies.for(url)].filter(Boolean).join("; ");
          const hop = { ...options, headers: { ...headers, ...(cookie !== "" && { cookie }) } };
          const response = await send(url, hop, AbortSignal.any([signal, deadline]));
          const next = mayFollow === 0 ? undefined : redirectOf(response, url);
          if (next === undefined) {
            const encoding = method === "HEAD" ? "" : String(response.headers["content-encoding"] ?? "");
            const stop = isStream(response) ? stopSoon(response.body, url) : undefined;
            const { bytes, truncated, fault } = await readBody(response.body, encoding, maxBytes).finally(stop);
            if (signal.aborted) throw signal.reason;
            const problem = fault === undefined ? undefined : fetchProblem(fault, url, late());
            const ms = Math.round(performance.now() - startedMs);
            return {
              ...{ ...headOf(response), url: url.href, body: bytes, truncated, redirects: met.length - 1, ms },
              ...(problem !== undefined && { incomplete: problem.message }),
            };
          }
          await response.body.dump({ limit: MOST_DUMPED }); // a connection is reusable after its response was read
          cookies.set(url, response.headers["set-cookie"]);
          if (met.length > mayFollow) throw tooMany(met, mayFollow);
          if (url.protocol === "https:" && next.protocol === "http:") throw downgraded(url, next);
          if (next.origin !== url.origin) headers = withoutCredentials(headers);
          url = next;
        } catch (error) {
          if (signal.aborted) throw signal.reason;
          throw fetchProblem(error, url, late());
        }
        left = Math.max(1, left - (performance.now() - began));
      }
    },
    close: () => agent.destroy(),
  };
}

/** How long a stream of events is read, in milliseconds: it does not end by itself. */
const STREAM_MS = 2_000;

function isStream({ headers }: Dispatcher.ResponseData): boolean {
  return /^(text\/event-stream|multipart\/x-mixed-replace)\b/i.test(String(headers["content-type"] ?? ""));
}

/** Ends a body after `STREAM_MS`. Returns a function that lets it go on. */
function stopSoon(body: Dispatcher.ResponseData["body"], { href }: URL): () => void {
  const timer = setTimeout(() => {
    const arrived = `${href} is a stream of events that does not end; it was read for ${STREAM_MS / 1_000} s`;
    body.destroy(new ToolFailure(arrived));
  }, STREAM_MS);
  return () => clearTimeout(timer);
}

/**
 * The target of a redirect; `undefined` for other responses. Keeps the fragment if the target has none (RFC 9110,
 * 10.2.2).
 */
function redirectOf({ statusCode, headers }: Dispatcher.ResponseData, from: URL): URL | undefined {
  if (!REDIRECTS.has(statusCode) || typeof headers["location"] !== "string") return undefined;
  const location = asUtf8(headers["location"]);
  if (!URL.canParse(location, from.href)) return undefined;
  const next = new URL(location, from);
  if (next.hash === "") next.hash = from.hash;
  return next;
}

/** Headers are read as single bytes, but servers write addresses in UTF-8, as browsers read them. */
function asUtf8(header: string): string {
  return tried(() => new TextDecoder("utf-8", { fatal: true }).decode(Buffer.from(header, "latin1"))) ?? header;
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
  const what = isCircle ? "the redirects form a circle" : `there are more than ${most} redirects`;
  const hint = isCircle ? "Open it in a browser, if you have a tool for that." : "Fetch the final URL directly.";
  return new ToolFailure(`${what}: ${met.join(" -> ")}`, { hint });
}

function downgraded(from: URL, to: URL): ToolFailure {
  return new ToolFailure(`${from.href} redirects from https to http, which is not followed: ${to.href}`, {
    hint: "Fetch that URL itself if it may be read without encryption.",
  });
}
