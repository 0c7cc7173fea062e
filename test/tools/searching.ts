import { spawnSync } from "node:child_process";
import { readFileSync, readdirSync, readlinkSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { local } from "../../src/machine/local/backend.ts";
import type { Json } from "../../src/core/contract/schema.ts";
import { find } from "../../src/tools/find.ts";
import { type GrepOptions, grep } from "../../src/tools/grep.ts";
import { read } from "../../src/tools/read.ts";
import type { ToolkitOptions } from "../../src/app/toolkit-options.ts";
import { programProblem } from "../support/here.ts";
import { temporaryFolder, workspace } from "../support/workspace.ts";
import { type Tools, toolsOn } from "./tools.ts";

/**
 * Opens grep, find and read on a new folder with the given files.
 *
 * @param patience `searchPatienceMs` of the local backend
 */
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

/** Returns the data of a call that must succeed. */
export async function dataOf<T extends Json>({ call }: Tools, name: string, input: unknown): Promise<T> {
  const result = await call(name, input);
  if (result.status !== "ok") throw new Error(`expected a result of ${name}, got ${JSON.stringify(result)}`);
  return result.data as T;
}

/** Returns a file for every path, each with the same content. */
export function filesNamed(content: string, ...paths: readonly string[]): { [path: string]: string } {
  return Object.fromEntries(paths.map((path) => [path, content]));
}

/** Returns ids of processes whose arguments or working directory name the folder. */
export function processesNaming(folder: string): readonly number[] {
  return readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name) && Number(name) !== process.pid)
    .filter((pid) => argumentsOf(pid).includes(folder))
    .map(Number);
}

/** Returns the files that the processes of `processesNaming` have open. */
export function openFilesOf(folder: string): readonly string[] {
  return processesNaming(folder).flatMap((pid) => {
    try {
      return readdirSync(`/proc/${pid}/fd`).map((descriptor) => readlinkSync(`/proc/${pid}/fd/${descriptor}`));
    } catch {
      return []; // it or one of its files was closed meanwhile
    }
  });
}

function argumentsOf(pid: string): string {
  try {
    return `${readFileSync(`/proc/${pid}/cmdline`, "utf8")} ${readlinkSync(`/proc/${pid}/cwd`)}`;
  } catch {
    return ""; // it has ended meanwhile
  }
}

const CLI = fileURLToPath(new URL("../../dist/cli.js", import.meta.url));

/** Returns what a model reads of a call of the command line that is bound by permissions. */
export function textForBound(
  name: string,
  input: object,
  { workDir, home }: { workDir: string; home: string },
): string {
  const options = ["--preset", "readonly", "--autonomy", "full", "--work-dir", workDir];
  const command = [process.execPath, CLI, "call", name, JSON.stringify(input), ...options];
  const [program = "", ...args] = process.getuid?.() === 0 ? [...BOUND, ...command] : command;
  const { stdout, stderr, error } = spawnSync(program, args, {
    cwd: workDir,
    env: { PATH: process.env["PATH"], HOME: home },
    encoding: "utf8",
  });
  if (error !== undefined) throw error;
  return `${stdout}${stderr}`.trimEnd();
}

/** Root is bound by permissions without two of its capabilities (capabilities(7)). */
const LESS = "-dac_override,-dac_read_search";
const BOUND = ["setpriv", `--bounding-set=${LESS}`, `--inh-caps=${LESS}`];

/** Returns why permissions cannot be tested; `undefined` if they can. */
export const permissionsUntested = process.getuid?.() === 0 ? programProblem("setpriv") : undefined;
