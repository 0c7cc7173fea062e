// The plugin suite passes for the examples, which `handrail plugin new` copies, the one of the docs, and one of the older form.
import { execFileSync } from "node:child_process";
import { chmodSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, describe, expect, test } from "vitest";
import { projectRoot } from "../../../scripts/lib/project.mjs";
import { pluginSuite } from "../../suites/index.ts";
import { plugin } from "../../../src/tools/plugins/plugin.ts";
import { mustBeHere, programProblem } from "../../support/here.ts";
import { temporaryFolder, toolkitWith } from "../../support/workspace.ts";

const runner = { describe, test, afterAll };

test.skipIf(programProblem("go") !== undefined)("Go is here to try the plugin in it, as it need not be", () => {
  expect(programProblem("go")).toBeUndefined();
});

for (const [program, needs] of [
  ["processed.mjs", "node"],
  ["processed.py", "python3"],
  ["processed.go", "go"],
  ["processed.sh", "jq"],
] as const) {
  const problem = programProblem(needs);
  if (needs !== "go") mustBeHere(`the plugin ${program}`, problem);
  if (problem !== undefined) continue;
  const example = join(projectRoot, "examples/plugins", program);
  const path = needs === "go" ? join(temporaryFolder(), "processed") : example;
  if (path !== example) execFileSync("go", ["build", "-o", path, example]);
  pluginSuite({ name: program, path, withinMs: 20_000 }, runner);

  test(`the seed's tool in ${program} processes its input`, async () => {
    const toolkit = await toolkitWith({ preset: "none", sources: [plugin({ path })], policy: { autonomy: "full" } });
    await toolkit.ready;
    const given = `a "quoted"\nline, and ü`;
    expect(plainText(await toolkit.call({ name: "my_plugin_tool", input: { input: given } }))).toBe(
      `Processed: ${given}`,
    );
    expect(plainText(await toolkit.call({ name: "my_plugin_tool", input: {} }))).toBe(
      'validation error: missing required parameter "input"',
    );
  });
}

const docs = readFileSync(join(projectRoot, "docs/plugins.md"), "utf8");
const [, written = ""] = /^```bash\n(.*?)^```/ms.exec(docs) ?? [];
if (programProblem("jq") === undefined) {
  pluginSuite({ name: "the plugin of the docs", path: programOf("docs.sh", written), withinMs: 20_000 }, runner);
}

const OLDER = `#!/usr/bin/env python3
import json, sys
for line in sys.stdin:
    message = json.loads(line)
    if message["type"] == "describe":
        schema = {"type": "object", "properties": {"n": {"type": "integer"}}, "examples": [{"n": 2}]}
        print(json.dumps({"name": "double", "description": "Doubles.", "parameters": schema}), flush=True)
    elif message["type"] == "call":
        n = message["params"].get("n")
        text = "Error: no number" if n is None else str(2 * n)
        print(json.dumps({"content": [{"type": "text", "text": text}], "error": n is None}), flush=True)
    else:
        DIES
`;
import { plainText } from "../../support/plain-text.ts";

describe.skipIf(programProblem("python3") !== undefined)("the older form", () => {
  pluginSuite(
    { name: "one that passes over init", path: programOf("older.py", OLDER.replace("DIES", "pass")) },
    runner,
  );

  test("the form of a plugin that exits after init is found at the next start; its calls run one by one", async () => {
    const path = programOf("dies.py", OLDER.replace("DIES", "sys.exit(1)"));
    const sources = [plugin({ path, restartMs: 10 })];
    const toolkit = await toolkitWith({ preset: "none", sources, policy: { autonomy: "full" } });
    await new Promise<void>((resolve) => void toolkit.onToolsChanged(() => resolve()));
    const inputs = [{ n: 1 }, {}, { n: 3 }];
    const results = await Promise.all(inputs.map((input) => toolkit.call({ name: "double", input })));
    expect(results.map(plainText)).toEqual([expect.stringMatching(/^2/), "Tool error: Error: no number", "6"]);
  });
});

test("a plugin that violates the protocol fails the suite, with the reason", async () => {
  const failed: string[] = [];
  const tests: (() => Promise<void>)[] = [];
  const add = (title: string, body: () => Promise<void>) =>
    void tests.push(() => body().catch((error: Error) => void failed.push(`${title}: ${error.message}`)));
  const path = programOf(
    "bad.sh",
    'echo Hello; while read -r _; do echo \'{"type":"init","tools":[{"name":"x"}]}\'; done; sleep 60',
  );
  const ends: (() => Promise<void>)[] = [];
  pluginSuite(
    { name: "bad", path },
    {
      describe: (_, body) => body(),
      test: Object.assign(add, { skip: () => {} }),
      afterAll: (end) => void ends.push(end),
    },
  );
  for (const each of tests) await each();
  await Promise.all(ends.map((end) => end()));
  expect(failed.toSorted()).toEqual([
    expect.stringContaining("answers calls that are given at once, each by its call_id: the plugin wrote a line"),
    expect.stringContaining("ends when its stdin ends: expected it to end within 3 s"),
    expect.stringContaining('valid schema: tool "x": expected a "description"'),
    expect.stringContaining("nothing to stdout but messages: the plugin wrote a line to stdout that is not a message"),
  ]);
});

/** A program with this text. */
function programOf(name: string, text: string): string {
  const folder = temporaryFolder();
  mkdirSync(folder, { recursive: true });
  const path = join(folder, name);
  writeFileSync(path, text.startsWith("#!") ? text : `#!/bin/bash\n${text}`);
  chmodSync(path, 0o755);
  return path;
}
