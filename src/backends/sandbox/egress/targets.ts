import type { LookupAddress } from "node:dns";
import { judgeHost } from "../../../network/address.ts";
import { hostOf, hostRules, isAddress, portOf } from "../../../network/hosts.ts";
import type { NetworkSettings } from "../../../network/settings.ts";
import { urlJudge } from "../../../network/url.ts";

/** All addresses of a name; rejects with the resolver's error. */
export type Lookup = (name: string) => Promise<readonly LookupAddress[]>;

/** Where a connection shall go, in the one spelling of hosts (`hostOf`). */
export interface Target {
  readonly host: string;
  readonly port: number;
  /** It need not be public: a rule names it, and `allowPrivate` does too. */
  readonly private: boolean;
}

/** What is said of where a command wants to go. */
export type TargetJudgement =
  | { readonly verdict: "allowed"; readonly target: Target }
  /** `host` is "name:port"; no reason: nobody allowed it. */
  | { readonly verdict: "refused"; readonly host: string; readonly reason?: string };

/** What is said of a name's addresses: those that may be connected to, or what is wrong with them. */
export type AddressJudgement =
  | { readonly verdict: "allowed"; readonly addresses: readonly LookupAddress[] }
  | { readonly verdict: "refused"; readonly reason: string };

/** Judges a URL of which only host and port count. */
export type TargetJudge = (url: URL) => TargetJudgement;

/**
 * Makes a judge of targets by the hosts that a command was given (rules as `Needs.network` has them) and what no grant lets through. No
 * rules allow nothing. A rule without a port opens 80, 443 and `network.ports`; "*" opens every public host there, but none that looks like
 * another name. Nothing is looked up here: see `judgeAddresses`.
 *
 * @throws TypeError for an entry of the lists that is no host.
 */
export function targetJudge(hosts: readonly string[], network: NetworkSettings = {}): TargetJudge {
  const named = hosts.filter((host) => host !== "*");
  const isOpen = named.length < hosts.length;
  hostRules(named, "network"); // so that what is wrong is told by the name of the argument
  const judge = urlJudge({ ...network, allowHosts: named });

  return (url) => {
    const target = { host: hostOf(url), port: portOf(url) };
    const refused = (reason?: string): TargetJudgement => ({
      verdict: "refused",
      host: hostAndPort(target),
      ...(reason !== undefined && { reason }),
    });
    const judged = judge(`http://${hostAndPort(target)}/`);
    if (judged.verdict === "refused") {
      // A port is opened by asking for it, unlike what the user's own settings close.
      return refused(judged.rule === "port" ? undefined : judged.reason.replace(/^URL not allowed [^:]*: /, ""));
    }
    if (judged.verdict === "named") return { verdict: "allowed", target: { ...target, private: judged.private } };
    if (!isOpen) return refused();
    if (judged.doubt !== undefined) return refused(`${judged.doubt}, so "*" does not stand for it.`);
    return { verdict: "allowed", target: { ...target, private: false } };
  };
}

/**
 * Looks a target up, once: what is connected to are these very addresses. One that is not public refuses the name, unless the target may
 * be private. Rejects with the resolver's error.
 */
export async function judgeAddresses({ host, private: isInside }: Target, lookup: Lookup): Promise<AddressJudgement> {
  const addresses = isAddress(host) ? [{ address: host, family: host.includes(":") ? 6 : 4 }] : await lookup(host);
  const wrong = judgeHost(addresses.map(({ address }) => address));
  if (wrong === undefined || (isInside && addresses.length > 0)) return { verdict: "allowed", addresses };
  return {
    verdict: "refused",
    reason: `${host} leads inside (${wrong}). It is reached only where it is given by name and "${host}" is in allow_private.`,
  };
}

/** "example.org:443", "[::1]:80". */
export function hostAndPort({ host, port }: Pick<Target, "host" | "port">): string {
  return `${host.includes(":") ? `[${host}]` : host}:${port}`;
}
