import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { type Browser, type BrowserContextOptions, type Page, chromium } from "playwright-core";
import { afterFile } from "./after-file.ts";
import { installed, mustBeHere, programProblem } from "./here.ts";

/** Returns why no page can be driven on this machine; `undefined` if it can. Registers a test that reports it. */
export function mustHaveChromium(): string | undefined {
  const problem = programProblem("chromium");
  mustBeHere("a page in Chromium", problem);
  return problem;
}

let browser: Promise<Browser> | undefined;

/** Opens a page in its own window with its own cookies. Errors in it fail the test through `faults`. */
export async function openPage(url: string, options: BrowserContextOptions = {}): Promise<OpenedPage> {
  browser ??= chromium.launch({ executablePath: installed("chromium") ?? "chromium" });
  const context = await (await browser).newContext({ viewport: { width: 1440, height: 900 }, ...options });
  const page = await context.newPage();
  page.setDefaultTimeout(30_000);
  const faults: string[] = [];
  page.on("pageerror", (error) => faults.push(error.message));
  page.on("console", (message) => message.type() === "error" && faults.push(message.text()));
  await page.goto(url);
  return { page, faults };
}

export interface OpenedPage {
  readonly page: Page;
  /** Thrown errors, and errors in the browser's console, such as a violation of the page's policy. */
  readonly faults: readonly string[];
}

/** Starts a browser that others can join, with a person's connection to it. */
export async function runningChromium(): Promise<{ readonly address: string; readonly browser: Browser }> {
  const folder = mkdtempSync(join(tmpdir(), "handrail-chromium-"));
  const args = ["--headless", "--no-sandbox", "--remote-debugging-port=0", `--user-data-dir=${folder}`, "about:blank"];
  const process = spawn(installed("chromium") ?? "chromium", args, { stdio: ["ignore", "ignore", "pipe"] });
  const address = await new Promise<string>((resolve, reject) => {
    process.once("exit", (code) => reject(new Error(`chromium ended with ${code}`)));
    createInterface(process.stderr).on("line", (line) => {
      const [, port] = /ws:\/\/127\.0\.0\.1:(\d+)/.exec(line) ?? [];
      if (port !== undefined) resolve(`http://127.0.0.1:${port}`);
    });
  });
  const person = await chromium.connectOverCDP(address);
  joined.push(async () => {
    await person.close();
    const ended = once(process, "exit");
    process.kill();
    await ended;
    rmSync(folder, { recursive: true, force: true });
  });
  return { address, browser: person };
}

const joined: (() => Promise<void>)[] = [];

afterFile(async () => {
  await Promise.all(joined.splice(0).map((end) => end()));
  await (await browser)?.close();
  browser = undefined;
});
