import { ToolFailure } from "../../core/contract/failure.ts";
import type { FetchOptions, Fetched } from "../../core/contract/fetch.ts";
import { pause } from "../../core/util/abort.ts";
import type { SearchHit } from "./hit.ts";
import { read } from "./reader.ts";

/** The engine to use. */
export type SearchEngine =
  | { readonly engine: "duckduckgo" }
  /** `url` is an instance whose settings allow the format "json". */
  | { readonly engine: "searxng"; readonly url: string }
  | { readonly engine: "brave"; readonly key: string };

export interface SearchOptions {
  readonly most: number;
  readonly signal: AbortSignal;
  get(url: string, options?: FetchOptions): Promise<Fetched>;
}

const DUCKDUCKGO = ["https://html.duckduckgo.com/html/", "https://lite.duckduckgo.com/lite/"] as const;
const BRAVE = "https://api.search.brave.com/res/v1/web/search";
/** The delay before an engine is asked again, unless it names one. Milliseconds. */
const PAUSE_MS = 1_500;
const LONGEST_PAUSE_MS = 10_000;

/** The origins that a search sends requests to. */
export function originsOf(engine: SearchEngine): readonly string[] {
  if (engine.engine === "searxng") return [new URL(engine.url).origin];
  return (engine.engine === "brave" ? [BRAVE] : DUCKDUCKGO).map((url) => new URL(url).origin);
}

/**
 * Searches the web. Resolves to an empty list when the engine reports no results.
 *
 * @throws ToolFailure when the engine refuses automatic requests, when its format is unknown, and when it cannot be
 *   reached.
 */
export async function search(
  engine: SearchEngine,
  query: string,
  options: SearchOptions,
): Promise<readonly SearchHit[]> {
  const hits = await ASK[engine.engine](engine as never, query, options);
  return hits.slice(0, options.most);
}

type Ask<E extends SearchEngine["engine"]> = (
  engine: Extract<SearchEngine, { engine: E }>,
  query: string,
  options: SearchOptions,
) => Promise<readonly SearchHit[]>;

const ASK: { readonly [E in SearchEngine["engine"]]: Ask<E> } = {
  async duckduckgo(_, query, { get, signal }) {
    let problem: "blocked" | "changed" = "changed";
    for (const [attempt, endpoint] of DUCKDUCKGO.entries()) {
      const answer = await get(withQuery(endpoint, { q: query }), { headers: { accept: "text/html" } });
      const { status, body, headers } = answer;
      const contentType = headers["content-type"] ?? "";
      const page = status === 200 ? await read({ kind: "results", bytes: body, contentType }, { signal }) : undefined;
      if (page?.kind === "results") return page.hits;
      if (page?.kind === "none") return [];
      if (page === undefined && !BLOCKING.has(status)) throw answered("DuckDuckGo", answer);
      problem = page?.kind ?? "blocked";
      if (attempt === 0 && problem === "blocked") await politely(answer, signal);
    }
    throw problem === "blocked" ? blocked("DuckDuckGo") : changed("DuckDuckGo");
  },

  async searxng({ url }, query, options) {
    const endpoint = new URL("search", url.endsWith("/") ? url : `${url}/`).href;
    const data = await json("SearXNG", withQuery(endpoint, { q: query, format: "json" }), {}, options);
    return hitsOf("SearXNG", field(data, "results"), "content");
  },

  async brave({ key }, query, options) {
    const url = withQuery(BRAVE, { q: query, count: String(options.most) });
    const data = await json("Brave Search", url, { "x-subscription-token": key }, options);
    // A response without results has no "web" field.
    const web = field(data, "web");
    return web === undefined ? [] : hitsOf("Brave Search", field(web, "results"), "description");
  },
};

/** DuckDuckGo answers 202 with a page that asks whether the user is human. */
const BLOCKING: ReadonlySet<number> = new Set([202, 403, 429]);

function withQuery(url: string, query: { readonly [name: string]: string }): string {
  return `${url}?${new URLSearchParams(query).toString()}`;
}

/** Fetches JSON from an engine. Asks once more when it is too busy. */
async function json(
  name: string,
  url: string,
  headers: { readonly [name: string]: string },
  { get, signal }: SearchOptions,
): Promise<unknown> {
  const ask = () => get(url, { headers: { accept: "application/json", ...headers } });
  let answer = await ask();
  if (answer.status === 429 || answer.status === 503) {
    await politely(answer, signal);
    answer = await ask();
  }
  if (answer.status !== 200) throw BLOCKING.has(answer.status) ? blocked(name) : answered(name, answer);
  try {
    return JSON.parse(Buffer.from(answer.body).toString("utf8"));
  } catch {
    throw changed(name);
  }
}

async function politely({ headers }: Fetched, signal: AbortSignal): Promise<void> {
  const seconds = Number(headers["retry-after"]);
  await pause(Number.isFinite(seconds) && seconds > 0 ? Math.min(seconds * 1_000, LONGEST_PAUSE_MS) : PAUSE_MS, signal);
  signal.throwIfAborted();
}

/** @throws ToolFailure when it is not a list of results. */
function hitsOf(name: string, results: unknown, snippet: string): readonly SearchHit[] {
  if (!Array.isArray(results)) throw changed(name);
  return results.flatMap((result: unknown): SearchHit[] => {
    const [title, url, words] = [field(result, "title"), field(result, "url"), field(result, snippet)].map(plain);
    return title === undefined || url === undefined || !URL.canParse(url) ? [] : [{ title, url, snippet: words ?? "" }];
  });
}

function field(value: unknown, name: string): unknown {
  return typeof value === "object" && value !== null
    ? (value as { readonly [name: string]: unknown })[name]
    : undefined;
}

/** Removes the engine's marks around matched words. */
function plain(value: unknown): string | undefined {
  if (typeof value !== "string") return undefined;
  return value
    .replace(/<\/?(?:strong|b|em|mark|span)\b[^>]*>/gi, "")
    .replace(/\s+/g, " ")
    .trim();
}

function blocked(name: string): ToolFailure {
  return new ToolFailure(`${name} refuses automatic requests from this machine for now`, {
    hint:
      "Wait some minutes before the next search, or fetch a page that you know. A person can choose another " +
      "engine: search.engine.",
  });
}

function changed(name: string): ToolFailure {
  return new ToolFailure(`the format of ${name}'s results has changed, so they cannot be read`, {
    hint:
      "Searching again does not help; fetch a page that you know. A person can choose another engine: " +
      "search.engine.",
  });
}

function answered(name: string, { status, statusText }: Fetched): ToolFailure {
  return new ToolFailure(`${name} answered ${status} ${statusText}`.trim(), {
    hint: "Try again later. A person can choose another engine: search.engine.",
  });
}
