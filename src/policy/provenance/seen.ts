import type { Leaving, SeenFact, SeenJudgement } from "../../core/contract/conversations.ts";
import { hostOf, portOf } from "../../machine/network/hosts.ts";
import { openLabels } from "./listed-hosts.ts";
import { urlsInText } from "../../core/util/urls-in-text.ts";
import { tried } from "../../core/util/errors.ts";

/** What a conversation has seen, and what has left the machine unasked. Changed only by `fold`. */
export interface SeenState {
  /** URLs of messages and search results, as `keyOf` returns them. */
  readonly urls: Set<string>;
  readonly approved: Set<string>;
  /** Hosts of messages and search results. */
  readonly hosts: Set<string>;
  /** Links of fetched pages, and the host of the first page that has them. */
  readonly links: Map<string, string>;
  /** Words of messages and of all these URLs. */
  readonly words: Set<string>;
  readonly sent: Set<string>;
  /** How many links were followed, by the host of their page. */
  readonly followed: Map<string, number>;
  /** How many characters of composed URLs have left. */
  readonly spent: { listed: number; others: number };
}

/**
 * How many characters of composed URLs may leave unasked in a conversation, and how many links of a host are followed.
 */
export const SEEN_LIMITS = { listed: 8_000, others: 1_000, linksOfHost: 100, links: 1_000 } as const;

/** Longer words count as data, even if they were seen: a person may have pasted a key. */
const LONGEST_WORD = 32;
/** The maximum number of entries that are kept of each kind; the oldest are dropped. */
const MOST_KEPT = 100_000;

export function nothingSeen(): SeenState {
  return {
    urls: new Set(),
    approved: new Set(),
    hosts: new Set(),
    links: new Map(),
    words: new Set(),
    sent: new Set(),
    followed: new Map(),
    spent: { listed: 0, others: 0 },
  };
}

/** Adds a fact. Text that is not a URL is ignored. */
export function fold(state: SeenState, fact: SeenFact): void {
  switch (fact.kind) {
    case "message": {
      const { urls, hosts } = urlsInText(fact.text);
      for (const url of urls) addUrl(state, url);
      for (const host of hosts) addHost(state, `http://${host}/`);
      addWords(state, fact.text);
      return;
    }
    case "found":
      addHost(state, fact.url);
      return addUrl(state, fact.url);
    case "approved": {
      const url = parsed(fact.url);
      if (url !== undefined) state.approved.add(keyOf(url));
      return dropOldest(state.approved);
    }
    case "linked": {
      const page = parsed(fact.page);
      if (page === undefined) return;
      for (const link of fact.links) {
        const url = parsed(link);
        if (url === undefined) continue;
        for (const key of keysOf(url)) if (!state.links.has(key)) state.links.set(key, nameOf(page));
        dropOldest(state.links);
        addWords(state, tailOf(url));
      }
      return;
    }
    case "sent":
      return spend(state, fact);
  }
}

/**
 * Judges whether a request tells its host something that the conversation has not seen. It does not when its URL was in
 * a message or search result, or is a link of a fetched page (up to a limit for the pages of each host, because the
 * choice of a link tells the host something too). A URL that a model has composed may run on hosts of messages, search
 * results and the list, as long as their budget lasts: a word that was seen costs 1, everything else its characters.
 */
export function judgeSeen(state: SeenState, request: Leaving): SeenJudgement {
  const url = parsed(request.url);
  if (url === undefined) return { verdict: "unseen", reason: "it is no URL" };
  const as = seenAs(state, url);
  const told = toldBy(request, url, as);
  if (as !== undefined && told === "") return { verdict: "seen", as };
  const host = nameOf(url);
  const isListed = isOnList(url);
  if (!isListed && !state.hosts.has(host))
    return { verdict: "unseen", reason: `the host ${host} appeared in no message and no search result` };
  const encoded = isListed ? undefined : encodedIn(state, told);
  if (encoded !== undefined)
    return { verdict: "unseen", reason: `"${encoded}" in it looks like encoded data, and appeared nowhere before` };
  const which = isListed ? "listed" : "others";
  const [cost, left] = [costOf(state, told), SEEN_LIMITS[which] - state.spent[which]];
  if (cost <= left) return { verdict: "seen", as: "composed" };
  const where = isListed ? "known hosts of code and documentation" : "hosts of messages and search results";
  return {
    verdict: "unseen",
    reason:
      `it tells ${host} ${cost} characters that appeared in no message, search result or page, and of the ` +
      `${SEEN_LIMITS[which]} for ${where} ${Math.max(0, left)} are left`,
  };
}

/** Whether a message or a search result named the host of this URL. */
export function isKnownHost(state: SeenState, url: URL): boolean {
  return state.hosts.has(nameOf(url));
}

function spend(state: SeenState, request: Leaving): void {
  const judged = judgeSeen(state, request);
  const url = parsed(request.url);
  if (judged.verdict === "unseen" || url === undefined) return;
  const as = seenAs(state, url);
  const told = toldBy(request, url, as);
  if (as === "link") {
    const page = state.links.get(keyOf(url)) ?? "";
    state.followed.set(page, (state.followed.get(page) ?? 0) + 1);
  }
  if (told === "") return;
  state.spent[isOnList(url) ? "listed" : "others"] += costOf(state, told);
  state.sent.add(told);
  dropOldest(state.sent);
}

