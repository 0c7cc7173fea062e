import { existsSync } from "node:fs";
import { DISK } from "../../../git/disk.ts";
import { isFolder } from "../read-files.ts";
import type { FolderChanges } from "./folder-changes.ts";
import { protectedFinder } from "./protected.ts";
import { filesInGit, submoduleFinder } from "./repositories.ts";
import type { SandboxDisk } from "./sandbox-disk.ts";
import { listeningSockets } from "./sockets.ts";

/** The disk of this machine. `changes`: see `protectedFinder`. */
export function thisDisk(
  isProtected: (path: string) => boolean,
  isSensitive: (path: string) => boolean,
  changes: FolderChanges,
): SandboxDisk {
  const withSubmodules = submoduleFinder();
  const found = protectedFinder(isProtected, isSensitive, changes);
  return { ...DISK, isHere: true, isThere: existsSync, isFolder, found, withSubmodules, filesInGit, listeningSockets };
}
