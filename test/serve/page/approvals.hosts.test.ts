import { existsSync } from "node:fs";
import { join } from "node:path";
import type { Page } from "playwright-core";
import { describe, expect, test } from "vitest";
import { defineTool } from "../../../src/core/contract/tool.ts";
import { mustHaveChromium, openPage } from "../../support/browser.ts";
import { until } from "../../support/until.ts";
import { TOKEN, type Served, served } from "../served.ts";

const problem = mustHaveChromium();
const PHONE = { viewport: { width: 390, height: 844 }, isMobile: true, hasTouch: true };

/** Puts a page into the background, from its point of view, and collects its notifications in `notes`. */
const TO_BACKGROUND = `
  Object.defineProperty(document, "hidden", { value: true, configurable: true });
  document.dispatchEvent(new Event("visibilitychange"));
  globalThis.notes = [];
  globalThis.Notification = class extends Notification {
    isOpen = notes.push(this) > 0;
    close() {
      this.isOpen = false;
      super.close();
    }
  };`;

/** Starts a server on which a call asks before it creates a file. Returns the file too. */
async function asking(command = "touch made"): Promise<Served & { readonly made: string }> {
  const api = await served({ preset: "coding", policy: { autonomy: "supervised" } });
  await api.json("POST", "/api/threads/main/calls", { name: "bash", input: { command } });
  return { ...api, made: join(api.toolkit.backend.workDir, "made") };
}

const dock = (page: Page) => page.locator("#dock");
const cell = (page: Page, state: string) => page.locator(`.cell[data-state="${state}"]`);

