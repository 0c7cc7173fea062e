import type { Decision } from "../contract/decision.ts";
import { type Effect, isAct } from "../contract/effect.ts";
import type { Autonomy } from "../contract/policy.ts";
import { hostRules } from "../network/hosts.ts";
import type { NetworkSettings } from "../network/settings.ts";
import type { UrlJudge } from "../network/url.ts";
import { hasKnownKey } from "../output/mask-keys.ts";

export type FetchJudge = (effect: Extract<Effect, { kind: "fetch" }>) => Promise<Decision>;

/**
 * Rules for fetches: what may not be reached is refused in every autonomy; what only looks at a host that the user has
 * named runs; a key in the URL, and a name that looks like another, are asked about in every autonomy; the rest goes by
 * autonomy.
 *
 * @throws TypeError for an entry of the settings that is no host.
 */
export function fetchJudge(settings: NetworkSettings = {}, autonomy: Autonomy): FetchJudge {
  const { allowHosts = [], denyHosts = [], allowPrivate = [] } = settings;
  // Said when the policy is made; the judge itself, with its tables of addresses, is loaded for the first fetch.
  hostRules(allowHosts, "network.allowHosts");
  hostRules(denyHosts, "network.denyHosts");
  hostRules(allowPrivate, "network.allowPrivate");
  let judge: Promise<UrlJudge> | undefined;

  return async (effect) => {
    judge ??= import("../network/url.ts").then(({ urlJudge }) => urlJudge(settings));
    const judged = (await judge)(effect.url);
    if (judged.verdict === "refused")
      return { verdict: "deny", risk: "high", rule: judged.rule, reason: judged.reason };
    const { href } = judged.url;
    if (hasKnownKey(href)) {
      return ask(
        "key_in_url",
        "high",
        "Fetching this URL requires approval: there is something like a key or password in it",
      );
    }
    if (judged.verdict === "named" && !isAct(effect)) return { verdict: "allow", risk: "low", rule: "allow_hosts" };
    if (judged.verdict === "reachable" && judged.doubt !== undefined)
      return ask("look_alike", "high", `Fetching ${href} requires approval: ${judged.doubt}`);
    if (autonomy === "full") return { verdict: "allow", risk: "medium", rule: "autonomy" };
    const what = isAct(effect) ? `Sending to ${href} (${effect.method})` : `Fetching ${href}`;
    return ask("autonomy", "medium", `${what} requires approval`);
  };
}

function ask(rule: string, risk: "medium" | "high", reason: string): Decision {
  return { verdict: "ask", risk, rule, reason };
}
