import type { Decision } from "../contract/decision.ts";
import { type Effect, isAct } from "../contract/effect.ts";
import type { Autonomy } from "../contract/policy.ts";
import { hostOf, hostRules } from "../network/hosts.ts";
import type { NetworkSettings } from "../network/network-settings.ts";
import type { UrlJudge } from "../network/url.ts";
import { hasKnownKey } from "../output/mask-keys.ts";

export type NetworkEffect = Extract<Effect, { kind: "fetch" | "request" | "search" }>;

/** Judges requests to the network. */
export type FetchJudge = (effect: NetworkEffect, thread: string) => Promise<Decision>;

/** Facts that the judge needs besides the settings. */
export interface NetworkFacts {
  /**
   * Whether the thread has met the host of this URL: in a search result, by fetching from it, or in the user's words.
   */
  isKnown(thread: string, url: URL): boolean;
  /** Whether a text contains the value of a secret. */
  hasSecret(text: string): boolean;
}

/**
 * How many characters of query, fragment and headers may go without a question to a host that the thread has not met.
 */
const UNASKED_CHARACTERS = 200;

/**
 * Creates the judge of fetches, requests and searches. What may not be reached is denied at every autonomy, and so are
 * requests in readonly. Always asked about: a secret in a URL or header, a name that looks like another, with the mode
 * "known" a host that the thread has not met, and with "ask" every URL that no rule names. Otherwise GET and HEAD of a
 * public host run. Unless autonomy is full, a question is needed for a long query to a host that the thread has not
 * met, and for every other method and host. A search needs none. A longer grant covers a host.
 *
 * @throws TypeError for an entry of the settings that is not a host.
 */
export function fetchJudge(
  settings: NetworkSettings = {},
  autonomy: Autonomy,
  { isKnown, hasSecret }: NetworkFacts,
): FetchJudge {
  const { allowHosts = [], denyHosts = [], allowPrivate = [], fetch: mode = "open" } = settings;
  // Reports errors when the policy is created. The judge itself, with its address tables, is loaded for the first
  // fetch.
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
      const what = "its URL or headers seem to contain a key or password";
      return ask("key_in_url", "high", host, `A request to ${host} requires approval: ${what}`);
    }
    if (judged.verdict === "named" && !isAct(effect)) return { verdict: "allow", risk: "low", rule: "allow_hosts" };
    const fetching = `Fetching ${url.href} requires approval`;
    if (judged.verdict === "reachable" && judged.doubt !== undefined)
      return ask("look_alike", "high", host, `${fetching}: ${judged.doubt}`);
    if (effect.kind === "fetch" && mode === "ask") return ask("network.fetch", "medium", host, fetching);
    const met = isKnown(thread, url);
    const unmet = `${host} did not appear in a search result, a fetched page or a user message`;
    if (effect.kind === "fetch" && mode === "known" && !met)
      return ask("network.fetch", "medium", host, `${fetching}: ${unmet}`);
    if (autonomy === "full") return { verdict: "allow", risk: "medium", rule: "autonomy" };
    if (effect.kind === "request")
      return ask("autonomy", "medium", host, `Sending to ${url.href} (${effect.method}) requires approval`);
    if (judged.private) return ask("private_host", "medium", host, `${fetching}: ${host} may not be a public host`);
    const carried = url.search.length + url.hash.length + values.join("").length;
    if (carried > UNASKED_CHARACTERS && !met) {
      const why = `it carries ${carried} characters in its query, fragment or headers, and ${unmet}`;
      return ask("long_query", "medium", host, `${fetching}: ${why}`);
    }
    return { verdict: "allow", risk: "low", rule: "public_host" };
  };
}

/** The label of each question's scope: the host and the reason. */
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

/** Decodes escapes, in which a secret may be written. */
function unescaped(text: string): string {
  try {
    return decodeURIComponent(text.replaceAll("+", " "));
  } catch {
    return text;
  }
}
