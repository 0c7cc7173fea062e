import { spawnSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { projectRoot } from "../../scripts/lib/project.mjs";
import { temporaryFolder } from "../support/workspace.ts";

const HEAD = "| wanted | ours | test |\n| --- | --- | --- |\n";
const OWN = "`test/checks/seeds.system.test.ts` ›";
const rowOf = (shownBy: string, ours = "the same") => `| this | ${ours} | ${shownBy} |\n`;
/** A row whose test is one of this file, and the titles of a run. */
const TITLE = "a page with %s is reported";
const row = rowOf(`${OWN} ${TITLE}`);
const ran = (state: string, what = "a row of another form") => ({
  ...{ file: "test/checks/seeds.system.test.ts", title: TITLE.replace("%s", what), state },
});

const suite = "`test/machine/suite-local.test.ts` › merged streams keep the order in which they were written";
const IN_SUITES = rowOf(suite) + rowOf(`${OWN} a page with a test that ran is reported`, "**Differs:** not at all");

test.for<[what: string, rows: string, record: readonly object[] | undefined, status: number, lines: readonly RegExp[]]>(
  [
    ["a test that exists", row, undefined, 0, [/: 1 rows, 0 differ on purpose; 1 tests, 1 found$/]],
    ["a title of a suite, and one of a table", IN_SUITES, undefined, 0, [/: 2 rows, 1 differ .*; 2 tests, 2 found$/]],
    ["a row of another form", row + rowOf("none"), undefined, 1, [/: line 4: expected \| wanted/, /1 tests, 1 found$/]],
    ["a test that is missing", rowOf(`${OWN} no such title`), undefined, 1, [/there is no test/, /0 found$/]],
    ["a file that is missing", rowOf("`test/none.test.ts` › a"), undefined, 1, [/there is no test/, /0 found$/]],
    ["a test that ran", row, [ran("passed"), ran("passed", "b")], 0, [/1 found; 1 ran$/]],
    ["a test that was flaky", row, [ran("failed"), ran("passed")], 0, [/1 found; 1 ran$/]],
    ["a test that failed", row, [ran("failed"), ran("passed", "b")], 1, [/is reported has failed$/, /; 0 ran$/]],
    ["a test that was in no run", row, [], 1, [/is reported was in no run$/, /; 0 ran$/]],
    ["a test that was skipped", row, [ran("skipped")], 0, [/^skipped on this machine: .*is reported$/, /; 0 ran$/]],
  ],
)("a page with %s is reported", ([, rows, record, status, lines]) => {
  const folder = temporaryFolder();
  const page = join(folder, "page.md");
  const file = join(folder, "record");
  writeFileSync(page, HEAD + rows);
  writeFileSync(file, (record ?? []).map((each) => `${JSON.stringify(each)}\n`).join(""));
  const args = [join(projectRoot, "scripts/check-seeds.mjs"), page, ...(record === undefined ? [] : ["--ran", file])];
  const run = spawnSync(process.execPath, args, { encoding: "utf8" });
  expect(run.stdout.trimEnd().split("\n")).toEqual(lines.map((line) => expect.stringMatching(line) as string));
  expect(run.status).toBe(status);
});
