import type { Backend } from "../core/contract/backend.ts";
import { Unreachable } from "../core/contract/failure.ts";
import { DISK } from "../machine/git/disk.ts";
import { LEADING, MAKING, isRepository } from "../machine/git/layout.ts";
import { startedIn } from "../machine/git/obeyed.ts";
import { isInside } from "../core/util/paths.ts";
import type { LookUps } from "./look-ups.ts";

/**
 * Resolves to true if the file `real` would belong to a repository after the write, in `root` or a folder below. Only
 * git's own names cost look-ups. Rejects only if the target cannot be reached (`Unreachable`).
 */
export type RepositoryFiles = (real: string, root: string, look: LookUps) => Promise<boolean>;

/** Treats paths that were judged and allowed as existing: several calls are judged before the first call writes. */
export function repositoryFiles(): RepositoryFiles {
  const allowed = new Set<string>();

  const isThere = async (path: string, look: LookUps): Promise<boolean> => {
    try {
      const info = await look.infoAt(path);
      return info !== undefined || allowed.has(path);
    } catch (error) {
      if (error instanceof Unreachable) throw error;
      return true; // a link, which may lead anywhere
    }
  };

  const isMade = async (folder: string, look: LookUps): Promise<boolean> => {
    const there = await Promise.all(MAKING.map((name) => isThere(`${folder}/${name}`, look)));
    return isRepository((name) => there[MAKING.indexOf(name)] === true);
  };

  return async (real, root, look) => {
    const found = partsIn(real, root);
    const added = found.map(({ path }) => path).filter((path) => !allowed.has(path));
    for (const path of added) allowed.add(path);
    const repositories = await Promise.all(found.map(({ folder }) => isMade(folder, look)));
    const isAsked = repositories.includes(true);
    if (isAsked) for (const path of added) allowed.delete(path);
    return isAsked;
  };
}

/**
 * Returns a function that tells whether git starts a file of the workspace, or reads what can name a program: hooks
 * that the project keeps, included files, filters. Only on this machine: elsewhere each file would cost a round trip.
 */
export function startedByGit({ workDir, home, access }: Backend): (real: string) => boolean {
  if (access !== undefined) return () => false;
  return (real) => isInside(real, workDir) && startedIn(DISK, workDir, home).some((path) => isInside(real, path));
}

/** What such a file is, in the words of the question. */
export const STARTED = "what git runs or reads here, as its configuration says";

/** Starts the look-ups of `RepositoryFiles` early, for a path in the root. */
export function lookAhead(real: string, root: string, look: LookUps): void {
  if (!isInside(real, root)) return;
  for (const { folder } of partsIn(real, root)) for (const name of MAKING) void look.infoAt(`${folder}/${name}`);
}

/** Each part of the path below the root that has one of these names, with the folder that contains it. */
function partsIn(real: string, root: string): readonly { readonly folder: string; readonly path: string }[] {
  const top = root === "/" ? "" : root;
  const names = real.slice(top.length + 1).split("/");
  return names.flatMap((name, index) => {
    const folder = [top, ...names.slice(0, index)].join("/");
    return LEADING.has(name) ? [{ folder, path: `${folder}/${name}` }] : [];
  });
}
