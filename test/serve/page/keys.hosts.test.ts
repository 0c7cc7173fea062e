import { describe, expect, test } from "vitest";
import { mustHaveChromium, openPage } from "../../support/browser.ts";
import { until } from "../../support/until.ts";
import { TOKEN, served } from "../served.ts";

const problem = mustHaveChromium();

describe.skipIf(problem !== undefined)("keys of the page", () => {
  test("? lists them, J and K move between cells, Enter opens one", async () => {
    const { url, toolkit } = await served({ preset: "coding" });
    for (const path of ["one", "two", "three"]) await toolkit.call({ name: "write", input: { path, content: "" } });
    const { page, faults } = await openPage(`${url}/?token=${TOKEN}#/thread/main`);
    const heads = page.locator(".cell .ch");
    await heads.nth(2).waitFor();
    await page.keyboard.press("?");
    const list = page.getByRole("dialog", { name: "Keys" });
    await list.getByText("next thread that needs you").waitFor();
    await page.keyboard.press("Escape");
    await list.waitFor({ state: "hidden" });

    const after = async (key: string) => {
      await page.keyboard.press(key);
      return await heads.evaluateAll((all) => all.findIndex((each) => each === each.ownerDocument.activeElement));
    };
    const visited = [];
    for (const key of ["j", "k", "k", "k", "j"]) visited.push(await after(key));
    expect(visited).toEqual([2, 1, 0, 0, 1]);
    await page.keyboard.press("Enter");
    await page.locator('.cell:nth-child(2) .ch[aria-expanded="true"]').waitFor();
    await page.keyboard.press("Enter");
    await page.locator('.cell:nth-child(2) .ch[aria-expanded="false"]').waitFor();
    expect(faults).toEqual([]);
  });

  test("] goes to each thread that needs an answer, from any page", async () => {
    const { url, json } = await served({ preset: "coding", policy: { autonomy: "supervised" } });
    const call = { name: "bash", input: { command: "touch made" } };
    for (const thread of ["one", "two"]) await json("POST", `/api/threads/${thread}/calls`, call);
    const { page } = await openPage(`${url}/?token=${TOKEN}#/tools`);
    await page.locator("#dock").getByText("1 of 2").waitFor();
    const visited: string[] = [];
    for (let times = 0; times < 3; times += 1) {
      const before = page.url();
      await page.keyboard.press("]");
      await until("another thread is shown", () => page.url() !== before);
      visited.push(new URL(page.url()).hash);
    }
    expect(visited.slice(0, 2).toSorted()).toEqual(["#/thread/one", "#/thread/two"]);
    expect(visited[2]).toBe(visited[0]);
  });

  test("a panel that takes the place of the threads takes the focus, and gives it back", async () => {
    const { url } = await served({ preset: "coding" });
    const { page } = await openPage(`${url}/?token=${TOKEN}#/thread/main`, { viewport: { width: 1024, height: 768 } });
    const focused = async (name: string) => {
      await until(`${name} has the focus`, async () => {
        return (await page.evaluate("document.activeElement.getAttribute('aria-label')")) === name;
      });
    };
    await page.getByRole("button", { name: "Show inspector" }).press("Enter");
    await focused("Close panel");
    await page.keyboard.press("Enter");
    await focused("Show inspector");
    await page.keyboard.press("Enter");
    await focused("Close panel");
    await page.keyboard.press("/");
    const search = page.getByLabel("Search threads");
    await search.and(page.locator(":focus")).waitFor();
    await page.keyboard.type("x");
    await page.keyboard.press("Escape");
    await page.keyboard.press("Escape");
    await page.keyboard.press("?");
    await page.getByRole("dialog", { name: "Keys" }).waitFor();
    expect(await search.inputValue()).toBe("");
  });
});
