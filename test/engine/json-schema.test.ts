import { existsSync, readFileSync, readdirSync, statSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { defineTool } from "../../src/contract/tool.ts";
import { validate } from "../../src/engine/validate.ts";

// The official JSON Schema test suite (json-schema-org/JSON-Schema-Test-Suite), read in place where it is.
const suite = fileURLToPath(new URL("../../../shared/vectors/json-schema/", import.meta.url));
const present = existsSync(suite);
const files = present ? ["draft2020-12", "draft7"].flatMap(testFiles) : [];

/** How many cases of a file come out otherwise, and why. A count that changes, either way, is to be looked at. */
const KNOWN: { readonly [file: string]: number } = {
  "draft2020-12/format.json": 19, // asserted: a model should hear that a date is none; the suite only annotates
  "draft2020-12/defs.json": 1, // a reference to the meta schema, which is not loaded
  "draft2020-12/ref.json": 1, // a remote reference: a stranger's schema must not make us fetch
  "draft2020-12/vocabulary.json": 1, // custom meta schemas are not loaded
  "draft7/definitions.json": 1, // as defs.json
  "draft7/ref.json": 2, // keywords beside a $ref count, as they do since 2019-09; a remote reference
};

test.skipIf(!present)(`the JSON Schema test suite is at ${suite} (otherwise NOTHING is checked against it)`, () => {
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

interface Group {
  readonly description: string;
  readonly schema: { readonly [keyword: string]: unknown } | boolean;
  readonly tests: readonly { readonly description: string; readonly data: unknown; readonly valid: boolean }[];
}

/** Whether the value fits as it is: what only fits when it is converted does not count. */
async function accepts(schema: { readonly [keyword: string]: unknown }, data: unknown): Promise<boolean> {
  const tool = defineTool({
    name: "t",
    description: "",
    touches: [],
    input: schema,
    effects: () => [],
    run: async () => null,
  });
  try {
    const result = await validate(tool, data);
    return result.ok && JSON.stringify(result.input) === JSON.stringify(data);
  } catch {
    return false;
  }
}

function testFiles(draft: string): readonly string[] {
  const names = readdirSync(join(suite, draft)).filter((name) => statSync(join(suite, draft, name)).isFile());
  // Remote documents are not fetched; dynamic references and anchors across documents need them.
  return names
    .filter((name) => !/^(refRemote|dynamicRef|anchor|infinite)/.test(name))
    .map((name) => `${draft}/${name}`);
}
