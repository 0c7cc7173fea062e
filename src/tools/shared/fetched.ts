import { STATUS_CODES } from "node:http";
import { text } from "../../contract/content.ts";
import { ToolFailure } from "../../contract/failure.ts";
import type { Fetched } from "../../contract/fetch.ts";
import type { ToolContext } from "../../contract/tool.ts";
import { formatSize } from "../../output/size.ts";

/** How many characters of an error page are shown. */
const ERROR_SHOWN = 2_000;

/** The facts about a fetch that the activity and programs get. */
export function factsOf({ url, status, body, ms, headers }: Fetched, title = "") {
  const type = headers["content-type"]?.split(";")[0]?.trim() ?? "";
  return { url, status, title, type, size: body.length, ms };
}

/** Reports the fetch to people. */
export function reportFetch({ report }: ToolContext, facts: ReturnType<typeof factsOf>): void {
  const { title, url, size, ms } = facts;
  report({
    displayMessage: `${title === "" ? url : `${title} (${url})`}, ${formatSize(size)} in ${ms} ms`,
    data: facts,
  });
}

/** The notices about redirects and truncation for the model. */
export function noticesOf({ redirects, url, truncated, body }: Fetched): readonly string[] {
  return [
    ...(redirects > 0 ? [`[Redirected to: ${url}]`] : []),
    ...(truncated ? [`[Only the first ${formatSize(body.length)} of the response were read.]`] : []),
  ];
}

/** @throws ToolFailure for a status of 400 or above, with the beginning of the page. */
export function requireSuccess(fetched: Fetched, page: string): void {
  const { url, status } = fetched;
  if (status < 400) return;
  const shown = page.slice(0, ERROR_SHOWN).trim();
  throw new ToolFailure(`${url} answered ${status} ${STATUS_CODES[status] ?? ""}`.trim(), {
    ...(HINTS[status] !== undefined && { hint: HINTS[status] }),
    ...(shown !== "" && { content: [text(shown)] }),
    data: factsOf(fetched),
  });
}

const HINTS: { readonly [status: number]: string | undefined } = {
  401: "The page requires signing in.",
  403: "The site denies access: it may block programs, or require signing in.",
  404: "Check the URL, or search for the page's new address.",
  410: "The page was removed for good. Search for another one.",
  429: "Too many requests: wait before the next one.",
};
