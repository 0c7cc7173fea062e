// Faulty plugins: each causes a clear message, and affects nothing else.
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { projectRoot } from "../../../scripts/lib/project.mjs";
import { type PluginOptions, plugin } from "../../../src/tools/plugins/plugin.ts";
import type { ToolkitOptions } from "../../../src/app/toolkit-options.ts";
import { isAlive, until } from "../../support/until.ts";
import { toolkitWith } from "../../support/workspace.ts";
import { plainText } from "../../support/plain-text.ts";

const ZOO = join(projectRoot, "test/fixtures/plugins/zoo.mjs");

/** A toolkit with the plugin, whose calls are all approved, and its notices. */
async function zoo(how = "well", options: Partial<PluginOptions> = {}, more: ToolkitOptions = {}) {
  const notices: string[] = [];
  const source = plugin({ path: process.execPath, args: [ZOO, how], restartMs: 10, ...options });
  const toolkit = await toolkitWith({
    preset: "none",
    sources: [source],
    policy: { autonomy: "full" },
    onNotice: (text) => void notices.push(text),
    ...more,
  });
  await toolkit.ready;
  const call = async (name: string, text = "", signal?: AbortSignal) =>
    plainText(await toolkit.call({ name, input: { text } }, signal === undefined ? {} : { signal }));
  return { toolkit, call, notices };
}

