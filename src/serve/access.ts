import { createHash, randomBytes, timingSafeEqual } from "node:crypto";
import { isIP } from "node:net";
import type { BrowserSessions } from "./browser-sessions.ts";
import { Problem } from "./problem.ts";
import type { User, Users } from "./users.ts";

/** Who sent a request. */
export type Caller =
  /** The holder of the token. */
  | { readonly kind: "program" }
  | { readonly kind: "browser" | "phone"; readonly session: string; readonly name: string; readonly user?: User }
  /** The holder of a user's token. */
  | { readonly kind: "user"; readonly user: User }
  /** Somebody who may begin the session of a phone, only once: a session of this user. */
  | { readonly kind: "pairing"; readonly user?: User };

/** The user whose request it is; `undefined` for the holder of the token. */
export const userOf = (caller: Caller): User | undefined => ("user" in caller ? caller.user : undefined);

/** The other end of a connection. */
export interface Peer {
  readonly address: string;
  readonly isEncrypted: boolean;
}

export interface AccessOptions {
  /** Authorizes its holder to use the API. At least 16 characters. */
  readonly token: string;
  /** The address to listen on, as given to `--host`. */
  readonly host: string;
  /** Origins whose pages may use the API, exactly as browsers send them. They need the token too. Default: none. */
  readonly origins?: readonly string[] | undefined;
  /** Default: browsers are refused. */
  readonly browsers?: BrowserSessions | undefined;
  /** People with tokens of their own. Default: none. */
  readonly users?: Users | undefined;
  /** Whether the server's certificate is for this name. Default: there is no certificate. */
  readonly isCertified?: ((name: string) => boolean) | undefined;
  /** Milliseconds since 1970. Default: the current time. */
  readonly now?: () => number;
}

/** Access control for the API. */
export interface Access {
  /**
   * Throws a `Problem` for a request from another site, or for another host name. Returns the origin of a page whose
   * browser may read the answer, although it is of another site: one of `origins`.
   */
  checkSource(request: Request): string | undefined;
  /**
   * Returns who sent the request: by its token, the secret of its session or, where the route accepts that, a code of
   * `pair` or a ticket. Throws a `Problem` if none of them is valid.
   */
  callerOf(request: Request, peer: Peer, accepts?: "pairing" | "ticket"): Caller;
  /**
   * Returns a code that begins the session of a phone, once, within `PAIRING_MS`. It is a session of this user.
   * Default: of the holder of the token.
   */
  pair(user?: User): string;
  /** Returns a ticket that authorizes one request for this path, within a minute. */
  ticket(path: string, caller: Caller): string;
}

/** How long a phone can be paired with a code, in milliseconds. */
export const PAIRING_MS = 300_000;
const TICKET_MS = 60_000;
/** The shortest token with which the server starts. An empty token would let everybody in. */
const MIN_TOKEN = 16;

const OTHER_SITE =
  "Requests from pages of other sites are refused, except from those that `serve.origins` of the configuration names.";

const LOOPBACK_NAMES = ["localhost", "127.0.0.1", "::1"];

/**
 * Checks three headers. Host: rejects names that foreign DNS points at this machine. Origin: rejects pages of other
 * sites. Authorization: requires the token, or the secret of a browser's session. There are no cookies: a browser sends
 * those to every port of a host, also to a server that a model has started.
 *
 * @throws Error when the token is too short.
 */
