import { once } from "node:events";
import { createServer } from "node:http";
import { createToolkit } from "handrail";
import { chromium } from "playwright-core";
import { atMost, ok } from "./shared.mjs";

/** A page of some 100 elements. */
const PAGE = `<!doctype html><title>Shop</title><h1>Shop</h1>${"<p>A thing <a href='/thing'>Look</a> <button>Buy</button></p>".repeat(40)}`;

/** @type {readonly import("./shared.mjs").Workload[]} */
export const BROWSER = [
  {
    name: "browser-open",
    what: "browser opens a page from loopback and returns its snapshot, beside goto and ariaSnapshot of playwright",
    rounds: 5,
    target: atMost(4),
    async prepare() {
      const server = createServer((_, response) => response.setHeader("content-type", "text/html").end(PAGE));
      server.listen(0, "127.0.0.1");
      await once(server, "listening");
      const address = server.address();
      if (address === null || typeof address === "string") throw new Error("expected a port");
      const host = `127.0.0.1:${address.port}`;
      const url = `http://${host}/`;
      const toolkit = await createToolkit({
        preset: "pages",
        toolsets: { pages: ["browser"] },
        policy: { network: { allowHosts: [host], allowPrivate: [host] } },
      });
      const plain = await chromium.launch({ executablePath: "/usr/bin/chromium" });
      const page = await plain.newPage();
      return {
        ours: () => ok(toolkit.call({ name: "browser", input: { action: "open", url } })),
        async ceiling() {
          await page.goto(url);
          return page.ariaSnapshot({ mode: "ai" });
        },
        async cleanUp() {
          await Promise.all([toolkit.close(), plain.close()]);
          server.closeAllConnections();
          server.close();
        },
      };
    },
  },
];
