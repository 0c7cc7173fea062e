// The files that `handrail init` writes, as they are and with each of their keys set.
import { mkdir, readFile, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { ROW_OF } from "../../src/app/config/rows.ts";
import { configTemplate } from "../../src/app/config/template.ts";
import { place } from "../app/config/config.ts";
import { commandLine } from "./program.ts";

test("init writes a project's file that loads and sets nothing, says what is next, and overwrites none", async () => {
  const { folder, here } = await commandLine();
  const before = await here(["tools"]);
  const { code, stdout } = await here(["init"]);
  expect(code).toBe(0);
  expect(stdout).toMatch(/^Wrote .*\/handrail\.yaml: \d+ keys, each as a comment.*\nNext: .*`handrail doctor`/);
  expect(await here(["tools"])).toEqual(before);
  expect((await here(["doctor"])).stdout).toMatch(/^ok {7}configuration {2}.*\/handrail\.yaml$/m);
  const written = await readFile(join(folder, "handrail.yaml"), "utf8");
  expect(written).not.toContain("$schema");

  await writeFile(join(folder, "handrail.yaml"), "policy: { autonomy: readonly }\n");
  expect(await here(["init"])).toMatchObject({ code: 2, stderr: expect.stringContaining("exists and is not changed") });
  expect(await readFile(join(folder, "handrail.yaml"), "utf8")).toBe("policy: { autonomy: readonly }\n");
});

test("init --user writes your own file for you alone, with the schema of this installation", async () => {
  const { configHome, here } = await commandLine();
  expect((await here(["init", "--user"])).code).toBe(0);
  const file = join(configHome, "handrail/config.yaml");
  expect((await stat(file)).mode & 0o777).toBe(0o600);
  const [, schema = ""] = /^# yaml-language-server: \$schema=(.*)$/m.exec(await readFile(file, "utf8")) ?? [];
  expect(JSON.parse(await readFile(schema, "utf8"))).toMatchObject({ title: "The configuration of Handrail" });
  expect(await here(["tools"])).toMatchObject({ code: 0, stderr: "" });
});

test("a project that depends on Handrail, and one below another, are said so", async () => {
  const { folder, here } = await commandLine({ "node_modules/handrail/handrail.schema.json": "{}" });
  await here(["init"]);
  const [first] = (await readFile(join(folder, "handrail.yaml"), "utf8")).split("\n");
  expect(first).toBe("# yaml-language-server: $schema=./node_modules/handrail/handrail.schema.json");
  await mkdir(join(folder, "below"));
  const { stdout } = await here(["init", "--work-dir", join(folder, "below")]);
  expect(stdout).toContain(`In this folder it replaces ${folder}/handrail.yaml.`);
});

test.each(["user", "project"] as const)(
  "each key of the file of the %s can be set by removing its #",
  async (owner) => {
    const { read } = await place();
    const lines = configTemplate(owner, undefined).split("\n");
    const keys = lines.flatMap((line, index) => (/^ *#\w+:/.test(line) ? [index] : []));
    const may = Object.values(ROW_OF).filter(({ project }) => owner === "user" || project.rule !== "never");
    expect(keys).toHaveLength(may.length);
    for (const index of keys) {
      const text = lines.map((line, at) => (at === index ? line.replace("#", "") : line)).join("\n");
      await expect(read({ [owner]: text }), lines[index]).resolves.toBeDefined();
    }
    expect(lines.filter((line) => line.length > 120)).toEqual([]);
  },
);
