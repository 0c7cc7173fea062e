import { existsSync } from "node:fs";
import { DISK } from "../../git/disk.ts";
import { isFolder } from "../read-files.ts";
import type { ProtectedFinder } from "./protected.ts";
import { filesInGit, submoduleFinder } from "./repositories.ts";
import type { SandboxDisk } from "./sandbox-disk.ts";
import { listeningSockets } from "./sockets.ts";

/** The disk of this machine. */
export function thisDisk({ find: found }: ProtectedFinder): SandboxDisk {
  const withSubmodules = submoduleFinder();
  return { ...DISK, isHere: true, isThere: existsSync, isFolder, found, withSubmodules, filesInGit, listeningSockets };
}
