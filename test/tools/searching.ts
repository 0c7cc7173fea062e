import { readFileSync, readdirSync } from "node:fs";
import type { Json } from "../../src/contract/schema.ts";
import { find } from "../../src/tools/find.ts";
import { type GrepOptions, grep } from "../../src/tools/grep.ts";
import { read } from "../../src/tools/read.ts";
import type { ToolkitOptions } from "../../src/toolkit.ts";
import { secondUserProblem } from "../support/here.ts";
import { type Tools, toolsOn } from "./tools.ts";

/** grep, find and read on a new folder that has the files given. */
export function searchTools(
  files: { readonly [path: string]: string | Uint8Array } = {},
  { grep: grepOptions = {}, ...options }: ToolkitOptions & { readonly grep?: GrepOptions } = {},
): Promise<Tools> {
  return toolsOn(files, { tools: [grep(grepOptions), find(), read()], ...options });
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

/** Ids of the processes whose arguments name the folder. */
export function processesNaming(folder: string): readonly number[] {
  return readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name) && Number(name) !== process.pid)
    .filter((pid) => argumentsOf(pid).includes(folder))
    .map(Number);
}

function argumentsOf(pid: string): string {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, "utf8");
  } catch {
    return ""; // it has ended meanwhile
  }
}

/** Why permissions cannot be tried; `undefined` when they can. */
export const permissionsUntested = process.getuid?.() === 0 ? secondUserProblem() : undefined;

/** Runs as a user whom permissions bind: root works as "nobody" meanwhile. Everything it touches must be made within. */
export async function boundByPermissions<T>(work: () => Promise<T>): Promise<T> {
  if (process.getuid?.() !== 0) return work();
  const NOBODY = 65_534;
  process.setegid?.(NOBODY);
  process.seteuid?.(NOBODY);
  try {
    return await work();
  } finally {
    process.seteuid?.(0);
    process.setegid?.(0);
  }
}
