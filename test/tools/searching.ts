import { spawnSync } from "node:child_process";
import { readFileSync, readdirSync, readlinkSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { local } from "../../src/backends/local/backend.ts";
import type { Json } from "../../src/contract/schema.ts";
import { find } from "../../src/tools/find.ts";
import { type GrepOptions, grep } from "../../src/tools/grep.ts";
import { read } from "../../src/tools/read.ts";
import type { ToolkitOptions } from "../../src/toolkit.ts";
import { secondUserProblem } from "../support/here.ts";
import { temporaryFolder, workspace } from "../support/workspace.ts";
import { type Tools, toolsOn } from "./tools.ts";

/** grep, find and read on a new folder that has the files given. `patience`: as `searchPatienceMs` of the local backend. */
export async function searchTools(
  files: { readonly [path: string]: string | Uint8Array } = {},
  {
    grep: grepOptions = {},
    patience,
    workDir: given,
    ...options
  }: ToolkitOptions & { readonly grep?: GrepOptions; readonly patience?: number } = {},
): Promise<Tools> {
  const tools = [grep(grepOptions), find(), read()];
  if (patience === undefined)
    return toolsOn(files, { tools, ...(given !== undefined && { workDir: given }), ...options });
  const workDir = given ?? (await workspace(files));
  const backend = await local({ workDir, outputFolder: temporaryFolder(), searchPatienceMs: patience });
  return { ...(await toolsOn({}, { tools, target: backend, ...options })), folder: workDir };
}

/** The data of a call that must succeed. */
export async function dataOf<T extends Json>({ call }: Tools, name: string, input: unknown): Promise<T> {
  const result = await call(name, input);
  if (result.status !== "ok") throw new Error(`expected a result of ${name}, got ${JSON.stringify(result)}`);
  return result.data as T;
}

/** A file for every path, each with the same content. */
export function filesNamed(content: string, ...paths: readonly string[]): { [path: string]: string } {
  return Object.fromEntries(paths.map((path) => [path, content]));
}

/** Ids of the processes whose arguments or working directory name the folder. */
export function processesNaming(folder: string): readonly number[] {
  return readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name) && Number(name) !== process.pid)
    .filter((pid) => argumentsOf(pid).includes(folder))
    .map(Number);
}

function argumentsOf(pid: string): string {
  try {
    return `${readFileSync(`/proc/${pid}/cmdline`, "utf8")} ${readlinkSync(`/proc/${pid}/cwd`)}`;
  } catch {
    return ""; // it has ended meanwhile
  }
}

const CLI = fileURLToPath(new URL("../../dist/cli.js", import.meta.url));

/** What a model reads of a call that is made by the command line, as a user whom permissions bind. `home` belongs to that user. */
export function textForBound(
  name: string,
  input: object,
  { workDir, home }: { workDir: string; home: string },
): string {
  const options = ["--preset", "readonly", "--autonomy", "full", "--work-dir", workDir];
  const [group, user] = [process.getegid?.() ?? 0, process.geteuid?.() ?? 0];
  process.seteuid?.(process.getuid?.() ?? user); // only root may start what runs as another user
  process.setegid?.(process.getgid?.() ?? group);
  const { stdout, stderr, error } = spawnSync(
    process.execPath,
    [CLI, "call", name, JSON.stringify(input), ...options],
    {
      ...(process.getuid?.() === 0 && { uid: NOBODY, gid: NOBODY }),
      cwd: workDir,
      env: { PATH: process.env["PATH"], HOME: home },
      encoding: "utf8",
    },
  );
  process.setegid?.(group);
  process.seteuid?.(user);
  if (error !== undefined) throw error;
  return `${stdout}${stderr}`.trimEnd();
}

const NOBODY = 65_534;

/** Why permissions cannot be tried; `undefined` when they can. */
export const permissionsUntested = process.getuid?.() === 0 ? secondUserProblem() : undefined;

/** Runs as a user whom permissions bind: root works as "nobody" meanwhile. Everything it touches must be made within. */
export async function boundByPermissions<T>(work: () => Promise<T>): Promise<T> {
  if (process.getuid?.() !== 0) return work();
  process.setegid?.(NOBODY);
  process.seteuid?.(NOBODY);
  try {
    return await work();
  } finally {
    process.seteuid?.(0);
    process.setegid?.(0);
  }
}
