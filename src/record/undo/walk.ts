import { type Stats, lstatSync, readdirSync } from "node:fs";
import { setImmediate as nextTurn } from "node:timers/promises";
import { codeOf } from "../../core/util/errors.ts";
import { pathIn } from "./paths.ts";
import { isMadeFrom, isMarked } from "./rebuildable.ts";

/** How long this process is busy with files before it does its other work. In milliseconds. */
const SLICE_MS = 5;

/** More paths than this are not kept. Each takes some 200 bytes of memory. */
const MAX_PATHS = 1_000_000;

/**
 * Why the content of a folder is not listed: a tool can make it again, this user may not list it, or it is as it was when
 * it was last listed.
 */
export type Closed = "cache" | "denied" | "same";

/** The folders in which a repository has its objects (gitrepository-layout(5)). */
export const OBJECTS = /(^|\/)\.git\/(.*\/)?objects\/[^/]+$/;

/** Returns what lets the process do its other work whenever a slice of time is over. Rejects once the signal aborts. */
export function slices(signal: AbortSignal | undefined): () => Promise<void> | undefined {
  let end = performance.now() + SLICE_MS;
  return () => {
    if (performance.now() < end) return undefined;
    return nextTurn().then(() => {
      signal?.throwIfAborted();
      end = performance.now() + SLICE_MS;
    });
  };
}

/**
 * Visits everything below a folder, also what git ignores and what repositories have in `.git`. Follows no link. Does
 * not list folders that a tool can make again.
 *
 * @param visit takes a path with one character per byte
 * @param isSame whether a folder with objects of a repository is as it was: their content never changes
 * @returns whether there were too many paths
 */
export async function walk(
  root: string,
  visit: (path: string, info: Stats, closed?: Closed) => void,
  isSame: (folder: string, info: Stats) => boolean,
  signal?: AbortSignal,
): Promise<boolean> {
  const pause = slices(signal);
  const folders: [path: string, info: Stats][] = [["", lstatSync(root)]];
  let count = 0;
  for (let next = folders.pop(); next !== undefined && count <= MAX_PATHS; next = folders.pop()) {
    const [folder, info] = next;
    const at = folder === "" ? Buffer.from(root) : pathIn(root, folder);
    if (OBJECTS.test(folder) && isSame(folder, info)) {
      visit(folder, info, "same");
      continue;
    }
    try {
      const entries = readdirSync(at, { withFileTypes: true, encoding: "latin1" });
      const isThere = (file: string) => entries.some(({ name }) => name === file);
      if (folder !== "" && isMarked(at, isThere)) {
        visit(folder, info, "cache");
        continue;
      }
      if (folder !== "") visit(folder, info);
      const isRepository = /(^|\/)\.git(\/|$)/.test(folder);
      for (const { name } of entries) {
        if (isRepository && name.endsWith(".lock")) continue;
        const path = folder === "" ? name : `${folder}/${name}`;
        const found = lstatSync(pathIn(root, path), { throwIfNoEntry: false });
        if (found === undefined) continue;
        count++;
        if (!found.isDirectory()) visit(path, found);
        else if (isMadeFrom(name, isThere)) visit(path, found, "cache");
        else folders.push([path, found]);
        const busy = pause();
        if (busy !== undefined) await busy;
      }
    } catch (error) {
      if (folder === "" || signal?.aborted === true) throw error;
      if (!["ENOENT", "ENOTDIR"].includes(codeOf(error) ?? "")) visit(folder, info, "denied");
    }
  }
  return count > MAX_PATHS;
}
