import { text } from "../../contract/content.ts";
import { ToolFailure } from "../../contract/failure.ts";
import type { Fetched } from "../../contract/fetch.ts";
import type { ToolContext } from "../../contract/tool.ts";
import { formatSize } from "../../output/size.ts";

/** So much of the page of an error is shown, in characters. */
const ERROR_SHOWN = 2_000;

/** What the activity and a program are told of a fetch. */
export function factsOf({ url, status, body, ms, headers }: Fetched, title = "") {
  const type = headers["content-type"]?.split(";")[0]?.trim() ?? "";
  return { url, status, title, type, size: body.length, ms };
}

/** Shows people the fetch, as far as it is known. */
export function reportFetch({ report }: ToolContext, facts: ReturnType<typeof factsOf>): void {
  const { title, url, size, ms } = facts;
  report({
    displayMessage: `${title === "" ? url : `${title} (${url})`}, ${formatSize(size)} in ${ms} ms`,
    data: facts,
  });
}

/** What a model has to know of how a page came. */
export function noticesOf({ redirects, url, truncated, body }: Fetched): readonly string[] {
  return [
    ...(redirects > 0 ? [`[Redirected to: ${url}]`] : []),
    ...(truncated ? [`[Only the first ${formatSize(body.length)} were read: there is more.]`] : []),
  ];
}

/** @throws ToolFailure for a status of 400 or more, with the beginning of what came. */
export function requireSuccess(fetched: Fetched, page: string): void {
  const { url, status, statusText } = fetched;
  if (status < 400) return;
  const shown = page.slice(0, ERROR_SHOWN).trim();
  throw new ToolFailure(`${url} answered ${status} ${statusText}`.trim(), {
    ...(HINTS[status] !== undefined && { hint: HINTS[status] }),
    ...(shown !== "" && { content: [text(shown)] }),
    data: factsOf(fetched),
  });
}

const HINTS: { readonly [status: number]: string | undefined } = {
  401: "The page is for people who are signed in.",
  403: "The site does not show this page to programs, or to nobody who is not signed in.",
  404: "Check the URL; a page that links to it, or a search, may know a newer one.",
  410: "The page is gone for good; a search may know another.",
  429: "The site wants fewer requests: wait before the next.",
};
