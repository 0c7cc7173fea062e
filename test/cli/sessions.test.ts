import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { createAgent } from "../../src/agent/agent.ts";
import { memoryStore } from "../../src/record/activity/memory-store.ts";
import { readThread } from "../../src/record/activity/messages.ts";
import type { ThreadSummary } from "../../src/core/contract/activity.ts";
import { exportThread } from "../../src/cli/export.ts";
import { type PastChat, diffInChat, fork, rewind, undoInChat } from "../../src/cli/chat/undo.ts";
import { forkThread, lineageOf, saidIn, sessionRows } from "../../src/cli/sessions.ts";
import { ioHere } from "./program.ts";
import { bash } from "../../src/tools/bash.ts";
import { calls, looking, scripted } from "../agent/support.ts";
import { scriptedModel } from "../suites/scripted-model.ts";
import { temporaryFolder, toolkitWith, workspace } from "../support/workspace.ts";

const echo = looking("echo", async (input) => (input as { value?: string }).value ?? "nothing");
const answer = (text: string) => ({ text });

describe("a fork", () => {
  test("has the first messages with their results; the thread that it names stays as it is", async () => {
    const store = memoryStore();
    const script = [calls({ name: "echo", input: { value: "hi" } }), answer("It said hi."), answer("Two.")];
    const { agent } = await scripted(script, { toolkit: { store, tools: [echo] } });
    await agent.send("One");
    await agent.send("Two");
    const said = await saidIn(store, agent.thread);
    expect(said.map(({ number, text }) => [number, text])).toEqual([
      [1, "One"],
      [2, "Two"],
    ]);
    const forked = await forkThread(store, agent.thread, said[1]?.event, "/");
    expect(await lineageOf(store, forked)).toEqual([
      { thread: forked, untilMs: Infinity },
      { thread: agent.thread, untilMs: expect.any(Number) },
    ]);
    const results = (await readThread(store, forked)).flatMap((each) => (each.role === "tool" ? [each] : []));
    expect(results).toMatchObject([{ result: "ok", metadata: { tool_activity: { status: "success" } } }]);
    const model = scriptedModel([answer("Another two.")]);
    const toolkit = await toolkitWith({ preset: "none", store, tools: [echo] });
    const other = await createAgent({ model, toolkit, thread: forked });
    await other.send("Another");
    expect(JSON.stringify(model.requests[0]?.prompt)).toContain("It said hi.");
    expect(JSON.stringify(model.requests[0]?.prompt)).not.toContain("Two");
    expect((await saidIn(store, agent.thread)).map(({ text }) => text)).toEqual(["One", "Two"]);
    await expect(forkThread(store, agent.thread, said[0]?.event, "/")).rejects.toThrow(
      "nothing before the first message",
    );
    await other.close();
  });
});

test("the list of conversations says when, what about, where, how many calls, and whether a question waits", async () => {
  const store = memoryStore();
  const at = Date.parse("2026-11-25T10:42:00");
  const add = (thread: string, target: string, title: string, from?: string) => {
    const startedWith = from === undefined ? {} : { startedWith: { from } };
    store.append({ type: "thread.created", thread, at, target, workDir: "/srv/orchard-api", ...startedWith });
    const content = [{ type: "text" as const, text: title }];
    store.append({ type: "message.added", thread, at, message: { role: "user", from: "person", content } });
    const call = { type: "call" as const, id: `${thread}-1`, providerId: "1", name: "bash", input: "{}" };
    store.append({ type: "message.added", thread, at, message: { role: "assistant", content: [call] } });
  };
  add("a", "sandbox(local)", "The checkout test fails in about one run of ten. Find out why");
  add("b", "ssh:deploy@web-3", "Update \x1b[2J the 運用 手順書", "/srv/orchard-api");
  add("c", "ssh:deploy@web-3", "Started in another folder", "/home");
  const decision = { verdict: "ask", risk: "high", rule: "x" } as never;
  store.append({ type: "call.started", call: "b-1", thread: "b", at, name: "bash", input: {} });
  store.append({ type: "approval.requested", call: "b-1", thread: "b", at, question: "q", effects: [], decision });
  const rows = await sessionRows(store, "/srv/orchard-api", { columns: 72, nowMs: at + 60_000 });
  expect(rows.map(({ label }) => label)).toEqual([
    "10:42  Update \\x1b[2J the 運用 手順書        deploy@web-3        1 call?",
    "10:42  The checkout test fails in about on…  orchard-api         1 call ",
  ]);
  const later = await sessionRows(store, "/srv/orchard-api", { columns: 72, nowMs: at + 3 * 86_400_000 });
  expect(later[0]?.label).toMatch(/^Wed {4}/);
});

