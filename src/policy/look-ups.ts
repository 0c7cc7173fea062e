import type { FileEntry, FileInfo, Files } from "../core/contract/backend.ts";
import type { CheckedCall } from "../core/contract/call.ts";
import { Unreachable } from "../core/contract/failure.ts";
import { messageOf } from "../core/util/errors.ts";

/**
 * Looks up files for one decision, each fact once. Look-ups that start together share a round trip: start all that are
 * needed before you await one. Paths are absolute.
 */
export interface LookUps {
  /** The real path, or the error. Rejects only if the target cannot be reached (`Unreachable`). */
  realPath(path: string): Promise<string | Error>;
  /** The info of the file, links followed; `undefined` if the file does not exist. Rejects like `Files.stat`. */
  info(path: string): Promise<FileInfo | undefined>;
  /** The info of the file at a real path. Rejects if a link is on the way. */
  infoAt(real: string): Promise<FileInfo | undefined>;
  /**
   * Requests a path's real path and info in one round trip, for `realPath` and `infoAt`. Follows links only with
   * "at-once". Never rejects.
   */
  lookAt(path: string, how?: "at-once"): Promise<void>;
  /** The entries of a folder; empty if the path is not a folder or is not readable. Never rejects. */
  list(folder: string): Promise<readonly FileEntry[]>;
}

/** Paths with more names than this are not looked up: each missing name costs a look-up. */
const MOST_IN_PATH = 256;

/** No system takes a longer path (Linux: PATH_MAX, 4,096 bytes). */
export const MAX_PATH_BYTES = 4_096;

export const TOO_LONG_PATH = `more than ${MAX_PATH_BYTES} bytes or ${MOST_IN_PATH} names`;

export function isTooLong(path: string): boolean {
  return Buffer.byteLength(path) > MAX_PATH_BYTES || path.split("/").length > MOST_IN_PATH;
}

/**
 * Creates the look-ups of one decision. The `folders` are real paths and stay real (`confine` checks this), so they are
 * not looked up. Neither is what was `found` when the call was checked.
 */
export function createLookUps(
  files: Files,
  folders: ReadonlySet<string> = new Set(),
  found: CheckedCall["found"] = new Map(),
): LookUps {
  const leadsTo = new Map<string, Promise<string | Error>>();
  for (const folder of folders) leadsTo.set(folder, Promise.resolve(folder));
  const realPath = once(async (path) => {
    return isTooLong(path) ? new Error(`it has ${TOO_LONG_PATH}`) : files.realPath(path).catch(asError);
  }, leadsTo);
  const info = once(async (path) => {
    if (isTooLong(path)) throw new Error(`${path.slice(0, 100)} …: it has ${TOO_LONG_PATH}`);
    return files.stat(path);
  });
  const seen = new Map([...found].map(([real, there]) => [real, Promise.resolve(there)]));
  const infoAt = once((real) => files.stat(real, { real: true }), seen);
  return {
    realPath,
    info,
    infoAt,
    async lookAt(path, how) {
      if (how === undefined) {
        await Promise.allSettled([realPath(path), infoAt(path)]);
        return;
      }
      const [real, there] = await Promise.allSettled([realPath(path), info(path)]);
      if (real.status === "rejected" || there.status === "rejected" || real.value instanceof Error) return;
      // Otherwise a link changed in between, and the path is looked up again.
      if (there.value === undefined || there.value.path === real.value) seen.set(real.value, info(path));
    },
    list: once(async (folder) => (isTooLong(folder) ? [] : files.list(folder).catch(() => []))),
  };
}

/** Caches the answers of `ask`. `answers` are known in advance. Rejections may stay unhandled. */
export function once<Answer>(
  ask: (about: string) => Promise<Answer>,
  answers = new Map<string, Promise<Answer>>(),
): (about: string) => Promise<Answer> {
  return (about) => {
    const known = answers.get(about);
    if (known !== undefined) return known;
    const answer = ask(about);
    answer.catch(() => undefined);
    answers.set(about, answer);
    return answer;
  };
}

/** Returns errors for paths that lead nowhere: circular links, long names, closed folders. @throws Unreachable */
function asError(error: unknown): Error {
  if (error instanceof Unreachable) throw error;
  return new Error(messageOf(error), { cause: error });
}
