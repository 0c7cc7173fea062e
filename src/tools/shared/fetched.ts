import { STATUS_CODES } from "node:http";
import { text } from "../../core/contract/content.ts";
import { ToolFailure } from "../../core/contract/failure.ts";
import type { Fetched } from "../../core/contract/fetch.ts";
import type { ToolContext } from "../../core/contract/tool.ts";
import { formatSize } from "../../core/output/size.ts";

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

/** The notices about redirects and an incomplete body for the model. */
export function noticesOf({ redirects, url, truncated, incomplete, body }: Fetched): readonly string[] {
  return [
    ...(redirects > 0 ? [`[Redirected to: ${url}]`] : []),
    ...(incomplete === undefined ? [] : [`[Incomplete: ${incomplete}. This is its beginning.]`]),
    ...(truncated ? [`[Only the first ${formatSize(body.length)} of the response were read.]`] : []),
  ];
}

/**
 * @param notes What is known about the page, for the hint.
 * @throws ToolFailure for a status of 400 or above, with the beginning of the page, and for a redirect to nowhere.
 */
export function requireSuccess(fetched: Fetched, page: string, notes: readonly string[] = []): void {
  const { url, status } = fetched;
  const shown = page.slice(0, ERROR_SHOWN).trim();
  if (status < 300 || (status < 400 && shown !== "")) return;
  const hint = notes.length > 0 ? notes.join(" ") : HINTS[status];
  throw new ToolFailure(`${url} answered ${status} ${STATUS_CODES[status] ?? ""}`.trim(), {
    ...(hint !== undefined && { hint }),
    ...(shown !== "" && { content: [text(shown)] }),
    data: factsOf(fetched),
  });
}

const NOWHERE = "It names no page that could be read instead. Search for another one.";

const HINTS: { readonly [status: number]: string | undefined } = {
  ...{ 301: NOWHERE, 302: NOWHERE, 303: NOWHERE, 307: NOWHERE, 308: NOWHERE },
  401: "The page requires signing in.",
  403: "The site denies access: it may block programs, or require signing in.",
  404: "Check the URL, or search for the page's new address.",
  410: "The page was removed for good. Search for another one.",
  429: "Too many requests: wait before the next one.",
};
