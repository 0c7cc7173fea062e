import domino from "@mixmark-io/domino";
import { type DomDocument, type DomElement, lineOf } from "./dom.ts";
import type { SearchHit } from "./hit.ts";

/** The kinds of pages that the engine returns. */
export type ResultPage =
  | { readonly kind: "results"; readonly hits: readonly SearchHit[] }
  | { readonly kind: "none" }
  /** A page that asks whether the user is a human. */
  | { readonly kind: "blocked" }
  /** None of the above: the format has changed. */
  | { readonly kind: "changed" };

/**
 * Parses a results page of DuckDuckGo's HTML and Lite versions. Uses only classes: the order of attributes and
 * additional markup do not matter. Resolves the engine's own redirects, and omits links to the engine itself
 * (advertisements).
 */
export function readResults(html: string): ResultPage {
  const document = domino.createDocument(html);
  const links = [...document.querySelectorAll("a.result__a, a.result-link")];
  const hits = links.flatMap((link): SearchHit[] => {
    const url = targetOf(link.getAttribute("href") ?? "");
    const title = lineOf(link);
    return url === undefined || title === "" ? [] : [{ title, url, snippet: snippetOf(link) }];
  });
  if (hits.length > 0) return { kind: "results", hits };
  if (isChallenge(document)) return { kind: "blocked" };
  return links.length > 0 || isEmpty(document) ? { kind: "none" } : { kind: "changed" };
}

/**
 * The target of a redirect (`/l/?uddg=…`); `undefined` for the engine's own hosts and for anything that is not a URL.
 */
function targetOf(href: string): string | undefined {
  const base = "https://duckduckgo.com/";
  if (!URL.canParse(href, base)) return undefined;
  const url = new URL(href, base);
  const target = isOwn(url) ? url.searchParams.get("uddg") : url.href;
  if (target === null || !URL.canParse(target)) return undefined;
  const { protocol } = new URL(target);
  return isOwn(new URL(target)) || !/^https?:$/.test(protocol) ? undefined : target;
}

function isOwn({ hostname }: URL): boolean {
  return /(^|\.)duckduckgo\.com$/.test(hostname);
}

/** Returns the snippet of a result. HTML version: in the element around the link. Lite version: in a later row. */
function snippetOf(link: DomElement): string {
  const result = link.closest(".result");
  if (result) return lineOf(result.querySelector(".result__snippet"));
  for (let row = link.closest("tr")?.nextElementSibling ?? null; row !== null; row = row.nextElementSibling) {
    if (row.querySelector("a.result-link")) return "";
    const snippet = row.querySelector(".result-snippet");
    if (snippet) return lineOf(snippet);
  }
  return "";
}

function isEmpty(document: DomDocument): boolean {
  return (
    Boolean(document.querySelector(".no-results")) || /\bNo (more )?results\b/i.test(document.body?.textContent ?? "")
  );
}

function isChallenge(document: DomDocument): boolean {
  const hasForm = Boolean(document.querySelector("#challenge-form, .anomaly-modal__modal, [class^=anomaly]"));
  return (
    hasForm ||
    /bots use DuckDuckGo|complete the following challenge|unusual traffic/i.test(document.body?.textContent ?? "")
  );
}