describe("a plugin that", () => {
  test.each<[what: string, tool: string, text: RegExp, notice: RegExp | undefined]>([
    [
      "writes noise to stdout",
      "noise",
      /^after noise/,
      /a line to stdout that is not a message: .* got "loading \\x1b\[2J model…"/,
    ],
    ["writes a message in two parts", "partial", /^in two parts/, undefined],
    ["answers a call twice", "twice", /^first/, /answered a call twice/],
    [
      "answers a call that it was not given",
      "stranger",
      /^mine/,
      /a call that it was not given: call_id call-of-nobody/,
    ],
    ["writes invalid JSON", "invalid", /^after invalid JSON/, /expected one JSON object in each line/],
    [
      "sends parts that are none",
      "broken",
      /^\[The tool has run\. This part of its result .*\]\n\{"type":"video"\}\nnull\nusable$/,
      undefined,
    ],
    [
      "sends a result that is none",
      "fieldless",
      /^Tool error: The plugin's result is not valid: expected "content".* The tool has run, and sent: \{"output":"usable"\}/,
      undefined,
    ],
    ["reports an error", "fails", /^Tool error: no such city$/, undefined],
    [
      "dies",
      "die",
      /plugin:zoo has ended: Killed by SIGKILL, after "segfault, sort of"\nThe call may have/,
      /It is being restarted/,
    ],
    ["writes a line of 11 MB", "huge", /stopped by Handrail: a line has more than 10000000 bytes/, /restarted/],
    ["floods stdout", "flood", /more than 10000000 bytes without a message/, /restarted/],
    ["sends much text", "big", /\[Output truncated at .* Full output saved to: output:\/\//, undefined],
  ])("%s", async (_, tool, text, notice) => {
    const { call, notices } = await zoo();
    const beside = call("slow", "300");
    const result = await call(tool);
    expect(result).toMatch(text);
    expect(result.length).toBeLessThan(60_000);
    if (notice === undefined) expect(notices).toEqual([]);
    else await until(`there is a notice like ${notice}`, () => notice.test(notices.join("\n")));
    // The concurrent call ends, and the plugin answers again.
    expect(await beside).toMatch(/^300|Tool error: plugin:zoo has ended/);
    expect(await call("echo", "still here")).toMatch(/^still here/);
  });

  test("omits the call_id is understood while it has one call", async () => {
    const { call, notices } = await zoo("well", { quietMs: 500 });
    expect(await call("no_id")).toBe("whose?");
    expect(notices).toEqual([]);
    expect(await Promise.all([call("no_id"), call("slow", "200")])).toEqual([
      expect.stringMatching(/^Tool error: plugin:zoo sent neither a result/),
      expect.stringMatching(/^200/),
    ]);
    expect(notices).toEqual([expect.stringContaining("sent a result without the call_id of a call that is running")]);
  });

  test("changes a tool is asked about again, and an earlier call does not reach it", async () => {
    const { toolkit, call } = await zoo();
    expect(await call("change")).toBe("changed");
    expect(toolkit.tools.get("echo")?.description).toBe("Now does something else.");
    expect(await call("echo", "new")).toBe("new");
  });

  test.each([
    [
      "dies at its start",
      "dies",
      /failed 8 times and will not be restarted: it has ended: Exit code 3, after "I cannot go on"/,
    ],
    ["does not answer", "mute", /not be restarted: it did not name its tools within 0.2 s/],
    ["answers half a line", "never", /did not name its tools/],
  ])("%s is given up, and delays nobody", async (_, how, notice) => {
    const { call, notices, toolkit } = await zoo(how, how === "dies" ? {} : { startMs: 200 }, { preset: "readonly" });
    expect(await call("echo")).toMatch(/^unknown tool "echo"/);
    await until("it is given up", () => /not be restarted/.test(notices.join("\n")), 20_000);
    expect(notices.join("\n")).toMatch(notice);
    expect([...toolkit.tools.keys()]).toEqual(["read", "grep", "find", "ls"]);
  });

  test("has invalid tools, keeps the valid ones", async () => {
    const { toolkit, notices } = await zoo("bad-tools");
    expect(toolkit.tools.size).toBe(20);
    expect(toolkit.tools.get("quiet")).toMatchObject({ userFacing: false, paramsHint: "text\\x1b[2J" });
    expect(notices).toEqual([
      expect.stringMatching(/left out, "bad name": its name must be a letter/),
      expect.stringMatching(/left out, "mcp__x__y": names that begin with mcp__/),
      expect.stringMatching(/left out, without a name: expected name and description/),
      expect.stringMatching(/left out, "loud": expected user_facing to be true or false/),
      expect.stringMatching(/the tool "bad_schema" is left out: .* invalid at #\/type/),
      expect.stringMatching(/the tool "echo" is left out: another of its tools has the same name/),
    ]);
  });

  test("prints a greeting to stdout, starts all the same", async () => {
    const { call, notices } = await zoo("noisy");
    expect(await call("echo", "hi")).toMatch(/^hi/);
    expect(notices).toEqual([expect.stringContaining('got "Welcome to the zoo!"')]);
  });

  test("does not exist, is named", async () => {
    const { notices } = await zoo("well", { path: "/nowhere/plugin" });
    expect(notices).toEqual([
      "plugin:zoo could not be started: cannot start /nowhere/plugin: no such file, or its first line names no interpreter of this machine.",
    ]);
  });

  test("does not exit, is ended with all its processes", async () => {
    const { toolkit, call } = await zoo("stubborn");
    const child = Number(await call("child"));
    expect(await isAlive(child)).toBe(true);
    await toolkit.close();
    expect(await isAlive(child)).toBe(false);
  });
});

describe("calls of a plugin", () => {
  test("run concurrently, show their updates, and return images", async () => {
    const { toolkit, call } = await zoo();
    const started = performance.now();
    expect(await Promise.all([call("slow", "300"), call("slow", "290"), call("slow", "280")])).toEqual([
      "300",
      "290",
      "280",
    ]);
    expect(performance.now() - started).toBeLessThan(700);
    const shown: unknown[] = [];
    const onEvent = (event: { readonly type: string }) => event.type === "call.updated" && shown.push(event);
    await toolkit.call({ name: "slow", input: { text: "10" } }, { onEvent });
    expect(shown).toMatchObject([{ update: { displayMessage: "halfway" } }]);
    const image = await toolkit.call({ name: "image", input: {} });
    expect(image).toMatchObject({ status: "ok", content: [{ text: "" }, { type: "image", mimeType: "image/png" }] });
  });

  test("can be cancelled; a call that is quiet too long is cancelled alone", async () => {
    const { toolkit, call } = await zoo("well", { quietMs: 300 });
    const stop = new AbortController();
    const onEvent = ({ type }: { readonly type: string }) =>
      type === "call.updated" && stop.abort(new Error("stopped"));
    const slow = await toolkit.call({ name: "slow", input: { text: "150" } }, { signal: stop.signal, onEvent });
    expect(slow).toMatchObject({ status: "ok", data: "cancelled" });
    expect(await call("silent")).toMatch(/sent neither a result nor an update for 0.3 s; the call was cancelled/);
    expect(await call("echo", "on")).toBe("on");
  });
});
