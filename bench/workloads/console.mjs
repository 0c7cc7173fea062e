/**
 * The page of `handrail serve` in Chromium (which must be installed): how soon it shows something, how regular its
 * frames are, how large it is. Frames are counted by `requestAnimationFrame`, so a frame that the browser itself paints
 * late is not noticed.
 */
import { readFileSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";
import { chromium } from "playwright-core";
import { serving } from "./api.mjs";
import { within } from "./shared.mjs";

const PAGE = fileURLToPath(new URL("../../dist/console", import.meta.url));
const MESSAGES = 5_000;
const SINGLE_EVENTS = 100;
const FLOOD_MS = 5_000;

/** @type {readonly import("./shared.mjs").Workload[]} */
export const CONSOLE = [
  {
    name: "console-first-cell",
    what: "from opening the page to the first cell, in a thread of 5,000 messages",
    rounds: 5,
    target: within(1_000, "ms"),
    async prepare(folder) {
      const opened = await long(folder);
      return {
        measuresItself: true,
        ours: async () => {
          const page = await opened.show();
          await page.locator(".cell").first().waitFor();
          /** @type {number} */
          const time = await page.evaluate("performance.now()"); // since the navigation began
          await page.context().close();
          return time;
        },
        cleanUp: opened.close,
      };
    },
  },
  {
    name: "console-scroll-frames",
    what:
      "frames while a thread of 5,000 messages is scrolled to its beginning, 14,000 pixels a second, " +
      "slowest of twenty (p95); ceiling an empty page",
    rounds: 2,
    target: within(33, "ms"),
    async prepare(folder) {
      const opened = await long(folder);
      return {
        measuresItself: true,
        ours: async () => {
          const page = await opened.show();
          await page.locator(".cell").first().waitFor();
          const frames = await framesDuring(page, () => scrollToBeginning(page));
          await page.context().close();
          return frames;
        },
        ceiling: opened.framesAtRest,
        cleanUp: opened.close,
      };
    },
  },
  {
    name: "console-flood-frames",
    what: "frames while a call writes 10 MB a second, slowest of twenty (p95); ceiling an empty page",
    rounds: 2,
    target: within(33, "ms"),
    async prepare(folder) {
      const opened = await opening(folder, "coding");
      return {
        measuresItself: true,
        ours: async () => {
          const page = await opened.show();
          const write = "head -c 1048576 /dev/zero | tr '\\0' x | fold";
          const command = `for i in $(seq ${(FLOOD_MS + 3_000) / 100}); do ${write}; sleep 0.1; done`;
          const { call } = await opened.post("/api/threads/main/calls", { name: "bash", input: { command } });
          await page.locator(`[data-call="${call}"] .live`).getByText("xxx").waitFor();
          const frames = await framesDuring(page, () => page.waitForTimeout(FLOOD_MS));
          await opened.post(`/api/calls/${call}/stop`, {});
          await page.context().close();
          return frames;
        },
        ceiling: opened.framesAtRest,
        cleanUp: opened.close,
      };
    },
  },
  {
    name: "console-painted",
    what: "an event written by another process to its cell painted, median of 100",
    rounds: 3,
    target: within(100, "ms"),
    async prepare(folder) {
      const opened = await opening(folder);
      const page = await opened.show();
      let calls = 0;
      return {
        measuresItself: true,
        ours: async () => {
          const times = [];
          for (let number = 0; number < SINGLE_EVENTS; number++) {
            const call = `painted-${calls++}`;
            const painted = page.evaluate(paintOf, call);
            await page.evaluate(() => undefined); // the page is waiting for it by now
            const written = Date.now();
            await opened.store.commit({ ...startOf(call), at: written });
            times.push((await painted) - written);
          }
          return times.toSorted((one, other) => one - other)[SINGLE_EVENTS / 2] ?? Number.NaN;
        },
        cleanUp: opened.close,
      };
    },
  },
  {
    name: "console-bundle",
    what: "what is loaded before the first cell: page, script, styles and fonts, gzipped",
    rounds: 1,
    unit: "KB",
    target: within(300, "KB"),
    async prepare() {
      return { measuresItself: true, ours: () => initialBytes() / 1_024 };
    },
  },
];

/** @param {string} call */
function startOf(call) {
  return /** @type {const} */ ({ type: "call.started", call, thread: "main", name: "bash", input: { command: call } });
}

/** Starts a server, and opens pages that show the thread "main". @param {string} folder @param {string} [preset] */
async function opening(folder, preset) {
  const server = await serving(folder, preset);
  const browser = await chromium.launch({ executablePath: "/usr/bin/chromium" });
  return {
    store: server.store,
    /** @param {string} path @param {object} body */
    async post(path, body) {
      const headers = { authorization: `Bearer ${server.token}`, "content-type": "application/json" };
      const answer = await fetch(server.url + path, { method: "POST", headers, body: JSON.stringify(body) });
      return /** @type {{ call: string }} */ (await answer.json());
    },
    async show() {
      const page = await browser.newPage({ viewport: { width: 1440, height: 900 } });
      await page.goto(`${server.url}/?token=${server.token}#/thread/main`);
      return page;
    },
    async framesAtRest() {
      const page = await browser.newPage();
      const frames = await framesDuring(page, () => page.waitForTimeout(2_000));
      await page.close();
      return frames;
    },
    async close() {
      await browser.close();
      await server.close([]);
    },
  };
}

/**
 * The same with a thread of 5,000 messages: texts of a model, and its calls, some with a diff.
 *
 * @param {string} folder
 */
async function long(folder) {
  const opened = await opening(folder);
  const diff = `@@ -1,2 +1,2 @@\n one\n-two\n+three\n`;
  for (let number = 0; number < MESSAGES / 2; number++) {
    const at = Date.now();
    const call = `long-${number}`;
    const said = `Step ${number}: I look at the next file and change what is wrong in it.`;
    const message = /** @type {const} */ ({ role: "assistant", content: [{ type: "text", text: said }] });
    opened.store.append({ type: "message.added", thread: "main", at, message });
    opened.store.append({ ...startOf(call), at });
    const data = number % 10 === 0 ? { diff, path: "src/a.ts" } : { exit_code: 0 };
    const content = [{ type: /** @type {const} */ ("text"), text: `line\n`.repeat(40) }];
    opened.store.append({ type: "call.finished", call, thread: "main", at, status: "ok", data, content });
    if (number % 100 === 0) await new Promise((resolve) => setImmediate(resolve));
  }
  await opened.store.commit({ ...startOf("last"), at: Date.now() });
  return opened;
}

/**
 * Returns the 95th percentile of the time between frames.
 *
 * @param {import("playwright-core").Page} page
 * @param {() => Promise<unknown>} act
 */
async function framesDuring(page, act) {
  await page.evaluate(countFrames);
  await act();
  /** @type {number[]} */
  const times = await page.evaluate("frames");
  return times.toSorted((one, other) => one - other)[Math.floor(times.length * 0.95)] ?? Number.NaN;
}

/** @param {import("playwright-core").Page} page */
async function scrollToBeginning(page) {
  await page.mouse.move(700, 400);
  const top = () => page.locator(".log").evaluate((log) => log.scrollTop);
  for (let still = 0; still < 5;) {
    const before = await top();
    await page.mouse.wheel(0, -700);
    await page.waitForTimeout(50);
    still = before < 10 && (await top()) < 10 ? still + 1 : 0;
  }
}

// The following functions run in the page.

function countFrames() {
  const frames = /** @type {number[]} */ (/** @type {any} */ (globalThis).frames = []);
  let last = performance.now();
  const next = (/** @type {number} */ now) => {
    frames.push(now - last);
    last = now;
    /** @type {any} */ (globalThis).requestAnimationFrame(next);
  };
  /** @type {any} */ (globalThis).requestAnimationFrame(next);
}

/** Resolves to the time of the first frame after the call's cell was added to the page. @param {string} call */
function paintOf(call) {
  const { document, requestAnimationFrame, MutationObserver } = /** @type {any} */ (globalThis);
  return new Promise((resolve) => {
    const watch = new MutationObserver(() => {
      if (document.querySelector(`[data-call="${call}"]`) === null) return;
      watch.disconnect();
      requestAnimationFrame(() => setTimeout(() => resolve(Date.now())));
    });
    watch.observe(document.body, { childList: true, subtree: true });
  });
}

function initialBytes() {
  const html = readFileSync(join(PAGE, "index.html"), "utf8");
  const assets = readdirSync(join(PAGE, "assets")).filter((name) => html.includes(name) || name.endsWith(".woff2"));
  const sizes = assets.map((name) => {
    const bytes = readFileSync(join(PAGE, "assets", name));
    return name.endsWith(".woff2") ? bytes.length : gzipSync(bytes).length;
  });
  return sizes.reduce((sum, size) => sum + size, gzipSync(html).length);
}
