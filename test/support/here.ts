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
