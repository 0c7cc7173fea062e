import { spawnSync } from "node:child_process";
import { accessSync, constants } from "node:fs";
import { delimiter, join } from "node:path";
import { TestRunner, expect, test } from "vitest";

/**
 * Registers a test that reports why something cannot be tested on this machine: skipped with the reason, or failed with
 * CI=true. Every condition that skips tests because something is missing uses this.
 *
 * @param what such as "docker"
 */
export function mustBeHere(what: string, problem: string | undefined): void {
  test(`${what} can be tested here`, ({ skip }) => {
    skip(problem !== undefined && process.env["CI"] !== "true", problem);
    expect(problem).toBeUndefined();
  });
}

/** Skips the running test, with the reason, if a required program is not installed. With CI=true the test fails. */
export function requireProgram(program: string): void {
  const problem = programProblem(program);
  if (problem === undefined) return;
  if (process.env["CI"] === "true") throw new Error(problem);
  TestRunner.getCurrentTest()?.context.skip(problem);
}

/**
 * Skips the running test, with the reason, if this is not root: it needs something that only root can make. Not a failure
 * with CI=true, which runs the tests as root too.
 *
 * @param what such as "a setuid program of root"
 */
export function requireRoot(what: string): void {
  if (process.getuid?.() !== 0) TestRunner.getCurrentTest()?.context.skip(`only root can make ${what}`);
}

/** Returns why a program cannot be used on this machine; `undefined` if it can. */
export function programProblem(program: string): string | undefined {
  return installed(program) === undefined ? `${program} is not installed` : undefined;
}

/**
 * Runs a program, and returns its stdout; `undefined` if it cannot be tested. It must be installed (`mustBeHere`). A
 * program that is installed but does not run is skipped, even with CI=true: rustup and pyenv have such stand-ins for
 * what is not installed for this user.
 */
export function mustRun(what: string, [program, ...args]: readonly [string, ...string[]]): string | undefined {
  mustBeHere(what, programProblem(program));
  if (programProblem(program) !== undefined) return undefined;
  const { status, stdout } = spawnSync(program, args, { encoding: "utf8" });
  if (status === 0) return stdout.trim();
  test(`${program} runs here`, ({ skip }) => {
    skip(status !== 0, `${program} is installed and does not run`);
    expect(status).toBe(0);
  });
  return undefined;
}

/** Returns why nothing can be run as another user (nobody, 65534); `undefined` if it can. */
export function secondUserProblem(): string | undefined {
  if (process.getuid?.() !== 0) return "only root can run something as another user";
  const { status } = spawnSync(process.execPath, ["-e", ""], { uid: 65_534, gid: 65_534, cwd: "/" });
  return status === 0 ? undefined : `other users may not run ${process.execPath}`;
}

/**
 * Returns the command lines whose program is installed: `["zsh -f"]`. For each other one, registers a test that reports
 * it.
 */
export function installedOf(commandLines: readonly string[]): readonly string[] {
  const problemOf = (line: string) => programProblem(line.split(" ")[0] ?? "");
  for (const line of commandLines) mustBeHere(line, problemOf(line));
  return commandLines.filter((line) => problemOf(line) === undefined);
}

/**
 * Returns the path of a program, including those for administrators, which are not on an ordinary user's PATH;
 * `undefined` if it is not installed.
 */
export function installed(program: string): string | undefined {
  const folders = [...(process.env["PATH"] ?? "").split(delimiter), "/usr/sbin", "/sbin"];
  return folders.map((folder) => join(folder, program)).find(isProgram);
}

function isProgram(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}
