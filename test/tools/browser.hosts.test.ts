import { spawnSync } from "node:child_process";
import { describe, expect, test } from "vitest";
import type { CheckedCall } from "../../src/core/contract/call.ts";
import { asContent } from "../../src/core/call/result.ts";
import { describeCall } from "../../src/policy/describe.ts";
import type { ToolkitOptions } from "../../src/app/toolkit-options.ts";
import { mustHaveChromium, runningChromium } from "../support/browser.ts";
import { browserSite, refOf } from "../support/browser-site.ts";
import { until } from "../support/until.ts";
import { toolkitWith, workspace } from "../support/workspace.ts";
import { plainText } from "../support/plain-text.ts";

/** A toolkit with the browser, and a site that the user has allowed. Questions are answered with once. */
async function browsing(options: ToolkitOptions = {}) {
  const at = await browserSite();
  const asked: string[] = [];
  const workDir = await workspace({ "notes.txt": "from the workspace" });
  const toolkit = await toolkitWith({
    preset: "assistant",
    workDir,
    policy: { network: { allowPrivate: [at], allowHosts: [at] } },
    approver: async (call: CheckedCall) => {
      asked.push(describeCall(call));
      return { answer: "once" };
    },
    ...options,
  });
  const act = async (action: string, input: { readonly [name: string]: unknown } = {}) =>
    plainText(await toolkit.call({ name: "browser", input: { action, ...input } }));
  const open = (path: string) => act("open", { url: `http://${at}${path}` });
  return { at, toolkit, act, open, asked };
}

