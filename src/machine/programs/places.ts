import { realpathSync } from "node:fs";
import { tried } from "../../core/util/errors.ts";
import { isInside } from "../../core/util/paths.ts";

/** Returns the real paths of folders and files that a tool could write, now or in an earlier session. Never throws. */
export type WritablePlaces = () => readonly string[];

const registered = new Set<WritablePlaces>();

/** This process starts no programs from these places any more. Returns the function that ends that. */
export function keepProgramsOutOf(places: WritablePlaces): () => void {
  registered.add(places);
  return () => void registered.delete(places);
}

/** Folders that belong to the system, also if the workspace is the whole machine. */
const OF_SYSTEM: readonly string[] = [
  ...["/usr", "/bin", "/sbin", "/lib", "/lib64", "/opt", "/snap", "/nix"],
  "/run/current-system",
];

/** Returns the place in which a tool could write a path, as written or as its real path; `undefined` if none could. */
export function writablePlaceOf(path: string): string | undefined {
  const paths = [...new Set([path, realPath(path)])];
  for (const places of registered) {
    const found = places().find((place) =>
      paths.some((each) => isInside(each, place) && !(place === "/" && OF_SYSTEM.some((own) => isInside(each, own)))),
    );
    if (found !== undefined) return found;
  }
  return undefined;
}

/** The path with its links followed, or the path itself if nothing is there. */
export const realPath = (path: string): string => tried(() => realpathSync(path)) ?? path;