export function createAccess(options: AccessOptions): Access {
  const { token, host, origins, browsers, users, isCertified, now = Date.now } = options;
  if (token.length < MIN_TOKEN) throw new Error(`Expected a token of at least ${MIN_TOKEN} characters.`);
  const isOpen = !isLoopback(host);
  const pairings = new Map<string, { readonly untilMs: number; readonly of: string | undefined }>();
  const tickets = new Map<string, { readonly path: string; readonly caller: Caller; readonly untilMs: number }>();

  const isKnownHost = (authority: string): boolean => {
    if (!URL.canParse(`http://${authority}`)) return false;
    const name = new URL(`http://${authority}`).hostname.replace(/^\[|\]$/g, "");
    if (LOOPBACK_NAMES.includes(name) || name === host.toLowerCase()) return true;
    if (isCertified?.(name) === true) return true; // whoever has the name cannot have the certificate's key
    return isOpen && isIP(name) !== 0; // DNS cannot change where an IP address leads
  };

  const ofTicket = (request: Request): Caller | undefined => {
    const { pathname, searchParams } = new URL(request.url);
    const given = searchParams.get("ticket") ?? "";
    const ticket = tickets.get(given);
    tickets.delete(given);
    return ticket?.path === pathname && ticket.untilMs > now() ? ticket.caller : undefined;
  };

  const ofPairing = (code: string): Caller | undefined => {
    const { untilMs, of } = pairings.get(code) ?? { untilMs: 0, of: undefined };
    pairings.delete(code);
    const user = of === undefined ? undefined : users?.byName(of);
    if (untilMs <= now() || (of !== undefined && user === undefined)) return undefined;
    return { kind: "pairing", ...(user !== undefined && { user }) };
  };

  const ofSession = (secret: string, { address }: Peer): Caller | undefined => {
    const session = browsers?.use(secret, address);
    if (session === undefined) return undefined;
    const user = session.user === undefined ? undefined : users?.byName(session.user);
    if (session.user !== undefined && user === undefined) return undefined; // the user was removed
    return { kind: session.kind, session: session.id, name: session.name, ...(user !== undefined && { user }) };
  };

  const ofUser = (given: string): Caller | undefined => {
    const user = users?.byToken(given);
    return user && { kind: "user", user };
  };

  return {
    checkSource(request) {
      const authority = request.headers.get("host") ?? "";
      if (!isKnownHost(authority)) {
        throw new Problem(421, `This server does not answer for the host ${JSON.stringify(authority.slice(0, 200))}.`);
      }
      const origin = request.headers.get("origin");
      const isApi = new URL(request.url).pathname.startsWith("/api/");
      if (isApi && origin !== null && origins?.includes(origin) === true) return origin;
      if (origin !== null && !(URL.canParse(origin) && new URL(origin).host === authority.toLowerCase())) {
        throw new Problem(403, OTHER_SITE);
      }
      if (request.headers.get("sec-fetch-site") === "cross-site" && request.method !== "GET") {
        throw new Problem(403, OTHER_SITE);
      }
      return undefined;
    },
    callerOf(request, peer, accepts) {
      const bearer = /^Bearer +(\S+) *$/i.exec(request.headers.get("authorization") ?? "")?.[1];
      if (bearer !== undefined && isEqual(bearer, token)) return { kind: "program" };
      const caller =
        bearer === undefined
          ? accepts === "ticket"
            ? ofTicket(request)
            : undefined
          : (ofSession(bearer, peer) ?? ofUser(bearer) ?? (accepts === "pairing" ? ofPairing(bearer) : undefined));
      if (caller !== undefined) {
        if (caller.kind !== "program") requirePrivate(peer);
        return caller;
      }
      const why = bearer === undefined ? "A token is needed" : "The token is wrong, or the session has ended";
      throw new Problem(
        401,
        `${why}: send it as \`Authorization: Bearer TOKEN\`. ` +
          "A browser opens the address that `handrail serve` prints.",
      );
    },
    pair(user) {
      for (const [code, { untilMs }] of pairings) if (untilMs <= now()) pairings.delete(code);
      const code = randomBytes(16).toString("base64url");
      pairings.set(code, { untilMs: now() + PAIRING_MS, of: user?.name });
      return code;
    },
    ticket(path, caller) {
      for (const [each, { untilMs }] of tickets) if (untilMs <= now()) tickets.delete(each);
      const ticket = randomBytes(16).toString("base64url");
      tickets.set(ticket, { path, caller, untilMs: now() + TICKET_MS });
      return ticket;
    },
  };
}

/** Throws a `Problem` unless nobody else can read what a browser sends: its secret, and what is shown in it. */
export function requirePrivate({ address, isEncrypted }: Peer): void {
  if (isEncrypted || isLoopback(address.replace(/^::ffff:/, ""))) return;
  throw new Problem(
    403,
    "Browsers on other machines need an encrypted connection: start `handrail serve` with --cert and --key.",
  );
}

/** Returns true for a loopback address or name. */
export function isLoopback(host: string): boolean {
  return LOOPBACK_NAMES.includes(host.toLowerCase()) || (isIP(host) === 4 && host.startsWith("127."));
}

function isEqual(one: string, other: string): boolean {
  const digest = (text: string) => createHash("sha256").update(text).digest();
  return timingSafeEqual(digest(one), digest(other));
}
