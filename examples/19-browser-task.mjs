/**
 * A task in a browser: a form of a page is filled in and sent, as a model would do it. Sending a form is asked about.
 * It needs Chromium and the package playwright-core, and says so where one is missing.
 *
 * Run: node examples/19-browser-task.mjs
 */
import assert from "node:assert/strict";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { createServer } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { asText, createToolkit } from "handrail";

/** @type {string[]} */
const orders = [];
/**
 * @param {import("node:http").IncomingMessage} request
 * @param {import("node:http").ServerResponse} response
 */
async function sell(request, response) {
  response.setHeader("content-type", "text/html");
  if (request.method === "POST") orders.push(await text(request));
  const form = `<form method="post"><label>Tea <input name="tea"></label><button>Order</button></form>`;
  response.end(`<!doctype html><title>Shop</title><h1>${orders.length > 0 ? "Thank you" : "Shop"}</h1>${form}`);
}
const shop = createServer((request, response) => void sell(request, response)).listen(0, "127.0.0.1");
await once(shop, "listening");
const address = shop.address();
assert.ok(address !== null && typeof address === "object");
const host = `127.0.0.1:${address.port}`;

const stateDir = await mkdtemp(join(tmpdir(), "handrail-example-"));
/** @type {string[]} */
const asked = [];
const toolkit = await createToolkit({
  ...{ preset: "assistant", stateDir, policy: { network: { allowHosts: [host], allowPrivate: [host] } } },
  approver: async (_, decision) => {
    asked.push(decision.reason ?? "");
    return { answer: "once" };
  },
});
/** @param {object} input */
const browser = async (input) => asText(await toolkit.call({ name: "browser", input, thread: "demo" }));

const opened = await browser({ action: "open", url: `http://${host}/` });
if (/npm install playwright-core|apt-get install chromium/.test(opened)) {
  console.log(opened); // how to install what is missing
} else {
  // The page as a model reads it. Each element that can be used has a reference.
  const [, field = ""] = /textbox "Tea" \[(\w+)\]/.exec(opened) ?? [];
  const [, button = ""] = /button "Order" \[(\w+)\]/.exec(opened) ?? [];
  await browser({ action: "type", ref: field, text: "Assam" });
  const sent = await browser({ action: "click", ref: button });
  assert.match(sent, /heading "Thank you"/);
  assert.deepEqual(orders, ["tea=Assam"]);
  assert.notDeepEqual(asked, []);
  console.log(`${sent}\nAsked: ${asked.join("; ")}`);
}

await toolkit.close();
shop.closeAllConnections();
shop.close();
await rm(stateDir, { recursive: true });
