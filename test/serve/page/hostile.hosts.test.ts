import type { Page } from "playwright-core";
import { describe, expect, test } from "vitest";
import { mustHaveChromium, openPage } from "../../support/browser.ts";
import { TOKEN, served } from "../served.ts";

const problem = mustHaveChromium();

/** What tools and models may write, and how the page shows it. */
const HOSTILE: readonly (readonly [what: string, text: string, shown: string])[] = [
  [
    "HTML",
    `<img src=x onerror="document.title='taken'"><script>document.title='taken'</script>`,
    "<img src=x onerror=",
  ],
  ["a direction", "user \u202Enimda\u202C end", "U+202E"],
  ["what has no width", "pass\u200Bword\u{E0041}", "U+200B"],
  ["a clipboard", "\x1b]52;c;cm0gLXJm\x07after", "1 escape sequence dropped"],
  ["a cleared screen", "before\x1b[2J\x1b[Hafter", "2 escape sequences dropped"],
  ["a link", "\x1b]8;;https://attacker.example\x07click\x1b]8;;\x07", "2 escape sequences dropped"],
  ["an unended string", `\x1b]0;${"x".repeat(100)}`, "1 escape sequence dropped"],
  ["a carriage return", "rm -rf /\rls", "rm -rf /"],
  ["a long line", "y".repeat(5_242_880), "line cut at 2,000 of"],
];

const isIntact = async (page: Page) => {
  expect(await page.title()).not.toBe("taken");
  expect(await page.locator(".log img, .log script, .log a[href^='http']").count()).toBe(0);
  expect(await page.evaluate("document.documentElement.scrollWidth <= innerWidth")).toBe(true);
};

describe.skipIf(problem !== undefined)("hostile text is shown and has no effect", () => {
  test("in results, names and arguments of calls, and in texts of a model", async () => {
    const { url, store } = await served({ preset: "none" });
    for (const [what, text] of HOSTILE) {
      const of = { call: what, thread: "main", at: Date.now() };
      const content = [{ type: "text", text: text.slice(0, 65_536) }] as const;
      const [name, input] = [text.slice(0, 99), { command: text.slice(0, 999) }];
      await store.commit({ ...of, type: "call.started", name, input });
      await store.commit({ ...of, type: "call.finished", status: "ok", content, data: {} });
      const message = { role: "assistant", content } as const;
      await store.commit({ type: "message.added", thread: "main", at: Date.now(), message });
    }
    const { page, faults } = await openPage(`${url}/?token=${TOKEN}#/thread/main`);
    for (const [what, , shown] of HOSTILE) {
      const cell = page.locator(`[data-call="${what}"]`);
      await cell.locator(".ch").click();
      await cell.locator(".well").getByText(shown).first().waitFor();
    }
    await isIntact(page);
    expect(faults).toEqual([]);
  });

  test("in code with colours", async () => {
    const { url, store } = await served({ preset: "none" });
    const code = HOSTILE.map(([, text]) => `"${text.slice(0, 500)}";`).join("\n");
    const content = [{ type: "text", text: `~~~js\n${code}\n~~~` }] as const;
    await store.commit({
      type: "message.added",
      thread: "main",
      at: Date.now(),
      message: { role: "assistant", content },
    });
    const { page, faults } = await openPage(`${url}/?token=${TOKEN}#/thread/main`);
    await page.locator("pre.code .c-string").first().waitFor();
    for (const shown of ["<img src=x onerror=", "U+202E", "U+200B", "U+001B"]) {
      await page.locator("pre.code").getByText(shown).first().waitFor();
    }
    await isIntact(page);
    expect(faults).toEqual([]);
  });

  test("in live output of calls", async () => {
    const { url, store } = await served({ preset: "none" });
    await store.commit({ type: "thread.created", thread: "main", at: Date.now(), target: "local", workDir: "/" });
    const { page, faults } = await openPage(`${url}/?token=${TOKEN}#/thread/main`);
    for (const [what, text, shown] of HOSTILE) {
      const of = { call: what, thread: "main", at: Date.now() };
      await store.commit({ ...of, type: "call.started", name: "bash", input: {} });
      const update = { output: `${text}\n`, displayMessage: text.slice(0, 99) };
      await store.commit({ ...of, type: "call.updated", update });
      // After a carriage return, it overwrites what it wrote before.
      const written = shown === "rm -rf /" ? "ls" : shown;
      await page.locator(`[data-call="${what}"] .live`).getByText(written).first().waitFor();
    }
    await isIntact(page);
    expect(faults).toEqual([]);
  });
});
