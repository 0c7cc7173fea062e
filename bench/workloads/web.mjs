import { once } from "node:events";
import { createServer } from "node:http";
import { createToolkit } from "handrail";
import TurndownService from "turndown";
import { Agent, request } from "undici";
import { atMost, ok, within } from "./shared.mjs";

const PAGES = 1_000;

/** A page of documentation, 300 KB: headings, links, a table, code. */
const PAGE = `<!doctype html><title>Page</title>${"<h2>Name</h2><p>Some <b>words</b> with <a href='/x'>a link</a> and <code>code</code>.</p><table><tr><th>a<th>b<tr><td>1<td>2</table><pre><code class='language-js'>if (a) {\n  b();\n}</code></pre>".repeat(1_400)}`;
const SMALL = "<!doctype html><title>Small</title><h1>Small</h1><p>A small page.";

/** @param {string} page */
async function site(page) {
  const server = createServer((_, response) => response.setHeader("content-type", "text/html").end(page));
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  if (address === null || typeof address === "string") throw new Error("expected a port");
  const host = `127.0.0.1:${address.port}`;
  const toolkit = await createToolkit({
    preset: "every",
    toolsets: { every: ["web_fetch", "fetch_url"] },
    policy: { network: { allowHosts: [host], allowPrivate: [host] } },
  });
  const close = async () => {
    await toolkit.close();
    server.closeAllConnections();
    server.close();
  };
  return { url: `http://${host}/`, toolkit, close };
}

/** @type {readonly import("./shared.mjs").Workload[]} */
export const WEB = [
  {
    name: "web-markdown",
    what: "web_fetch of a page of 300 KB from loopback, beside turndown alone",
    rounds: 5,
    target: atMost(1.5),
    async prepare() {
      const { url, toolkit, close } = await site(PAGE);
      const turndown = new TurndownService();
      return {
        ours: () => ok(toolkit.call({ name: "web_fetch", input: { url } })),
        ceiling: () => turndown.turndown(PAGE),
        cleanUp: close,
      };
    },
  },
  {
    name: "web-block",
    what: "the longest block of the event loop during such a web_fetch, beside turndown in this thread",
    rounds: 5,
    target: within(20, "ms"),
    async prepare() {
      const { url, toolkit, close } = await site(PAGE);
      const turndown = new TurndownService();
      return {
        measuresItself: true,
        ours: () => longestBlock(() => ok(toolkit.call({ name: "web_fetch", input: { url } }))),
        peer: () => longestBlock(async () => void turndown.turndown(PAGE)),
        cleanUp: close,
      };
    },
  },
  {
    name: "web-small",
    what: `fetch_url of ${PAGES} small pages from loopback, beside plain undici`,
    rounds: 3,
    target: { text: "", met: () => true },
    async prepare() {
      const { url, toolkit, close } = await site(SMALL);
      const agent = new Agent();
      return {
        ours: async () => {
          for (let page = 0; page < PAGES; page++) await ok(toolkit.call({ name: "fetch_url", input: { url } }));
        },
        ceiling: async () => {
          for (let page = 0; page < PAGES; page++) await (await request(url, { dispatcher: agent })).body.text();
        },
        cleanUp: async () => {
          await agent.close();
          await close();
        },
      };
    },
  },
];

/** Milliseconds. @param {() => Promise<unknown>} work */
async function longestBlock(work) {
  let longest = 0;
  let last = performance.now();
  const beat = setInterval(() => {
    longest = Math.max(longest, performance.now() - last - 1);
    last = performance.now();
  }, 1);
  await work();
  await new Promise((resolve) => setTimeout(resolve, 5));
  clearInterval(beat);
  return longest;
}
