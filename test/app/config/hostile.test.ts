import { writeFile } from "node:fs/promises";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { ConfigError } from "../../../src/app/config/problem.ts";
import { readSettings } from "../../../src/app/config/read-settings.ts";
import { parseYaml } from "../../../src/app/config/yaml.ts";
import { place } from "./config.ts";
import { cases } from "../../support/cases.ts";

const MEBIBYTE = 1024 * 1024;
const repeated = (piece: string) => piece.repeat(Math.floor(MEBIBYTE / piece.length));

/** Pieces with a meaning in YAML or in our keys. */
const PIECES = [
  ...Array.from("[]{}:,-?&*!|>'\"%@`#~\\ \t\n\r\0"),
  ...[
    "\n  ",
    "\n    ",
    ": ",
    "- ",
    "---\n",
    "...\n",
    "<<: ",
    "&a ",
    "*a",
    "!!str ",
    "!!binary ",
    "${HOME}",
    "null",
    "true",
    "1e999",
  ],
  ...[
    "tools",
    "preset",
    "disable",
    "options",
    "policy",
    "autonomy",
    "full",
    "env",
    "pass",
    "toolsets",
    "store",
    "log_file",
    "limit",
  ],
  ...["__proto__", "constructor", "prototype", "toString", "polluted"],
];

const yamlLike = fc.array(fc.constantFrom(...PIECES), { maxLength: 40 }).map((pieces) => pieces.join(""));

describe("whatever a file contains", () => {
  test("it is read or rejected with the reason, and changes no other object", async () => {
    const { project, trust } = await place();
    const before = Object.getOwnPropertyNames(Object.prototype);
    await fc.assert(
      fc.asyncProperty(fc.oneof(yamlLike, fc.string({ unit: "binary", maxLength: 200 })), async (text) => {
        await writeFile(project, text);
        for (const files of [{ project }, { named: project }]) {
          const read = await readSettings(files, { trust, env: { HOME: "/h" } }).catch((error: unknown) => error);
          if (read instanceof Error) {
            expect(read).toBeInstanceOf(ConfigError);
            expect(read.message).not.toMatch(/[\x00-\x09\x0b-\x1f\x7f]/);
          } else expect(read).toHaveProperty("settings.policy.autonomy");
        }
        expect(Object.getOwnPropertyNames(Object.prototype)).toEqual(before);
      }),
      { numRuns: cases(60) },
    );
  });

  test.for([
    ["brackets", repeated("[")],
    ["braces", repeated("{a: ")],
    ["dashes", repeated("- ")],
    ["question marks", repeated("? ")],
    ["quotes", repeated('"')],
    ["commas", `[${repeated(",")}`],
    ["directives", repeated("%a\n")],
    ["documents", repeated("---\n")],
    ["comments", repeated("#\n")],
    ["tags", repeated("!a ")],
    ["backslashes", `a: "${repeated("\\")}`],
    ["aliases", `a: &a 1\nb: [${repeated("*a,")}]`],
    ["keys", Array.from({ length: 80_000 }, (_, index) => `k${index}: 1`).join("\n")],
    ["the same key", repeated("k: 1\n")],
    ["levels by indentation", Array.from({ length: 1_400 }, (_, index) => `${" ".repeat(index)}a:`).join("\n")],
  ])("a mebibyte of %s is refused", async ([, text = ""]) => {
    const tree = await parseYaml(text.slice(0, MEBIBYTE));
    // In maps that are only long, every key is unknown.
    if (tree.faults.length === 0) {
      const { problems } = await place();
      expect((await problems({ project: text.slice(0, MEBIBYTE) })).length).toBeGreaterThan(100);
    }
  });

  test("aliases that expand to very many values are rejected", async () => {
    const layers = Array.from(
      { length: 9 },
      (_, index) => `l${index + 1}: &l${index + 1} [${Array(9).fill(`*l${index}`).join(",")}]`,
    );
    expect(await parseYaml(["l0: &l0 [x,x,x,x,x,x,x,x,x]", ...layers].join("\n"))).toMatchObject({
      faults: [{ place: { line: 1, column: 1 }, message: "more than 100 aliases" }],
    });
    const { problems } = await place();
    expect(await problems({ project: "toolsets: { a: &a [*a] }\n" })).toEqual([
      "handrail.yaml:1:1: nested more than 32 levels deep",
    ]);
  });

  test("the name of an inherited property is a toolset's name like any other, or invalid", async () => {
    const { read, problems } = await place();
    const { settings } = await read({
      project: "toolsets: { constructor: [read], toString: [ls] }\ntools: { preset: toString }\n",
    });
    expect(Object.entries(settings.toolsets)).toEqual([
      ["constructor", ["read"]],
      ["toString", ["ls"]],
    ]);
    expect(settings.tools.preset).toBe("toString");
    expect(await problems({ project: "tools: { preset: valueOf }\n" })).toHaveLength(1);
    expect(
      await problems({ project: "tools: { options: { __proto__: { limit: { lines: 1 } }, hasOwnProperty: {} } }\n" }),
    ).toHaveLength(2);
    expect(await problems({ project: "toolsets: { __proto__: [read] }\n" })).toHaveLength(1);
  });
});
