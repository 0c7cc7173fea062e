import { Type } from "typebox";
import { notice, text } from "../core/contract/content.ts";
import { type Limit, type ToolOptions, defineTool } from "../core/contract/tool.ts";
import { DEFAULT_MAX_BYTES, DEFAULT_MAX_LINES, savedNotice, truncateHead } from "../core/output/truncate.ts";
import { formatSize } from "../core/output/size.ts";
import { linksOf } from "../core/util/urls-in-text.ts";
import { ACCEPT_PAGE, readPage } from "./web/page.ts";
import { factsOf, noticesOf, reportFetch, requireSuccess } from "./shared/fetched.ts";
import { FROM_HERE, mendUrl } from "./shared/url-arguments.ts";

/** The limits that the tool's schema names. */
const [LEAST_BYTES, MOST_BYTES] = [1_024, 102_400];
const LIMIT: Limit = { lines: DEFAULT_MAX_LINES, bytes: MOST_BYTES };
const TIMEOUT_SECONDS = 30;

export interface WebFetchOptions extends ToolOptions {
  /** Seconds for the whole fetch. Default 30. */
  readonly timeout?: number;
}

/** Fetches a page as Markdown. */
export const webFetch = ({ timeout = TIMEOUT_SECONDS, ...options }: WebFetchOptions = {}) => {
  const limit = options.limit ?? LIMIT;
  return defineTool({
    name: "web_fetch",
    title: "Fetch web page",
    description:
      "Fetch a URL and return its content as text: HTML as Markdown (with headings, lists, tables and code), JSON " +
      `indented, PDF as plain text. A long page is cut at the end, and saved whole. ${FROM_HERE}`,
    aliases: ["WebFetch", "fetch", "fetch_page", "read_url", "browse"],
    ...options,
    limit,
    paramsHint: "url (required), max_bytes, main_only",
    touches: ["fetch"],
    input: Type.Object(
      {
        url: Type.String({ minLength: 1, description: "URL to fetch, http or https" }),
        max_bytes: Type.Optional(
          Type.Number({ description: "Bytes of text to show: 1024 to 102400 (default: 51200)" }),
        ),
        main_only: Type.Optional(
          Type.Boolean({ description: "Only the main content of an HTML page, if the page marks it (default: false)" }),
        ),
      },
      { additionalProperties: false },
    ),
    mend: mendUrl,
    effects: ({ url }) => [{ kind: "fetch", url, method: "GET" }],
    async run({ url, max_bytes = DEFAULT_MAX_BYTES, main_only = false }, context) {
      context.report({ displayMessage: `Fetching ${url}` });
      const fetched = await context.fetch(url, { headers: { accept: ACCEPT_PAGE }, timeoutMs: timeout * 1_000 });
      const page = await readPage(fetched, { mainOnly: main_only, signal: context.signal });
      context.linked(fetched.url, linksOf(fetched.url, [page.text, ...page.notes].join("\n")));
      requireSuccess(fetched, page.text, page.notes);
      const facts = factsOf(fetched, page.title);
      reportFetch(context, facts);
      const bytes = Math.min(Math.max(LEAST_BYTES, Math.floor(max_bytes)), limit.bytes ?? MOST_BYTES);
      const shown = truncateHead(page.text, { ...limit, bytes }, context.mask);
      const notices = [...noticesOf(fetched), ...page.notes.map((note) => `[${note}]`)];
      if (shown.truncated === false) return { ...facts, text: shown.text, notices };
      const id = await context.outputs.save(page.text);
      const cut = savedNotice(shown, id, context.outputs.forCommands);
      const size = `[The whole text has ${formatSize(shown.totalBytes)}.]`;
      return { ...facts, text: shown.text, notices: [...notices, cut, size], output: id };
    },
    render: ({ text: page, notices, status }) => [
      ...(page === "" ? [] : [text(page)]),
      ...(page === "" && notices.length === 0 ? [`(empty page, status ${status})`] : notices).map(notice),
    ],
  });
};
