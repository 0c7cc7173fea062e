import { Type } from "typebox";
import axe from "axe-core";
import type { Page } from "playwright-core";
import { describe, expect, test } from "vitest";
import { sqliteStore } from "../../../src/record/activity/sqlite-store.ts";
import { defineTool } from "../../../src/core/contract/tool.ts";
import { keptGrants } from "../../../src/policy/kept-grants.ts";
import { mustHaveChromium, openPage } from "../../support/browser.ts";
import { mustBeHere, programProblem } from "../../support/here.ts";
import { temporaryFolder, toolkitWith, workspace } from "../../support/workspace.ts";
import { type Served, TOKEN, saveOutput, served } from "../served.ts";

const problem = mustHaveChromium();
const tmuxProblem = programProblem("tmux");
mustBeHere("tmux", tmuxProblem);

const addressOf = ({ url }: Served, hash: string) => `${url}/?token=${TOKEN}${hash}`;

async function eventsIn({ store }: Served, thread: string) {
  const events = [];
  for await (const event of store.events({ thread })) events.push(event);
  return events;
}

/** Returns what axe finds serious or critical: rule and place. */
async function faultsOf(page: Page): Promise<readonly string[]> {
  await page.evaluate(axe.source);
  return await page.evaluate(async () => {
    const { violations } = await (globalThis as unknown as { axe: typeof axe }).axe.run();
    return violations
      .filter(({ impact }) => impact === "serious" || impact === "critical")
      .flatMap(({ id, nodes }) => nodes.map(({ target }) => `${id}: ${target.join(" ")}`));
  });
}

const order = defineTool({
  name: "order",
  description: "Orders things.",
  input: Type.Object(
    {
      what: Type.String({ minLength: 2 }),
      count: Type.Integer({ minimum: 1 }),
      size: Type.Optional(Type.Enum(["small", "large"])),
      gift: Type.Optional(Type.Boolean()),
      lines: Type.Optional(Type.Array(Type.Object({ text: Type.String() }))),
      to: Type.Optional(Type.Object({ city: Type.String() })),
      extra: Type.Optional(Type.Union([Type.Number(), Type.Array(Type.String())])),
    },
    { additionalProperties: false },
  ),
  effects: () => [],
  run: async (input) => input,
  render: (input) => JSON.stringify(input),
});

