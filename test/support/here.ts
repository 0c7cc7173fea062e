import { accessSync, constants } from "node:fs";
import { delimiter, join } from "node:path";
import { expect, test } from "vitest";

/** Registers a test that says loudly that something is not tried here, and why; where CI is, that is a failure. `what`: "docker". */
export function mustBeHere(what: string, problem: string | undefined): void {
  test(`${what} can be tried here`, ({ skip }) => {
    skip(problem !== undefined && process.env["CI"] !== "true", `${problem}: nothing of ${what} is tried`);
    expect(problem).toBeUndefined();
  });
}

/** Where a program is, also one for administrators, whose folders an ordinary user's PATH lacks; `undefined`: it is not installed. */
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

/** Set to 1: the suites of the terminal also run in a container, over SSH and with every shell, where single tests still fail now and then. */
const ALL_TERMINALS = "HANDRAIL_ALL_TERMINALS";

/** Whether those are to be tried; says loudly when they are not. */
export function allTerminals(what: string): boolean {
  const isOn = process.env[ALL_TERMINALS] === "1";
  test(`${what} is tried when ${ALL_TERMINALS} is 1`, ({ skip }) => {
    skip(!isOn, `${ALL_TERMINALS} is not 1: not every run of it succeeds yet`);
    expect(isOn).toBe(true);
  });
  return isOn;
}
