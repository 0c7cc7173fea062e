import { hostAndPort, type Target } from "./targets.ts";
import { tried } from "../../core/util/errors.ts";

/** The user's own proxy. */
export interface Upstream {
  readonly url: URL;
  /** The value of `Proxy-Authorization`; `undefined` if the proxy needs no login. */
  readonly authorization: string | undefined;
}

/** Returns the proxy for a target; `undefined` for a direct connection. */
export type UpstreamChoice = (target: Target, how: "tunnel" | "forward") => Upstream | undefined;

/**
 * Reads which proxy an environment selects: HTTPS_PROXY for tunnels, HTTP_PROXY for plain requests, ALL_PROXY for both,
 * in small letters first, and NO_PROXY (names with all below them, addresses, "*", each with a port or without) for
 * targets that are reached directly. This machine itself is always reached directly.
 *
 * @throws TypeError for an invalid proxy, or one that speaks neither http nor https.
 */
export function upstreamChoice(environment: { readonly [name: string]: string | undefined }): UpstreamChoice {
  const value = (name: string): string => environment[name.toLowerCase()] || environment[name] || "";
  const proxies = {
    tunnel: upstream("HTTPS_PROXY", value("HTTPS_PROXY") || value("ALL_PROXY")),
    forward: upstream("HTTP_PROXY", value("HTTP_PROXY") || value("ALL_PROXY")),
  };
  const except = value("NO_PROXY")
    .toLowerCase()
    .split(/[\s,]+/)
    .filter((entry) => entry !== "");

  return (target, how) => {
    const isHere = target.host === "localhost" || target.host === "::1" || target.host.startsWith("127.");
    return isHere || except.some((entry) => isMeant(entry, target)) ? undefined : proxies[how];
  };
}

function upstream(name: string, text: string): Upstream | undefined {
  if (text === "") return undefined;
  const url = tried(() => new URL(text.includes("://") ? text : `http://${text}`));
  if (url === undefined || !/^https?:$/.test(url.protocol) || url.hostname === "") {
    const shown = text.replace(/^([^/]*\/\/)?[^@]*@/, "$1***@");
    throw new TypeError(
      `${name}: expected the URL of a proxy, as "http://proxy.example.org:3128"; got ${JSON.stringify(shown)}`,
    );
  }
  const credentials = `${decodeURIComponent(url.username)}:${decodeURIComponent(url.password)}`;
  return {
    url,
    authorization: credentials === ":" ? undefined : `Basic ${Buffer.from(credentials).toString("base64")}`,
  };
}

function isMeant(entry: string, target: Target): boolean {
  if (entry === "*") return true;
  const name = entry.replace(/^\*?\./, "");
  return [target.host, hostAndPort(target)].some((host) => host === name || host.endsWith(`.${name}`));
}
