import { existsSync } from "node:fs";
import { readlink } from "node:fs/promises";
import { posix } from "node:path";
import type { FileInfo, Files, PathOptions } from "../../contract/backend.ts";
import { ToolFailure } from "../../contract/failure.ts";
import { codeOf } from "../../util/errors.ts";
import { type Base, absolutePath, isInside } from "../../util/paths.ts";
import { fileFailure } from "../local/failures.ts";
import { realOf } from "./hidden.ts";
import type { Temporary } from "./temporary.ts";

/** What is known of the temporary folders. */
export interface TemporaryFolders {
  /** Where they are: real paths. */
  readonly at: readonly string[];
  /** Real paths of folders that contained commands see as they are, also where they lie in a temporary folder. Those that are not there count for nothing. */
  readonly shown: readonly string[];
  /** The session's own, made at the first call; none where the sandbox does not work. Rejects when the session has ended. */
  own(): Promise<readonly Temporary[]>;
}

/** Files as contained commands see them, with what finds out which paths are the session's own. */
export interface SessionFiles {
  readonly files: Files;
  /** Whether a real path is the session's own, where the sandbox works. */
  isTemporary(real: string): boolean;
}

/** Linux follows at most 40 links on a path (path_resolution(7)). */
const MAX_LINKS = 40;

/**
 * Files of this machine with the session's own temporary folders in place of the system's. Paths that go in and come out, real paths
 * included, are those of contained commands. Links are followed as they lead inside, step by step; what is opened then is one real path of
 * this machine, on which `inner` follows no link.
 */
export function sessionFiles(inner: Files, base: Base, { at, shown, own }: TemporaryFolders): SessionFiles {
  const isMounted = (root: string) => existsSync(root) && realOf(root) === root;
  const isTemporary = (real: string) =>
    at.some((folder) => isInside(real, folder)) && !shown.some((root) => isInside(real, root) && isMounted(root));
  /** A folder that is mounted, or that holds one that is: it is no link inside. */
  const isHeld = (path: string) =>
    at.includes(path) || (isTemporary(path) && shown.some((root) => isInside(root, path) && isMounted(root)));

  /** Where on this machine is what a real path inside names. */
  const outsideOf = async (real: string): Promise<string> => {
    if (!isTemporary(real)) return real;
    const folder = (await own()).find((each) => isInside(real, each.at));
    return folder === undefined ? real : `${folder.from}${real.slice(folder.at.length)}`;
  };

  const linkAt = async (path: string): Promise<string | undefined> => {
    if (isHeld(path)) return undefined;
    try {
      return await readlink(await outsideOf(path));
    } catch (error) {
      if (NO_LINK.has(codeOf(error))) return undefined;
      throw error;
    }
  };

  /** The real path inside. What does not exist keeps its name. */
  const follow = async (absolute: string, written: string): Promise<string> => {
    const left = absolute.split("/").toReversed();
    let reached = "/";
    let links = 0;
    for (let name = left.pop(); name !== undefined; name = left.pop()) {
      const next = posix.join(reached, name); // "..", "." and "" too: no link is on the way to `reached`
      const target = name === ".." || next === reached ? undefined : await linkAt(next);
      if (target === undefined) {
        reached = next;
        continue;
      }
      if (++links > MAX_LINKS) throw new ToolFailure(`Links lead in a circle: ${written}`);
      if (target.startsWith("/")) reached = "/";
      left.push(...target.split("/").toReversed());
    }
    return reached;
  };

  /** The real path inside; `undefined`: no link is on the way and it is not the session's own, so it is as `inner` sees it. */
  const differing = async (path: string): Promise<string | undefined> => {
    const absolute = absolutePath(path, base);
    if (!isTemporary(absolute)) {
      const real = await inner.realPath(path).catch(() => undefined);
      if (real === absolute) return undefined;
    }
    try {
      return await follow(absolute, path);
    } catch (error) {
      throw fileFailure(error, path);
    }
  };

  /** Does work on one file. Results have the path inside, failures the path as it was written. */
  const on = async <T>(
    path: string,
    { real = false }: PathOptions,
    work: (path: string, options?: PathOptions) => Promise<T>,
    renamed: (done: T, path: string) => T,
  ): Promise<T> => {
    const inside = real ? absolutePath(path, base) : await differing(path);
    const outside = inside === undefined ? undefined : await outsideOf(inside);
    if (inside === undefined || outside === undefined) return work(path);
    if (real && inside === outside) return work(path, REAL);
    try {
      return renamed(await work(outside, REAL), inside);
    } catch (error) {
      if (!(error instanceof ToolFailure)) throw error;
      const { message, hint, cause } = error;
      throw new ToolFailure(message.replaceAll(outside, path), { cause, ...(hint !== undefined && { hint }) });
    }
  };
  const withPath = (info: FileInfo, path: string): FileInfo => ({ ...info, path });

  return {
    isTemporary,
    files: {
      realPath: async (path) => (await differing(path)) ?? absolutePath(path, base),
      stat: (path, options = {}) => on(path, options, inner.stat, (info, inside) => info && withPath(info, inside)),
      open: (path, options = {}) =>
        on(path, options, inner.open, ({ info, read, close }, inside) => ({
          info: withPath(info, inside),
          read,
          close,
        })),
      write: (path, bytes, options = {}) => on(path, options, (to, how) => inner.write(to, bytes, how), withPath),
      list: (path, options = {}) => on(path, options, inner.list, (entries) => entries),
      async remove(path, { real = false } = {}) {
        const absolute = absolutePath(path, base);
        if (at.includes(absolute)) throw new ToolFailure(`${path} cannot be removed`);
        // A link is removed itself, so only the folder it lies in is followed.
        const folder = posix.dirname(absolute);
        const followed = real ? folder : await differing(folder);
        if (followed === undefined) return inner.remove(path);
        return on(posix.join(followed, posix.basename(absolute)), REAL, inner.remove, () => undefined);
      },
    },
  };
}

/** What readlink(2) answers where there is no link: something else, nothing, nothing behind a file. */
const NO_LINK: ReadonlySet<unknown> = new Set(["EINVAL", "ENOENT", "ENOTDIR"]);

const REAL = { real: true } as const;
