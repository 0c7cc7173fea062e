import { spawnSync } from "node:child_process";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { projectRoot } from "../../scripts/lib/project.mjs";
import { setUp } from "../../scripts/setup.mjs";
import { requireProgram } from "../support/here.ts";

test("the set-up of a prepared checkout does nothing and prints nothing", () => {
  if (process.platform === "linux") requireProgram("bwrap");
  expect(runSetup(process.env)).toEqual({ status: 0, stdout: "", stderr: "" });
});

test("a program that is missing and cannot be installed is named, with the command that installs it", () => {
  const { status, stderr } = runSetup({ ...process.env, CI: "", PATH: "" });
  expect(status).toBe(1);
  const [alsoProgram, alsoPackage] = process.platform === "linux" ? [", bwrap", " bubblewrap"] : ["", ""];
  expect(stderr).toBe(
    `setup: Missing on this machine: git, bash${alsoProgram}. On Debian: sudo apt-get install git bash${alsoPackage}\n`,
  );
});

test("a Node version that is too old is named, with the required one", async () => {
  const root = await mkdtemp(join(tmpdir(), "handrail-setup-"));
  await writeFile(join(root, "package.json"), '{ "engines": { "node": ">=9999.1" } }');
  expect(() => setUp(root)).toThrow(`Node >=9999.1 is needed, this is ${process.versions.node}`);
  await rm(root, { recursive: true });
});

function runSetup(env: NodeJS.ProcessEnv) {
  const script = join(projectRoot, "scripts", "setup.mjs");
  const { status, stdout, stderr } = spawnSync(process.execPath, [script], { env, encoding: "utf8" });
  return { status, stdout, stderr };
}
