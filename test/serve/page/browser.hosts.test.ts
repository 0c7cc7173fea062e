import type { Locator } from "playwright-core";
import { describe, expect, test } from "vitest";
import { mustHaveChromium, openPage } from "../../support/browser.ts";
import { browserSite } from "../../support/browser-site.ts";
import { plainText } from "../../support/plain-text.ts";
import { TOKEN, served } from "../served.ts";

/** The console on a thread whose browser shows a page of the site, and what the agent does there. */
async function watching(path: string) {
  const at = await browserSite();
  const api = await served({
    preset: "assistant",
    policy: { autonomy: "full", network: { allowHosts: [at], allowPrivate: [at] } },
  });
  const act = async (action: string, input: { readonly [name: string]: unknown } = {}) =>
    plainText(await api.toolkit.call({ name: "browser", input: { action, ...input } }));
  const opened = await act("open", { url: `http://${at}${path}` });
  const { page, faults } = await openPage(`${api.url}/?token=${TOKEN}#/thread/main`);
  const picture = page.getByAltText("The page, as the agent's browser shows it");
  await picture.waitFor();
  return { api, at, act, opened, page, faults, picture, section: page.getByRole("region", { name: "Page" }) };
}

/** Clicks where an element is, in the picture of a page of 1280 by 800 pixels. */
async function clickIn(picture: Locator, at: { readonly x: number; readonly y: number }) {
  const { width, height } = (await picture.boundingBox()) ?? { width: 0, height: 0 };
  await picture.click({ position: { x: (at.x * width) / 1_280, y: (at.y * height) / 800 } });
}

describe.skipIf(mustHaveChromium() !== undefined)("the page of a thread's browser", () => {
  test("is shown live below its newest call, until it is closed", async () => {
    const { act, at, page, picture, section, faults } = await watching("/login");
    await section.getByText(`http://${at}/login`).waitFor();
    const before = await picture.getAttribute("src");
    await act("open", { url: `http://${at}/long` });
    await section.getByText(`http://${at}/long`).waitFor();
    await expect.poll(() => picture.getAttribute("src")).not.toBe(before);
    expect(await page.locator("[data-call]").last().locator(".shot").count()).toBe(1);
    await page.getByRole("button", { name: "Hide page" }).click();
    expect(await picture.count()).toBe(0);
    await page.getByRole("button", { name: "Show page" }).click();
    await picture.waitFor();
    await act("close");
    await section.getByText("http:").waitFor({ state: "detached" });
    expect(faults.filter((fault) => !fault.includes("404"))).toEqual([]);
  });

  test("is taken over: a person clicks and types, the agent waits, nothing typed is recorded or shown", async () => {
    const { act, at, api, page, picture, section } = await watching("/login");
    await page.getByRole("button", { name: "Take over" }).click();
    await page.getByRole("button", { name: "Hand back" }).waitFor();
    const isWaiting = { now: true };
    const next = act("snapshot").finally(() => (isWaiting.now = false));
    await page.getByText("waits: a person has the page").waitFor();
    await clickIn(picture, { x: 120, y: 20 }); // the field "User"
    await page.keyboard.type("ada-4711");
    await page.keyboard.press("Tab");
    await page.keyboard.type("correct horse");
    expect(isWaiting.now).toBe(true);
    await page.keyboard.press("Enter");
    await section.getByText(`http://${at}/welcome`).waitFor();
    await page.getByRole("button", { name: "Hand back" }).click();
    const seen = await next;
    expect(seen).toContain("[A person had taken over the page, and has handed it back]");
    expect(seen).toContain("user=••••");
    expect(seen).toContain(`http://${at}/welcome`);
    const recorded = [];
    for await (const event of api.store.events({ thread: "main" })) recorded.push(JSON.stringify(event));
    expect(recorded.filter((each) => /4711|horse|correct/.test(each))).toEqual([]);
    expect(recorded.filter((each) => each.includes("take_over"))).toHaveLength(1);
  });

  test("is not used by a person who has not taken it over", async () => {
    const { api } = await watching("/login");
    const input = { inputs: [{ type: "text", text: "x" }] };
    const answer = await api.ask("POST", "/api/threads/main/page/input", input);
    expect([answer.status, await answer.text()]).toEqual([409, expect.stringContaining("No person has taken over")]);
    expect((await api.ask("GET", "/api/threads/other/page")).status).toBe(404);
  });
});
