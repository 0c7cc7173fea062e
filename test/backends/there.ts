import { execFileSync } from "node:child_process";
import { onTestFinished } from "vitest";
import type { Process } from "../../src/contract/backend.ts";
import { installedOf } from "../support/here.ts";
import { temporaryFolder } from "../support/workspace.ts";
import { type There, type ThereOptions, there as openThere } from "./there-open.ts";

/** The installed ones of the shells that systems have as `sh`. Each of the others is a test that reports it. */
export function shellsHere(): readonly (readonly [program: string, ...args: string[]])[] {
  const lines = installedOf(["dash", "bash --posix", "busybox sh", "zsh --emulate sh"]);
  return lines.map((line) => line.split(" ") as [string, ...string[]]);
}

/** In a folder of its own, closed after the test. */
export async function there(options: Omit<ThereOptions, "folder"> = {}): Promise<There> {
  const host = await openThere({ folder: temporaryFolder(), ...options });
  onTestFinished(() => host.close());
  return host;
}

/** All that it wrote. */
export async function textOf({ output }: Pick<Process, "output">): Promise<string> {
  return Buffer.from(await output.read(0, output.kept)).toString("utf8");
}

/** Numbers of the processes whose command line holds the text. */
export function running(text: string): readonly number[] {
  try {
    return execFileSync("pgrep", ["-f", text], { encoding: "utf8" }).trim().split("\n").map(Number);
  } catch {
    return [];
  }
}
