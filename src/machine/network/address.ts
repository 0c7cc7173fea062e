import ipaddr from "ipaddr.js";
import { tried } from "../../core/util/errors.ts";

/**
 * Returns what is wrong with an address that is not public: "127.0.0.1 is a loopback address". `undefined` only for an
 * address that is known to be public. Invalid and unassigned addresses are wrong too.
 *
 * @param address IPv4 or IPv6, without brackets, as a URL or the resolver returns it
 * @see https://www.iana.org/assignments/iana-ipv4-special-registry
 * @see https://www.iana.org/assignments/iana-ipv6-special-registry
 */
export function judgeAddress(address: string): string | undefined {
  const canonical = inHexadecimal(address);
  if (!ipaddr.isValid(canonical)) return `${JSON.stringify(address)} is no address`;
  // An IPv4-mapped IPv6 address (::ffff:a.b.c.d) is judged as IPv4.
  const parsed = ipaddr.process(canonical);
  const special = SERVICES.get(parsed.toString());
  if (special !== undefined) return `${address} is ${special}`;
  const range = parsed.range();
  if (range !== "unicast") return `${address} is ${RANGES[range] ?? "an address for a special use"}`;
  if (parsed.kind() === "ipv4" || isHandedOut(parsed)) return undefined;
  return `${address} is an unassigned IPv6 address`;
}

/**
 * Judges all addresses of a name. One address that is not public refuses the name, because the connection may use any
 * address. A name without addresses is refused too.
 */
export function judgeHost(addresses: readonly string[]): string | undefined {
  if (addresses.length === 0) return "it has no address";
  for (const address of addresses) {
    const wrong = judgeAddress(address);
    if (wrong !== undefined) return wrong;
  }
  return undefined;
}

/** Addresses in public ranges that are internal: there, clouds return keys and settings of the requesting machine. */
const SERVICES: ReadonlyMap<string, string> = new Map([["168.63.129.16", "the address of a cloud's own services"]]);

/** The library's names of ranges, for people. */
const RANGES: { readonly [range: string]: string } = {
  unspecified: "an address of this machine",
  loopback: "a loopback address, this machine itself",
  private: "a private address",
  uniqueLocal: "a private address",
  deprecatedSiteLocal: "a private address",
  linkLocal: "a link-local address, where cloud metadata services hand out credentials",
  carrierGradeNat: "an address of a provider's own network",
  broadcast: "a broadcast address",
  multicast: "a multicast address",
  rfc6052: "an IPv4 address behind NAT64",
  rfc6145: "an IPv4 address behind a translator",
  "6to4": "an IPv4 address inside 6to4",
  teredo: "an IPv4 address inside Teredo",
  reserved: "a reserved address",
  benchmarking: "a reserved address",
  discard: "a reserved address",
};

/**
 * The library reads `::a.b.c.d` as `::ffff:a.b.c.d`, which is another address. Resolvers write both; a URL has one
 * spelling.
 */
function inHexadecimal(address: string): string {
  if (!address.includes(":") || !address.includes(".")) return address;
  return tried(() => new URL(`http://[${address.replace(/%.*$/, "")}]/`).hostname.slice(1, -1)) ?? ""; // not an address
}

/**
 * Of IPv6, only 2000::/3 is assigned (RFC 4291, and IANA's list of address space). The rest has forms that lead to
 * internal addresses, as ::/96.
 */
function isHandedOut(address: ipaddr.IPv4 | ipaddr.IPv6): boolean {
  return ((address.toByteArray()[0] ?? 0) & 0xe0) === 0x20;
}
