import { once } from "node:events";
import { type AddressInfo, type Socket, connect, createServer } from "node:net";
import axe from "axe-core";
import { describe, expect, onTestFinished, test } from "vitest";
import { sqliteStore } from "../../../src/record/activity/sqlite-store.ts";
import { serveApi } from "../../../src/serve/server.ts";
import type { Store } from "../../../src/core/contract/activity.ts";
import { mustHaveChromium, openPage } from "../../support/browser.ts";
import { until } from "../../support/until.ts";
import { TOKEN, served } from "../served.ts";

const problem = mustHaveChromium();

/** Resolves when the log has stopped scrolling. */
const AT_REST = `(async () => {
  const frame = () => new Promise(requestAnimationFrame);
  const log = document.querySelector(".log");
  for (let last; last !== log.scrollTop;) {
    last = log.scrollTop;
    for (let frames = 0; frames < 3; frames++) await frame();
  }
})()`;

describe.skipIf(problem !== undefined)("the page, live", () => {
  test("a call of another process goes from running to success", async () => {
    const { url, file } = await served({ preset: "none" });
    const other = sqliteStore({ file });
    await other.commit({ type: "thread.created", thread: "main", at: Date.now(), target: "local", workDir: "/" });
    const { page, faults } = await openPage(`${url}/?token=${TOKEN}#/thread/main`);
    const of = { call: "call-1", thread: "main" };
    await other.commit({ ...of, type: "call.started", at: Date.now(), name: "bash", input: { command: "make" } });
    const cell = page.locator('[data-call="call-1"]');
    await cell.and(page.locator('[data-state="running"]')).waitFor();
    await other.commit({ ...of, type: "call.updated", at: Date.now(), update: { output: "one\ntwo\n" } });
    await cell.getByText("two").waitFor();
    await other.commit({ ...of, type: "call.finished", at: Date.now(), status: "ok", data: { exit_code: 0 } });
    await cell.and(page.locator('[data-state="success"]')).waitFor();
    expect(faults).toEqual([]);
    await other.close();
  });

  test("a call of a tool with userFacing: false has no cell", async () => {
    const { url, store } = await served({ preset: "none" });
    for (const [call, userFacing] of [
      ["hidden", { userFacing: false }],
      ["shown", {}],
    ] as const) {
      const of = { call, thread: "main", at: Date.now() };
      await store.commit({ ...of, type: "call.started", name: "internal_tool", input: {}, ...userFacing });
      await store.commit({ ...of, type: "call.finished", status: "ok", data: {} });
    }
    const { page } = await openPage(`${url}/?token=${TOKEN}#/thread/main`);
    await page.locator('[data-call="shown"]').waitFor();
    expect(await page.locator("[data-call]").count()).toBe(1);
  });

  test("a sub-agent's thread is opened from its call, and its bar leads back in one line", async () => {
    const { url, store } = await served();
    const at = Date.now();
    const content = [{ type: "text", text: "Find every place that reads the clock twice. ".repeat(4) }] as const;
    const created = { type: "thread.created", at, target: "local", workDir: "/a/folder/with/a/long/name" } as const;
    await store.commit({ ...created, thread: "first" });
    await store.commit({
      type: "message.added",
      thread: "first",
      at,
      message: { role: "user", from: "person", content },
    });
    await store.commit({ type: "call.started", thread: "first", at, call: "one", name: "delegate", input: {} });
    await store.commit({ ...created, thread: "second", parent: "one" });
    const read = { call: "two", name: "read", input: {}, agent: "reviewer" };
    await store.commit({ type: "call.started", thread: "second", at, ...read });
    const { page } = await openPage(`${url}/?token=${TOKEN}#/thread/first`, { viewport: { width: 768, height: 900 } });
    await page.getByRole("link", { name: "Open thread" }).click();
    const bar = page.locator("main .ttl");
    await bar.getByRole("heading", { name: "reviewer" }).waitFor();
    expect((await bar.boundingBox())?.height).toBeLessThan(30);
    await bar.getByRole("link", { name: "Find every place" }).click();
    await bar.getByRole("heading", { name: "Find every place" }).waitFor();
  });

  test("it follows at its end; scrolled up, it keeps the position while messages are added on both sides", async () => {
    const { url, store } = await served({ preset: "none" });
    const call = async (number: number) => {
      const of = { call: `call-${number}`, thread: "main", at: Date.now() };
      store.append({ ...of, type: "call.started", name: "bash", input: { command: `echo ${number}` } });
      const data = { path: "a.txt", diff: "@@ -1,1 +1,1 @@\n-one\n+two\n".repeat(number % 3) };
      await store.commit({ ...of, type: "call.finished", status: "ok", data });
    };
    await Promise.all(Array.from({ length: 600 }, (_, number) => call(number)));
    const { page } = await openPage(`${url}/?token=${TOKEN}#/thread/main`);
    await page.locator('[data-call="call-599"]').waitFor();
    await call(600);
    const isAtEnd = () =>
      page.locator(".log").evaluate((log) => log.scrollHeight - log.scrollTop - log.clientHeight < 24);
    await page.locator('[data-call="call-600"]').waitFor();
    await ask(store);
    await page.locator("#dock").waitFor();
    await until("it follows when a question makes the log shorter", isAtEnd);

    const topOf = async (id: string) => (await page.locator(`[data-call="${id}"]`).boundingBox())?.y;
    await page.mouse.move(700, 200);
    for (const earlier of [599, 450, 300, 150, 0]) {
      const target = page.locator(`[data-call="call-${earlier}"]`);
      for (let tries = 0; tries < 400 && !(await target.isVisible()); tries++) {
        await page.mouse.wheel(0, -600);
        await page.evaluate(AT_REST); // wheels that wait would scroll past the target, which is then not rendered
      }
      await target.waitFor();
      // Scrolling comes to rest first; afterwards nothing must move the text.
      await until("it rests", async () => (await topOf(`call-${earlier}`)) === (await topOf(`call-${earlier}`)));
    }
    await page.mouse.wheel(0, 3_000);
    const read = await page.locator(".cell").evaluateAll((cells) => {
      const seen = cells.find((cell) => cell.getBoundingClientRect().top > 150);
      return seen?.getAttribute("data-call") ?? "";
    });
    const before = await topOf(read);
    await call(601);
    await call(602);
    await page.getByText("echo 602").waitFor({ state: "attached" });
    expect(await topOf(read)).toBe(before);
  }, 90_000);

  test("disconnected, it says so and accepts no answers; reconnected, it has what arrived meanwhile", async () => {
    const { url, store, file, close, toolkit, browsers } = await served({ preset: "none" });
    await ask(store);
    const { page } = await openPage(`${url}/?token=${TOKEN}#/thread/main`);
    await page.locator('#dock .btn[aria-disabled="false"]').first().waitFor();
    await close();
    await page.getByText("Disconnected since").first().waitFor();
    await page.locator('#dock [data-consent][aria-disabled="true"]').first().waitFor();
    const of = { call: "meanwhile", thread: "main", at: Date.now() };
    const other = sqliteStore({ file });
    await other.commit({ ...of, type: "call.started", name: "bash", input: { command: "make" } });
    await other.commit({ ...of, type: "call.finished", status: "ok", data: {} });
    const again = await serveApi({ toolkit, token: TOKEN, browsers, port: Number(new URL(url).port) });
    await page.locator('[data-call="meanwhile"][data-state="success"]').waitFor();
    expect(await page.locator(".lost").count()).toBe(0);
    await again.close();
    await other.close();
  });

  test("disconnected during a run, it resumes with what was written meanwhile, and nothing twice", async () => {
    const { url, json, toolkit } = await served({ preset: "coding" });
    const way = await cuttable(url);
    const command = "seq 1 3; while [ ! -e go ]; do sleep 0.01; done; seq 4 6; while [ ! -e end ]; do sleep 0.01; done";
    const body = { name: "bash", input: { command } };
    const { call } = await json<{ call: string }>("POST", "/api/threads/main/calls", body);
    const { page } = await openPage(`${way.url}/?token=${TOKEN}#/thread/main`);
    const cell = page.locator(`[data-call="${call}"]`);
    const shows = (text: string) =>
      until(`it shows ${text}`, async () => (await cell.locator(".live").innerText()).trim() === text);
    await shows("1\n2\n3");
    way.cut();
    await page.getByText("Disconnected since").first().waitFor();
    await toolkit.backend.files.write("go", new Uint8Array());
    const written = async () => (await json<{ output: string }>("GET", `/api/calls/${call}`)).output;
    await until("it is recorded", async () => (await written()).endsWith("6\n"));
    way.restore();
    await page.evaluate("dispatchEvent(new Event('online'))"); // it connects at once
    await shows("1\n2\n3\n4\n5\n6");
    await toolkit.backend.files.write("end", new Uint8Array());
    await cell.and(page.locator('[data-state="success"]')).waitFor();
    expect(await page.locator(".lost").count()).toBe(0);
  });

  test.for(["light", "dark"] as const)("axe finds no serious violation in the %s theme", async (colorScheme) => {
    const { url, toolkit, store } = await served({ preset: "coding" });
    await toolkit.call({ name: "bash", input: { command: "printf '\\033[31mred\\033[0m\\n'; exit 1" } });
    const code = '// adds\nexport const sum = (of: number[]) => of.reduce((a, b) => a + b, 0); // "all"\n';
    await toolkit.call({ name: "write", input: { path: "a.ts", content: code } });
    await toolkit.call({ name: "edit", input: { path: "a.ts", old_text: "(a, b) => a + b", new_text: "add" } });
    await toolkit.call({ name: "read", input: { path: "a.ts" } });
    const content = [{ type: "text", text: `Done:\n~~~ts\n${code}~~~` }] as const;
    await store.commit({
      type: "message.added",
      thread: "main",
      at: Date.now(),
      message: { role: "assistant", content },
    });
    await toolkit.call({ name: "read", input: { path: "none.txt" } });
    await ask(store);
    const { page } = await openPage(`${url}/?token=${TOKEN}#/thread/main`, { colorScheme, bypassCSP: true });
    await page.locator('[data-state="failed"]').waitFor();
    await page.locator(".cell .ch").first().click();
    await page.getByRole("button", { name: /^read a\.ts/ }).click();
    for (const part of [".diff", ".well > pre", "pre.code"]) await page.locator(`${part} .c-keyword`).first().waitFor();
    await page.locator('#dock .btn[aria-disabled="false"]').first().waitFor();
    await page.evaluate(axe.source);
    const { violations } = await page.evaluate<{ violations: readonly Violation[] }>("axe.run()");
    const serious = violations.filter(({ impact }) => impact === "serious" || impact === "critical");
    expect(serious.map(({ id, nodes }) => [id, nodes.map(({ html }) => html)])).toEqual([]);
  });
});