describe.skipIf(problem !== undefined)("interaction", () => {
  test("a form with every kind of field runs a tool and shows its cell", async () => {
    const api = await served({ preset: "none", tools: [order] });
    const { page, faults } = await openPage(addressOf(api, "#/tools"));
    await page.getByRole("link", { name: "order" }).click();
    await page.getByLabel("what").fill("tea");
    await page.getByLabel("count").fill("3");
    await page.getByLabel("size").selectOption("large");
    await page.getByLabel("gift").check();
    await page.getByRole("button", { name: "Add to lines" }).click();
    await page.getByLabel("text").fill("two\nlines");
    await page.getByLabel("city").fill("Oslo");
    await page.getByLabel("extra").fill('["a"]');
    await page.getByRole("button", { name: "Run tool" }).click();
    const cell = page.locator('[data-state="success"]');
    await cell.getByRole("button").click();
    const input = { what: "tea", count: 3, size: "large", gift: true, lines: [{ text: "two\nlines" }] };
    const sent = JSON.parse((await cell.locator("pre").textContent()) ?? "") as unknown;
    expect(sent).toEqual({ ...input, to: { city: "Oslo" }, extra: ["a"] });
    expect(await api.store.threads()).toHaveLength(1);
    expect(faults).toEqual([]);
  });

  test("a thread, an image or an output that does not exist is reported", async () => {
    const api = await served();
    const image = { type: "image", mimeType: "image/png", bytes: 9, output: "0000000000000000" } as const;
    const of = { call: "look", thread: "main", at: Date.now() };
    await api.store.commit({ ...of, type: "call.started", name: "read", input: {} });
    await api.store.commit({ ...of, type: "call.finished", status: "ok", content: [image], data: {} });
    const { page } = await openPage(addressOf(api, "#/thread/main"));
    await page.getByText("This image cannot be shown here").waitFor();
    await page.goto(page.url().replace("#/thread/main", "#/thread/none"));
    await page.getByText("There is no such thread.").waitFor();
    await page.goto(page.url().replace("#/thread/none", "#/output/none"));
    await page.getByRole("heading", { name: "This output cannot be shown" }).waitFor();
    expect(new URL(page.url()).hash).toBe("#/output/none");
  });

  test("a value that does not fit the schema is reported at its field, and the input is kept", async () => {
    const api = await served({ preset: "none", tools: [order] });
    const { page } = await openPage(addressOf(api, "#/tools/order"));
    await page.getByLabel("count").fill("many");
    await page.getByRole("button", { name: "Add to lines" }).click();
    await page.getByLabel("extra").fill("[");
    await page.getByRole("button", { name: "Run tool" }).click();
    await page.getByText("Expected JSON.").waitFor();
    await page.getByLabel("extra").fill("");
    await page.getByLabel("extra").press("Control+Enter");
    const field = page.getByLabel("count");
    await page.getByText('parameter "count": expected integer, got string "many"').first().waitFor();
    await expect.poll(() => field.getAttribute("aria-invalid")).toBe("true"); // the call's cell has that text too
    expect(await field.inputValue()).toBe("many");
    const words = await page.getByLabel("what").getAttribute("aria-describedby");
    expect(await page.locator(`[id="${words}"]`).textContent()).toContain('missing required parameter "what"');
    expect(await page.locator('[data-field="lines[0].text"][aria-invalid="true"]').count()).toBe(1);
  });

  test("a job shows its last lines, reads typed input, and is stopped; an ended one keeps its place", async () => {
    const api = await served({ preset: "coding" });
    const { page, faults } = await openPage(addressOf(api, "#/threads"));
    const start = async (command: string) => {
      const input = { command, background: true };
      await api.json("POST", "/api/threads/main/calls", { name: "bash", input, wait: true });
    };
    await start('printf "1\\n2\\n3\\n\\033[31m4\\033[0m\\n5\\n"; while read line; do echo "got $line"; done; echo bye');
    await start("echo waiting; sleep 600");
    const [sleeping, reading] = [page.locator(".job").first(), page.locator(".job").nth(1)];
    await reading.getByText("Running 0:").waitFor();
    await expect.poll(() => reading.locator(".tail pre").innerText()).toBe("1\n2\n3\n4\n5\n");
    expect(await reading.locator(".a-red").innerText()).toBe("4");
    await reading.getByPlaceholder("Input").fill("words");
    await page.keyboard.press("Enter");
    await expect.poll(() => reading.locator(".tail pre").innerText()).toBe("2\n3\n4\n5\ngot words\n");
    expect(await reading.getByPlaceholder("Input").inputValue()).toBe("");
    await sleeping.getByRole("button", { name: /^Stop/ }).click();
    await sleeping.getByText("Output ends here.").waitFor();
    await reading.getByRole("button", { name: "End input" }).click();
    await reading.getByText("exit 0").waitFor();
    await expect.poll(() => reading.locator(".tail pre").innerText()).toBe("3\n4\n5\ngot words\nbye\n");
    await reading.getByRole("link", { name: "Open output" }).click();
    await page.getByRole("region", { name: "Output" }).getByText("got words").waitFor();
    expect(faults).toEqual([]);
  });

  test("the output of a running job is followed at its end, and stays where it is elsewhere", async () => {
    const api = await served({ preset: "coding" });
    const input = { command: "seq 2000; while read most; do seq $most; done", background: true };
    await api.json("POST", "/api/threads/main/calls", { name: "bash", input, wait: true });
    const { page, faults } = await openPage(addressOf(api, "#/threads"));
    await page.getByRole("link", { name: "Open output" }).click();
    const text = page.getByRole("region", { name: "Output" });
    const { jobs } = await api.json<{ jobs: readonly [{ id: number }] }>("GET", "/api/jobs");
    const write = (line: string) => api.json("POST", `/api/jobs/${jobs[0].id}/input`, { text: `${line}\n` });
    /** The last line in memory, and whether it is visible. */
    const last = () =>
      text.evaluate((box) => {
        const row = [...box.querySelectorAll(".ln")].at(-1);
        const isSeen = (row?.getBoundingClientRect().top ?? Infinity) < box.getBoundingClientRect().bottom;
        return [row?.textContent, isSeen];
      });
    await expect.poll(last).toEqual(["2000\n", true]);
    for (const most of [1, 3_001]) {
      await write(`${most}`);
      await expect.poll(last).toEqual([`${most}\n`, true]);
    }
    await text.evaluate((box) => box.scrollBy(0, -900));
    await write("1");
    await expect.poll(last).toEqual(["1\n", false]);
    await text.press("Home");
    await text.getByText("17", { exact: true }).waitFor();
    expect(faults).toEqual([]);
  });

  test("a job of another process shows its last lines, reads typed input, and is stopped", async () => {
    const api = await served({ preset: "coding" });
    const store = sqliteStore({ file: api.file });
    const other = await toolkitWith({
      workDir: await workspace(),
      preset: "coding",
      policy: { autonomy: "full" },
      store,
    });
    const command = "echo one; read line; echo got $line; sleep 600";
    await other.call({ name: "bash", input: { command, background: true } });
    const { page, faults } = await openPage(addressOf(api, "#/threads"));
    const job = page.locator(".job");
    await expect.poll(() => job.locator(".tail pre").innerText()).toBe("one\n");
    await job.getByPlaceholder("Input").fill("words");
    await page.keyboard.press("Enter");
    await expect.poll(() => job.locator(".tail pre").innerText()).toBe("one\ngot words\n");
    expect(await job.getByPlaceholder("Input").inputValue()).toBe("");
    await job.getByRole("button", { name: /^Stop/ }).click();
    await job.getByText("Output ends here.").waitFor();
    expect(await job.locator(".tail pre").innerText()).toBe("one\ngot words\n");
    expect(faults).toEqual([]);
    await other.close();
  });

  test("a saved output of 300 MB is paged and searched; the page's memory stays flat", async () => {
    const api = await served({ preset: "none" });
    const line = "a line of sixty-three letters, and no more than that, as it seems\n";
    const bytes = Buffer.alloc(300 * 1_048_576, line);
    const marks = [0, 0.3, 0.31, 0.9].map((part) => Math.floor((bytes.length * part) / line.length) * line.length);
    for (const [index, at] of marks.entries()) bytes.write(`\x1b[32mneedle\x1b[0m ${index}`, at);
    const id = await saveOutput(api, bytes);
    const { page, faults } = await openPage(addressOf(api, `#/output/${id}`));
    const client = await page.context().newCDPSession(page);
    const memory = async () => {
      await client.send("HeapProfiler.collectGarbage");
      return (await client.send("Runtime.getHeapUsage")).usedSize / 1_048_576;
    };
    const text = page.getByRole("region", { name: "Output" });
    await text.getByText("needle 0").waitFor();
    expect(await text.locator(".a-green").first().innerText()).toBe("needle");
    const before = await memory();
    for (let turn = 0; turn < 40; turn += 1) {
      await text.evaluate((element) => element.scrollBy(0, 8_000));
      await page.evaluate("new Promise(requestAnimationFrame)");
    }
    await page.getByText(/^\d+(\.\d)? [KM]B of 300\.0 MB$/).waitFor();
    await page.getByLabel("Search this output").fill("NEEDLE");
    await page.getByText("1 of 1+").waitFor();
    for (const index of [1, 2, 3]) {
      await page.getByLabel("Search this output").press("Enter");
      await text.locator(".hit", { hasText: `needle ${index}` }).waitFor();
    }
    await page.getByRole("button", { name: "Previous match" }).click();
    await text.locator(".hit", { hasText: "needle 2" }).waitFor();
    await text.press("End");
    await page.getByText("300.0 MB of 300.0 MB").waitFor();
    await page.getByLabel("Position").fill("500");
    await page.getByText("150.0 MB of 300.0 MB").waitFor();
    expect((await memory()) - before).toBeLessThan(10);
    expect(await text.locator(".ln").count()).toBeLessThanOrEqual(3_000);
    expect(faults).toEqual([]);
  }, 240_000);

  test.skipIf(tmuxProblem !== undefined)("a real pane is typed into only while typing is switched on", async () => {
    const api = await served({ terminal: true });
    await api.toolkit.call({ name: "bash", input: { command: "echo the pane is open" } });
    const { page, faults } = await openPage(addressOf(api, "#/threads"));
    const screen = page.getByRole("log", { name: "Screen" });
    const typed = async () => {
      const calls = await eventsIn(api, "terminal");
      return calls.flatMap((event) => (event.type === "call.started" ? [event.input] : []));
    };
    await screen.getByText(/^the pane is open/m).waitFor();
    await screen.click();
    await page.keyboard.type("echo lost");
    await page.getByRole("switch", { name: "Typing off" }).click();
    await page.getByText("Typing is on. Your keys are judged like commands.").waitFor();
    await page.keyboard.type("echo $((40+3))");
    await page.keyboard.press("ArrowLeft");
    await page.keyboard.press("ArrowLeft");
    await page.keyboard.press("Backspace");
    await page.keyboard.type("2");
    await page.keyboard.press("Enter");
    await screen.getByText(/^42$/m).waitFor();
    expect(await screen.innerText()).not.toContain("lost");
    await expect.poll(async () => JSON.stringify((await typed()).at(-1))).toContain("Enter");
    const before = await typed();
    await page.keyboard.press("Control+]");
    await page.getByRole("switch", { name: "Typing off" }).waitFor();
    await page.keyboard.type("echo lost");
    await page.getByRole("switch").click();
    await page.getByLabel("Search threads").click();
    await page.getByRole("switch", { name: "Typing off" }).waitFor();
    expect(await typed()).toEqual(before);
    expect(await faultsOf(page)).toEqual([]);
    expect(faults).toEqual([]);
  });

  test("a grant is revoked", async () => {
    const grants = keptGrants(temporaryFolder());
    const project = { backend: "local", folder: "/project" };
    await grants.keep({ workspace: project, key: "exec:make", label: "make, in /project", since: 1 });
    await grants.keep({ workspace: project, key: "exec:npm", label: "npm\u202e ci", since: 2 });
    const { page } = await openPage(addressOf(await served({ preset: "none" }, { grants }), "#/grants"));
    await page.getByRole("button", { name: "Revoke make, in /project" }).click();
    await page.getByText("make, in /project").waitFor({ state: "detached" });
    await page.getByRole("button", { name: "Revoke npm[U+202E] ci" }).waitFor();
    expect(await grants.list()).toMatchObject([{ key: "exec:npm" }]);
  });

  test("a memory is found and, after confirmation, forgotten", async () => {
    const api = await served({ preset: "none" });
    const memory = { content: "Nothing", category: "daily" } as const;
    await api.toolkit.memories.store([
      ...Array.from({ length: 120 }, (_, index) => ({ ...memory, key: `note ${index}` })),
      { key: "deploys", content: "Deploys run on Tuesdays", category: "core" },
    ]);
    const { page } = await openPage(addressOf(api, "#/memory"));
    const rows = page.locator("[data-memory]");
    await rows.nth(99).waitFor();
    await page.getByRole("button", { name: "Load more" }).click();
    await rows.nth(120).waitFor();
    await page.getByRole("button", { name: "core" }).click();
    await rows.nth(1).waitFor({ state: "detached" });
    await page.getByRole("button", { name: "All", exact: true }).click();
    await page.getByLabel("Search memories").fill("tuesdays");
    await rows.nth(1).waitFor({ state: "detached" });
    await page.getByRole("button", { name: "Forget deploys" }).click();
    await page.keyboard.press("Escape");
    await page.getByRole("button", { name: "Forget deploys" }).click();
    await page.getByRole("button", { name: "Forget it" }).click();
    await page.getByText("No memory matches").waitFor();
    expect(await api.toolkit.memories.get("deploys")).toBeUndefined();
  });

  test.each(["light", "dark"] as const)("no page has a serious accessibility fault: %s", async (colorScheme) => {
    const grants = keptGrants(temporaryFolder());
    await grants.keep({ workspace: { backend: "local", folder: "/project" }, key: "a", label: "make", since: 1 });
    const api = await served({ preset: "none", tools: [order] }, { grants });
    await api.toolkit.memories.store([{ key: "deploys", content: "On Tuesdays", category: "core" }]);
    const output = await saveOutput(api, "one\n\x1b[33mtwo\x1b[0m\n");
    const { page, faults } = await openPage(addressOf(api, "#/tools/order"), { colorScheme });
    for (const [hash, sign] of [
      ["#/tools/order", "Run tool"],
      ["#/grants", "Revoke"],
      ["#/memory", "On Tuesdays"],
      ["#/browsers", "this browser"],
      [`#/output/${output}`, "two"],
    ] as const) {
      await page.goto(`${api.url}/${hash}`);
      await page.getByText(sign).first().waitFor();
      expect(await faultsOf(page), hash).toEqual([]);
    }
    expect(faults).toEqual([]);
  });
});
