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

afterFile(async () => {
  await (await browser)?.close();
  browser = undefined;
});
