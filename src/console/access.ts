import { createHash, timingSafeEqual } from "node:crypto";
import { isIP } from "node:net";
import { Problem } from "./problem.ts";

export interface AccessOptions {
  /** Authorizes its holder to use the API. */
  readonly token: string;
  /** The address to listen on, as given to `--host`. */
  readonly host: string;
  readonly port: number;
}

/** Access control for the API. */
export interface Access {
  /** Throws a `Problem` for a request from another site, for another host name, or without the token. */
  check(request: Request): void;
  /**
   * Answers a page that is opened with `?token=`: sets a cookie and redirects, so that the token leaves the address
   * bar. Returns `undefined` for a request without `?token=`. Throws a `Problem` for a wrong token.
   */
  exchange(request: Request): Response | undefined;
}

const LOOPBACK_NAMES = ["localhost", "127.0.0.1", "::1"];

/**
 * Checks three headers. Host: rejects names that foreign DNS points at this machine. Origin: rejects pages of other
 * sites. Authorization or Cookie: requires the token as `Authorization: Bearer`, or the cookie that was set in exchange
 * for it.
 */
export function createAccess({ token, host, port }: AccessOptions): Access {
  const cookieName = `handrail-${port}`; // all ports of a host share its cookies
  const cookieValue = createHash("sha256").update(`handrail cookie ${token}`).digest("base64url");
  const isOpen = !isLoopback(host);

  const isKnownHost = (authority: string): boolean => {
    if (!URL.canParse(`http://${authority}`)) return false;
    const name = new URL(`http://${authority}`).hostname.replace(/^\[|\]$/g, "");
    if (LOOPBACK_NAMES.includes(name) || name === host.toLowerCase()) return true;
    return isOpen && isIP(name) !== 0; // DNS cannot change where an IP address leads
  };

  const hasToken = (request: Request): boolean => {
    const bearer = /^Bearer +(\S+) *$/i.exec(request.headers.get("authorization") ?? "")?.[1];
    if (bearer !== undefined) return isEqual(bearer, token);
    const cookies = (request.headers.get("cookie") ?? "").split(/; */);
    return cookies.some((each) => {
      const [name, value = ""] = each.split("=");
      return name === cookieName && isEqual(value, cookieValue);
    });
  };

  const checkSource = (request: Request) => {
    const authority = request.headers.get("host") ?? "";
    if (!isKnownHost(authority)) {
      throw new Problem(421, `This server does not answer for the host ${JSON.stringify(authority.slice(0, 200))}.`);
    }
    const origin = request.headers.get("origin");
    if (origin !== null && !(URL.canParse(origin) && new URL(origin).host === authority.toLowerCase())) {
      throw new Problem(403, "Requests from pages of other sites are refused.");
    }
    if (request.headers.get("sec-fetch-site") === "cross-site" && request.method !== "GET") {
      throw new Problem(403, "Requests from pages of other sites are refused.");
    }
  };

  return {
    check(request) {
      checkSource(request);
      if (hasToken(request)) return;
      throw new Problem(
        401,
        "A token is needed: send it as `Authorization: Bearer TOKEN`. `handrail serve` prints where it is kept.",
      );
    },
    exchange(request) {
      const url = new URL(request.url);
      const given = url.searchParams.get("token");
      if (given === null) return undefined;
      checkSource(request);
      if (!isEqual(given, token)) throw new Problem(401, "The token is wrong. `handrail serve` prints the address.");
      url.searchParams.delete("token");
      const cookie = `${cookieName}=${cookieValue}; Path=/; HttpOnly; SameSite=Strict; Max-Age=31536000`;
      return new Response(undefined, {
        status: 303,
        headers: { location: `${url.pathname}${url.search}`, "set-cookie": cookie },
      });
    },
  };
}

/** Returns true for a loopback address or name. */
export function isLoopback(host: string): boolean {
  return LOOPBACK_NAMES.includes(host.toLowerCase()) || (isIP(host) === 4 && host.startsWith("127."));
}

function isEqual(one: string, other: string): boolean {
  const digest = (text: string) => createHash("sha256").update(text).digest();
  return timingSafeEqual(digest(one), digest(other));
}
