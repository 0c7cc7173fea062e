/** A cookie that a response has set. */
interface Cookie {
  readonly name: string;
  readonly value: string;
  readonly host: string;
  /** Whether hosts below `host` get it too. */
  readonly below: boolean;
  readonly path: string;
  readonly secure: boolean;
}

/** The cookies of one fetch: what a hop sets, the next hops send. Nothing is kept after the fetch. */
export interface Cookies {
  /** Keeps the cookies of a response. */
  set(from: URL, headers: string | readonly string[] | undefined): void;
  /** The value of the header for this URL; `undefined` if it has no cookies. */
  for(url: URL): string | undefined;
}

/** The most cookies of one fetch, and the longest one that is kept, in characters. */
const MOST = 50;
const LONGEST = 4_096;

/** @see RFC 6265, 5.2 to 5.4 */
export function createCookies(): Cookies {
  const kept = new Map<string, Cookie>();
  return {
    set(from, headers = []) {
      for (const header of typeof headers === "string" ? [headers] : headers) {
        const cookie = header.length > LONGEST ? undefined : read(header, from);
        if (cookie === undefined) continue;
        const key = JSON.stringify([cookie.name, cookie.host, cookie.path]);
        kept.delete(key);
        if (cookie.isAlive && kept.size < MOST) kept.set(key, cookie);
      }
    },
    for(url) {
      const sent = [...kept.values()]
        .filter((cookie) => belongsTo(cookie, url))
        .toSorted((one, other) => other.path.length - one.path.length);
      return sent.length === 0 ? undefined : sent.map(({ name, value }) => `${name}=${value}`).join("; ");
    },
  };
}

function read(header: string, { hostname, pathname, protocol }: URL): (Cookie & { isAlive: boolean }) | undefined {
  const [pair = "", ...rest] = header.split(";");
  const [, name = "", value = ""] = /^\s*([^=]+?)\s*=\s*(.*?)\s*$/s.exec(pair) ?? [];
  if (name === "") return undefined;
  const attributes = new Map(
    rest.map((each) => {
      const [, key = "", text = ""] = /^\s*([^=]*?)\s*(?:=\s*(.*?)\s*)?$/s.exec(each) ?? [];
      return [key.toLowerCase(), text] as const;
    }),
  );
  const domain = (attributes.get("domain") ?? "").replace(/^\./, "").toLowerCase();
  // A name without a dot, such as "com", would be all hosts below it.
  const isBroad = domain !== hostname && !domain.includes(".");
  if (domain !== "" && (isBroad || !isWithin(hostname, domain))) return undefined;
  const secure = attributes.has("secure");
  if (secure && protocol !== "https:") return undefined;
  const path = attributes.get("path") ?? "";
  return {
    ...{ name, value, secure, host: domain || hostname, below: domain !== "" },
    path: path.startsWith("/") ? path : pathname.replace(/\/[^/]*$/, "") || "/",
    isAlive: !isOver(attributes.get("max-age"), attributes.get("expires")),
  };
}

function isOver(maxAge: string | undefined, expires: string | undefined): boolean {
  if (maxAge !== undefined && /^-?\d+$/.test(maxAge)) return Number(maxAge) <= 0;
  return expires !== undefined && Date.parse(expires) <= Date.now();
}

function belongsTo({ host, below, path, secure }: Cookie, { hostname, pathname, protocol }: URL): boolean {
  const isOfPath = pathname === path || pathname.startsWith(path.endsWith("/") ? path : `${path}/`);
  return (hostname === host || (below && isWithin(hostname, host))) && isOfPath && (!secure || protocol === "https:");
}

/** Whether a host is the domain, or below it. Addresses have nothing below them. */
function isWithin(host: string, domain: string): boolean {
  return host === domain || (host.endsWith(`.${domain}`) && !/^[\d.]+$|:/.test(host));
}
