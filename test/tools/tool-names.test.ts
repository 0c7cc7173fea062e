import { describe, expect, test } from "vitest";
import type { Tool } from "../../src/core/contract/tool.ts";
import { toolset } from "../../src/core/call/toolset.ts";
import { bash } from "../../src/tools/bash.ts";
import { chosenTools } from "../../src/tools/presets/choose.ts";
import { jobs } from "../../src/tools/jobs.ts";
import { PRESETS } from "../../src/tools/presets/presets.ts";
import { write } from "../../src/tools/write.ts";
import { toolsOn } from "./tools.ts";

type Choice = Parameters<typeof chosenTools>[0];

/** Names that are not ordinary words: in a text they are tools. For the others, how a text refers to them. */
const NAMED =
  /\b(use|with|by) (read|edit|write|find|grep|jobs|bash|shell|ls)\b|\b(bash with|\w+_(file|shell|read|write)|capture-pane|send-keys)\b/gi;

const descriptionsOf = (choice: Choice, terminal: boolean) =>
  [...toolset(chosenTools(choice, { terminal })).values()].map((tool: Tool) => ({ tool, text: tool.description }));

describe("a text names only tools of its toolset, by their names in it", () => {
  test("in descriptions, whichever tools are omitted", () => {
    for (const preset of Object.keys(PRESETS)) {
      const all = chosenTools({ preset }, { terminal: true }).map(({ name }) => name);
      for (const disable of [[], ...all.map((name) => [name])]) {
        for (const terminal of [false, true]) {
          const made = descriptionsOf({ preset, disable }, terminal);
          const there = made.map(({ tool }) => tool.name);
          for (const { text } of made) {
            for (const [named] of text.matchAll(NAMED)) {
              const name = named
                .replace(/ with$/, "")
                .split(" ")
                .at(-1);
              expect(there, `${preset} without ${disable.join()}: ${text}`).toContain(name);
            }
          }
        }
      }
    }
    // The same texts do name others if they are present.
    expect(
      descriptionsOf({ preset: "coding" }, false)
        .map(({ text }) => text)
        .join("\n"),
    ).toMatch(/To change part of a file use edit\.[\s\S]*\(bash with background: true\)/);
  });

  test("a program's own names and tools count", () => {
    const named = (tools: Parameters<typeof toolset>[0]) =>
      Object.fromEntries([...toolset(tools).values()].map(({ name, description }) => [name, description]));
    expect(named([jobs(), bash({ name: "terminal" })])["jobs"]).toContain("(terminal with background: true)");
    // shell takes no such argument
    expect(named([jobs(), ...PRESETS.default()])["jobs"]).not.toContain("background: true");
    expect(named([write(), { ...bash(), name: "edit" }])["write"]).toContain("use edit.");
    const mine = { ...write(), description: "Mine." };
    expect(named([mine, ...PRESETS.operator()])["write"]).toBe("Mine.");
  });

  const LONG = { "long.txt": `${"x".repeat(60_000)}\nneedle ${"y".repeat(600)}\n`, "data.bin": "a\0b" };

  test.for<readonly [what: string, Choice, call: readonly [string, object], reads: RegExp, without: RegExp]>([
    ["a job, with the tool for jobs", {}, ["bash", { command: "true", background: true }], /Use jobs to wait/, /shell/],
    ["a job, without it", { disable: ["jobs"] }, ["bash", { command: "true", background: true }], /^Job 1/, /jobs/],
    ["a line that is cut, with a shell", { preset: "coding" }, ["read", { path: "long.txt" }], /use bash: sed/, /grep/],
    ["a line that is cut, without one", { preset: "readonly" }, ["read", { path: "long.txt" }], /50KB/, /bash/],
    ["a long match", { preset: "readonly" }, ["grep", { pattern: "needle" }], /; use read to see them whole/, /bash/],
    [
      "a long match, with nothing to read it",
      { preset: "readonly", disable: ["read"] },
      ["grep", { pattern: "needle" }],
      /\[Long lines are cut to 500 characters\.\]/,
      /read/,
    ],
    ["binary data", { preset: "operator" }, ["read_file", { path: "data.bin" }], /Use run_shell with a/, /bash/],
    ["binary data, without a shell", { preset: "readonly" }, ["read", { path: "data.bin" }], /^Tool error: Not/, /Use/],
    ["a missing file", { preset: "default" }, ["file_read", { path: "no" }], /Look for it with shell\./, /find|ls/],
    [
      "an empty old_text",
      { disable: ["write"] },
      ["edit", { path: "a", old_text: "", new_text: "" }],
      /empty/,
      /write/,
    ],
  ])("in results: %s", async ([, choice, [name, input], reads, without]) => {
    const { text } = await toolsOn(LONG, { preset: "coding", ...choice });
    const said = await text(name, input);
    expect(said).toMatch(reads);
    expect(said.replace(/x{9,}/g, "")).not.toMatch(without);
  });
});
