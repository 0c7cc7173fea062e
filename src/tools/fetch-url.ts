import { Type } from "typebox";
import { notice, text } from "../core/contract/content.ts";
import { type Limit, type ToolOptions, defineTool } from "../core/contract/tool.ts";
import { truncateHead } from "../core/output/truncate.ts";
import { rawText } from "./web/page.ts";
import { factsOf, noticesOf, reportFetch, requireSuccess } from "./shared/fetched.ts";
import { FROM_HERE, mendUrl } from "./shared/url-arguments.ts";

/** What an operator reads of one page; `http_request` and `web_fetch` return more. */
const LIMIT: Limit = { characters: 8_000 };
const TRUNCATED = "...[truncated]";
const TIMEOUT_MS = 20_000;

/** Gets a URL and returns the beginning of its body as it is. */
export const fetchUrl = (options: ToolOptions = {}) => {
  const limit = options.limit ?? LIMIT;
  return defineTool({
    name: "fetch_url",
    title: "Fetch URL",
    description: `Perform an HTTP GET and return the response body as it is, at most 8,000 characters. ${FROM_HERE}`,
    ...options,
    limit,
    paramsHint: "url (required)",
    touches: ["fetch"],
    input: Type.Object(
      { url: Type.String({ minLength: 1, description: "URL to get, http or https" }) },
      { additionalProperties: false },
    ),
    mend: mendUrl,
    effects: ({ url }) => [{ kind: "fetch", url, method: "GET" }],
    async run({ url }, context) {
      context.report({ displayMessage: `Fetching ${url}` });
      const fetched = await context.fetch(url, { timeoutMs: TIMEOUT_MS });
      const body = rawText(fetched);
      requireSuccess(fetched, body);
      const facts = factsOf(fetched);
      reportFetch(context, facts);
      const shown = truncateHead(body, limit, context.mask);
      const truncated = fetched.truncated || shown.truncated !== false;
      return {
        ...facts,
        text: shown.text,
        truncated,
        notices: fetched.incomplete === undefined ? [] : noticesOf(fetched),
      };
    },
    render: ({ text: body, truncated, notices }) => [
      text(truncated ? `${body}${TRUNCATED}` : body),
      ...notices.map(notice),
    ],
  });
};
