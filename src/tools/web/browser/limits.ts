import type { PortAddress } from "../../../core/contract/backend.ts";
import { hostOf, portOf } from "../../../machine/network/hosts.ts";
import type { UrlJudge } from "../../../machine/network/url.ts";
import { tried } from "../../../core/util/errors.ts";

/** The most that a URL may lead to, whoever asks. `url` has the scheme by which it was judged, https: or http:. */
export type Limit =
  /** To no host: the page's own data, or an empty page. */
  | { readonly verdict: "harmless" }
  /** To a port of a job of the thread. */
  | { readonly verdict: "job"; readonly url: URL; readonly address: PortAddress }
  /** To a host that the settings do not refuse. `private`: the host may have an address that is not public. */
  | { readonly verdict: "host"; readonly url: URL; readonly private: boolean }
  /** `reason`: a sentence for the model. */
  | { readonly verdict: "refused"; readonly reason: string };

export interface LimitOptions {
  readonly settings: UrlJudge;
  /** Where a port of a job of this thread is reached. */
  reachPort(port: number): Promise<PortAddress | undefined>;
}

/** Schemes of requests, each with the scheme by which the request's host is judged. */
const JUDGED_AS: { readonly [protocol: string]: string } = {
  "https:": "https:",
  "wss:": "https:",
  "http:": "http:",
  "ws:": "http:",
};

const EMPTY_PAGES: readonly string[] = ["about:blank", "about:srcdoc"];

/**
 * Judges a URL by its scheme, the jobs of the thread and the settings. Allowed are https, http, WebSockets and URLs
 * without a host; not files, and not Chromium's own pages. Without encryption, only jobs and hosts that the settings
 * name are reached.
 */
export async function limitOf(text: string, { settings, reachPort }: LimitOptions): Promise<Limit> {
  const url = tried(() => new URL(text));
  if (url === undefined) return refused(`${JSON.stringify(text)} is not a URL`);
  if (isHarmless(url)) return { verdict: "harmless" };
  const scheme = JUDGED_AS[url.protocol];
  if (scheme === undefined) return refused(`the browser does not open ${url.protocol} URLs, only https: and http:`);
  const web = new URL(`${scheme}${url.href.slice(url.protocol.length)}`);
  const host = hostOf(web);
  const isHere = HERE.includes(host);
  const address = isHere ? await reachPort(portOf(web)) : undefined;
  if (address !== undefined) return { verdict: "job", url: web, address };
  const judged = settings(web.href);
  if (judged.verdict === "refused") {
    const noJob = `no job of this thread listens on port ${portOf(web)}. Start the server as a job first`;
    return refused(
      isHere && judged.rule !== "deny_hosts" ? noJob : judged.reason.replace(/^URL not allowed [^:]*: /, ""),
    );
  }
  if (scheme === "http:" && judged.verdict !== "named" && !judged.private) {
    return refused(`http: is not encrypted. Use https://${host}/, or add "${host}" to allow_hosts to allow it`);
  }
  return { verdict: "host", url: web, private: judged.private };
}

/** The names of this machine's loopback that lead to jobs. */
const HERE: readonly string[] = ["localhost", "127.0.0.1", "::1"];

function isHarmless({ protocol, href }: URL): boolean {
  return protocol === "data:" || protocol === "blob:" || EMPTY_PAGES.includes(href.replace(/[?#].*$/s, ""));
}

function refused(reason: string): Limit {
  return { verdict: "refused", reason };
}
