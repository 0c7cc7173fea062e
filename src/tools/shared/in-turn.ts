import type { ToolBackend } from "../../core/contract/backend.ts";

const last = new Map<unknown, Promise<unknown>>();

/**
 * Runs work on `what` (a name or an object) after all earlier work on it. Rejects as the work does, or with the
 * signal's reason when that fires first.
 */
export async function inTurn<T>(what: unknown, signal: AbortSignal, work: () => Promise<T>): Promise<T> {
  const before = last.get(what);
  const turn = (async () => {
    await before;
    signal.throwIfAborted();
    return work();
  })();
  const over = turn.catch(() => undefined);
  last.set(what, over);
  try {
    return await turn;
  } finally {
    if (last.get(what) === over) last.delete(what);
  }
}

/**
 * Runs work that reads a file and then writes it, one at a time per file. Calls of one turn run in parallel: without
 * this, the second of two edits would overwrite the first.
 */
export async function fileInTurn<T>(
  backend: ToolBackend,
  path: string,
  signal: AbortSignal,
  work: () => Promise<T>,
): Promise<T> {
  return inTurn(`${backend.name}:${await backend.files.realPath(path)}`, signal, work);
}
