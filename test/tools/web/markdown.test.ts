import { existsSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import domino from "@mixmark-io/domino";
import TurndownService from "turndown";
import { describe, expect, test } from "vitest";
import { toMarkdown } from "../../../src/tools/web/markdown.ts";
import { read } from "../../../src/tools/web/reader.ts";
import { projectRoot } from "../../../scripts/lib/project.mjs";
import { mustBeHere } from "../../support/here.ts";
import { pdf } from "../../support/pdf.ts";

const URL_OF_PAGE = "https://docs.example.org/guide/start.html";
const markdown = (html: string, mainOnly = false) => toMarkdown(html, { url: URL_OF_PAGE, mainOnly }).markdown;
const { signal } = new AbortController();
const html = (text: string) => ({ kind: "html", bytes: Buffer.from(text), contentType: "", url: URL_OF_PAGE }) as const;

describe("a page", () => {
  test.each([
    ["headings", "<h1>A</h1><h3>B</h3>", "# A\n\n### B"],
    ["nested lists", "<ul><li>a<ol start=3><li>b</ol></ul>", "-   a\n    3.  b"],
    ["tables", "<table><tr><th>a<th>b<tr><td>1<td>2|3</table>", "| a   | b   |\n| --- | --- |\n| 1   | 2\\|3 |"],
    ["absolute links", '<a href="../x?y#z">go</a>', "[go](https://docs.example.org/x?y#z)"],
    ["links that run something as text", "<a href=javascript:alert(1)>go</a>", "go"],
    ["images by what they show", '<img src=a.png alt="A  cat"><img src=b.png alt="">', "[Image: A cat]"],
    [
      "code with indentation",
      "<pre><code class=language-py>if a:\n    b()\n\n    c()</code></pre>",
      "```py\nif a:\n    b()\n\n    c()\n```",
    ],
    [
      "Sphinx's code",
      '<div class="highlight-python notranslate"><div class=highlight><pre><span>x</span> = 1\n</pre></div></div>',
      "```python\nx = 1\n```",
    ],
    [
      "code of one element a line",
      "<pre class=shiki data-language=ts><code><div>a</div><div>  b</div></code></pre>",
      "```ts\na\n  b\n```",
    ],
    [
      "powers",
      "<p>10<sup>6</sup>, 2<sup>n+1</sup>, x<sup>2</sup>y, m<sup>\u22121</sup>",
      "10^6, 2^(n+1), x^2y, m^\u22121",
    ],
    ["indexes", "<p>H<sub>2</sub>O, C<sub>12</sub>H<sub>22</sub>, x<sub>12</sub>", "H_2O, C_(12)H_22, x_12"],
    ["powers in code", "<p><code>2<sup>10</sup></code></p><pre>2<sup>10</sup></pre>", "`2^10`\n\n```\n2^10\n```"],
    [
      "ordinals, and the marks of footnotes apart from numbers",
      "<p>1<sup>st</sup>, 1500<sup>2</sup>, 10<sup><a href=#n>[3]</a></sup>, 7<sup><a href=#n>4</a></sup>",
      "1st, 1500^2, 10[\\[3\\]](https://docs.example.org/guide/start.html#n), 7[4](https://docs.example.org/guide/start.html#n)",
    ],
    [
      "formulas",
      "<p><math><msup><mn>10</mn><mn>6</mn></msup></math>, <math><msubsup><mi>x</mi><mn>1</mn><mn>2</mn></msubsup></math>, <math alttext='\\frac{a}{b}'><mfrac><mi>a</mi><mi>b</mi></mfrac></math>",
      "10^6, x_1^2, $\\frac{a}{b}$",
    ],
    ["fences in code", "<pre>```\nx\n```</pre>", "````\n```\nx\n```\n````"],
    [
      "no scripts, styles, navigation, forms and embedded parts",
      "<nav>n</nav><p>p</p><script>s</script><style>s</style><noscript>n</noscript><footer>f</footer><svg><text>s</text></svg><button>b</button><form>f</form><iframe>i</iframe><object>o</object><embed><header>h</header>",
      "p\n\nh",
    ],
  ])("keeps %s", (_, page, expected) => {
    expect(markdown(page)).toBe(expected);
  });

  test("becomes its main element on request, and the whole page without one", () => {
    expect(markdown("<p>a</p><main><p>b</p></main>", true)).toBe("b");
    expect(toMarkdown("<title> A\n b </title><p>a</p>", { url: URL_OF_PAGE, mainOnly: true })).toEqual({
      title: "A b",
      markdown: "a",
      part: "page",
      notes: [],
    });
    expect(markdown("<p>a</p><main></main>", true)).toBe("a");
  });
});

describe("a hostile page", () => {
  test.each([
    ["20,000 elements deep", `${"<div>".repeat(20_000)}bottom`, "bottom"],
    ["20,000 tables deep", `${"<table><tr><td>".repeat(20_000)}bottom`, "bottom"],
    ["5 MB on one line", `<p>${"word ".repeat(1_000_000)}end</p>`, "end"],
  ])("%s is read in a worker, and this thread goes on", async (_, page, end) => {
    let longest = 0;
    let last = performance.now();
    const beat = setInterval(() => {
      longest = Math.max(longest, performance.now() - last);
      last = performance.now();
    }, 5);
    const { markdown: text } = await read(html(page), { signal });
    clearInterval(beat);
    expect(text.endsWith(end)).toBe(true);
    expect(longest).toBeLessThan(1_000); // the machine of a test may stand still; the bench measures it
  });

  test("that takes too long is abandoned, and the next one is converted", async () => {
    const wide = html("<p>a <a href=/b>b</a></p>".repeat(20_000));
    await expect(read(wide, { signal, timeoutMs: 50 })).rejects.toThrow("the page takes longer than 0.05 s to read");
    expect((await read(html("<p>next"), { signal })).markdown).toBe("next");
  });

  test("is abandoned when the call is stopped", async () => {
    const stop = new AbortController();
    const reading = read(html("<p>a</p>".repeat(20_000)), { signal: stop.signal });
    stop.abort(new Error("stopped by a test"));
    await expect(reading).rejects.toThrow("stopped by a test");
  });
});

test("a PDF becomes its text and title, and any other file is named", async () => {
  const { text, pages } = await read({ kind: "pdf", bytes: pdf("Hello from a PDF") }, { signal });
  expect({ text, pages }).toEqual({ text: "Hello from a PDF", pages: 1 });
  await expect(read({ kind: "pdf", bytes: Buffer.from("%PDF-none") }, { signal })).rejects.toThrow(
    "the PDF could not be read",
  );
});

const NPM_DOCS = join(dirname(process.execPath), "../lib/node_modules/npm/docs/output");
const PAGES = [
  join(projectRoot, "node_modules/bignumber.js/doc/API.html"),
  ...["commands/npm-install", "commands/npm-ci", "commands/npm-audit", "commands/npm-link", "commands/npm-exec"],
  ...["using-npm/config", "using-npm/scripts", "using-npm/workspaces", "configuring-npm/package-json"],
].map((page) => (page.startsWith("/") ? page : join(NPM_DOCS, `${page}.html`)));

const missing = existsSync(NPM_DOCS) ? undefined : `Node's npm is not beside it: ${NPM_DOCS}`;
mustBeHere("npm's documentation", missing);

describe.skipIf(missing !== undefined)("of real documentation", () => {
  test.for(PAGES)("%s keeps all of its structure", (file) => {
    const page = readFileSync(file, "utf8");
    const before = inHtml(page);
    const after = inMarkdown(markdown(page));
    const alone = inMarkdown(new TurndownService({ headingStyle: "atx", codeBlockStyle: "fenced" }).turndown(page));
    expect(after).toEqual(before);
    expect(alone.tables, "tables of turndown alone, without its extension").toBe(0);
  });
});

const DROPPED = "script, style, noscript, nav, footer, svg, button, form, iframe, object, embed";

/** What there is in the page, without what is dropped, and what is empty. */
function inHtml(page: string) {
  const document = domino.createDocument(page);
  const count = (selector: string) =>
    Array.from(document.querySelectorAll(selector)).filter(
      (each) => each.textContent.trim() !== "" && !each.closest(DROPPED),
    ).length;
  return {
    headings: count("h1, h2, h3, h4, h5, h6"),
    links: count("body a[href]"),
    tables: count("table"),
    code: count("pre"),
  };
}

function inMarkdown(text: string) {
  const counts = { headings: 0, links: 0, tables: 0, code: 0 };
  let isCode = false;
  for (const line of text.split("\n")) {
    if (/^[\s>-]*(\d+\. +)?```/.test(line)) {
      isCode = !isCode;
      if (isCode) counts.code++;
    } else if (!isCode) {
      if (/^[\s>-]*(\d+\. +)?#{1,6} /.test(line)) counts.headings++;
      if (/^\s*\| ?:?-+/.test(line)) counts.tables++;
      counts.links += line.match(/\]\([^)\s]+\)/g)?.length ?? 0;
    }
  }
  return counts;
}
