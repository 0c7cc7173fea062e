import { type ParsedPath, posix } from "node:path";
import { distance } from "fastest-levenshtein";
import type { FileInfo } from "../../core/contract/backend.ts";
import { ToolFailure } from "../../core/contract/failure.ts";
import type { ToolContext, ToolNames } from "../../core/contract/tool.ts";
import { FOLDER_GONE_HINT } from "../../core/util/folder-gone.ts";
import { absolutePath, displayPath, isInside } from "../../core/util/paths.ts";
import { notUtf8Notice, shownPath } from "./shown-path.ts";

/** How many subfolders of a folder are listed. */
const MOST_LISTED = 100;

/** How many folders are searched: the nearest existing folder and its parent. */
const LOOKED_THROUGH = 2;

/** How many parent folders of the path are checked for existence. */
const MOST_FOLDERS = 16;

/** The maximum number of suggested paths. */
const SUGGESTED = 3;

/** Folders with many names that are rarely meant. */
const SKIPPED = [".git", "node_modules"];

/**
 * Runs work on a path. When it fails because the path does not exist, the failure suggests the nearest existing paths:
 * in another case, in another folder, misspelled, or without what models write around a path (`"src/a.ts"`,
 * `@src/a.ts`, `src/a.ts:3`, `src\a.ts`).
 */
export async function orNearest<T>(
  path: string,
  context: ToolContext,
  names: ToolNames,
  work: () => Promise<T>,
): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (!(error instanceof ToolFailure) || context.signal.aborted || !(await isMissing(path, context))) throw error;
    const [notUtf8] = notUtf8Notice([path], names);
    if (notUtf8 !== undefined) throw new ToolFailure(error.message, { hint: notUtf8, cause: error });
    if (await isWorkDirGone(context)) throw workDirGone(context.backend.workDir, error);
    const near = await nearestPaths(path, context).catch(() => []);
    const { message, cause } = error;
    throw new ToolFailure(message, { hint: near.length > 0 ? didYouMean(near) : searchText(path, names), cause });
  }
}

/** @throws ToolFailure when the path does not exist. */
export async function statOf(path: string, { backend }: Pick<ToolContext, "backend">): Promise<FileInfo> {
  const info = await backend.files.stat(path);
  if (info === undefined) throw new ToolFailure(`File not found: ${path}`);
  return info;
}

async function isMissing(path: string, { backend }: ToolContext): Promise<boolean> {
  return backend.files.stat(path).then(
    (info) => info === undefined,
    () => false,
  );
}

async function isWorkDirGone(context: ToolContext): Promise<boolean> {
  const { workDir } = context.backend;
  return await context.permit({ kind: "read", path: workDir }, { unasked: true }).then(
    () => isMissing(workDir, context),
    () => false,
  );
}

function workDirGone(folder: string, cause: unknown): ToolFailure {
  return new ToolFailure(`The working directory does not exist any more: ${folder}`, {
    hint: FOLDER_GONE_HINT,
    cause,
  });
}

function didYouMean(near: readonly string[]): string {
  const [first = "", ...more] = near.map(shownPath);
  return more.length === 0 ? `Did you mean ${first}?` : `Did you mean one of: ${[first, ...more].join(", ")}?`;
}

/** How to search for the path with the tools of this toolset. */
function searchText(path: string, names: ToolNames): string {
  const find = names("find", "pattern");
  if (find !== undefined) {
    return `Look for it with ${find}: ${JSON.stringify({ pattern: posix.basename(bare(path)) })}.`;
  }
  const look = names("ls") ?? names("bash");
  return look === undefined ? "Check the path." : `Look for it with ${look}.`;
}

/**
 * Existing paths near a missing path, the nearest first, as a model would write them. Searches only folders that the
 * call may read without asking a person: at most two of them, one level deep.
 */
async function nearestPaths(path: string, context: ToolContext): Promise<readonly string[]> {
  const { backend, permit } = context;
  const wanted = absolutePath(bare(path), backend);
  const top = isInside(wanted, backend.workDir) ? backend.workDir : posix.dirname(wanted);
  await permit({ kind: "read", path: top }, { unasked: true });
  const ways = waysUp(wanted, top).slice(0, MOST_FOLDERS);
  const infos = await Promise.all(ways.map((way) => backend.files.stat(way).catch(() => undefined)));
  const at = infos.findIndex((info) => info !== undefined);
  if (at === 0) return isOpen(wanted, context) ? [displayPath(wanted, backend)] : []; // only written differently
  if (at === -1) return [];
  const isThere = async (found: string) => isOpen(found, context) && !(await isMissing(found, context));
  for (const [index, info] of infos.slice(at, at + LOOKED_THROUGH).entries()) {
    if (info?.kind !== "folder") continue;
    const below = await namesBelow(info.path, context);
    const near = ranked(below, posix.relative(ways[at + index] ?? "/", wanted))
      .slice(0, SUGGESTED)
      .map((found) => posix.join(info.path, found));
    const there = await Promise.all(near.map(isThere)); // a link may be broken
    if (there.includes(true))
      return near.filter((_, which) => there[which]).map((found) => displayPath(found, backend));
  }
  return [];
}

/** The path and the folders above it, up to `top`. */
function waysUp(path: string, top: string): readonly string[] {
  return path === top || path === "/" ? [path] : [path, ...waysUp(posix.dirname(path), top)];
}

function isOpen(path: string, { closed }: ToolContext): boolean {
  return !closed.holds(path);
}

/** Names in the folder and its subfolders, relative to it. */
async function namesBelow(folder: string, { backend }: ToolContext): Promise<readonly string[]> {
  const entries = await backend.files.list(folder);
  const folders = entries.filter(({ name, kind }) => kind === "folder" && !SKIPPED.includes(name));
  const inner = folders.slice(0, MOST_LISTED).map(async ({ name }) => {
    const found = await backend.files.list(posix.join(folder, name)).catch(() => []); // the folder may be unreadable
    return found.map((entry) => posix.join(name, entry.name));
  });
  return [...entries.map(({ name }) => name), ...(await Promise.all(inner)).flat()];
}

/**
 * The likely paths, nearest first: in another case; else in another folder; else misspelled or with another extension.
 */
function ranked(paths: readonly string[], wanted: string): readonly string[] {
  const asked = wanted.toLowerCase();
  const { dir, base, name } = posix.parse(asked);
  const isAlike = (known: ParsedPath) =>
    known.dir === dir &&
    (known.name === name || distance(known.base, base) <= Math.max(1, Math.floor(base.length / 4)));
  const tests: readonly ((known: ParsedPath) => boolean)[] = [
    (known) => known.dir === dir && known.base === base,
    (known) => known.base === base,
    isAlike,
  ];
  for (const test of tests) {
    const found = paths.filter((path) => test(posix.parse(path.toLowerCase())));
    const away = (path: string) => distance(path.toLowerCase(), asked);
    if (found.length > 0) return found.toSorted((one, other) => away(one) - away(other));
  }
  return [];
}

/** The path without what models write around it. */
function bare(path: string): string {
  return path
    .trim()
    .replace(/^["'`<]+|["'`>]+$/g, "")
    .replace(/^@/, "")
    .replace(/((:\d+){1,2}|#L\d+(-L?\d+)?)$/, "")
    .replaceAll("\\", "/");
}
