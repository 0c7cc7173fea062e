import { hostOf, hostRules, portOf } from "../../../network/hosts.ts";
import type { NetworkSettings } from "../../../network/settings.ts";
import { type Target, hostAndPort } from "../../../network/targets.ts";
import { urlJudge } from "../../../network/url.ts";

/** What is said of where a command wants to go. */
export type TargetJudgement =
  | { readonly verdict: "allowed"; readonly target: Target }
  /** `host` is "name:port"; no reason: nobody allowed it. */
  | { readonly verdict: "refused"; readonly host: string; readonly reason?: string };

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
