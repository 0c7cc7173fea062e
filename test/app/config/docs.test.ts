import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { parse } from "yaml";
import { DEFAULT_MAX_DATABASE_BYTES } from "../../../src/record/activity/sqlite-store.ts";
import { DEFAULT_CORE_BYTES } from "../../../src/agent/instructions.ts";
import { ROW_OF } from "../../../src/app/config/rows.ts";
import { loadCompiler } from "../../../src/core/call/validate.ts";
import { DEFAULT_MAX_OUTPUT_BYTES } from "../../../src/core/output/outputs.ts";
import { PRESETS, type PresetName } from "../../../src/tools/presets/presets.ts";
import { DEFAULT_MAX_UNDO_BYTES } from "../../../src/record/undo/store.ts";
import { place } from "./config.ts";
import { editorSchema, keyTable } from "./reference.ts";

const page = await readFile(new URL("../../../docs/configuration.md", import.meta.url), "utf8");
const examples = [...page.matchAll(/^```yaml\n(.*?)^```/gms)].map(([, text = ""]) => text);

/** Compares with a file of the project; `npm run docs:configuration` (`vitest -u`) writes it. */
const ofProject = (name: string) => fileURLToPath(new URL(`../../../${name}`, import.meta.url));

test("the page has a row for every key, as the rows of the configuration say", async () => {
  const written = page.replace(/^\| Key \| Default .*?(?=\n\n)/ms, () => keyTable());
  expect(written).toContain(keyTable());
  await expect(written).toMatchFileSnapshot(ofProject("docs/configuration.md"));
});

test("the schema for editors is that of the rows, and tells a misspelled key from a good one", async () => {
  const schema = editorSchema();
  await expect(`${JSON.stringify(schema, undefined, 2)}\n`).toMatchFileSnapshot(ofProject("handrail.schema.json"));
  const compiled = (await loadCompiler())(schema);
  for (const text of examples) expect(compiled.Check(parse(text))).toBe(true);
  expect(compiled.Check(parse("tools:\nmodel: openai:gpt-5\n"))).toBe(true);
  for (const text of [
    "policy: { autonomi: full }",
    "policy: { autonomy: fully }",
    "agents: { a: { limits: { round: 1 } } }",
  ])
    expect(compiled.Check(parse(text))).toBe(false);
});

test("the table of presets has the tools of each", () => {
  const table = /^\| Preset \|[^]*?(?=\n\n)/m.exec(page)?.[0] ?? "";
  for (const [, name = "", tools = ""] of table.matchAll(/^\| `(\w+)` \| ((?:`[\w-]+` ?)+)/gm)) {
    const named = [...tools.matchAll(/`([\w-]+)`/g)].map(([, tool]) => tool);
    expect(named, name).toEqual(PRESETS[name as PresetName]().map((tool) => tool.name));
  }
});

test("the page has the defaults that other rooms have", () => {
  const said = (key: string) => ROW_OF[key]?.otherwise;
  expect(said("memory.core_bytes")).toBe(`\`${DEFAULT_CORE_BYTES}\``);
  expect(said("state.outputs_mb")).toBe(`\`${DEFAULT_MAX_OUTPUT_BYTES / 1_048_576}\``);
  expect(said("state.undo_mb")).toBe(`\`${DEFAULT_MAX_UNDO_BYTES / 1_048_576}\``);
  expect(said("state.database_mb")).toBe(`\`${DEFAULT_MAX_DATABASE_BYTES / 1_048_576}\``);
});

test("the examples of the page are valid, together, and have the described meaning", async () => {
  const { read, folder } = await place();
  const [user, project, ...more] = examples;
  expect(more).toEqual([]);
  const { settings, project: standing } = await read({ user: user!, project: project! }, { HOME: "/home/me" });
  expect(settings).toMatchObject({
    tools: {
      preset: "workspace",
      workDir: folder,
      disable: ["write"],
      options: { grep: { max_results: 50 }, read: { limit: { lines: 500, bytes: 51_200 } }, bash: { timeout: 300 } },
    },
    toolsets: { look: ["read", "grep", "find", "ls"] },
    policy: {
      autonomy: "readonly",
      allowedRoots: ["~/notes", "/home/me/shared"],
      commands: { allow: [], only: [], ask: ["git push *"], deny: ["docker", "npm publish *"] },
      maxActionsPerHour: 100,
      network: { allowHosts: ["*.example.org"], denyHosts: [], allowPrivate: ["localhost:3000"] },
      env: { pass: ["CI", "NPM_CONFIG_REGISTRY"] },
    },
  });
  expect(settings.state).toEqual({ outputs: 512 * 1_048_576 });
  expect(settings.policy.forbiddenPaths).toContain(join(folder, "fixtures/private"));
  expect(standing?.asks.map(({ key }) => key)).toEqual(["policy.env.pass"]);
});

test("the error on the page is the one that is shown", async () => {
  const [, shown] = /```text\n(handrail\.yaml:.*?)\n```/s.exec(page) ?? [];
  const { problems } = await place();
  expect(await problems({ project: "#\n#\n#\n#\n#\npolicy:\n  autonomi: full\n" })).toEqual([shown]);
});
