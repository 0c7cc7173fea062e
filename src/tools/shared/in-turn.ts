import type { ToolBackend } from "../../contract/backend.ts";

const last = new Map<unknown, Promise<unknown>>();

/** Does work on one thing (its name, or itself) after all that was begun on it before. Fails as the work does, or when the signal fires before its turn. */
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
 * Does work that reads a file and then writes it, one at a time for each file: calls of one turn run side by side, and of two edits
 * of one file the second would otherwise write back what it read before the first.
 */
export async function fileInTurn<T>(
  backend: ToolBackend,
  path: string,
  signal: AbortSignal,
  work: () => Promise<T>,
): Promise<T> {
  return inTurn(`${backend.name}:${await backend.files.realPath(path)}`, signal, work);
}
