import { execFileSync } from "node:child_process";
import { tmpdir } from "node:os";
import { afterEach } from "vitest";
import type { Process } from "../../src/contract/backend.ts";
import { temporaryFolder } from "../support/workspace.ts";
import { type There, type ThereOptions, there as openThere } from "./there-open.ts";

const open = new Set<There>();
afterEach(async () => {
  await Promise.all([...open].map((each) => each.close()));
  open.clear();
});

/** The POSIX shells that are there of those that a system may have for `sh`. */
export const SHELLS: readonly (readonly [string, ...string[]])[] = (
  [["dash"], ["busybox", "sh"], ["bash", "--posix"], ["zsh", "--emulate", "sh"]] as const
).filter(([program]) => isThere(program));

/** In a folder of its own, closed after the test. */
export async function there(options: Omit<ThereOptions, "folder"> = {}): Promise<There> {
  const host = await openThere({ folder: temporaryFolder(), ...options });
  open.add(host);
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

function isThere(program: string): boolean {
  try {
    execFileSync("sh", ["-c", `command -v ${program}`], { cwd: tmpdir(), stdio: "ignore" });
    return true;
  } catch {
    return false;
  }
}
