import type { FileEntry, FileInfo, Files } from "../contract/backend.ts";
import type { CheckedCall } from "../contract/call.ts";
import { Unreachable } from "../contract/failure.ts";
import { messageOf } from "../util/errors.ts";

/**
 * What one decision looks up about files, each thing once. Look-ups that begin together travel together, so what will
 * be needed is asked for before any of it is waited for. Paths are absolute.
 */
export interface LookUps {
  /** Where a path leads, every link followed, or the error. Rejects only if there is no way there (`Unreachable`). */
  realPath(path: string): Promise<string | Error>;
  /** What it leads to, every link followed; `undefined`: nothing. Rejects like `Files.stat`. */
  info(path: string): Promise<FileInfo | undefined>;
  /** What stands at a path that is real. Rejects where a link is on the way. */
  infoAt(real: string): Promise<FileInfo | undefined>;
  /**
   * Asks in one round where a path leads and what is there, for `realPath` and `infoAt`; through links only with "at-
   * once". Never rejects.
   */
  lookAt(path: string, how?: "at-once"): Promise<void>;
  /** The entries of a folder; none where it is none, or may not be looked at. Never rejects. */
  list(folder: string): Promise<readonly FileEntry[]>;
}

/** A path with more names in it is not looked up: of one that does not exist each is a look-up of its own. */
const MOST_IN_PATH = 256;

/** No system takes a longer path (Linux: PATH_MAX, 4,096 bytes). */
export const MAX_PATH_BYTES = 4_096;

export const TOO_LONG_PATH = `more than ${MAX_PATH_BYTES} bytes or ${MOST_IN_PATH} names`;

export function isTooLong(path: string): boolean {
  return Buffer.byteLength(path) > MAX_PATH_BYTES || path.split("/").length > MOST_IN_PATH;
}

/**
 * The look-ups of one decision, not kept beyond it. `folders` are real and stay so (`confine` checks it): they are not
 * looked up, nor is what was `found` when the call was checked.
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
      // Otherwise a link has changed in between, and it is looked at again.
      if (there.value === undefined || there.value.path === real.value) seen.set(real.value, info(path));
    },
    list: once(async (folder) => (isTooLong(folder) ? [] : files.list(folder).catch(() => []))),
  };
}

/** Asked about the same again, it answers as before; `answers` are known. Rejections may stay unheard. */
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

/** Links in a circle, a name that is too long, a folder that may not be entered: it leads nowhere known. */
function asError(error: unknown): Error {
  if (error instanceof Unreachable) throw error;
  return new Error(messageOf(error), { cause: error });
}
