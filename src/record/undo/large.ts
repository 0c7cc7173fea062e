import { type Stats, constants, copyFileSync, existsSync, linkSync, lstatSync, mkdirSync, unlinkSync } from "node:fs";
import { chmod, copyFile, link, rename, unlink } from "node:fs/promises";
import { join } from "node:path";
import { tried } from "../../core/util/errors.ts";

/** The folder of a store with large files. */
export const LARGE = "large";

/**
 * Keeps a large file without a copy of its content: as a clone, where the file system shares blocks until one of the
 * two is written (ioctl_ficlone(2)), else as a hard link. A link keeps the content of a file that is removed or
 * replaced, but not of one that is changed in place.
 *
 * @returns the id of what was kept: "c" for a clone or "l" for a link, then what identifies the file; `undefined` if the
 *   file system can do neither, or if the file changed meanwhile
 */
export function keepLarge(store: string, at: Buffer, info: Stats): string | undefined {
  const name = `${info.ino.toString(36)}-${stampOf(info)}`;
  for (const id of [`c${name}`, `l${name}`]) if (existsSync(join(store, LARGE, id))) return id;
  mkdirSync(join(store, LARGE), { recursive: true, mode: 0o700 });
  const clone = join(store, LARGE, `c${name}`);
  const flags = constants.COPYFILE_FICLONE_FORCE | constants.COPYFILE_EXCL;
  if (tried(() => copyFileSync(at, clone, flags)) === undefined && !existsSync(clone)) {
    tried(() => linkSync(at, join(store, LARGE, `l${name}`)));
  }
  const now = lstatSync(at, { throwIfNoEntry: false });
  const id = [`c${name}`, `l${name}`].find((each) => existsSync(join(store, LARGE, each)));
  if (id === undefined || (now !== undefined && stampOf(now) === stampOf(info))) return id;
  tried(() => unlinkSync(join(store, LARGE, id)));
  return undefined;
}

/** Whether the content that was kept is still there: a link's content may have been changed in place. */
export function hasLarge(store: string, id: string): boolean {
  const info = lstatSync(join(store, LARGE, id), { throwIfNoEntry: false });
  return info !== undefined && (!isLink(id) || id.endsWith(`-${stampOf(info)}`));
}

/** Whether a large file was kept as a hard link. */
export function isLink(id: string): boolean {
  return id.startsWith("l");
}

/**
 * Puts a large file in the place of whatever is there, without a copy of its content.
 *
 * @param beside a path in the same folder where nothing is
 */
export async function restoreLarge(
  store: string,
  { id, mode }: { readonly id: string; readonly mode: number },
  at: Buffer,
  beside: Buffer,
): Promise<void> {
  const kept = join(store, LARGE, id);
  if (!hasLarge(store, id)) throw new Error(IN_PLACE);
  if (isLink(id)) await link(kept, beside);
  else await copyFile(kept, beside, constants.COPYFILE_FICLONE_FORCE | constants.COPYFILE_EXCL);
  await chmod(beside, mode & 0o777);
  await rename(beside, at);
  await unlink(beside).catch(() => {}); // rename(2) leaves it if both are links of one file
}

/** Why a large file cannot be restored. */
export const IN_PLACE = "it was changed in place, and only a link to it could be kept";

function stampOf({ size, mtimeMs }: Stats): string {
  return `${size.toString(36)}-${Math.round(mtimeMs * 1_000).toString(36)}`;
}
