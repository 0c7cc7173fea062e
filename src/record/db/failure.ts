import { messageOf } from "../../core/util/errors.ts";

// Primary result codes, https://www.sqlite.org/rescode.html
const PERM = 3;
const BUSY = 5;
const LOCKED = 6;
const READONLY = 8;
const IOERR = 10;
const CORRUPT = 11;
const FULL = 13;
const CANTOPEN = 14;
const NOTADB = 26;

/** Whether another connection holds a lock, so that a retry may work soon. */
export function isBusy(error: unknown): boolean {
  const code = resultCodeOf(error);
  return code === BUSY || code === LOCKED;
}

/**
 * Describes SQLite's error with the file and the next step. Returns other errors unchanged.
 *
 * @param waitedMs How long a locked database was waited for.
 */
export function explained(error: unknown, file: string, waitedMs: number): Error {
  const words = sentence(resultCodeOf(error), file, waitedMs, messageOf(error));
  if (words !== undefined) return new Error(words, { cause: error });
  return error instanceof Error ? error : new Error(messageOf(error), { cause: error });
}

function sentence(code: number | undefined, file: string, waitedMs: number, message: string): string | undefined {
  switch (code) {
    case BUSY:
    case LOCKED:
      return (
        `${file} is locked by another process${since(waitedMs)}. ` +
        `Close the program that holds it; \`fuser ${file}\` says which.`
      );
    case NOTADB:
      return `${file} is not a SQLite database. Move it away, or name another file; a missing file is created.`;
    case CORRUPT:
      return (
        `${file} is damaged (${message}). Move it away, with the files ${file}-wal and ${file}-shm, to start with an ` +
        `empty database; \`sqlite3 ${file} .recover\` prints what can still be read.`
      );
    case READONLY:
    case PERM:
      return (
        `${file} cannot be written (${message}). ` +
        "Make it, and the folder it is in, writable for you, or name another file."
      );
    case CANTOPEN:
      return `${file} cannot be opened (${message}). It must be a file, in a folder, that you may read and write.`;
    case FULL:
      return `${file} cannot grow: the disk is full. Make room.`;
    case IOERR:
      return `${file} cannot be read or written (${message}): the disk is full or faulty, or the folder is gone.`;
    default:
      return undefined;
  }
}

/** The primary result code, wherever the engine stores it; `undefined` for other errors. */
function resultCodeOf(error: unknown): number | undefined {
  if (!(error instanceof Error)) return undefined;
  const { errcode, rawCode } = error as { errcode?: unknown; rawCode?: unknown };
  if (typeof errcode === "number") return errcode & 0xff; // node:sqlite
  if (typeof rawCode === "number") return rawCode & 0xff; // libsql
  // libsql when it opens: ConnectionFailed("Unable to open connection to local database FILE: 14")
  const code = /^ConnectionFailed\(.*: (\d+)"?\)$/s.exec(error.message)?.[1];
  return code === undefined ? undefined : Number(code) & 0xff;
}

function since(waitedMs: number): string {
  return waitedMs > 0 ? ` (for ${(waitedMs / 1_000).toFixed(1)} s now)` : "";
}
