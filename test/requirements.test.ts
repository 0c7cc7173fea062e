// What test/requirements.md has and no other test shows.
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import type { Command } from "../src/core/contract/backend.ts";
import {
  DEFAULT_MAX_BYTES,
  DEFAULT_MAX_LINES,
  asText,
  formatSize,
  local,
  plugin,
  truncateHead,
  truncateTail,
} from "../src/index.ts";
import { temporaryFolder, toolkitWith } from "./support/workspace.ts";

describe("a command without a timeout", () => {
  test.each([
    ["shell", 60_000],
    ["bash", 120_000],
    ["run_shell", undefined],
  ])("of %s may take %s ms", async (name, timeoutMs) => {
    const started: Command[] = [];
    const inner = await local({ workDir: temporaryFolder(), outputFolder: temporaryFolder() });
    const target = {
      ...inner,
      spawn: (command: Command) => {
        started.push(command);
        return inner.spawn(command);
      },
    };
    const toolkit = await toolkitWith({
      target,
      preset: "one",
      toolsets: { one: [name] },
      policy: { autonomy: "full" },
    });
    expect(await toolkit.call({ name, input: { command: "cat /dev/null" } })).toMatchObject({ status: "ok" });
    expect(started.map((command) => command.timeoutMs)).toEqual([timeoutMs]);
    await toolkit.close();
    await inner.close();
  });
});

test("what cuts the output of our tools is there for others: two limits, either end, sizes in words", () => {
  const output = "line\n".repeat(3_000);
  expect([DEFAULT_MAX_BYTES, DEFAULT_MAX_LINES]).toEqual([51_200, 2_000]);
  expect(truncateHead(output, { bytes: DEFAULT_MAX_BYTES, lines: DEFAULT_MAX_LINES })).toMatchObject({
    ...{ truncated: "lines", shownLines: 2_000, totalLines: 3_000 },
  });
  expect(truncateTail(`${output}end`, { bytes: 8 }).text).toBe("line\nend");
  expect([formatSize(51_200), formatSize(1_572_864)]).toEqual(["50KB", "1.5MB"]);
});

test("a plugin gets the words of its configuration, and is one process for all calls of a session", async () => {
  const path = join(temporaryFolder(), "counter.mjs");
  await writeFile(
    path,
    `import { createInterface } from "node:readline";
    let calls = 0;
    const say = (message) => process.stdout.write(JSON.stringify(message) + "\\n");
    for await (const line of createInterface({ input: process.stdin })) {
      const { type, call_id } = JSON.parse(line);
      if (type === "init") say({ type, tools: [{ name: "count", description: "Counts.", parameters: { type: "object" } }] });
      const text = () => [...process.argv.slice(2), ++calls].join(" ");
      if (type === "call") say({ type: "result", call_id, content: [{ type: "text", text: text() }] });
    }`,
  );
  const sources = [plugin({ path: process.execPath, args: [path, "--verbose", "a b"] })];
  const toolkit = await toolkitWith({ preset: "readonly", sources, policy: { autonomy: "full" } });
  await toolkit.ready;
  expect([...toolkit.tools.keys()]).toEqual(["read", "grep", "find", "ls", "count"]);
  const texts: string[] = [];
  for (let call = 0; call < 3; call++) texts.push(asText(await toolkit.call({ name: "count", input: {} })));
  expect(texts.map((text) => /--verbose a b \d/.exec(text)?.[0])).toEqual([1, 2, 3].map((n) => `--verbose a b ${n}`));
});