describe.skipIf(problem !== undefined)("questions on the page", () => {
  test("approved by keyboard, the call runs; Enter alone approves nothing", async () => {
    const { url, made } = await asking();
    const { page, faults } = await openPage(`${url}/?token=${TOKEN}#/thread/main`);
    await dock(page).getByText("touch made").first().waitFor();
    await until("the title counts it", async () => (await page.title()).startsWith("(1) "));
    await page.keyboard.press("y"); // the dock has no focus
    await page.keyboard.press("q");
    const once = page.getByRole("button", { name: "Approve once" });
    await once.and(page.locator('[aria-disabled="false"]')).waitFor();
    await once.focus();
    await page.keyboard.press("Enter");
    expect(existsSync(made)).toBe(false);
    expect(await cell(page, "waiting").count()).toBe(1);
    await page.keyboard.press("y");
    await cell(page, "success").waitFor();
    expect(existsSync(made)).toBe(true);
    await dock(page).waitFor({ state: "detached" });
    expect(faults).toEqual([]);
  });

  test("approved with changed arguments, the changed call runs, and malformed ones are not sent", async () => {
    const { url, made } = await asking("touch other");
    const { page, faults } = await openPage(`${url}/?token=${TOKEN}#/thread/main`);
    await page.getByRole("button", { name: "Change the arguments first" }).click();
    const field = page.getByLabel("All arguments, as JSON");
    await field.fill('{ "command": ');
    const once = page.getByRole("button", { name: "Approve once" });
    await once.and(page.locator('[aria-disabled="false"]')).click();
    await dock(page).getByText("Expected the arguments as a JSON object").waitFor();
    await field.fill('{ "command": "touch made" }');
    await once.click();
    await cell(page, "success").waitFor();
    expect([existsSync(made), existsSync(join(made, "..", "other"))]).toEqual([true, false]);
    expect(faults).toEqual([]);
  });

  test("come with their events: the page does not ask for the open ones again", async () => {
    const { url, json } = await served({ preset: "coding", policy: { autonomy: "supervised" } });
    const { page, faults } = await openPage(`${url}/?token=${TOKEN}`);
    const asked = () =>
      page.evaluate("performance.getEntriesByType('resource').filter((e) => e.name.endsWith('/api/approvals')).length");
    await until("the page has asked for the open questions", async () => (await asked()) === 1);
    await json("POST", "/api/threads/main/calls", { name: "bash", input: { command: "touch made" } });
    await page.goto(`${url}/#/thread/main`);
    await dock(page).getByText("touch made").first().waitFor();
    expect(await asked()).toBe(1);
    expect(faults).toEqual([]);
  });

  test("refused with a reason, the cell and the model show the reason", async () => {
    const { url, made, json } = await asking();
    const { page } = await openPage(`${url}/?token=${TOKEN}#/thread/main`);
    await dock(page).waitFor();
    await page.keyboard.press("q");
    await page.keyboard.press("n");
    await page.getByLabel("Reason for the refusal").fill("Use the other folder.");
    await page.locator('.btn[aria-disabled="false"]').first().waitFor();
    await page.keyboard.press("Enter");
    await cell(page, "refused").getByText("Use the other folder.").waitFor();
    expect(existsSync(made)).toBe(false);
    expect(JSON.stringify(await json("GET", "/api/threads/main/messages"))).toContain("Use the other folder.");
  });

  test("answered in one window, it disappears from another of a phone's size, which says so", async () => {
    const { url } = await asking();
    const address = `${url}/?token=${TOKEN}#/thread/main`;
    const [{ page: wide }, { page: phone }] = await Promise.all([openPage(address), openPage(address, PHONE)]);
    await Promise.all([dock(wide).waitFor(), dock(phone).waitFor()]);
    await phone.getByRole("button", { name: "For this session" }).and(phone.locator('[aria-disabled="false"]')).tap();
    await cell(phone, "success").waitFor();
    await cell(wide, "success").waitFor();
    await wide.getByText("Approved for a session").waitFor();
    expect(await dock(wide).count()).toBe(0);
  });

  test("a long part keeps its verdict on one line, and the prompt stays on the page below the question", async () => {
    const { url } = await asking(`touch ${"long-name ".repeat(20)} && mkdir -p ${"folder ".repeat(60)}`);
    const { page } = await openPage(`${url}/?token=${TOKEN}#/`); // no thread is open
    const verdict = dock(page).locator(".parts li").first().getByText("asks");
    await verdict.waitFor();
    expect((await verdict.boundingBox())?.height).toBeLessThan(24);
    const prompt = await page.getByPlaceholder("What should the agent do?").boundingBox();
    expect((prompt?.y ?? 0) + (prompt?.height ?? 0)).toBeLessThan(900);
  });

  test("narrow windows cut off none of it, allowed parts are folded, and a larger window may show all", async () => {
    const parts = Array.from({ length: 14 }, (_, index) => `echo this is part ${index}`);
    const { url, json } = await asking(["touch made", ...parts].join(" && "));
    await json("POST", "/api/threads/main/calls", { name: "bash", input: { command: "touch other" } });
    const { page } = await openPage(`${url}/?token=${TOKEN}#/thread/main`, { viewport: { width: 390, height: 844 } });
    await dock(page).getByText("1 of 2").waitFor();
    await dock(page).getByText("Scroll to the end of what is asked first.").waitFor();
    for (const width of [390, 768, 1024]) {
      await page.setViewportSize({ width, height: 844 });
      expect(await dock(page).evaluate((box) => box.scrollWidth - box.clientWidth)).toBe(0);
    }
    expect(await dock(page).locator(".parts li").count()).toBe(1);
    await dock(page).getByRole("button", { name: "14 other parts are allowed" }).click();
    expect(await dock(page).locator(".parts li").count()).toBe(15);
    await page.setViewportSize({ width: 1440, height: 900 });
    await dock(page).getByText("This call, exactly as shown.").waitFor();
  });

  test("a form is filled in by keyboard, contains an approval's values, and is sent with the approval", async () => {
    const properties = {
      name: { type: "string" },
      sure: { type: "boolean" },
      size: { type: "string", enum: ["s", "l"], default: "s" },
    };
    const form = { type: "object", properties, required: ["name", "sure"] };
    const order = defineTool({
      ...{ name: "order", description: "Orders.", input: { type: "object" }, touches: ["foreign"], effects: () => [] },
      run: async (_, { permit }) =>
        (await permit({
          kind: "foreign",
          from: "mcp:shop",
          asks: "For whom?",
          input: '{"sure":true,"size":"s"}',
          form,
        })) ?? null,
    });
    const { url, json } = await served({ preset: "none", tools: [order] });
    const { page } = await openPage(`${url}/?token=${TOKEN}#/thread/main`);
    await json("POST", "/api/threads/main/calls", { name: "order" });
    const name = dock(page).getByLabel("name", { exact: false });
    await name.waitFor();
    await dock(page).getByRole("button", { name: "Approve once" }).and(page.locator('[aria-disabled="false"]')).click();
    await dock(page).getByText("Fill this in.").waitFor();
    await name.focus();
    await page.keyboard.type("yes man");
    await dock(page).getByLabel("size").selectOption({ label: "l" });
    await dock(page).getByRole("button", { name: "Approve once" }).click();
    await cell(page, "success").waitFor();
    const messages = JSON.stringify(await json("GET", "/api/threads/main/messages"));
    expect(messages).toContain(String.raw`{\"name\":\"yes man\",\"sure\":true,\"size\":\"l\"}`);
  });

  test("a command that does not fit is approved only once it was scrolled to its end, and hides nothing", async () => {
    const lines = Array.from({ length: 40 }, (_, index) => `echo ${index}`).join("\n");
    const { url, made } = await asking(`${lines}\ntouch made \u202Eabc`);
    const { page } = await openPage(`${url}/?token=${TOKEN}#/thread/main`);
    await dock(page).getByText("Scroll to the end of what is asked first.").waitFor();
    await dock(page).getByText("U+202E").first().waitFor();
    await page.keyboard.press("q");
    await page.keyboard.press("y");
    await dock(page)
      .locator(".exact")
      .evaluate((box) => (box.scrollTop = box.scrollHeight));
    await dock(page).getByText("This call, exactly as shown.").waitFor();
    expect(existsSync(made)).toBe(false);
    await page.getByRole("button", { name: "Approve once" }).and(page.locator('[aria-disabled="false"]')).click();
    await cell(page, "success").waitFor();
  });

  test("it can be answered on other pages, and unfinished input stays; folded, it accepts no answer", async () => {
    const { url, made } = await asking();
    const { page, faults } = await openPage(`${url}/?token=${TOKEN}#/tools`);
    await dock(page).getByRole("link", { name: "Calls without a thread" }).waitFor();
    await page.keyboard.press("q");
    await page.keyboard.press("n");
    const reason = page.getByLabel("Reason for the refusal");
    await reason.fill("Not yet");
    await page.getByRole("link", { name: "Memory" }).click();
    await page.getByRole("heading", { name: "Memory" }).waitFor();
    expect(await reason.inputValue()).toBe("Not yet");
    await reason.press("Escape");
    await page.locator('#dock [aria-disabled="false"]').first().waitFor();
    await page.getByRole("button", { name: "Fold this question" }).click();
    await page.keyboard.press("y");
    await page.getByRole("button", { name: "Unfold this question" }).click();
    await page.locator('#dock [aria-disabled="false"]').first().waitFor();
    await page.keyboard.press("y");
    await dock(page).waitFor({ state: "detached" });
    await until("the call has run", () => existsSync(made));
    expect(faults).toEqual([]);
  });

  test("in the background the title counts it, and a notification names only its thread and tool", async () => {
    const { url, json } = await served({ preset: "coding", policy: { autonomy: "supervised" } });
    const { page, faults } = await openPage(`${url}/?token=${TOKEN}#/memory`, { permissions: ["notifications"] });
    await page.getByText("Connected").waitFor();
    await page.evaluate(TO_BACKGROUND);
    const notes = () =>
      page.evaluate<readonly unknown[]>("notes.map(({ title, body, isOpen }) => ({ title, body, isOpen }))");
    await json("POST", "/api/threads/main/calls", { name: "bash", input: { command: "touch made" } });
    const note = { title: "Calls without a thread", body: "bash waits for your answer" };
    await expect.poll(notes).toEqual([{ ...note, isOpen: true }]);
    expect(await page.title()).toBe("(1) Handrail");
    await page.evaluate("notes[0].dispatchEvent(new Event('click'))");
    await cell(page, "waiting").waitFor();
    await expect.poll(notes).toEqual([{ ...note, isOpen: false }]);
    expect(faults.filter((fault) => !fault.includes("Push API in incognito"))).toEqual([]); // a test's window is one
  });
});

