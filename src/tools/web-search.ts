import { Type } from "typebox";
import { notice } from "../core/contract/content.ts";
import { type ToolOptions, defineTool } from "../core/contract/tool.ts";
import { type SearchEngine, originsOf, search } from "./web/search.ts";
import { FROM_HERE } from "./shared/url-arguments.ts";
import { renameKeys } from "../core/util/rename-keys.ts";

const MOST_RESULTS = 20;

export interface WebSearchOptions extends ToolOptions {
  /** Default: DuckDuckGo. */
  readonly engine?: SearchEngine;
  /** Results shown for calls without `max_results`. Default 10. */
  readonly maxResults?: number;
}

/** Searches the web. Source: seeds 000 and 004. */
export const webSearch = ({ engine = { engine: "duckduckgo" }, maxResults = 10, ...options }: WebSearchOptions = {}) =>
  defineTool({
    name: "web_search",
    title: "Search the web",
    description: `Search the web. Returns titles, URLs and snippets. ${FROM_HERE}`,
    aliases: ["WebSearch", "google_web_search", "search_web"],
    ...options,
    paramsHint: "query (required), max_results",
    touches: ["search", "fetch"],
    input: Type.Object(
      {
        query: Type.String({ minLength: 1, description: "What to search for" }),
        max_results: Type.Optional(
          Type.Number({ description: `How many results (default: ${maxResults}, at most ${MOST_RESULTS})` }),
        ),
      },
      { additionalProperties: false },
    ),
    mend: (raw) =>
      typeof raw === "string"
        ? { query: raw }
        : renameKeys(raw, { q: "query", search_term: "query", maxResults: "max_results" }),
    effects: ({ query }) => originsOf(engine).map((origin) => ({ kind: "search", engine: origin, query })),
    async run({ query, max_results = maxResults }, { fetch: get, signal, meet, report }) {
      report({ displayMessage: `Searching: ${query}` });
      const most = Math.min(Math.max(1, Math.floor(max_results)), MOST_RESULTS);
      const hits = await search(engine, query, { most, signal, get });
      for (const { url } of hits) meet(url);
      return hits.map((hit) => ({ ...hit }));
    },
    render: (hits) =>
      hits.length === 0
        ? [notice("No results found. Try other or fewer words.")]
        : hits.map(({ title, url, snippet }, index) => listed(index + 1, title, url, snippet)).join("\n\n"),
  });

function listed(number: number, title: string, url: string, snippet: string): string {
  return [`${number}. ${title}`, `   ${url}`, ...(snippet === "" ? [] : [`   ${snippet}`])].join("\n");
}
