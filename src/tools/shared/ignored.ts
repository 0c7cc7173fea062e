import type { ToolBackend } from "../../contract/backend.ts";
import { pause } from "../../util/abort.ts";
import { plural } from "../../util/text.ts";

/** How long ignored files are looked at after a search that found nothing, in milliseconds. */
const PATIENCE_MS = 2_000;

/** What a search in ignored files came to. */
export interface InIgnored<Found> {
  /** What was found, if the folder has only ignored files, so that it is what the caller meant. */
  readonly found?: Found;
  readonly note: string;
}

/**
 * Searches the files of a folder that a `.gitignore` ignores, after a search that found nothing in the others.
 * `undefined`: there is nothing in them either.
 *
 * @param search searches all files, also ignored ones
 * @param filesIn the files in which something was found
 */
export async function inIgnored<Found>(
  {
    path,
    backend,
    signal,
  }: { readonly path: string; readonly backend: Pick<ToolBackend, "find">; readonly signal: AbortSignal },
  search: (signal: AbortSignal) => Promise<Found>,
  filesIn: (found: Found) => number,
): Promise<InIgnored<Found> | undefined> {
  const late = new AbortController();
  const over = new AbortController();
  void pause(PATIENCE_MS, over.signal).then(() => late.abort());
  try {
    const stop = AbortSignal.any([signal, late.signal]);
    const [found, others] = await Promise.all([search(stop), backend.find({ path, kinds: ["file"], signal: stop })]);
    const count = filesIn(found);
    if (count === 0) return undefined;
    if (others.files.length === 0) return { found, note: "A .gitignore ignores all files here; they were searched." };
    const files = plural(count, "file");
    return { note: `${files} that a .gitignore ignores left out; name one, or its folder, as path to search it.` };
  } catch {
    signal.throwIfAborted();
    return { note: "Files that a .gitignore ignores were not searched; name one, or its folder, as path." };
  } finally {
    over.abort();
  }
}