test.skipIf(problem !== undefined)("of several background pages one stays connected to notify", async () => {
  const { url } = await served();
  const { page: first } = await openPage(url, { permissions: ["notifications"] });
  const context = first.context();
  await context.clock.install();
  await context.addInitScript(`
    globalThis.streams = 0;
    const own = fetch;
    globalThis.fetch = async (path, init) => {
      const answer = await own(path, init);
      if (!String(path).startsWith("/api/events")) return answer;
      streams += 1;
      init.signal.addEventListener("abort", () => (streams -= 1));
      return answer;
    };`);
  const pages = await Promise.all([1, 2, 3].map(() => context.newPage()));
  const isConnected = (page: Page) => page.evaluate<boolean>("streams > 0");
  const connected = async () => {
    const all = await Promise.all(
      pages.map(async (page) => ({ page, is: !page.isClosed() && (await isConnected(page)) })),
    );
    return all.filter(({ is }) => is).map(({ page }) => page);
  };
  for (const page of pages) {
    await page.goto(`${url}/?token=${TOKEN}`);
    await page.getByText("Connected").waitFor();
    await page.evaluate(TO_BACKGROUND);
  }
  await context.clock.fastForward(60_000);
  await expect.poll(async () => (await connected()).length).toBe(1);
  const [notifying] = await connected();
  await notifying?.close();
  await expect.poll(async () => (await connected()).length).toBe(1);
  const resting = pages.find((page) => !page.isClosed() && page !== notifying)!;
  await resting.evaluate(`
    Object.defineProperty(document, "hidden", { value: false, configurable: true });
    document.dispatchEvent(new Event("visibilitychange"));`);
  await expect.poll(() => isConnected(resting)).toBe(true);
});

