import { posix } from "node:path";
import type { ToolBackend } from "../../core/contract/backend.ts";
import { pause } from "../../core/util/abort.ts";
import { plural } from "../../core/util/text.ts";

/** How long ignored files are looked at after a search that found nothing. Milliseconds. */
const PATIENCE_MS = 2_000;
/** How long at least after a search that found something; as long as that search took, if that is longer. */
const LITTLE_PATIENCE_MS = 200;

/** What a search in ignored files came to. */
export interface InIgnored<Found> {
  /** What was found, if the folder has only ignored files, so that it is what the caller meant. */
  readonly found?: Found;
  readonly note: string;
}

/** A search that leaves out what a `.gitignore` ignores. */
interface Searched {
  readonly path: string;
  readonly backend: Pick<ToolBackend, "find" | "files" | "isFar">;
  readonly signal: AbortSignal;
}

/**
 * Says in how many ignored files of a folder there is more, after a search that found something in `count` others.
 * `undefined`: in none, the folder has no `.gitignore`, they are too many (looking at them never takes much longer than
 * the search did), or they are on a remote host, where looking takes round trips.
 *
 * @param since when that search began, as `performance.now()` says it
 * @param search searches all files, also ignored ones
 * @param filesIn how many files something was found in
 */
export async function ignoredNote<Found>(
  { path, backend, signal }: Searched,
  { count, since }: { readonly count: number; readonly since: number },
  search: (signal: AbortSignal) => Promise<Found>,
  filesIn: (found: Found) => number,
): Promise<string | undefined> {
  if (backend.isFar === true) return undefined;
  const patience = Math.max(LITTLE_PATIENCE_MS, performance.now() - since);
  const rules = await backend.files.stat(posix.join(path, ".gitignore")).catch(() => undefined);
  if (rules === undefined) return undefined;
  return await inTime(patience, signal, async (stop) => {
    const ignored = filesIn(await search(stop)) - count;
    return ignored > 0 ? leftOut(ignored) : undefined;
  }).catch(() => {
    signal.throwIfAborted();
    return undefined;
  });
}

function leftOut(count: number): string {
  return `${plural(count, "file")} that a .gitignore ignores left out; name one, or its folder, as path to search it.`;
}

const NOT_SEARCHED = "Files that a .gitignore ignores were not searched; name one, or its folder, as path.";

/** Runs work whose signal fires after a time. Rejects with the reason of `signal` when that has fired. */
async function inTime<T>(ms: number, signal: AbortSignal, work: (stop: AbortSignal) => Promise<T>): Promise<T> {
  const late = new AbortController();
  const over = new AbortController();
  void pause(ms, over.signal).then(() => late.abort());
  try {
    return await work(AbortSignal.any([signal, late.signal]));
  } catch (error) {
    signal.throwIfAborted();
    throw error;
  } finally {
    over.abort();
  }
}

/**
 * Searches the files of a folder that a `.gitignore` ignores, after a search that found nothing in the others.
 * `undefined`: there is nothing in them either.
 *
 * @param search searches all files, also ignored ones
 * @param filesIn the files in which something was found
 */
export async function inIgnored<Found>(
  { path, backend, signal }: Searched,
  search: (signal: AbortSignal) => Promise<Found>,
  filesIn: (found: Found) => number,
): Promise<InIgnored<Found> | undefined> {
  try {
    return await inTime(PATIENCE_MS, signal, async (stop) => {
      const [found, others] = await Promise.all([search(stop), backend.find({ path, kinds: ["file"], signal: stop })]);
      const count = filesIn(found);
      if (count === 0) return undefined;
      if (others.files.length > 0) return { note: leftOut(count) };
      return { found, note: "A .gitignore ignores all files here; they were searched." };
    });
  } catch {
    signal.throwIfAborted();
    return { note: NOT_SEARCHED };
  }
}
