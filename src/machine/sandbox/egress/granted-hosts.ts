import { hostOf, hostRules, portOf } from "../../network/hosts.ts";
import type { NetworkSettings } from "../../network/network-settings.ts";
import type { TargetJudgement } from "../../network/proxy/connector.ts";
import { hostAndPort } from "../../network/targets.ts";
import { urlJudge } from "../../network/url.ts";

/** Judges a URL by its host and port only. */
export type TargetJudge = (url: URL) => TargetJudgement;

/**
 * Creates a judge from the hosts that a command was granted (`SandboxAccess.network`; an empty list allows nothing) and
 * the network settings, which also limit grants. A rule without a port opens 80, 443 and `network.ports`. "*" opens all
 * public hosts on these ports, except names that look like other names. Resolves no names: see `judgeAddresses`.
 *
 * @throws TypeError for an entry of the lists that is not a host.
 */
export function targetJudge(hosts: readonly string[], network: NetworkSettings = {}): TargetJudge {
  const named = hosts.filter((host) => host !== "*");
  const isOpen = named.length < hosts.length;
  hostRules(named, "network"); // throws errors that name the argument
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
      // A command can ask for a port; it cannot ask for what the user's settings close.
      return refused(judged.rule === "port" ? undefined : judged.reason.replace(/^URL not allowed [^:]*: /, ""));
    }
    if (judged.verdict === "named") return { verdict: "allowed", target: { ...target, private: judged.private } };
    if (!isOpen) return refused();
    if (judged.doubt !== undefined) return refused(`${judged.doubt}, so "*" does not include it.`);
    return { verdict: "allowed", target: { ...target, private: false } };
  };
}
