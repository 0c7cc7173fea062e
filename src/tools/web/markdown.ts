import domino from "@mixmark-io/domino";
import gfm from "@joplin/turndown-plugin-gfm";
import TurndownService from "turndown";
import { limitDepth } from "./depth.ts";
import { type DomDocument, type DomElement, type DomNode, isElement } from "./dom.ts";
import { lookAt } from "./unread.ts";

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
  /** Sentences for the reader: why this may not be what was asked for. */
  readonly notes: readonly string[];
}

/** Elements that are dropped with their content. They hold no text for people. */
const UNSHOWN: ReadonlySet<string> = new Set(["SCRIPT", "STYLE", "HEAD", "SVG", "IFRAME", "OBJECT", "EMBED"]);
/** The same, and what is dropped if the page has other text. */
const ASIDE: ReadonlySet<string> = new Set([...UNSHOWN, "NOSCRIPT", "NAV", "FOOTER", "BUTTON", "FORM"]);

/** The converter is recursive, and the parser is slow on deep pages. Browsers stop at 512 (HTML, 13.2.6). */
const MAX_DEPTH = 256;

/** Selectors of the main content, best first. */
const MAIN = ["main", "[role=main]", "article"];

/**
 * Converts a page to Markdown: headings, lists, tables, code with its language and indentation, absolute links, images
 * as `[Image: alt]`. Time and memory are not limited: call it in a worker.
 */
export function toMarkdown(html: string, { url, mainOnly = false }: PageOptions): Page {
  const flat = limitDepth(html, MAX_DEPTH);
  const document: DomDocument = domino.createDocument(flat);
  const base = baseOf(document, url);
  const title = inOneLine(document.title);
  const { notes } = lookAt(document, { html, url, base });
  const main = mainOnly ? MAIN.map((each) => document.querySelector(each)).find((each) => each) : undefined;
  const ofMain = main ? convert(main, base, ASIDE) : "";
  if (ofMain !== "") return { title, markdown: ofMain, part: "main", notes: notes(ofMain) };
  const text = convert(document.body ?? document.documentElement, base, ASIDE);
  if (text !== "") return { title, markdown: text, part: "page", notes: notes(text) };
  const about = withoutText(domino.createDocument(flat), title, base);
  const known = notes("");
  return { title, markdown: about, part: "page", notes: known.length > 0 || about !== "" ? known : [NO_TEXT] };
}

const NO_TEXT = "The page has no text.";

/** What a page without text of its own is about: its title, what it embeds, and what is dropped otherwise. */
function withoutText(document: DomDocument, title: string, base: string): string {
  const about = document.querySelector("meta[name=description]")?.getAttribute("content") ?? "";
  const unread = Array.from(document.querySelectorAll("head noscript"));
  const embedded = Array.from(document.querySelectorAll("iframe, frame, embed, object, video, audio")).flatMap(
    (each) => {
      const source = each.getAttribute("src") ?? each.getAttribute("data") ?? "";
      return source !== "" && URL.canParse(source, base) ? [`- Embedded: ${new URL(source, base).href}`] : [];
    },
  );
  return [
    title === "" ? "" : `# ${title}`,
    ...[about, ...unread.map((each) => each.textContent.replace(/<[^>]*>/g, " "))].map(inOneLine),
    convert(document.body ?? document.documentElement, base, UNSHOWN),
    embedded.join("\n"),
  ]
    .filter((part) => part !== "")
    .join("\n\n");
}

function inOneLine(text: string): string {
  return text.replace(/\s+/g, " ").trim();
}

function convert(root: DomElement, base: string, dropped: ReadonlySet<string>): string {
  clean(root, base, dropped);
  // Otherwise the converter would copy the tree.
  Object.defineProperty(root, "cloneNode", { value: () => root });
  return converter().turndown(root).trim();
}

function baseOf(document: DomDocument, url: string): string {
  const href = document.querySelector("base")?.getAttribute("href") ?? "";
  return URL.canParse(href, url) ? new URL(href, url).href : url;
}

/** Drops elements and makes links absolute. Without recursion. */
function clean(root: DomElement, base: string, dropped: ReadonlySet<string>): void {
  let node: DomNode | null = root.firstChild;
  while (node !== null) {
    const next: DomNode | null = node.nextSibling;
    const parent: DomElement | null = node.parentNode;
    const isDropped = isElement(node) && dropped.has(node.nodeName.toUpperCase());
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
    .addRule("raised", {
      filter: (node) => markOf(node) !== undefined,
      replacement: (content, node) => raised(content.trim(), node),
    })
    .addRule("formula", {
      filter: (node) => formulaOf(node) !== undefined,
      replacement: (_, node) => `$${formulaOf(node)}$`,
    })
    .addRule("code", { filter: "pre", replacement: (_, block) => fenced(codeOf(block), languageOf(block)) });
}

function imageText(image: DomElement): string {
  const alt = inOneLine(image.getAttribute("alt") ?? "");
  return alt === "" ? "" : `[Image: ${alt}]`;
}

/** The mark of an element that is written higher or lower than the one before it: `10^6`, `x_1`. */
function markOf(node: DomElement): "^" | "_" | undefined {
  const name = node.nodeName.toLowerCase();
  if (name === "sup" || name === "sub") return name === "sup" ? "^" : "_";
  const marks = MATH_MARKS[node.parentNode?.nodeName.toLowerCase() ?? ""];
  if (marks === undefined) return undefined;
  let place = 0;
  for (let one = node.previousSibling; one !== null; one = one.previousSibling) if (isElement(one)) place++;
  return marks[place - 1];
}

const MATH_MARKS: { readonly [parent: string]: readonly ("^" | "_")[] | undefined } = {
  ...{ msup: ["^"], msub: ["_"], msubsup: ["_", "^"], mover: ["^"], munder: ["_"], munderover: ["_", "^"] },
};

/** What is raised, set off from the text before it, but not an ordinal's end ("1st") or a footnote's link. */
function raised(content: string, node: DomElement): string {
  if (content === "" || /^(?:st|nd|rd|th)$/i.test(content) || /^\\?\[/.test(content)) return content;
  const isOne = /^.$/u.test(content) || !/^[\p{L}\p{N}]/u.test(node.nextSibling?.textContent ?? "");
  const isWord = /^[+\u2212-]?[\p{L}\p{N}.]+$/u.test(content);
  return `${markOf(node)}${isOne && isWord ? content : `(${content})`}`;
}

/** The source of a formula, if the page has it. */
function formulaOf(node: DomElement): string | undefined {
  if (node.nodeName.toLowerCase() !== "math") return undefined;
  const source = node.querySelector("annotation[encoding*=tex]")?.textContent ?? node.getAttribute("alttext") ?? "";
  return inOneLine(source) || undefined;
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
        code += markOf(node) ?? "";
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
