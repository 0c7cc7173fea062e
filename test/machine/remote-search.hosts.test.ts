// The contract tests of search and find, for every way to search a remote host.
import { readdir, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, describe, expect, test } from "vitest";
import { putRipgrep, searchWay } from "../../src/machine/shell/search.ts";
import { finding } from "../suites/backend/finding.ts";
import { searching } from "../suites/backend/searching.ts";
import { registerSuite } from "../suites/suite.ts";
import { mustBeHere, programProblem } from "../support/here.ts";
import { temporaryFolder } from "../support/workspace.ts";
import { type System, backendThere, shellsThere } from "./search-there.ts";

const noBusybox = programProblem("busybox");
mustBeHere("searches with the programs of busybox", noBusybox);
const systems: readonly System[] = noBusybox === undefined ? ["debian", "busybox"] : ["debian"];

const PLAIN = {
  "of more matches than requested the first ones by path are returned": "grep searches in the order of folders",
  "files of no requested name are skipped": "find is not told the names, which the caller picks from anyway",
};
const BUSYBOX = {
  "no line of a binary file is returned; a named one is reported as binary": "busybox's grep knows no binary files",
};

for (const system of systems) {
  for (const way of ["its own ripgrep", "our ripgrep", "grep and find"] as const) {
    const open = async () => {
      const backend = await backendThere(temporaryFolder(), system, way);
      expect(await searchWay(backend)).toBe(way);
      return backend;
    };
    registerSuite(
      {
        name: `a remote host with the programs of ${system}, searched with ${way}`,
        groups: [
          ["searching", searching],
          ["finding", finding],
        ],
        differences: { signals: "name", ids: "process" },
        skip: { ...(way === "grep and find" && { ...PLAIN, ...(system === "busybox" && BUSYBOX) }) },
        open,
      },
      { describe, test, afterAll },
    );
  }
}

test("our ripgrep is stored in the cache folder by its hash, once; a broken one is replaced", async () => {
  const { shells, facts, home } = await shellsThere("debian");
  const paths = await Promise.all(Array.from({ length: 4 }, () => putRipgrep(shells, facts)));
  const folder = join(home, ".cache/handrail");
  const [name = ""] = await readdir(folder);
  expect(new Set(paths)).toEqual(new Set([join(folder, name)]));
  expect((await stat(join(folder, name))).mode & 0o777).toBe(0o700);
  expect((await stat(folder)).mode & 0o777).toBe(0o700);
  await writeFile(join(folder, name), "broken");
  expect(await putRipgrep(shells, { ...facts, programs: new Set() })).toBe(join(folder, name));
  expect((await stat(join(folder, name))).size).toBeGreaterThan(1_000);
  expect(await readdir(folder)).toEqual([name]);
  expect(await putRipgrep(shells, { ...facts, machine: "riscv64" })).toBeUndefined();
  expect(await putRipgrep(shells, { ...facts, system: "FreeBSD" })).toBeUndefined();
});
