import type { Decision } from "../contract/decision.ts";
import { type Effect, isAct } from "../contract/effect.ts";
import type { Autonomy } from "../contract/policy.ts";
import { hostOf, hostRules } from "../network/hosts.ts";
import type { NetworkSettings } from "../network/settings.ts";
import type { UrlJudge } from "../network/url.ts";
import { hasKnownKey } from "../output/mask-keys.ts";

export type NetworkEffect = Extract<Effect, { kind: "fetch" | "request" | "search" }>;

/** Judges what goes out to the network. */
export type FetchJudge = (effect: NetworkEffect, thread: string) => Promise<Decision>;

/** What the judge has to know beside the settings. */
export interface NetworkFacts {
  /** Whether the thread has met the host of this URL: in a search result, by fetching from it, or in the user's words. */
  isKnown(thread: string, url: URL): boolean;
  /** Whether a text has the value of a secret in it. */
  hasSecret(text: string): boolean;
}

/** So many characters of query, fragment and headers go unasked to a host that the thread has not met. */
const UNASKED_CHARACTERS = 200;

/**
 * Rules for fetches, requests and searches. What may not be reached is refused in every autonomy, and so are requests in readonly. Asked about in
 * every autonomy: a secret in a URL or header, and a name that looks like another; with the mode "known" a host that the thread has not met, with
 * "ask" every URL that no rule names. Otherwise GET and HEAD of a public host run; where autonomy is not full, a long query to a host that the
 * thread has not met is asked about, and so is every other method and host. A search asks nothing. What is allowed for longer covers a host.
 *
 * @throws TypeError for an entry of the settings that is no host.
 */
export function fetchJudge(
  settings: NetworkSettings = {},
  autonomy: Autonomy,
  { isKnown, hasSecret }: NetworkFacts,
): FetchJudge {
  const { allowHosts = [], denyHosts = [], allowPrivate = [], fetch: mode = "open" } = settings;
  // Said when the policy is made; the judge itself, with its tables of addresses, is loaded for the first fetch.
  hostRules(allowHosts, "network.allowHosts");
  hostRules(denyHosts, "network.denyHosts");
  hostRules(allowPrivate, "network.allowPrivate");
  let judge: Promise<UrlJudge> | undefined;
  const isSecret = (text: string) => [text, unescaped(text)].some((each) => hasKnownKey(each) || hasSecret(each));

  return async (effect, thread) => {
    judge ??= import("../network/url.ts").then(({ urlJudge }) => urlJudge(settings));
    const judged = (await judge)(effect.kind === "search" ? effect.engine : effect.url);
    if (judged.verdict === "refused")
      return { verdict: "deny", risk: "high", rule: judged.rule, reason: judged.reason };
    if (effect.kind === "search") return { verdict: "allow", risk: "low", rule: "search" };
    const { url } = judged;
    const host = hostOf(url);
    const values = Object.values(effect.headers ?? {});
    if (url.username !== "" || url.password !== "" || [url.href, ...values].some(isSecret)) {
      const what = "there is something like a key or password in its URL or headers";
      return ask("key_in_url", "high", host, `A request to ${host} requires approval: ${what}`);
    }
    if (judged.verdict === "named" && !isAct(effect)) return { verdict: "allow", risk: "low", rule: "allow_hosts" };
    const fetching = `Fetching ${url.href} requires approval`;
    if (judged.verdict === "reachable" && judged.doubt !== undefined)
      return ask("look_alike", "high", host, `${fetching}: ${judged.doubt}`);
    if (effect.kind === "fetch" && mode === "ask") return ask("network.fetch", "medium", host, fetching);
    const met = isKnown(thread, url);
    const unmet = `${host} was in no search result, fetched page or message of the user's`;
    if (effect.kind === "fetch" && mode === "known" && !met)
      return ask("network.fetch", "medium", host, `${fetching}: ${unmet}`);
    if (autonomy === "full") return { verdict: "allow", risk: "medium", rule: "autonomy" };
    if (effect.kind === "request")
      return ask("autonomy", "medium", host, `Sending to ${url.href} (${effect.method}) requires approval`);
    if (judged.private) return ask("private_host", "medium", host, `${fetching}: ${host} need not be a public host`);
    const carried = url.search.length + url.hash.length + values.join("").length;
    if (carried > UNASKED_CHARACTERS && !met) {
      const why = `it carries ${carried} characters in its query, fragment or headers, and ${unmet}`;
      return ask("long_query", "medium", host, `${fetching}: ${why}`);
    }
    return { verdict: "allow", risk: "low", rule: "public_host" };
  };
}

/** What each question is about, as it can be granted for longer: the host, for this reason. */
const LABELS = {
  key_in_url: (host: string) => `Requests to ${host} with keys or passwords in them`,
  look_alike: (host: string) => `Fetch from ${host}`,
  "network.fetch": (host: string) => `Fetch from ${host}`,
  private_host: (host: string) => `Fetch from ${host}`,
  long_query: (host: string) => `Fetch from ${host}, with long queries`,
  autonomy: (host: string) => `Send to ${host}`,
};

function ask(rule: keyof typeof LABELS, risk: "medium" | "high", host: string, reason: string): Decision {
  const label = LABELS[rule](host);
  return { verdict: "ask", risk, rule, reason, scopes: [{ label, key: label }] };
}

/** A secret may be written with escapes. */
function unescaped(text: string): string {
  try {
    return decodeURIComponent(text.replaceAll("+", " "));
  } catch {
    return text;
  }
}
