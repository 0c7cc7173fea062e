import { execFileSync } from "node:child_process";
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { repository } from "../support/workspace.ts";

let folder: Promise<string> | undefined;

/** Applies a diff to a file with git, and returns the result. Throws when it does not apply. */
export async function gitApplied(path: string, before: string | Uint8Array, diff: string): Promise<Buffer> {
  folder ??= repository({ ".keep": "" });
  const file = join(await folder, path);
  await mkdir(dirname(file), { recursive: true });
  await writeFile(file, before);
  const options = ["-C", await folder, "-c", "core.autocrlf=false"];
  execFileSync("git", [...options, "apply", "--whitespace=nowarn"], { input: diff, stdio: "pipe" });
  return readFile(file);
}
