import { execFileSync, spawnSync } from "node:child_process";
import { mkdtempSync, realpathSync, rmSync } from "node:fs";
import { mkdir, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterFile } from "./after-file.ts";
import type { Toolkit } from "../../src/core/contract/toolkit.ts";
import { createToolkit } from "../../src/app/toolkit.ts";
import type { ToolkitOptions } from "../../src/app/toolkit-options.ts";

const folders: string[] = [];
const toolkits: Toolkit[] = [];

afterFile(async () => {
  await Promise.all(toolkits.splice(0).map((toolkit) => toolkit.close()));
  for (const folder of folders.splice(0)) removeWhole(folder);
});

/** Creates a folder for one test, with the given files. Removed at the end of the test file. */
export async function workspace(files: { readonly [path: string]: string | Uint8Array } = {}): Promise<string> {
  const folder = temporaryFolder();
  for (const [path, content] of Object.entries(files)) {
    await mkdir(dirname(join(folder, path)), { recursive: true });
    await writeFile(join(folder, path), content);
  }
  return folder;
}

/** Removes a folder with everything in it, also folders that its owner has closed. A missing one is fine. */
export function removeWhole(folder: string): void {
  if (process.getuid?.() !== 0) spawnSync("chmod", ["-Rf", "u+rwX", folder]);
  rmSync(folder, { recursive: true, force: true });
}

/** A workspace that is a git repository with everything committed. */
export async function repository(files: { readonly [path: string]: string | Uint8Array }): Promise<string> {
  const folder = await workspace(files);
  const git = (...args: readonly string[]) => execFileSync("git", ["-C", folder, ...args], { stdio: "pipe" });
  git("init", "--quiet");
  git("add", "--all");
  git("-c", "user.name=Test", "-c", "user.email=test@example.org", "commit", "--quiet", "--message", "All files");
  return folder;
}

/** Creates a folder outside any workspace. */
export function temporaryFolder(): string {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), "handrail-test-")));
  folders.push(folder);
  return folder;
}

/**
 * Creates a toolkit with its own state folder. Closed at the end of the test file. Without a sandbox, unless the test
 * requests one: questions depend on it, and process ids inside differ.
 */
export async function toolkitWith(options: ToolkitOptions = {}): Promise<Toolkit> {
  const sandbox = typeof options.target !== "object" && { sandbox: "off" as const };
  const toolkit = await createToolkit({ stateDir: temporaryFolder(), ...sandbox, ...options });
  toolkits.push(toolkit);
  return toolkit;
}
