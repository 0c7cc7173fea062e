// These pages are written after the known structure of DuckDuckGo's; no request is made to it. A change of its format
// shows in use, as the message that says so.
import { describe, expect, test } from "vitest";
import type { Fetched } from "../../../src/core/contract/fetch.ts";
import { readResults } from "../../../src/tools/web/duckduckgo.ts";
import { search } from "../../../src/tools/web/search.ts";

const HTML = `<div id="links" class="results">
<div class="result results_links results_links_deep web-result"><div class="links_main"><h2 class="result__title">
  <a rel="nofollow" class="result__a" href="//duckduckgo.com/l/?uddg=https%3A%2F%2Ftokio.rs%2F%3Fa%3D1%26b&amp;rut=1f">Tokio &amp; <b>Rust</b></a></h2>
  <a class="result__snippet" href="//duckduckgo.com/l/?uddg=x">An <b>event-driven</b> platform</a></div></div>
<div class="result result--ad"><a class="result__a" href="https://duckduckgo.com/y.js?ad_domain=shop.example">Buy</a></div>
<article class="web-result result extra"><span><a data-x="1" href='https://docs.rs/tokio' title=t class='x result__a y'>Docs</a></span></article></div>`;
const LITE = `<table><tr><td>1.&nbsp;</td><td><a rel="nofollow" href="//duckduckgo.com/l/?uddg=https%3A%2F%2Ftokio.rs%2F&amp;rut=1" class='result-link'>Tokio</a></td></tr>
<tr><td></td><td class='result-snippet'>An event-driven
 platform</td></tr><tr><td><span class='link-text'>tokio.rs</span></td></tr>
<tr><td>2.</td><td><a class="result-link" href="https://docs.rs/tokio">Docs</a></td></tr></table>`;
const CHALLENGE = `<form id="challenge-form"><div class="anomaly-modal__title">Unfortunately, bots use DuckDuckGo too.</div></form>`;

describe("a page of results", () => {
  test("of the HTML version: redirects resolved, advertisements omitted, attributes in any order", () => {
    expect(readResults(HTML)).toEqual({
      kind: "results",
      hits: [
        { title: "Tokio & Rust", url: "https://tokio.rs/?a=1&b", snippet: "An event-driven platform" },
        { title: "Docs", url: "https://docs.rs/tokio", snippet: "" },
      ],
    });
  });

  test("of the Lite version", () => {
    expect(readResults(LITE)).toEqual({
      kind: "results",
      hits: [
        { title: "Tokio", url: "https://tokio.rs/", snippet: "An event-driven platform" },
        { title: "Docs", url: "https://docs.rs/tokio", snippet: "" },
      ],
    });
  });

  test.each([
    ['<div class="no-results">No  results.</div>', "none"],
    ["<td>No more results.</td>", "none"],
    [CHALLENGE, "blocked"],
    ["<div class=hit><a href=https://tokio.rs>Tokio</a></div>", "changed"],
    ["", "changed"],
  ])("%s is of the kind %s", (page, kind) => {
    expect(readResults(page)).toEqual({ kind });
  });
});

/** The answers in turn; what was asked. */
function engine(...answers: readonly (readonly [status: number, body: string])[]) {
  const asked: string[] = [];
  const get = async (url: string): Promise<Fetched> => {
    const [status, body] = answers[asked.length] ?? [500, ""];
    asked.push(new URL(url).host);
    const headers = { "retry-after": "0.01" };
    return { url, status, statusText: "", headers, body: Buffer.from(body), truncated: false, redirects: 0, ms: 1 };
  };
  return { asked, options: { get, most: 10, signal: new AbortController().signal } };
}

describe("a search", () => {
  const duck = { engine: "duckduckgo" } as const;

  test("asks the Lite version once if the other is refused", async () => {
    const { asked, options } = engine([202, CHALLENGE], [200, LITE]);
    expect(await search(duck, "tokio", { ...options, most: 1 })).toHaveLength(1);
    expect(asked).toEqual(["html.duckduckgo.com", "lite.duckduckgo.com"]);
  });

  test.each([
    [
      "refuses automatic requests",
      [
        [403, ""],
        [202, ""],
      ],
    ],
    [
      "refuses automatic requests",
      [
        [200, CHALLENGE],
        [200, CHALLENGE],
      ],
    ],
    [
      "the format of DuckDuckGo's results has changed",
      [
        [200, "<p>x"],
        [200, "<p>x"],
      ],
    ],
    ["DuckDuckGo answered 500", [[500, ""]]],
  ] as const)("that gets no page of results ends with: %s", async (message, answers) => {
    await expect(search(duck, "tokio", engine(...answers).options)).rejects.toThrow(message);
  });

  test("with Brave sends the key, and reads its JSON", async () => {
    const body = JSON.stringify({
      web: {
        results: [{ title: "Tokio", url: "https://tokio.rs", description: "An <strong>event</strong> platform" }],
      },
    });
    const hits = await search({ engine: "brave", key: "k" }, "tokio", engine([429, ""], [200, body]).options);
    expect(hits).toEqual([{ title: "Tokio", url: "https://tokio.rs", snippet: "An event platform" }]);
    expect(await search({ engine: "brave", key: "k" }, "tokio", engine([200, "{}"]).options)).toEqual([]);
  });
});
