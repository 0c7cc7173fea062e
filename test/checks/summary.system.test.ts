import { spawnSync } from "node:child_process";
import { mkdtemp, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { projectRoot } from "../../scripts/lib/project.mjs";

const passing = 'import { test } from "vitest";\ntest("a", () => {});\ntest("b", () => {});\n';
const failing = 'import { test } from "vitest";\ntest("c", () => { throw new Error("planted"); });\n';
const skipped = 'import { test } from "vitest";\ntest.skip("d", () => {});\ntest("e", () => {});\n';
const unloadable = 'import "./nowhere.ts";\n';
const brokenHook =
  'import { beforeAll, test } from "vitest";\nbeforeAll(() => { throw new Error("planted"); });\ntest("f", () => {});\n';

test.for<[title: string, files: readonly string[], lastLine: string, status: number]>([
  ["failed and skipped tests are counted", [passing, failing, skipped], "3 passed, 1 failed, 1 skipped", 1],
  [
    "a file that cannot be loaded, and a hook that throws, count as failed",
    [unloadable, brokenHook],
    "0 passed, 2 failed, 1 skipped",
    1,
  ],
  ["a run without tests says so", [], "0 passed, 0 failed", 1],
])("the last line of a test run: %s", async ([, files, lastLine, status]) => {
  const run = await runOf(files);
  expect(run.lines.at(-1)).toBe(lastLine);
  expect(run.status).toBe(status);
});

test("the summary lists why tests were skipped, each reason once, and what failed, with its message", async () => {
  const { lines, status } = await runOf([
    'import { test } from "vitest";\nfor (const name of ["a", "b"]) test(name, ({ skip }) => skip(true, "there is no zsh"));\n',
    failing,
    brokenHook,
    'import { test } from "vitest";\ntest("g", () => { Promise.reject(new Error("stray")); });\n',
  ]);
  const from = lines.indexOf("skipped: there is no zsh");
  expect(lines.slice(from)).toEqual([
    "skipped: there is no zsh",
    "failed: 1.test.ts > c (planted)",
    "failed: 2.test.ts > outside of its tests (planted)",
    "failed: 3.test.ts > an unhandled error (stray)",
    "1 passed, 3 failed, 3 skipped",
  ]);
  expect(status).toBe(1);
});

async function runOf(
  files: readonly string[],
): Promise<{ readonly lines: readonly string[]; readonly status: number | null }> {
  const folder = await mkdtemp(join(tmpdir(), "handrail-summary-"));
  await symlink(join(projectRoot, "node_modules"), join(folder, "node_modules"));
  for (const [index, content] of files.entries()) await writeFile(join(folder, `${index}.test.ts`), content);
  const reporter = join(projectRoot, "scripts", "vitest-summary.mjs");
  await writeFile(
    join(folder, "vitest.config.mjs"),
    `export default { test: { pool: "forks", reporters: ["default", ${JSON.stringify(reporter)}] } };\n`,
  );
  const vitest = join(projectRoot, "node_modules", "vitest", "vitest.mjs");
  const run = spawnSync(process.execPath, [vitest, "run"], { cwd: folder, encoding: "utf8" });
  await rm(folder, { recursive: true });
  return { lines: run.stdout.trimEnd().split("\n"), status: run.status };
}
