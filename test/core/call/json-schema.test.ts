import { existsSync, readFileSync, readdirSync, statSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { type Tool, defineTool } from "../../../src/core/contract/tool.ts";
import { requireValidSchemas } from "../../../src/core/call/schema-fault.ts";
import { validate } from "../../../src/core/call/validate.ts";

// The official JSON Schema test suite (json-schema-org/JSON-Schema-Test-Suite), read from its package.
const suite = fileURLToPath(new URL("../../../../shared/vectors/json-schema/", import.meta.url));
const present = existsSync(suite);
const files = present ? ["draft2020-12", "draft7"].flatMap(testFiles) : [];

/** How many cases of a file differ, and why. Any change of a count must be examined. */
const KNOWN: { readonly [file: string]: number } = {
  "draft2020-12/const.json": 2, // a number above 2^53 - 1 may be a rounded one, so it is refused
  "draft2020-12/format.json": 19, // asserted: a model should learn that a date is invalid; the suite only annotates
  "draft2020-12/defs.json": 1, // a reference to the meta schema, which is not loaded
  "draft2020-12/ref.json": 1, // a remote reference: an untrusted schema must not make us fetch
  "draft2020-12/vocabulary.json": 1, // custom meta schemas are not loaded
  "draft7/const.json": 2, // as above
  "draft7/definitions.json": 1, // as defs.json
  "draft7/ref.json": 2, // keywords next to a $ref count, as since 2019-09; a remote reference
};

test("the JSON Schema test suite is installed", ({ skip }) => {
  skip(!present, `the JSON Schema test suite is not at ${suite}: nothing is checked against it`);
  expect(files.length).toBeGreaterThan(70);
});

for (const file of files) {
  test(`the JSON Schema test suite holds: ${file}`, async () => {
    const groups = JSON.parse(readFileSync(join(suite, file), "utf8")) as Group[];
    const wrong: string[] = [];
    for (const { description, schema, tests } of groups) {
      if (typeof schema !== "object") continue; // a tool's schema is an object
      for (const { description: what, data, valid } of tests) {
        if ((await accepts(schema, data)) !== valid) wrong.push(`${description}: ${what}`);
      }
    }
    expect(wrong.length, wrong.join("\n")).toBe(KNOWN[file] ?? 0);
  });
}

test.skipIf(!present)("only schemas that refer to other documents are refused", () => {
  const refused = new Map<string, number>();
  for (const file of files) {
    for (const { schema } of JSON.parse(readFileSync(join(suite, file), "utf8")) as Group[]) {
      if (typeof schema !== "object") continue;
      const { type: _, ...untyped } = schema; // a tool's arguments are an object
      if (faultOf(untyped) !== undefined) refused.set(file, (refused.get(file) ?? 0) + 1);
    }
  }
  // Each references the meta-schema. All other remote references are in files that are skipped.
  expect(Object.fromEntries(refused)).toEqual({
    "draft2020-12/defs.json": 1,
    "draft2020-12/ref.json": 1,
    "draft7/definitions.json": 1,
    "draft7/ref.json": 1,
  });
});

interface Group {
  readonly description: string;
  readonly schema: { readonly [keyword: string]: unknown } | boolean;
  readonly tests: readonly { readonly description: string; readonly data: unknown; readonly valid: boolean }[];
}

/** Whether the value fits unchanged. Values that fit only after conversion do not count. */
async function accepts(schema: { readonly [keyword: string]: unknown }, data: unknown): Promise<boolean> {
  try {
    const result = await validate(toolWith(schema), data);
    return result.ok && JSON.stringify(result.input) === JSON.stringify(data);
  } catch {
    return false;
  }
}

function toolWith(input: object): Tool {
  return defineTool({ name: "t", description: "", touches: [], input, effects: () => [], run: async () => null });
}

function faultOf(schema: { readonly [keyword: string]: unknown }): unknown {
  try {
    requireValidSchemas([toolWith(schema)]);
    return undefined;
  } catch (error) {
    return error;
  }
}

function testFiles(draft: string): readonly string[] {
  const names = readdirSync(join(suite, draft)).filter((name) => statSync(join(suite, draft, name)).isFile());
  // Remote documents are not fetched; dynamic references and anchors across documents need them.
  return names
    .filter((name) => !/^(refRemote|dynamicRef|anchor|infinite)/.test(name))
    .map((name) => `${draft}/${name}`);
}