/** Where a URL was seen; `undefined` for a URL that the model has composed. */
function seenAs({ urls, approved, links, followed }: SeenState, url: URL): "url" | "link" | "approved" | undefined {
  const key = keyOf(url);
  if (urls.has(key)) return "url";
  if (approved.has(key)) return "approved";
  const page = links.get(key);
  if (page === undefined) return undefined;
  let all = 0;
  for (const count of followed.values()) all += count;
  const isWithin = (followed.get(page) ?? 0) < SEEN_LIMITS.linksOfHost && all < SEEN_LIMITS.links;
  return isWithin ? "link" : undefined;
}

/** The text that the model chose: headers and, for a URL that it composed, the host's open labels and what follows. */
function toldBy({ headers = {} }: Leaving, url: URL, as: ReturnType<typeof seenAs>): string {
  const given = Object.entries(headers)
    .map(([name, value]) => `${name.toLowerCase()}: ${value}`)
    .filter((header) => !USUAL_HEADERS.has(header));
  const composed = as === undefined ? [openLabels(nameOf(url)) ?? "", tailOf(url)] : [];
  return [...composed, ...given].filter((part) => part !== "").join(" ");
}

/** Headers that tell nothing. */
const USUAL_HEADERS: ReadonlySet<string> = new Set(
  ["*/*", "application/json", "text/html", "text/plain", "application/vnd.github+json"].map(
    (type) => `accept: ${type}`,
  ),
);

/** What a text tells a host, in characters. Telling the same text again costs 1. */
function costOf(state: SeenState, told: string): number {
  if (told === "") return 0;
  if (state.sent.has(told)) return 1;
  let cost = 0;
  for (const [piece] of told.matchAll(PIECE)) cost += isSeenWord(state, piece) ? 1 : piece.length;
  return cost;
}

/** Words, and single characters between them. */
const PIECE = /[\p{L}\p{N}]+|[^\p{L}\p{N}]/gu;

function isSeenWord({ words }: SeenState, piece: string): boolean {
  return piece.length <= LONGEST_WORD && words.has(piece);
}

/** Returns a part that may be encoded data: 16 or more hexadecimal digits, or characters mixed as in no word. */
function encodedIn(state: SeenState, told: string): string | undefined {
  const text = tried(() => decodeURIComponent(told)) ?? told;
  const hexadecimal = text.match(/(?:[\da-f][-_.:]?){16,}/gi) ?? [];
  const runs = text.match(/[a-z\d]{16,}/gi) ?? [];
  const encoded = [...hexadecimal.filter((run) => /\d/.test(run)), ...runs.filter(isMixed)];
  return encoded.find((run) => !isSeenWhole(state, run));
}

function isSeenWhole({ words }: SeenState, run: string): boolean {
  return (run.match(/[\p{L}\p{N}]+/gu) ?? []).every((word) => words.has(word));
}

/**
 * True for a run without the order of words: digits between letters more than twice, or capitals within words more
 * often than names of programs have them.
 */
function isMixed(run: string): boolean {
  const digits = run.match(/[a-z]\d|\d[a-z]/gi)?.length ?? 0;
  const capitals = run.match(/[A-Z]{2}[a-z]|[a-z][A-Z]{2}|[A-Z]\d|\d[A-Z]/g)?.length ?? 0;
  return digits > 2 || capitals > 2;
}

function addUrl(state: SeenState, text: string): void {
  const url = parsed(text);
  if (url === undefined) return;
  for (const key of keysOf(url)) state.urls.add(key);
  dropOldest(state.urls);
  addWords(state, tailOf(url));
}

function addHost({ hosts }: SeenState, text: string): void {
  const url = parsed(text);
  if (url === undefined) return;
  hosts.add(nameOf(url));
  dropOldest(hosts);
}

function addWords({ words }: SeenState, text: string): void {
  for (const [word] of text.matchAll(/[\p{L}\p{N}]+/gu)) {
    words.add(word);
    dropOldest(words);
  }
}

function dropOldest(kept: Set<string> | Map<string, string>): void {
  if (kept.size <= MOST_KEPT) return;
  const [oldest] = kept.keys();
  if (oldest !== undefined) kept.delete(oldest);
}

/** Equal for URLs that a person takes for the same: http or https, "www." or not, a slash at the end or not. */
function keyOf(url: URL): string {
  const port = isUsualPort(url) ? "" : `:${portOf(url)}`;
  return `${nameOf(url)}${port}${url.pathname.replace(/\/$/, "")}${url.search}${url.hash}`;
}

/** The keys of a URL as it was seen, and without its fragment. */
function keysOf(url: URL): readonly string[] {
  const key = keyOf(url);
  return url.hash === "" ? [key] : [key, key.slice(0, -url.hash.length)];
}

/** The part of the URL behind the origin. */
function tailOf({ pathname, search, hash }: URL): string {
  return `${pathname.replace(/^\//, "")}${search}${hash}`;
}

function nameOf(url: URL): string {
  return hostOf(url).replace(/^www\./, "");
}

function isOnList(url: URL): boolean {
  return isUsualPort(url) && openLabels(nameOf(url)) !== undefined;
}

function isUsualPort(url: URL): boolean {
  return url.port === "";
}

function parsed(text: string): URL | undefined {
  return URL.canParse(text) ? new URL(text) : undefined;
}