describe.skipIf(mustHaveChromium() !== undefined)("the browser", () => {
  test("fills in a login form; the password and the form are asked about, and the password is hidden", async () => {
    const { act, open, asked, at } = await browsing();
    const page = await open("/login");
    await act("type", { ref: refOf(page, '"User"'), text: "ada" });
    const typed = await act("type", { ref: refOf(page, '"Password"'), text: "correct horse" });
    expect(typed).not.toContain("correct horse");
    const after = await act("click", { ref: refOf(page, '"Log in"') });
    expect(after).toContain(`http://${at}/welcome`);
    expect(after).toContain("Welcome");
    expect(asked).toEqual([
      `Type into a password field of http://${at}/login`,
      `Submit a form to http://${at}/welcome: POST user=ada, password=••••`,
    ]);
  });

  test("waits for a table that loads late", async () => {
    const { act, open } = await browsing();
    expect([await open("/late"), await act("wait", { text: "A-2" })].join()).toContain("row: A-2 | 7.00");
  });

  test("dismisses a dialog, and accepts it when the action says so", async () => {
    const { act, open } = await browsing();
    const page = await open("/dialog");
    const ref = refOf(page, '"Delete"');
    const first = await act("click", { ref });
    expect(first).toContain('[Dialog (confirm) "Delete it?" was dismissed. Repeat the action with dialog="accept"');
    expect(first).toContain("kept");
    expect(await act("click", { ref, dialog: "accept" })).toContain("deleted");
    const rename = { ref: refOf(page, '"Rename"'), dialog: "accept", text: "Grace" };
    expect(await act("click", rename)).toContain("Grace");
  });

  test("opens a new tab, goes to it, and back to the first", async () => {
    const { act, open } = await browsing();
    const opened = await act("click", { ref: refOf(await open("/tabs"), "Orders in a new tab") });
    expect(opened).toContain("[A new tab was opened, and is the current one]");
    expect(opened).toContain('heading "Orders"');
    expect(await act("tabs")).toMatch(/1\. \/tabs .*\n2\. \/late .* \(current\)$/);
    expect(await act("tabs", { tab: 1 })).toContain("Orders in a new tab");
  });

  test.each([
    ["/frame", '"Inside"', "Pressed"],
    ["/shadow", '"In the shadow"', "lit"],
  ])("clicks what is inside of %s", async (path, element, expected) => {
    const { act, open } = await browsing();
    expect(await act("click", { ref: refOf(await open(path), element) })).toContain(expected);
  });

  test("uploads a file of the workspace, and saves a download, each after a question", async () => {
    const { act, open, asked, toolkit } = await browsing();
    const field = refOf(await open("/upload"), '"File"');
    expect(await act("upload", { ref: field, paths: ["notes.txt"] })).toContain("from the workspace");
    let after = await act("click", { ref: refOf(await open("/download"), '"Report"') });
    await until("the download is reported", async () => {
      if (!after.includes("[Downloaded")) after += await act("snapshot");
      return after.includes("[Downloaded");
    });
    const [, id = ""] = /\[Downloaded report\.csv \(8B\) to output:\/\/(\w+)\]/.exec(after) ?? [after];
    const read = plainText(await toolkit.call({ name: "file_read", input: { path: `output://${id}` } }));
    expect(read).toContain("a,b\n1,2");
    expect(asked).toEqual([
      expect.stringMatching(/^Upload to http:.*\/upload: notes\.txt$/),
      expect.stringMatching(/^Keep a download of http:.*\/report\.csv: report\.csv$/),
    ]);
  });

  test("refuses a download that a person does not want, and reports it", async () => {
    const { act, open } = await browsing({ approver: async () => ({ answer: "refuse" }) });
    let after = await act("click", { ref: refOf(await open("/download"), '"Report"') });
    await until("the download is reported", async () => {
      if (!after.includes("[The download")) after += await act("snapshot");
      return after.includes("[The download report.csv was not kept: ");
    });
    expect(after).not.toContain("output://");
  });

  test("scrolls through a page that grows", async () => {
    const { act, open } = await browsing();
    expect(await open("/endless")).not.toContain("Item 21");
    await act("scroll", { direction: "bottom" });
    const grown = await act("wait", { text: "Item 40" });
    const scrolled = await act("scroll", { direction: "bottom" });
    expect(await act("find", { text: "Item 40" })).toContain("- Item 40");
    expect(`${grown}${scrolled}`).not.toContain("- Item 3\n"); // only what is new
  });

  test("reports errors of the page, and lists its messages and requests", async () => {
    const { act, open, at } = await browsing();
    const news = [await open("/broken"), await act("snapshot")].join();
    expect(news).toContain("[Console error: no stock]");
    expect(news).toContain("[Console error: late fault]");
    expect(await act("console")).toContain("error: no stock");
    expect(await act("network")).toContain(`GET 200 document http://${at}/broken`);
  });

  test("names the nearest element at once when a reference is stale or unknown", async () => {
    const { act, open } = await browsing();
    const ref = refOf(await open("/changing"), '"Save"');
    await act("click", { ref });
    expect(await act("click", { ref })).toMatch(
      new RegExp(
        `^Tool error: ${ref} \\(button "Save"\\) is no longer on the page\\. Nearest: e\\d+ \\(button "Save"\\)`,
      ),
    );
    expect(await act("click", { ref: "e999" })).toContain("there is no element e999");
  });

  test("shows at most 8 KB of a long page, and saves the whole for read, grep and find", async () => {
    const { act, open, toolkit } = await browsing();
    const page = await open("/long");
    expect(Buffer.byteLength(page)).toBeLessThan(8_600);
    expect(page).not.toContain("Paragraph 399");
    const [, id = ""] = /output:\/\/(\w+)/.exec(page) ?? [];
    const rest = await toolkit.call({ name: "file_read", input: { path: `output://${id}`, offset: 400 } });
    expect(plainText(rest)).toContain("Paragraph 399");
    expect(await act("find", { text: "paragraph 399" })).toContain("- Paragraph 399 with some words in it");
    expect((await act("text")).split("\n").length).toBeGreaterThan(100);
  });

  test("asks before a script runs, and gives its value", async () => {
    const { act, open, asked, at } = await browsing();
    await open("/login");
    expect(await act("evaluate", { script: "() => document.forms.length" })).toContain("\n1\n");
    expect(asked).toEqual([`Run a script on http://${at}/login: () => document.forms.length`]);
  });

  test("joins a running browser, waits for a person there, and does not show what they type", async () => {
    const { address, browser } = await runningChromium();
    const asked: string[] = [];
    const { act, open } = await browsing({
      browser: { cdp: address },
      approver: async (call: CheckedCall) => {
        asked.push(describeCall(call));
        if (asked.length > 1) return { answer: "once" };
        const page = browser
          .contexts()[0]
          ?.pages()
          .find((each) => each.url().endsWith("/login"));
        await page?.getByLabel("User").pressSequentially("4711-secret");
        return { answer: "once" };
      },
    });
    expect(await open("/login")).toContain("Log in");
    expect(await act("wait", { person: "Log in" })).toContain(": ••••");
    expect(asked).toEqual([expect.stringMatching(/^For you to do in the page http:.*\/login: Log in$/)]);
    expect(await act("evaluate", { script: "document.querySelector('input').value" })).not.toContain("4711");
  });

  test("takes a screenshot that the model sees", async () => {
    const { open, toolkit } = await browsing();
    await open("/long");
    const result = await toolkit.call({ name: "browser", input: { action: "screenshot" } });
    expect(asContent(result).content.map(({ type }) => type)).toEqual(["text", "image"]);
  });

  test.each([
    ["open", {}, "action open: expected url (optional: dialog), got nothing"],
    ["click", { ref: "e1", url: "x" }, "action click: expected ref (optional: dialog, text), got ref, url"],
    ["wait", {}, "action wait: expected text, or seconds, or person (optional: gone), got nothing"],
  ])("explains wrong arguments of %s", async (action, input, expected) => {
    const { act } = await browsing();
    expect(await act(action, input)).toContain(expected);
  });

  test.each(["file:///etc/passwd", "chrome://version", "javascript:alert(1)"])("does not open %s", async (url) => {
    const { act } = await browsing();
    expect(await act("open", { url })).toMatch(/is not supported|is not a URL/);
  });

  test("starts again after a crash, and reports it", async () => {
    const { open } = await browsing();
    const before = browserProcesses();
    await open("/login");
    const own = browserProcesses().filter((pid) => !before.includes(pid));
    for (const pid of own) process.kill(pid, "SIGKILL");
    await expect.poll(() => browserProcesses().filter((pid) => own.includes(pid))).toEqual([]);
    expect(await open("/long")).toMatch(/\[The browser had crashed and was started again\. .*\/login\]/);
  });

  test("reaches a port of this machine only while a job of the thread listens on it", async () => {
    const { act, toolkit, asked } = await browsing({ preset: "all", policy: {} });
    const url = "http://localhost:18765/";
    expect(await act("open", { url })).toMatch(/not allowed|no job of this thread/);
    const command = `exec node -e 'require("http").createServer((_, r) => r.end("<h1>Of the job")).listen(18765, "127.0.0.1", () => console.log("up"))'`;
    const started = plainText(await toolkit.call({ name: "bash", input: { command, background: true } }));
    await expect.poll(() => act("open", { url }), { timeout: 20_000 }).toContain("Of the job");
    expect(started).toBeTruthy();
    expect(asked).toEqual([expect.stringContaining("18765")]); // the command, not the page
  });

  test("keeps threads apart, and ends its processes with the toolkit", async () => {
    const before = browserProcesses();
    const { at, toolkit } = await browsing();
    const input = { action: "open", url: `http://${at}/login` };
    await Promise.all([
      toolkit.call({ name: "browser", input }),
      toolkit.call({ name: "browser", input, thread: "b" }),
    ]);
    const tabs = await toolkit.call({ name: "browser", input: { action: "tabs" }, thread: "b" });
    expect(plainText(tabs)).not.toContain("2. ");
    expect(browserProcesses()).toHaveLength(before.length + 1);
    await toolkit.close();
    await expect.poll(browserProcesses).toEqual(before);
  });
});

/** The browsers that this process has started, by process id. */
function browserProcesses(): readonly number[] {
  const { stdout } = spawnSync("ps", ["-o", "pid=,args=", "--ppid", String(process.pid)], { encoding: "utf8" });
  return stdout.split("\n").flatMap((line) => (/chromium/.test(line) ? [Number(line.trim().split(" ")[0])] : []));
}
