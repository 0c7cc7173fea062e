import { readdirSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { environmentOf } from "../../../src/machine/spawner/kill-tree.ts";
import { until } from "../../support/until.ts";
import { foreign, hostile, withServers } from "./servers.ts";
import { plainText } from "../../support/plain-text.ts";

/** What a server does, what people are told about it, and the result of a call of its tool. */
const ZOO: readonly [way: string, notice: RegExp | undefined, result: RegExp][] = [
  ["noise", undefined, /^done$/],
  ["answers twice", undefined, /^done$/],
  ["answers of another call", undefined, /^done$/],
  ["requests of its own", undefined, /^done$/],
  ["floods of notices", undefined, /^done$/],
  ["floods of progress", undefined, /^done$/],
  ["hidden text", undefined, /^done$/],
  ["a pattern that takes for ever", undefined, /^done$/],
  ["an output schema that takes for ever", undefined, /^done\n\{"words":"a{40}!"\}$/],
  [
    "odd tools",
    /the tool "no schema" is left out: inputSchema.*the tool "?wrong"? is left out|"mcp__odd-tools__wrong" is left out/s,
    /^done$/,
  ],
  ["does not want to end", undefined, /^done$/],
  ["a vast result", undefined, /Full output saved to: output:\/\//],
  ["no content", undefined, /^5$/],
  ["no answer to calls", undefined, /has not answered within 1 s/],
  ["ends during calls", /mcp:ends-during-calls has ended: Exit code 1/, /ended during the call/],
  [
    "ends at once",
    /cannot be started: Exit code 7, after "no licence"\. It will be tried again/,
    /unknown tool|is not running/,
  ],
  ["no answer", /cannot be started: it has not answered in/, /unknown tool/],
  ["closes its stdout", /cannot be started/, /unknown tool/],
  ["a line without end", /cannot be started/, /unknown tool/],
  ["endless pages", /its tools have more than 500 pages; the others are left out/, /unknown tool/],
];

const nameOf = (way: string) => way.replaceAll(" ", "-").slice(0, 32);

describe("servers that misbehave, all at once", () => {
  const servers = Object.fromEntries(ZOO.map(([way]) => [nameOf(way), hostile(way, { timeoutMs: 20_000 })]));
  const zoo = withServers({
    ...servers,
    "no-answer": hostile("no answer", { startMs: 600 }),
    "no-answer-to-calls": hostile("no answer to calls", { timeoutMs: 1_000 }),
    good: foreign("2025-11-25"),
  });

  test.each(ZOO)("%s", { timeout: 90_000 }, async (way, notice, result) => {
    const { toolkit, notices } = await zoo;
    const name = `mcp__${nameOf(way)}__work`;
    const words = `${"a".repeat(40)}!`;
    const text = plainText(await toolkit.call({ name, input: { words } }));
    // Without notices, which are attached to any result.
    expect(text.replaceAll(/\n\[mcp:.*\]|\n\[MCP server .*\]/g, "")).toMatch(result);
    const told = notices.filter((each) => each.includes(`mcp:${nameOf(way)}`) || each.includes(nameOf(way)));
    if (notice === undefined) expect(told).toEqual([]);
    else expect(told.join("\n")).toMatch(notice);
    expect(await toolkit.call({ name: "mcp__good__echo", input: { words: "fine" } })).toMatchObject({ data: "fine" });
  });

  test("none of their names and texts differs from how it looks", async () => {
    const { toolkit } = await zoo;
    const tool = toolkit.tools.get("mcp__hidden-text__work");
    expect(tool).toMatchObject({ description: "Adds.\\x1b[2J\\u{e0041}\\u202e", title: "\\u200bWork" });
    const odd = [...toolkit.tools.keys()].filter((name) => name.startsWith("mcp__odd-tools__"));
    expect(odd).toEqual([
      expect.stringMatching(/^mcp__odd-tools___etc_passwd_[0-9a-f]{8}$/),
      expect.stringMatching(/^mcp__odd-tools__x{39}_[0-9a-f]{8}$/),
      "mcp__odd-tools__work",
    ]);
  });

  test("after the toolkit is closed, nothing of them is left", async () => {
    const { toolkit } = await zoo;
    await toolkit.close();
    const left = () => readdirSync("/proc").filter((pid) => environmentOf(Number(pid)).includes("HOSTILE_CHILD=1"));
    await until("their children are gone", () => left().length === 0);
    expect(left()).toEqual([]);
  });
});
