import { createServer } from "node:http";
import { type Browser, chromium } from "playwright-core";
import { expect, test } from "vitest";
import { type BrowserGuard, browserGuard } from "../../src/web/browser/guard.ts";
import type { BrowserRequest } from "../../src/web/browser/requests.ts";
import { afterFile } from "../support/after-file.ts";
import { mustHaveChromium } from "../support/browser.ts";
import { installed } from "../support/here.ts";
import { listening } from "../support/web-server.ts";

const skipped = mustHaveChromium();

const open: { readonly guard: BrowserGuard; readonly browser: Browser }[] = [];
afterFile(async () => {
  for (const { guard, browser } of open.splice(0)) {
    await browser.close();
    await guard.close();
  }
});

/** A site of this machine under the name site.example, and a server beside it that nothing may reach. */
async function world(answers: (path: string, canary: string) => { readonly headers?: object; readonly body?: string }) {
  const hits: string[] = [];
  const canary = await listening(createServer(({ url = "" }, response) => (hits.push(url), response.end("secret"))));
  const asked: BrowserRequest[] = [];
  const requests: string[] = [];
  const site = await listening(
    createServer(({ url = "" }, response) => {
      requests.push(url);
      const { headers = {}, body = "" } = answers(url, canary);
      const head = { "content-type": "text/html", ...headers };
      response.writeHead("location" in head ? 302 : 200, head).end(body);
    }),
  );
  const port = Number(site.split(":")[1]);
  const guard = await browserGuard({
    network: { allowHosts: [`site.example:${port}`], allowPrivate: [`site.example:${port}`] },
    judge: () => ({ verdict: "allowed" }),
    async permit(request) {
      asked.push(request);
      return { verdict: "refused", reason: "the person refused" };
    },
    reachPort: async (wanted) => (wanted === 3_000 ? { host: "127.0.0.1", port } : undefined),
    lookup: async () => [{ address: "127.0.0.1", family: 4 }],
    environment: {},
  });
  const browser = await chromium.launch({
    executablePath: installed("chromium") ?? "chromium",
    args: [...guard.args],
  });
  open.push({ guard, browser });
  const context = await browser.newContext({ proxy: guard.proxy });
  await guard.guard(context);
  return {
    guard,
    context,
    page: await context.newPage(),
    url: `http://site.example:${port}`,
    canary,
    hits,
    requests,
    asked,
  };
}

test.skipIf(skipped)("a page loads through the proxy, and a port of a job is localhost", async () => {
  const { guard, page, url, requests } = await world((path) => ({
    body: path === "/" ? "<title>home</title><script src=/app.js></script><img src=/dot.png>" : "",
  }));
  await guard.navigating(`${url}/`, () => page.goto(`${url}/`));
  expect(await page.title()).toBe("home");
  expect(requests).toEqual(expect.arrayContaining(["/", "/app.js", "/dot.png"]));
  await guard.navigating("http://localhost:3000/", () => page.goto("http://localhost:3000/"));
  expect(await page.title()).toBe("home");
  expect(guard.takeRefused()).toEqual([]);
  await expect(guard.navigating("http://localhost:3001/", () => page.goto("x"))).rejects.toThrow(
    "no job of this thread",
  );
  await expect(guard.navigating("file:///etc/passwd", () => page.goto("x"))).rejects.toThrow("does not open file:");
});