describe("an export", () => {
  const evil = "</pre><script>alert(1)</script>\x1b]0;x\x07 ```\n# not a heading\u202e";
  async function exported(format: "md" | "json") {
    const store = memoryStore();
    const script = [calls({ name: "echo", input: { value: evil } }), answer(`Done: ${evil}`)];
    const { agent } = await scripted(script, { toolkit: { store, tools: [echo] } });
    await agent.send(`Show "${evil}"`);
    const [thread] = await store.threads();
    return { text: await exportThread(store, thread as ThreadSummary, format), thread: agent.thread };
  }

  test("as Markdown keeps output inside its fences", async () => {
    const { text } = await exported("md");
    expect(text).toContain("● **echo** · ok");
    expect(text).toContain("````\n</pre><script>");
    expect(text).not.toMatch(/[\x00-\x08\x0b-\x1f\u202e]/);
  });

  test("as JSON has the thread and its messages", async () => {
    const { text, thread } = await exported("json");
    expect(JSON.parse(text)).toMatchObject({
      ...{ format: "handrail-thread", version: 1, thread: { thread } },
      messages: [{ role: "user" }, { role: "assistant" }, { role: "tool" }, { role: "assistant" }],
    });
  });
});

describe("what a conversation has changed", () => {
  async function changing() {
    const [folder, stateHome] = [await workspace(), temporaryFolder()];
    const { io } = ioHere({ env: { ...process.env, XDG_STATE_HOME: stateHome } });
    writeFileSync(join(folder, "a.txt"), "one\n");
    const run = (command: string) => calls({ name: "bash", input: { command } });
    const script = [run("echo two >> a.txt"), answer("Two."), answer("Talk."), run("echo three > b.txt"), answer("b.")];
    const { agent, toolkit } = await scripted(script, {
      toolkit: {
        ...{ workDir: folder, stateDir: join(stateHome, "handrail"), undo: true, tools: [bash()] },
        approver: async () => ({ answer: "once" }),
      },
    });
    for (const words of ["Add a line", "Only talk", "Make a file"]) await agent.send(words);
    const opened: (string | undefined)[] = [];
    const typed: string[] = [];
    const chat = (more: Partial<PastChat> = {}): PastChat => ({
      ...{ toolkit, thread: opened.at(-1) ?? agent.thread, columns: 72, options: { io } },
      open: async (thread) => void opened.push(thread),
      prefill: (text) => void typed.push(text),
      ...more,
    });
    return { folder, chat, opened, typed, agent };
  }

  test("is listed by message, shown as a diff, and taken back; an undo is marked, and can be undone", async () => {
    const { folder, chat } = await changing();
    const list = await undoInChat(chat(), "list");
    expect(list).toMatch(/^ {2}3 {2}\d\d:\d\d {2}"Make a file" +1 file {2}\+1\n {2}1 .*"Add a line" +1 file {2}\+1$/);
    const diff = await diffInChat(chat());
    expect(diff).toContain("+two");
    expect(diff).toContain("+++ b/b.txt");
    expect(await undoInChat(chat(), "")).toMatch(
      /Back to before "Make a file"\n +remove +b\.txt\nTo restore: \/undo 3 yes$/,
    );
    expect(await undoInChat(chat({ confirm: async () => false }), "")).toBe("Nothing was restored.");
    const done = await undoInChat(chat({ confirm: async (question) => question.endsWith("Restore 1 path?") }), "");
    expect(existsSync(join(folder, "b.txt"))).toBe(false);
    expect(await undoInChat(chat(), "list")).toMatch(/"Make a file" .* undone\n/);
    await undoInChat(chat(), `${/\/undo (\w+)/.exec(done)?.[1]} yes`);
    expect(existsSync(join(folder, "b.txt"))).toBe(true);
    expect(await undoInChat(chat(), "2 yes")).toContain("message 2 has changed no files");
  });

  test("is gone after a rewind with the files, and the message is in the editor", async () => {
    const { folder, chat, opened, typed, agent } = await changing();
    expect(await rewind(chat(), "")).toMatch(/^ {2}3 .*"Make a file"/);
    expect(await rewind(chat(), "2 conversation")).toContain(`The thread as it was: /resume ${agent.thread}`);
    expect(existsSync(join(folder, "b.txt"))).toBe(true);
    const { store } = chat().toolkit;
    expect((await saidIn(store, opened[0] ?? "")).map(({ text }) => text)).toEqual(["Add a line"]);
    expect(await undoInChat(chat(), "list")).toContain('"Make a file"'); // its files are there still
    const pick: PastChat["pick"] = async (_, items) => items[0]?.value;
    const refused = chat({ pick, thread: agent.thread, confirm: async () => false });
    expect(await rewind(refused, "1")).toBe("Nothing was restored.");
    expect(opened.length).toBe(1);
    const questions: string[] = [];
    const confirm = async (question: string) => questions.push(question) > 0;
    await rewind(chat({ pick, thread: agent.thread, confirm }), "1");
    expect(questions).toEqual([expect.stringMatching(/restore +a\.txt\n +remove +b\.txt\nRestore 2 paths\?$/)]);
    expect([readFileSync(join(folder, "a.txt"), "utf8"), existsSync(join(folder, "b.txt"))]).toEqual(["one\n", false]);
    expect(opened[1]).toBeUndefined(); // before the first message is a new thread
    expect(typed).toEqual(["Only talk", "Add a line"]);
    expect(await fork(chat({ thread: agent.thread }), "")).toContain(`/resume ${agent.thread}`);
    expect((await saidIn(store, opened[2] ?? "")).length).toBe(3);
  });
});
