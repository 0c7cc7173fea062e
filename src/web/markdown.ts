import domino from "@mixmark-io/domino";
import gfm from "@joplin/turndown-plugin-gfm";
import TurndownService from "turndown";
import { limitDepth } from "./depth.ts";
import { type DomDocument, type DomElement, type DomNode, isElement } from "./dom.ts";

export interface PageOptions {
  /** The base for relative links. */
  readonly url: string;
  /** Whether only the main element of the page is converted, if it has one. */
  readonly mainOnly?: boolean;
}

export interface Page {
  /** The title; "" if the page has none. */
  readonly title: string;
  readonly markdown: string;
  /** Which part of the page the text is. */
  readonly part: "page" | "main";
}

/** Elements that are dropped with their content, because they hold no text of the page. */
const DROPPED: ReadonlySet<string> = new Set([
  ...["SCRIPT", "STYLE", "NOSCRIPT", "NAV", "FOOTER", "HEAD", "SVG", "BUTTON", "FORM", "IFRAME", "OBJECT", "EMBED"],
]);

/** The converter is recursive, and the parser is slow on deep pages. Browsers stop at 512 (HTML, 13.2.6). */
const MAX_DEPTH = 256;

/** Selectors of the main content, best first. */
const MAIN = ["main", "[role=main]", "article"];

/**
 * Converts a page to Markdown: headings, lists, tables, code with its language and indentation, absolute links, images
 * as `[Image: alt]`. Time and memory are not limited: call it in a worker.
 */
export function toMarkdown(html: string, { url, mainOnly = false }: PageOptions): Page {
  const document = domino.createDocument(limitDepth(html, MAX_DEPTH));
  const title = document.title.replace(/\s+/g, " ").trim();
  const main = mainOnly ? MAIN.map((each) => document.querySelector(each)).find((each) => each) : undefined;
  const root = main ?? document.body;
  clean(root, baseOf(document, url));
  // Otherwise the converter would copy the tree.
  Object.defineProperty(root, "cloneNode", { value: () => root });
  return { title, markdown: converter().turndown(root), part: main ? "main" : "page" };
}

function baseOf(document: DomDocument, url: string): string {
  const href = document.querySelector("base")?.getAttribute("href") ?? "";
  return URL.canParse(href, url) ? new URL(href, url).href : url;
}

/** Drops elements and makes links absolute. Without recursion. */
function clean(root: DomElement, base: string): void {
  let node: DomNode | null = root.firstChild;
  while (node !== null) {
    const next: DomNode | null = node.nextSibling;
    const parent: DomElement | null = node.parentNode;
    const isDropped = isElement(node) && DROPPED.has(node.nodeName.toUpperCase());
    if (!isDropped && isElement(node) && node.nodeName === "A") makeAbsolute(node, base);
    let above: DomElement | null = parent;
    const first: DomNode | null = isDropped ? null : node.firstChild;
    if (isDropped) parent?.removeChild(node);
    node = first ?? next;
    while (node === null && above !== null && above !== root) {
      node = above.nextSibling;
      above = above.parentNode;
    }
  }
}

/** Omits links that run code; a link without text is an anchor. */
function makeAbsolute(link: DomElement, base: string): void {
  const href = link.getAttribute("href")?.trim();
  if (href === undefined) return;
  const isEmpty = link.textContent.trim() === "" && !link.querySelector("img");
  if (isEmpty || /^(javascript|data|vbscript):/i.test(href) || !URL.canParse(href, base)) link.removeAttribute("href");
  else link.setAttribute("href", new URL(href, base).href);
}

function converter(): TurndownService {
  return new TurndownService({
    headingStyle: "atx",
    codeBlockStyle: "fenced",
    bulletListMarker: "-",
    emDelimiter: "*",
    hr: "---",
  })
    .use([gfm.tables, gfm.strikethrough, gfm.taskListItems])
    .addRule("image", { filter: "img", replacement: (_, image) => imageText(image) })
    .addRule("code", { filter: "pre", replacement: (_, block) => fenced(codeOf(block), languageOf(block)) });
}

function imageText(image: DomElement): string {
  const alt = (image.getAttribute("alt") ?? "").replace(/\s+/g, " ").trim();
  return alt === "" ? "" : `[Image: ${alt}]`;
}

function fenced(code: string, language: string): string {
  const longest = Math.max(2, ...[...code.matchAll(/^\s*(`{3,})/gm)].map(([, ticks = ""]) => ticks.length));
  const fence = "`".repeat(longest + 1);
  return `\n\n${fence}${language}\n${code.replace(/^\n|\s+$/g, "")}\n${fence}\n\n`;
}

/** The text of a code block with all spaces and indentation. A `<br>`, or the end of a line's element, ends a line. */
function codeOf(block: DomElement): string {
  let code = "";
  const add = (parent: DomElement) => {
    for (let node = parent.firstChild; node !== null; node = node.nextSibling) {
      if (!isElement(node)) code += node.nodeType === 3 ? node.textContent : "";
      else if (node.nodeName === "BR") code += "\n";
      else {
        add(node);
        if (/^(DIV|P|LI|TR)$/.test(node.nodeName) && !code.endsWith("\n")) code += "\n";
      }
    }
  };
  add(block);
  return code;
}

/** The language, as these highlighters write it: highlight.js, Prism, Sphinx, GitHub, Pandoc, Rouge, TypeDoc. */
const LANGUAGE = /(?:^|\s)(?:language-|lang-|highlight-source-|highlight-|sourceCode |hljs |brush: ?)([\w+#.-]+)/;

function languageOf(block: DomElement): string {
  const code = block.querySelector("code");
  const holders = [code, block, block.parentNode, block.parentNode?.parentNode ?? null].flatMap((each) =>
    each ? [each] : [],
  );
  for (const holder of holders) {
    const named =
      holder.getAttribute("data-lang") ?? holder.getAttribute("data-language") ?? LANGUAGE.exec(holder.className)?.[1];
    if (named !== undefined && !/^(default|none|plain|text|wrapper)$/.test(named)) return named;
  }
  const only = code?.className.trim() ?? "";
  return /^[a-z][a-z+#]*$/.test(only) && !/^(hljs|code|highlight|prettyprint)$/.test(only) ? only : "";
}
