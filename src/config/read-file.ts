import { realpathSync } from "node:fs";
import { homedir } from "node:os";
import { basename, dirname, join } from "node:path";
import { displayPath } from "../util/paths.ts";
import type { Ask } from "./asking.ts";
import { check } from "./check.ts";
import { type Given, KEYS } from "./keys.ts";
import type { Problem } from "./problem.ts";
import { readSource } from "./source.ts";
import { parseYaml } from "./yaml-tree.ts";

/** A configuration file, read and validated by itself. */
export interface ConfigFile {
  /** The path, as people would write it. */
  readonly shown: string;
  /** The path in its real folder. If the file itself is a link, it is not followed. */
  readonly path: string;
  /** "" if the file could not be read. */
  readonly sha256: string;
  /** The valid parts. */
  readonly given: Given;
  /** Values with `${NAME}` that were ignored, because the file may not read the environment. */
  readonly leftOut: readonly Ask[];
}

/** Returns the environment for `${NAME}` in a file with this content; `undefined` if the file may not read it. */
export type EnvFor = (file: Pick<ConfigFile, "path" | "sha256">) => Promise<NodeJS.ProcessEnv | undefined>;

/**
 * Reads and validates one file. Never rejects: adds errors to the problems. A project's file may only be a link to a
 * file in or below its own folder.
 */
export async function readConfigFile(
  path: string,
  problems: Problem[],
  envFor: EnvFor,
  whose: "own" | "project",
): Promise<ConfigFile> {
  const shown = displayPath(path, { workDir: process.cwd() });
  const file: ConfigFile = { shown, path: inRealFolder(path), sha256: "", given: {}, leftOut: [] };
  const read = await readSource(path, whose === "project" ? dirname(file.path) : "/");
  if (!read.ok) {
    problems.push({ file: shown, message: read.message });
    return file;
  }
  const { text, sha256 } = read.source;
  const tree = await parseYaml(text);
  if (!tree.ok) {
    problems.push(...tree.faults.map((fault) => ({ file: shown, ...fault })));
    return { ...file, sha256 };
  }
  const leftOut: Ask[] = [];
  const given = check(tree.root, {
    folder: dirname(file.path),
    home: homedir(),
    env: await envFor({ path: file.path, sha256 }),
    report(place, key, message) {
      problems.push({ file: shown, place, message, ...(isNamed(key) && { key }) });
    },
    leftOut(place, key, names) {
      leftOut.push({ key, place, gives: `this value gets ${names.join(", ")} of your environment` });
    },
  });
  return { ...file, sha256, given, leftOut };
}

/**
 * Returns whether a message names a key. At the top of a file, anything but a plain word may be text of a file that is
 * no configuration at all.
 */
function isNamed(key: string): boolean {
  return /^\w{1,80}$/.test(key) || Object.keys(KEYS).some((known) => key.startsWith(known.replace(/(\..*)?$/, ".")));
}

/** Follows the links of the path's folder, but not of its last part. */
export function inRealFolder(path: string): string {
  try {
    return join(realpathSync(dirname(path)), basename(path));
  } catch {
    return path;
  }
}
