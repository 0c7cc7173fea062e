import { readFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { expect, test } from "vitest";
import { afterFile } from "../../support/after-file.ts";
import { mustHaveChromium, openPage } from "../../support/browser.ts";
import { TOKEN, served } from "../served.ts";

const problem = mustHaveChromium();
const FILES: { readonly [path: string]: readonly [file: string, type: string] } = {
  "/chat.html": ["examples/chat.html", "text/html; charset=utf-8"],
  "/client.js": ["dist/client.js", "text/javascript; charset=utf-8"],
};

/** Serves the example and the client, as an app's own server does. Resolves to its origin. */
async function appOrigin(): Promise<string> {
  const server = createServer(({ url = "" }, response) => {
    const [file, type] = FILES[url] ?? [];
    if (file === undefined) return response.writeHead(204).end();
    const body = readFileSync(new URL(`../../../${file}`, import.meta.url));
    return response.writeHead(200, { "content-type": type }).end(body);
  });
  await new Promise<void>((resolve) => server.listen(0, "localhost", resolve));
  afterFile(() => {
    server.close();
    server.closeAllConnections();
  });
  return `http://localhost:${(server.address() as AddressInfo).port}`;
}

const COMMAND = "mkdir site && echo '<h1>Hello</h1>' > site/index.html";
const script = [
  { text: "I make a folder `site` with one page in it.", calls: [{ name: "bash", input: { command: COMMAND } }] },
  { text: "Done. Open site/index.html in your browser." },
];

test.skipIf(problem !== undefined)(
  "the chat of plain HTML, on another origin, asks, draws a cell, approves and shows the answer",
  async () => {
    const origin = await appOrigin();
    const api = await served({ preset: "coding", policy: { autonomy: "supervised" } }, { script, origins: [origin] });
    const { page, faults } = await openPage(`${origin}/chat.html#token=${TOKEN}&url=${api.url}`);
    await page.getByPlaceholder("Ask something").fill("Make me a small web page.");
    await page.getByRole("button", { name: "Send" }).click();
    await page.locator(".user", { hasText: "Make me a small web page." }).waitFor();
    await page.locator(".tool.in_progress", { hasText: "bash" }).waitFor();
    await page.locator(".tool", { hasText: "mkdir site" }).getByRole("button", { name: "Approve" }).click();
    await page.locator(".tool.success").waitFor();
    await page.locator(".assistant", { hasText: "Done. Open site/index.html" }).waitFor();
    expect(await page.locator("main > *").count()).toBe(4);
    expect(faults).toEqual([]);
  },
);

test.skipIf(problem !== undefined)(
  "the client runs in a browser, and is refused on an origin without a name",
  async () => {
    const origin = await appOrigin();
    const api = await served({ preset: "coding" }, { script, origins: [origin] });
    /** Runs in the page: a text, so that nothing of this file is needed there. */
    const use = (from: string) => `(async () => {
    const { createClient } = await import("${from}/client.js");
    const client = createClient({ url: "${api.url}", token: "${TOKEN}" });
    const thread = await client.createThread();
    const over = new AbortController();
    let roles = [];
    const watched = client.watch(thread, ({ messages, turn }) => {
      roles = messages.map(({ role }) => role);
      if (turn !== undefined) over.abort();
    }, over.signal);
    await client.prompt(thread, "Make it.");
    await watched;
    return roles;
  })()`;
    const { page, faults } = await openPage(`${origin}/chat.html#token=${TOKEN}&url=${api.url}`);
    expect(await page.evaluate(use(origin))).toEqual(["user", "assistant", "tool", "assistant"]);
    expect(faults).toEqual([]);
    const other = await appOrigin();
    await page.goto(`${other}/client.js`);
    const refused = page.evaluate(use(other));
    await expect(refused).rejects.toThrow(/does not answer.*this origin allowed/);
  },
);
