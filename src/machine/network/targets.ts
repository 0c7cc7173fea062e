import type { LookupAddress } from "node:dns";
import { judgeHost } from "./address.ts";
import { isAddress } from "./hosts.ts";

/** All addresses of a name; rejects with the resolver's error. */
export type Lookup = (name: string) => Promise<readonly LookupAddress[]>;

/** The target of a connection, in the canonical spelling of hosts (`hostOf`). */
export interface Target {
  readonly host: string;
  readonly port: number;
  /** Whether the address need not be public, because `allowPrivate` names the host. */
  readonly private: boolean;
}

/** The verdict on a name's addresses: the addresses that may be connected to, or what is wrong with them. */
export type AddressJudgement =
  | { readonly verdict: "allowed"; readonly addresses: readonly LookupAddress[] }
  | { readonly verdict: "refused"; readonly reason: string };

/**
 * Resolves a target once; the connection uses exactly these addresses. An address that is not public refuses the name,
 * unless the target may be private. Rejects with the resolver's error.
 */
export async function judgeAddresses({ host, private: isInside }: Target, lookup: Lookup): Promise<AddressJudgement> {
  const addresses = isAddress(host) ? [{ address: host, family: host.includes(":") ? 6 : 4 }] : await lookup(host);
  const wrong = judgeHost(addresses.map(({ address }) => address));
  if (wrong === undefined || (isInside && addresses.length > 0)) return { verdict: "allowed", addresses };
  return {
    verdict: "refused",
    reason:
      `${host} resolves to a private address (${wrong}). It is allowed only if the call names it and "${host}" ` +
      "is in allow_private.",
  };
}

/** "example.org:443", "[::1]:80". */
export function hostAndPort({ host, port }: Pick<Target, "host" | "port">): string {
  return `${host.includes(":") ? `[${host}]` : host}:${port}`;
}
