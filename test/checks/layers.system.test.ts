import { appendFile, cp, mkdir, mkdtemp, readdir, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { cruiseSources } from "../../scripts/lib/cruise.mjs";
import { SOURCE_FOLDERS, projectRoot } from "../../scripts/lib/project.mjs";

interface Plant {
  readonly rule: string;
  /** A file written into a copy of this project's sources. */
  readonly files: Readonly<Record<string, string>>;
  readonly from: string;
  readonly to: string;
}

/** A wrong import for each rule: the file, and the one finding that it must cause. */
const plants: readonly Plant[] = [
  {
    rule: "no-import-from-above",
    files: { "src/core/contract/planted.ts": 'export { planted } from "../util/planted.ts";\n' },
    from: "src/core/contract/planted.ts",
    to: "src/core/util/planted.ts",
  },
  {
    rule: "no-import-from-above",
    files: { "src/core/output/planted.ts": 'export { planted } from "../../policy/planted.ts";\n' },
    from: "src/core/output/planted.ts",
    to: "src/policy/planted.ts",
  },
  {
    rule: "no-import-from-beside",
    files: { "src/record/activity/planted.ts": 'export { planted } from "../../policy/planted.ts";\n' },
    from: "src/record/activity/planted.ts",
    to: "src/policy/planted.ts",
  },
  {
    rule: "tools-import-no-machine",
    files: { "src/tools/planted.ts": 'export { planted } from "../machine/planted.ts";\n' },
    from: "src/tools/planted.ts",
    to: "src/machine/planted.ts",
  },
  {
    rule: "tools-import-no-tool",
    files: { "src/tools/planted-beside.ts": 'export { planted } from "./planted.ts";\n' },
    from: "src/tools/planted-beside.ts",
    to: "src/tools/planted.ts",
  },
  {
    rule: "one-door-for-programs",
    files: { "src/connect/guard/planted.ts": 'export { spawn } from "node:child_process";\n' },
    from: "src/connect/guard/planted.ts",
    to: "child_process",
  },
  {
    rule: "no-circle",
    files: {
      "src/record/memory/planted.ts":
        'import type { Other } from "./planted-other.ts";\nexport type One = Other | 1;\n',
      "src/record/memory/planted-other.ts": 'import type { One } from "./planted.ts";\nexport type Other = One | 2;\n',
    },
    from: "src/record/memory/planted-other.ts",
    to: "src/record/memory/planted.ts",
  },
  {
    rule: "src-imports-only-src",
    files: {
      "src/record/schedule/planted.ts": 'export { planted } from "../../../test/planted.ts";\n',
      "test/planted.ts": "export const planted = 1;\n",
    },
    from: "src/record/schedule/planted.ts",
    to: "test/planted.ts",
  },
  {
    rule: "src-imports-only-src",
    files: {
      "src/record/schedule/planted-example.ts": 'export { planted } from "../../../examples/planted.ts";\n',
      "examples/planted.ts": "export const planted = 1;\n",
    },
    from: "src/record/schedule/planted-example.ts",
    to: "examples/planted.ts",
  },
  {
    rule: "suites-import-only-src",
    files: { "test/suites/planted.ts": 'export { planted } from "../planted.ts";\n' },
    from: "test/suites/planted.ts",
    to: "test/planted.ts",
  },
  {
    rule: "page-runs-in-a-browser",
    files: { "page/planted.ts": 'export { planted } from "../src/policy/planted.ts";\n' },
    from: "page/planted.ts",
    to: "src/policy/planted.ts",
  },
  {
    rule: "page-is-built-apart",
    files: {
      "src/serve/planted.ts": 'export { planted } from "../../page/planted-part.ts";\n',
      "page/planted-part.ts": "export const planted = 1;\n",
    },
    from: "src/serve/planted.ts",
    to: "page/planted-part.ts",
  },
  {
    rule: "every-file-has-a-wing",
    files: { "src/attic/planted.ts": 'export { planted } from "../core/util/planted.ts";\n' },
    from: "src/attic/planted.ts",
    to: "src/core/util/planted.ts",
  },
  {
    rule: "no-unresolvable-import",
    files: { "src/record/undo/planted.ts": 'export { planted } from "../../core/util/planted-nowhere.ts";\n' },
    from: "src/record/undo/planted.ts",
    to: "../../core/util/planted-nowhere.ts",
  },
  {
    rule: "packages-are-declared",
    files: {
      "src/tools/web/planted.ts": 'export { planted } from "planted-package";\n',
      "node_modules/planted-package/package.json":
        '{ "name": "planted-package", "type": "module", "exports": "./index.js" }\n',
      "node_modules/planted-package/index.js": "export const planted = 1;\n",
    },
    from: "src/tools/web/planted.ts",
    to: "node_modules/planted-package/index.js",
  },
  {
    rule: "no-orphan",
    files: { "src/core/util/planted-orphan.ts": "export const planted = 1;\n" },
    from: "src/core/util/planted-orphan.ts",
    to: "src/core/util/planted-orphan.ts",
  },
];

/** What planted files import without violating a rule. */
const targets = ["src/core/util/planted.ts", "src/policy/planted.ts", "src/machine/planted.ts"];

/** The console's page, which is built separately. */
const PAGE = "page/";

describe("the import rules", () => {
  let root: string;
  let findings: string[];

  beforeAll(async () => {
    root = await mkdtemp(join(tmpdir(), "handrail-layers-"));
    findings = await findingsAfterPlanting(root);
  }, 300_000);

  afterAll(async () => {
    await rm(root, { recursive: true, force: true });
  });

  test.for(plants)("report $from -> $to as $rule", ({ rule, from, to }) => {
    expect(findings).toContain(`${rule}: ${from} -> ${to}`);
  });

  test("report each planted fault once, under one name, and nothing else", () => {
    expect(findings).toEqual(plants.map(({ rule, from, to }) => `${rule}: ${from} -> ${to}`).sort());
  });

  test("have a planted fault each", async () => {
    const { default: configuration } = await import("../../.dependency-cruiser.mjs");
    const rules = configuration.forbidden?.map(({ name }) => name);
    expect(new Set(plants.map(({ rule }) => rule))).toEqual(new Set(rules));
  });
});

test("a checkout in which nothing could be read is an error", async () => {
  const root = await mkdtemp(join(tmpdir(), "handrail-layers-"));
  for (const folder of SOURCE_FOLDERS) await mkdir(join(root, folder), { recursive: true });
  await expect(cruiseSources(root)).rejects.toThrow("read 0 of the 0 source files");
  await rm(root, { recursive: true });
});

/** Copies the sources, plants all faults at once, and returns the findings about planted files, sorted. */
async function findingsAfterPlanting(root: string): Promise<string[]> {
  for (const folder of SOURCE_FOLDERS) await cp(join(projectRoot, folder), join(root, folder), { recursive: true });
  await cp(join(projectRoot, "package.json"), join(root, "package.json"));
  await linkPackages(root);
  const files = Object.fromEntries(plants.flatMap((plant) => Object.entries(plant.files)));
  for (const target of targets) files[target] ??= "export const planted = 1;\n";
  for (const [file, content] of Object.entries(files)) await write(join(root, file), content);
  const isOfPage = (file: string) => file.startsWith(PAGE);
  await appendFile(
    join(root, "src/index.ts"),
    importsOf(
      Object.keys(files).filter((file) => !isOfPage(file)),
      "src/",
    ),
  );
  await appendFile(join(root, PAGE, "main.tsx"), importsOf(Object.keys(files).filter(isOfPage), PAGE));
  const { summary } = await cruiseSources(root);
  return summary.violations
    .map(({ rule, from, to }) => `${rule.name}: ${from} -> ${to}`)
    .filter((finding) => finding.includes("planted"))
    .sort();
}

/** Makes this project's packages resolvable in `root`, next to which more can be added. */
async function linkPackages(root: string): Promise<void> {
  await mkdir(join(root, "node_modules"));
  for (const name of await readdir(join(projectRoot, "node_modules"))) {
    if (!name.startsWith(".")) await symlink(join(projectRoot, "node_modules", name), join(root, "node_modules", name));
  }
}

/** Imports that make planted files part of the package, so that only one is an orphan. */
function importsOf(files: readonly string[], folder: string): string {
  const needed = files.filter((file) => file.startsWith(folder) && !file.includes("orphan"));
  return needed.map((file) => `\nimport "./${file.slice(folder.length)}";`).join("");
}

async function write(file: string, content: string): Promise<void> {
  await mkdir(dirname(file), { recursive: true });
  await writeFile(file, content);
}