describe.skipIf(problem !== undefined)("a run on the page", () => {
  test("a prompt is given, answered, and its running call is stopped", async () => {
    const { url } = await served(
      { preset: "coding" },
      {
        script: [
          { calls: [{ name: "bash", input: { command: "echo begun; sleep 1000" } }] },
          { text: "It was stopped." },
        ],
      },
    );
    const { page, faults } = await openPage(`${url}/?token=${TOKEN}`);
    await page.getByLabel("Prompt").fill("Wait for me");
    await page.keyboard.press("Enter");
    await cell(page, "running").getByRole("log", { name: "Output" }).getByText("begun").waitFor();
    await page.getByRole("button", { name: "Steer" }).waitFor();
    await cell(page, "running").getByRole("button", { name: "Stop" }).click();
    await cell(page, "stopped").getByText("Stopped by you").waitFor();
    await page.getByText("It was stopped.").waitFor();
    await page.getByRole("button", { name: "Send" }).waitFor();
    expect(faults).toEqual([]);
  });

  test("reloaded during a run, the page shows the earlier output and continues", async () => {
    const { url, json, toolkit } = await served({ preset: "coding" });
    const command = "seq 1 3; while [ ! -e go ]; do sleep 0.01; done; seq 4 6; while [ ! -e end ]; do sleep 0.01; done";
    await json("POST", "/api/threads/main/calls", { name: "bash", input: { command } });
    const { page, faults } = await openPage(`${url}/?token=${TOKEN}#/thread/main`);
    const tail = cell(page, "running").locator(".live");
    const shows = (text: string) => until(`it shows ${text}`, async () => (await tail.innerText()).trim() === text);
    await shows("1\n2\n3");
    await page.reload();
    await shows("1\n2\n3");
    await toolkit.backend.files.write("go", new Uint8Array());
    await shows("1\n2\n3\n4\n5\n6");
    await page.reload();
    await shows("1\n2\n3\n4\n5\n6");
    await toolkit.backend.files.write("end", new Uint8Array());
    await cell(page, "success").waitFor();
    expect(faults).toEqual([]);
  });
});
