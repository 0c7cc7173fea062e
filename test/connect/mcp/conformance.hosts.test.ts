// The official conformance suite, on Node 26 from a folder of npm's, against a server and a client that are made with
// the public names of the built package. A baseline per revision names what fails, with the reason.
import { type ChildProcess, execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { promisify } from "node:util";
import { expect, test } from "vitest";
import { projectRoot } from "../../../scripts/lib/project.mjs";
import { afterFile } from "../../support/after-file.ts";
import { temporaryFolder } from "../../support/workspace.ts";
import { ERAS } from "./connection.ts";

const FIXTURES = join(projectRoot, "test/fixtures/mcp/conformance");
const PACKAGES = ["node@26.10.0", "@modelcontextprotocol/conformance@0.2.0-alpha.12"];
const SCENARIO_MS = 120_000;

const started: ChildProcess[] = [];
afterFile(() => {
  for (const program of started) program.kill();
});

/** Starts a program of the fixtures. Resolves to its first line. */
async function fixture(name: string, ...args: readonly string[]): Promise<string> {
  const program = spawn(process.execPath, [join(FIXTURES, name), ...args], { stdio: ["ignore", "pipe", "ignore"] });
  started.push(program);
  const [line] = (await once(program.stdout, "data")) as [Buffer];
  return line.toString().trim();
}

/** Runs a role of the suite. Resolves to what it reports when it succeeds, and rejects with it when it does not. */
async function conformance(role: string, revision: string, args: readonly string[]): Promise<string> {
  const given = ["--requirements", revision, "--expected-failures", join(FIXTURES, `${revision}.yaml`)];
  const packages = PACKAGES.map((each) => `--package=${each}`);
  const command = ["conformance", role, ...args, ...given, "--timeout", String(SCENARIO_MS), "-o", temporaryFolder()];
  const ran = promisify(execFile)("npx", ["--yes", ...packages, "--", ...command], { maxBuffer: 2 ** 26 });
  const { stdout } = await ran.catch((error: Error & { readonly stdout?: string }) => {
    throw new Error(summaryOf(error.stdout ?? "") || error.message, { cause: error });
  });
  return summaryOf(stdout);
}

/** The part from the last title on: what failed and was not expected to, and the numbers. */
function summaryOf(text: string): string {
  return text.slice(Math.max(text.lastIndexOf("=== S"), 0)).slice(-8_000);
}

test.each(ERAS)("the server conforms to revision %s, but for its baseline", { timeout: 300_000 }, async (revision) => {
  const url = await fixture("server.mjs", temporaryFolder());
  expect(await conformance("server", revision, ["--url", url])).toMatch(/^Total: \d+ passed/m);
});

test.each(ERAS)("the client conforms to revision %s", { timeout: 300_000 }, async (revision) => {
  const port = await fixture("client.mjs");
  const command = `bash ${join(FIXTURES, "client.sh")} ${port}`;
  expect(await conformance("client", revision, ["--command", command])).toMatch(/^Total: \d+ passed/m);
});
