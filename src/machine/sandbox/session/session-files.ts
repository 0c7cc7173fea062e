import { existsSync } from "node:fs";
import { readlink } from "node:fs/promises";
import { posix } from "node:path";
import { realOf } from "../../git/disk.ts";
import type { FileInfo, Files, PathOptions } from "../../../core/contract/backend.ts";
import { ToolFailure } from "../../../core/contract/failure.ts";
import { codeOf } from "../../../core/util/errors.ts";
import { type Base, absolutePath, isInside } from "../../../core/util/paths.ts";
import { fileFailure } from "../../local/failures.ts";
import type { Temporary } from "./temporary.ts";

/** The temporary folders, as inside and outside the sandbox. */
export interface TemporaryFolders {
  /** Real paths of the system's temporary folders. */
  readonly at: readonly string[];
  /** Real paths that commands see unchanged, even in a temporary folder. Missing ones are ignored. */
  readonly shown: readonly string[];
  /** The session's own folders, created at the first call; empty without a sandbox. Rejects after its end. */
  own(): Promise<readonly Temporary[]>;
}

/** Files as contained commands see them, and a test for the session's own paths. */
export interface SessionFiles {
  readonly files: Files;
  /** Whether a real path is in the session's own folders, if the sandbox works. */
  isTemporary(real: string): boolean;
  /** Resolves to the path on this machine of a real path in the session's own folders; otherwise to `undefined`. */
  seenAt(real: string): Promise<string | undefined>;
}

/** Linux follows at most 40 links on a path (path_resolution(7)). */
const MAX_LINKS = 40;

/**
 * Returns the files of this machine, with the session's own temporary folders instead of the system's. All paths, real
 * paths too, are those that contained commands see. Links are followed step by step, as inside the sandbox. Then one
 * real path of this machine is opened, on which `inner` follows no link.
 */
export function sessionFiles(inner: Files, base: Base, { at, shown, own }: TemporaryFolders): SessionFiles {
  const isMounted = (root: string) => existsSync(root) && realOf(root) === root;
  const isTemporary = (real: string) =>
    at.some((folder) => isInside(real, folder)) && !shown.some((root) => isInside(real, root) && isMounted(root));
  /** Whether a path is a mounted folder or contains a mount. Inside, such a path is not a link. */
  const isHeld = (path: string) =>
    at.includes(path) || (isTemporary(path) && shown.some((root) => isInside(root, path) && isMounted(root)));

  /** Converts a real path inside the sandbox to the path on this machine. */
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

  /** Resolves to the real path inside. Missing parts keep their names. */
  const follow = async (absolute: string, written: string): Promise<string> => {
    const left = absolute.split("/").toReversed();
    let reached = "/";
    let links = 0;
    for (let name = left.pop(); name !== undefined; name = left.pop()) {
      const next = posix.join(reached, name); // also for "..", "." and "": `reached` contains no links
      const target = name === ".." || next === reached ? undefined : await linkAt(next);
      if (target === undefined) {
        reached = next;
        continue;
      }
      if (++links > MAX_LINKS) throw new ToolFailure(`The links form a circle: ${written}`);
      if (target.startsWith("/")) reached = "/";
      left.push(...target.split("/").toReversed());
    }
    return reached;
  };

  /** Resolves to the real path inside the sandbox; to `undefined` if `inner` has the same real path. */
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

  /** Calls `work` for one file. Results have the path inside the sandbox; failures have the path as written. */
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
    async seenAt(real) {
      const outside = await outsideOf(real);
      return outside === real ? undefined : outside;
    },
    files: {
      realPath: async (path) => (await differing(path)) ?? absolutePath(path, base),
      stat: (path, options = {}) => on(path, options, inner.stat, (info, inside) => info && withPath(info, inside)),
      open: (path, options = {}) =>
        on(path, options, inner.open, ({ info, read, close }, inside) => ({
          info: withPath(info, inside),
          read,
          close,
        })),
      write: (path, bytes, options = {}) =>
        on(path, options, (to, how) => inner.write(to, bytes, { ...options, ...how }), withPath),
      list: (path, options = {}) => on(path, options, inner.list, (entries) => entries),
      async remove(path, { real = false } = {}) {
        const absolute = absolutePath(path, base);
        if (at.includes(absolute)) throw new ToolFailure(`${path} cannot be removed`);
        // `remove` deletes a link itself, so only links in its folder's path are followed.
        const folder = posix.dirname(absolute);
        const followed = real ? folder : await differing(folder);
        if (followed === undefined) return inner.remove(path);
        return on(posix.join(followed, posix.basename(absolute)), REAL, inner.remove, () => undefined);
      },
    },
  };
}

/** Errors of readlink(2) for paths that are not links: another kind of file, a missing file, a path below a file. */
const NO_LINK: ReadonlySet<unknown> = new Set(["EINVAL", "ENOENT", "ENOTDIR"]);

const REAL = { real: true } as const;
