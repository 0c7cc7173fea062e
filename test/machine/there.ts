import { execFileSync } from "node:child_process";
import { onTestFinished } from "vitest";
import type { Process } from "../../src/core/contract/backend.ts";
import { installedOf } from "../support/here.ts";
import { temporaryFolder } from "../support/workspace.ts";
import { type There, type ThereOptions, there as openThere } from "./there-open.ts";

/** Returns the installed shells that systems use as `sh`. For each missing one, registers a test that reports it. */
export function shellsHere(): readonly (readonly [program: string, ...args: string[]])[] {
  const lines = installedOf(["dash", "bash --posix", "busybox sh", "zsh --emulate sh"]);
  return lines.map((line) => line.split(" ") as [string, ...string[]]);
}

/** Opens the system in its own folder. Closed at the end of the test. */
export async function there(options: Omit<ThereOptions, "folder"> = {}): Promise<There> {
  const host = await openThere({ folder: temporaryFolder(), ...options });
  onTestFinished(() => host.close());
  return host;
}

/** Returns the whole output as text. */
export async function textOf({ output }: Pick<Process, "output">): Promise<string> {
  return Buffer.from(await output.read(0, output.kept)).toString("utf8");
}

/** Returns the ids of processes whose command line contains the text. */
export function running(text: string): readonly number[] {
  try {
    return execFileSync("pgrep", ["-f", text], { encoding: "utf8" }).trim().split("\n").map(Number);
  } catch {
    return [];
  }
}
