import { type DomDocument, type DomElement, lineOf } from "./dom.ts";

/** A page with less text than this may be only a frame or a wall. Characters. */
const SHORT = 1_500;

const IN_BROWSER = "Open it in a browser, if you have a tool for that.";
const DRAWN = `The page is drawn by scripts, which are not run here. ${IN_BROWSER}`;

/** A page that is not what was asked for. */
export const WALL =
  "This is a bot wall, not the page: the site wants proof that a person reads it. A person can give that in a " +
  "browser. Otherwise use another source.";

/** What walls say: Cloudflare, Akamai, Imperva, DataDome, HUMAN, AWS, Anubis, DDoS-Guard, Google, Amazon. */
const WALL_TEXT = new RegExp(
  [
    ...[
      "^just a moment",
      "attention required!? \\| cloudflare",
      "checking (?:if the site|your browser)",
      "robot check",
    ],
    ...[
      "enable javascript and cookies to continue",
      "(?:verify|verifying|confirm|sure|prove) (?:that )?you(?:.re| are)",
    ],
    ...["are you (?:a )?(?:robot|bot|human)", "unusual traffic", "press (?:&|and) hold", "incapsula incident"],
    ...["pardon our interruption", "(?:complete|solve|enter|type) .{0,40}(?:captcha|security check)", "ddos-guard"],
    ...["you have been blocked", "access to this page has been denied", "automated (?:access|requests|queries)"],
  ].join("|"),
  "im",
);
const WALL_SCRIPT =
  /cdn-cgi\/challenge-platform|captcha-delivery\.com|_Incapsula_Resource|px-captcha|\.awswaf\.com|\.within\.website\/x\//;

/** Whether the headers of a response are those of a bot wall. */
export function isWall(headers: { readonly [name: string]: string }): boolean {
  const { "cf-mitigated": cloudflare, "x-amzn-waf-action": amazon } = headers;
  return cloudflare === "challenge" || amazon === "challenge" || amazon === "captcha";
}

export interface Look {
  /** Sentences for the reader of this text, if the text may not be what was asked for. */
  notes(text: string): readonly string[];
}

/** Looks at a page before it is converted: whether scripts draw it, where it leads on, whether it is a wall. */
export function lookAt(
  document: DomDocument,
  { html, url, base }: { readonly html: string; readonly url: string; readonly base: string },
): Look {
  const all = (selector: string): readonly DomElement[] => Array.from(document.querySelectorAll(selector));
  const scripts = all("script").filter((each) => !/json/i.test(each.getAttribute("type") ?? ""));
  const unread = all("noscript").map((each) => each.textContent);
  const refresh = refreshOf([...all("meta"), ...unread]);
  const isRoot = (each: DomElement) => each.textContent.trim() === "" && !each.querySelector("img");
  const hasEmptyRoot =
    all(ROOTS).some(isRoot) || all("body > *").some((each) => each.nodeName.includes("-") && isRoot(each));
  const wantsScripts = scripts.length > 0 && (hasEmptyRoot || unread.some((each) => /javascript|browser/i.test(each)));
  const target = (to: string | undefined) =>
    to !== undefined && URL.canParse(to, base) ? new URL(to, base).href : undefined;

  return {
    notes(text) {
      const isShort = text.length < SHORT;
      const isEmpty = text === "";
      const next = target(refresh ?? (isEmpty ? jumpOf(scripts) : undefined));
      if (next !== undefined && next !== url) return [`The page leads on to ${next} by itself: fetch that.`];
      if (isShort && (WALL_SCRIPT.test(html) || WALL_TEXT.test(`${lineOf(document.querySelector("title"))}\n${text}`)))
        return [WALL];
      const isWaiting = scripts.length > 0 && /^\W*(?:loading|please wait)\b.{0,40}$/i.test(text);
      const isDrawn = (isEmpty && scripts.length > 0) || isWaiting || (wantsScripts && text.length < FRAME);
      return isDrawn ? [DRAWN] : [];
    },
  };
}

/** A page whose scripts draw it has less text than this before. Characters. */
const FRAME = 300;

/** Elements in which scripts draw. */
const ROOTS = ["root", "app", "__next", "__nuxt", "main", "application", "gatsby-focus-wrapper", "svelte"]
  .map((id) => `#${id}`)
  .join(", ");

/** The target of `<meta http-equiv=refresh>`, as it is written. Parsers do not read what `noscript` in a head holds. */
function refreshOf(found: readonly (DomElement | string)[]): string | undefined {
  for (const each of found) {
    const isText = typeof each === "string";
    if (isText ? !REFRESH.test(each) : !/^\s*refresh\s*$/i.test(each.getAttribute("http-equiv") ?? "")) continue;
    const content = isText ? (/content\s*=\s*("[^"]*"|'[^']*')/i.exec(each)?.[1] ?? "") : each.getAttribute("content");
    const [, url] = /^["']?\s*[\d.]*\s*[;,\s]\s*url\s*=\s*["']?\s*([^"']+)/i.exec(content ?? "") ?? [];
    if (url !== undefined) return url.trim();
  }
  return undefined;
}

const REFRESH = /<meta[^>]+http-equiv\s*=\s*["']?refresh/i;

/** Where a script leads on, if it does nothing else that a page could show. */
function jumpOf(scripts: readonly DomElement[]): string | undefined {
  for (const { textContent } of scripts) {
    const [, , url] =
      /\blocation(?:\.href)?\s*(?:=|\.(?:replace|assign)\()\s*(["'`])([^"'`]+)\1/.exec(textContent) ?? [];
    if (url !== undefined) return url;
  }
  return undefined;
}
