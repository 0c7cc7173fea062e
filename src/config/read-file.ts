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

/** A configuration file, read and checked by itself. */
export interface ConfigFile {
  /** As people would write it. */
  readonly shown: string;
  /** In its real folder; a link in its own place is not followed. */
  readonly path: string;
  /** "" when it could not be read. */
  readonly sha256: string;
  /** What is right in it. */
  readonly given: Given;
  /** Values with `${NAME}` that were passed over, since the file may not have the environment. */
  readonly leftOut: readonly Ask[];
}

/** Where names in `${NAME}` come from, for a file with this content; `undefined` when it may have none. */
export type EnvFor = (file: Pick<ConfigFile, "path" | "sha256">) => Promise<NodeJS.ProcessEnv | undefined>;

/**
 * Reads and checks one file. Never rejects: what is wrong is added to the problems. A project's file may be a link only to a file in or below its
 * own folder.
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

/** Whether a message names a key. At the top of a file what is no plain word may be text of a file that is no configuration at all. */
function isNamed(key: string): boolean {
  return /^\w{1,80}$/.test(key) || Object.keys(KEYS).some((known) => key.startsWith(known.replace(/(\..*)?$/, ".")));
}

/** The path with the links of its folder followed, but not of its own last part. */
export function inRealFolder(path: string): string {
  try {
    return join(realpathSync(dirname(path)), basename(path));
  } catch {
    return path;
  }
}
