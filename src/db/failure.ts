import { messageOf } from "../util/errors.ts";

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

/** True when another connection is in the way; the same again may work soon. */
export function isBusy(error: unknown): boolean {
  const code = resultCodeOf(error);
  return code === BUSY || code === LOCKED;
}

/**
 * SQLite's error as a sentence that names the file and says what to do; an error that is not SQLite's comes back as it is.
 *
 * @param waitedMs how long it was tried, for a database that was locked all the time
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
      return `${file} is locked by another process${waitedMs > 0 ? ` (for ${(waitedMs / 1_000).toFixed(1)} s now)` : ""}. Close the program that holds it; \`fuser ${file}\` says which.`;
    case NOTADB:
      return `${file} is not a SQLite database. Move it away, or name another file; a new one is made where there is none.`;
    case CORRUPT:
      return `${file} is damaged (${message}). Move it away, with the files ${file}-wal and ${file}-shm, to begin anew; \`sqlite3 ${file} .recover\` gets out of it what can be read.`;
    case READONLY:
    case PERM:
      return `${file} cannot be written (${message}). Make it, and the folder it is in, writable for you, or name another file.`;
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

/** The primary result code, wherever the engine has put it; `undefined` for an error that is not SQLite's. */
function resultCodeOf(error: unknown): number | undefined {
  if (!(error instanceof Error)) return undefined;
  const { errcode, rawCode } = error as { errcode?: unknown; rawCode?: unknown };
  if (typeof errcode === "number") return errcode & 0xff; // node:sqlite
  if (typeof rawCode === "number") return rawCode & 0xff; // libsql
  // libsql when it opens: ConnectionFailed("Unable to open connection to local database FILE: 14")
  const code = /^ConnectionFailed\(.*: (\d+)"?\)$/s.exec(error.message)?.[1];
  return code === undefined ? undefined : Number(code) & 0xff;
}
