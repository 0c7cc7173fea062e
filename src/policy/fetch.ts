import type { ToolCall } from "../core/contract/call.ts";
import type { Decision } from "../core/contract/decision.ts";
import { type Effect, isAct } from "../core/contract/effect.ts";
import type { Autonomy } from "../core/contract/policy.ts";
import { hostOf, hostRules } from "../machine/network/hosts.ts";
import type { NetworkSettings } from "../machine/network/network-settings.ts";
import type { UrlJudge } from "../machine/network/url.ts";
import { hasKnownKey } from "../core/output/mask-keys.ts";
import type { Conversations } from "../core/contract/conversations.ts";
import { tried } from "../core/util/errors.ts";

export type NetworkEffect = Extract<Effect, { kind: "fetch" | "request" | "search" }>;

/** Judges requests to the network. A request with an empty id is only judged, not made, so it uses up nothing. */
export type FetchJudge = (effect: NetworkEffect, request: Pick<ToolCall, "id" | "thread">) => Promise<Decision>;

/** Facts that the judge needs besides the settings. */
export interface NetworkFacts {
  /** What each conversation has seen. */
  readonly conversations: Pick<Conversations, "isKnown" | "judge">;
  /** Whether a text contains the value of a secret. */
  hasSecret(text: string): boolean;
}

/**
 * With the mode "open": how many characters of query, fragment and headers may be sent without a question to a host
 * that no message and no search result named.
 */
const UNASKED_CHARACTERS = 200;

/**
 * Creates the judge of fetches, requests and searches. What may not be reached is denied at every autonomy, and so are
 * requests in readonly. Always asked about: a secret in a URL or header, a name that looks like another, and with the
 * mode "ask" every URL that no rule names. Unless autonomy is full, a question is needed with the mode "seen" for what
 * the conversation has not seen, with "open" for a long query to a host that it has not seen, and for every other
 * method, and host that is not public. Otherwise GET and HEAD run. A search needs no question. A longer grant covers a
 * host.
 *
 * @throws TypeError for an entry of the settings that is not a host.
 */
export function fetchJudge(
  settings: NetworkSettings = {},
  autonomy: Autonomy,
  { conversations, hasSecret }: NetworkFacts,
): FetchJudge {
  const { allowHosts = [], denyHosts = [], allowPrivate = [], fetch: mode = "seen" } = settings;
  // Reports errors when the policy is created. The judge itself, with its address tables, is loaded for the first
  // fetch.
  hostRules(allowHosts, "network.allowHosts");
  hostRules(denyHosts, "network.denyHosts");
  hostRules(allowPrivate, "network.allowPrivate");
  let judge: Promise<UrlJudge> | undefined;
  const isSecret = (text: string) => [text, unescaped(text)].some((each) => hasKnownKey(each) || hasSecret(each));

  return async (effect, { id, thread }) => {
    judge ??= import("../machine/network/url.ts").then(({ urlJudge }) => urlJudge(settings));
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
    if (autonomy === "full") return { verdict: "allow", risk: "medium", rule: "autonomy" };
    if (effect.kind === "request")
      return ask("autonomy", "medium", host, `Sending to ${url.href} (${effect.method}) requires approval`);
    if (judged.private) return ask("private_host", "medium", host, `${fetching}: ${host} may not be a public host`);
    if (mode === "seen") {
      const leaving = { url: url.href, ...(effect.headers !== undefined && { headers: effect.headers }) };
      const judgement = await conversations.judge(thread, leaving, { take: id !== "" });
      if (judgement.verdict === "seen") return { verdict: "allow", risk: "low", rule: "seen" };
      return ask("network.fetch", "medium", host, `${fetching}: ${judgement.reason}`);
    }
    const carried = url.search.length + url.hash.length + values.join("").length;
    if (carried > UNASKED_CHARACTERS && !(await conversations.isKnown(thread, url))) {
      const unseen = `the host ${host} appeared in no message and no search result`;
      const why = `it carries ${carried} characters in its query, fragment or headers, and ${unseen}`;
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
  return tried(() => decodeURIComponent(text.replaceAll("+", " "))) ?? text;
}
