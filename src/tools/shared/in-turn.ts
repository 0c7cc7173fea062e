import type { Backend } from "../../contract/backend.ts";

const last = new Map<string, Promise<unknown>>();

/**
 * Does work that reads a file and then writes it, one at a time for each file: calls of one turn run side by side, and of two edits
 * of one file the second would otherwise write back what it read before the first. Fails as the work does, or when the signal fires
 * before its turn.
 */
export async function inTurn<T>(
  backend: Backend,
  path: string,
  signal: AbortSignal,
  work: () => Promise<T>,
): Promise<T> {
  const file = `${backend.name}:${await backend.files.realPath(path)}`;
  const before = last.get(file);
  const turn = (async () => {
    await before;
    signal.throwIfAborted();
    return work();
  })();
  const over = turn.catch(() => undefined);
  last.set(file, over);
  try {
    return await turn;
  } finally {
    if (last.get(file) === over) last.delete(file);
  }
}
