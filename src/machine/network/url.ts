import { judgeAddress } from "./address.ts";
import { hostOf, hostRules, isAddress, portOf } from "./hosts.ts";
import { judgeName, lookAlike } from "./names.ts";
import type { NetworkSettings } from "./network-settings.ts";
import { tried } from "../../core/util/errors.ts";

/** The verdict on a URL before any look-up. */
export type UrlJudgement =
  /** No rule of the user names the host. `doubt`: why a person should look at the URL, if there is a reason. */
  | { readonly verdict: "reachable"; readonly url: URL; readonly private: boolean; readonly doubt?: string }
  /** The user has named the host. `private`: the host may have an address that is not public. */
  | { readonly verdict: "named"; readonly url: URL; readonly private: boolean; readonly rule: string }
  /** `reason`: what is wrong and what would be accepted. */
  | { readonly verdict: "refused"; readonly rule: string; readonly reason: string };

/** Judges URLs by these settings. */
export type UrlJudge = (text: string) => UrlJudgement;

/** The longest URL that browsers and servers accept, in characters. */
const MAX_LENGTH = 8_192;

/** The longest name of a host, in characters (RFC 1035, 2.3.4). */
const MAX_HOST = 253;

const WEB_PORTS: readonly number[] = [80, 443];

/**
 * Makes a judge of URLs. The judge looks nothing up. If it accepts a name, the name's addresses are judged at the
 * connection (`judgeHost`). A URL is judged as it is parsed (WHATWG), never as it is spelled, so it must be fetched as
 * the parsed `url`.
 *
 * @throws TypeError for an entry of the settings that is not a host.
 */
export function urlJudge({
  allowHosts = [],
  denyHosts = [],
  allowPrivate = [],
  ports = [],
}: NetworkSettings = {}): UrlJudge {
  const allowed = hostRules(allowHosts, "network.allowHosts");
  const denied = hostRules(denyHosts, "network.denyHosts");
  const inside = hostRules(allowPrivate, "network.allowPrivate");
  const open = new Set([...WEB_PORTS, ...ports]);

  return (text) => {
    const url = parsed(text);
    if (typeof url === "string") return refused("url", url);
    const host = hostOf(url);
    const port = portOf(url);
    const ban = denied.find((each) => each.matches(host, port));
    if (ban !== undefined) return refused("deny_hosts", `${host} is denied: deny_hosts contains ${ban.text}`);
    const isInside = inside.some((each) => each.matches(host, port));
    const notPublic = isInside ? undefined : isAddress(host) ? judgeAddress(host) : judgeName(host);
    if (notPublic !== undefined) {
      return refused(
        "private_address",
        `${notPublic}, and only public hosts are allowed. To allow it, add "${hostAndPort(host, url)}" to ` +
          "allow_private.",
      );
    }
    const namesPort = [...allowed, ...inside].some((each) => each.port === port && each.matches(host, port));
    if (!open.has(port) && !namesPort) {
      return refused(
        "port",
        `port ${port} is not allowed (only ${[...open].join(", ")}). To allow it, add ` +
          `"${hostAndPort(host, url)}" to ${isInside ? "allow_private" : "allow_hosts"}.`,
      );
    }
    const named = allowed.find((each) => each.matches(host, port));
    if (named !== undefined) return { verdict: "named", url, private: isInside, rule: named.text };
    const shown = lookAlike(host);
    if (shown === undefined) return { verdict: "reachable", url, private: isInside };
    return {
      verdict: "reachable",
      url,
      private: isInside,
      doubt: `${host} is displayed as ${shown}, which looks like another name`,
    };
  };
}

/** The parsed URL, or a sentence that explains why it cannot be fetched. */
function parsed(text: string): URL | string {
  if (text.length > MAX_LENGTH) return `the URL is longer than ${MAX_LENGTH} characters`;
  const url = tried(() => new URL(text));
  if (url === undefined) return `${JSON.stringify(text)} is not a URL. Use one that starts with https:// or http://`;
  if (url.protocol !== "https:" && url.protocol !== "http:") {
    return `${url.protocol} is not supported. Use a URL that starts with https:// or http://`;
  }
  const host = hostOf(url);
  if (host.length > MAX_HOST) return `the host is longer than ${MAX_HOST} characters`;
  return host === "" ? `${JSON.stringify(text)} names no host` : url;
}

function refused(rule: string, what: string): UrlJudgement {
  return { verdict: "refused", rule, reason: `URL not allowed by security policy: ${what}` };
}

function hostAndPort(host: string, { port }: URL): string {
  const name = host.includes(":") ? `[${host}]` : host;
  return port === "" ? name : `${name}:${port}`;
}