/**
 * A proxy to the server that can be disconnected: it drops its connections, and accepts no others until it is restored.
 */
async function cuttable(url: string) {
  const sockets = new Set<Socket>();
  let isCut = false;
  const between = createServer((client) => {
    if (isCut) return void client.destroy();
    const server = connect(Number(new URL(url).port), "127.0.0.1");
    client.pipe(server).pipe(client);
    for (const [one, other] of [
      [client, server],
      [server, client],
    ] as const) {
      sockets.add(one);
      one.on("error", () => other.destroy());
      one.on("close", () => sockets.delete(one));
    }
  });
  await once(between.listen(0, "127.0.0.1"), "listening");
  const drop = () => sockets.forEach((socket) => socket.destroy());
  onTestFinished(() => {
    between.close();
    drop();
  });
  return {
    url: `http://127.0.0.1:${(between.address() as AddressInfo).port}`,
    cut() {
      isCut = true;
      drop();
    },
    restore: () => void (isCut = false),
  };
}

/** An open question about a command, with every possible part. */
async function ask(store: Store): Promise<void> {
  const of = { call: "asks", thread: "main", at: Date.now() };
  const command = "git add -A && git push";
  await store.commit({ ...of, type: "call.started", name: "bash", input: { command } });
  const parts = [
    { text: "git add -A", verdict: "allow", risk: "low" },
    { text: "git push", verdict: "ask", risk: "high" },
  ] as const;
  const scopes = [{ label: "git push", key: "git push" }];
  const decision = { verdict: "ask", risk: "high", reason: "It sends commits.", parts, scopes } as const;
  const effects = [{ kind: "exec", command, env: { LANG: "C" } }] as const;
  await store.commit({ ...of, type: "approval.requested", question: "question-1", effects, decision });
}

interface Violation {
  readonly id: string;
  readonly impact: string;
  readonly nodes: readonly { readonly html: string }[];
}
