/** What is found in a text for people: URLs as they are written, and names of hosts. */
export interface UrlsInText {
  /** The URLs with their scheme; "https" where a path has no scheme before it. */
  readonly urls: readonly string[];
  readonly hosts: readonly string[];
}

const URL_IN_TEXT = /https?:\/\/[^\s<>"'`\\^{}|]+/giu;

/** Scheme or not, then labels with a dot between, or an address. Whether it is a host, `URL` decides. */
const HOST_IN_TEXT = new RegExp(
  String.raw`(https?:\/\/|www\.)?` +
    String.raw`((?:[\p{L}\p{N}_-]{1,63}\.){1,20}[\p{L}\p{N}-]{2,63}|\d+(?:\.\d+){3}|\[[\da-f:.]+\]|localhost\b)` +
    String.raw`(:\d+)?(\/[^\s<>"'\u0060]*)?`,
  "giu",
);

/** Ends of file names that are also ends of hosts: "main.rs" in a message is a file. */
const FILE_ENDS = /\.(?:cc|md|mk|ml|mov|pl|ps|py|rs|sh|so|zip)$/i;

/**
 * Finds what a person names in a message. A name without a scheme and a path does not count as a host if it looks like
 * a file.
 */
export function urlsInText(text: string): UrlsInText {
  const urls: string[] = [];
  const hosts: string[] = [];
  for (const [written] of text.matchAll(URL_IN_TEXT)) urls.push(written, withoutMarks(written));
  for (const [, scheme, host = "", port = "", path] of text.matchAll(HOST_IN_TEXT)) {
    if (scheme === undefined && path === undefined && FILE_ENDS.test(host)) continue;
    hosts.push(host);
    if (scheme?.startsWith("http") !== true && path !== undefined)
      urls.push(`https://${host}${port}${withoutMarks(path)}`);
  }
  return { urls, hosts };
}

/** Removes the sentence's punctuation behind a URL, and a closing bracket that was opened before the URL. */
function withoutMarks(url: string): string {
  const bare = url.replace(/[.,;:!?*_"'»”’]+$/u, "");
  const last = bare.at(-1) ?? "";
  const opening = CLOSING[last];
  const isExtra = opening !== undefined && bare.split(last).length > bare.split(opening).length;
  return isExtra ? withoutMarks(bare.slice(0, -1)) : bare;
}

const CLOSING: { readonly [closing: string]: string | undefined } = { ")": "(", "]": "[", "}": "{" };

/** The most links that are taken from one page, and the most characters of it that are searched for them. */
const [MOST_LINKS, MOST_SEARCHED] = [2_000, 2_000_000];

/** Attributes of HTML, targets of Markdown, and URLs that are written out, also in JSON. */
const LINK = new RegExp(
  String.raw`(?:\b(?:href|src|action)\s*=\s*(?:"([^"]*)"|'([^']*)'|([^\s"'>]+)))|` +
    String.raw`\]\(\s*<?([^\s)>]+)|(https?:(?:\\?\/){2}[^\s<>"'\x60)\]}]+)`,
  "gi",
);

/** Returns the links of a page, absolute. `text` is its source in any form, or what was made of it. */
export function linksOf(page: string, text: string): readonly string[] {
  const links = new Set<string>();
  for (const [, ...forms] of text.slice(0, MOST_SEARCHED).matchAll(LINK)) {
    const written = forms.find((form) => form !== undefined) ?? "";
    const target = written
      .replaceAll("\\/", "/")
      .replaceAll(/&(?:amp|#38|#x26);/gi, "&")
      .trim();
    if (target.startsWith("#") || !URL.canParse(target, page)) continue;
    const { protocol, href } = new URL(target, page);
    if (protocol === "http:" || protocol === "https:") links.add(href);
    if (links.size >= MOST_LINKS) break;
  }
  return [...links];
}
