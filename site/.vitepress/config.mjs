/**
 * The docs as a site, for VitePress. scripts/docs.mjs copies the pages to site/pages and starts it; the list of pages is
 * docs/README.md.
 */
import { readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const pages = join(dirname(dirname(fileURLToPath(import.meta.url))), "pages");
const index = readFileSync(join(pages, "index.md"), "utf8");

export default {
  title: "Handrail",
  description: "Tools for language models: every call is checked, judged by a policy and recorded.",
  srcDir: "pages",
  outDir: "dist",
  cacheDir: ".cache",
  cleanUrls: false, // a file server, and the files themselves, are enough
  lastUpdated: false,
  ignoreDeadLinks: [/^https?:\/\/(localhost|127\.0\.0\.1)/],
  head: [["link", { rel: "icon", href: "data:," }]],
  markdown: { config: (md) => drawMermaid(md) },
  themeConfig: {
    nav: [
      { text: "Start", link: "/start" },
      { text: "Configuration", link: "/configuration" },
      { text: "API", link: "/api" },
      { text: "Errors", link: "/errors" },
    ],
    sidebar: sidebar(),
    outline: { level: [2, 3] },
    search: {
      provider: "local",
      options: { miniSearch: { searchOptions: { boost: { title: 4, text: 1, titles: 2 } } } },
    },
    docFooter: { prev: "Before", next: "Next" },
  },
};

/** The sections of the list, each with its pages. A page that is named twice is in the first. */
function sidebar() {
  const seen = new Set();
  const [, ...sections] = index.split(/^## /m);
  return sections.map((section) => {
    const [text = ""] = section.split("\n", 1);
    const items = [...section.matchAll(/\[([^\]]+)\]\((?:\.\/)?([\w/-]+)\.md\)/g)].flatMap(([, , page = ""]) => {
      if (seen.has(page)) return [];
      seen.add(page);
      return [{ text: titleOf(page), link: `/${page.replace(/README$/, "")}` }];
    });
    return { text, items, collapsed: false };
  });
}

/** @param {string} page */
function titleOf(page) {
  const text = readFileSync(join(pages, `${page}.md`), "utf8");
  return (/^# (.*)$/m.exec(text)?.[1] ?? page).replace(/:.*$/, "");
}

/** Gives diagrams to a component of the theme, which draws them in the browser. */
function drawMermaid(md) {
  const { fence } = md.renderer.rules;
  md.renderer.rules.fence = (tokens, at, ...more) => {
    const { info, content } = tokens[at];
    if (info.trim() !== "mermaid") return fence(tokens, at, ...more);
    return `<Diagram source="${encodeURIComponent(content)}" />`;
  };
}
