import { posix } from "node:path";
import type { Backend } from "../../contract/backend.ts";
import { isInside } from "../../util/paths.ts";

/**
 * Tells whether a command of this name would be a program of the workspace's, which anyone who writes there may change. A name that is
 * not found is not. What is found elsewhere is remembered: that does not change while an agent works.
 */
export function createProgramFinder(
  backend: Backend,
  folders: readonly string[] = /^(sandbox\(local\)|local)$/.test(backend.name)
    ? (process.env["PATH"] ?? "").split(":")
    : [],
): (name: string) => Promise<boolean> {
  const elsewhere = new Set<string>();
  const absolute = folders.filter((folder) => folder.startsWith("/"));
  return async (name) => {
    if (elsewhere.has(name)) return false;
    for (const folder of absolute) {
      const info = await backend.files.stat(posix.join(folder, name)).catch(() => undefined);
      if (info?.kind !== "file" || (info.mode & 0o111) === 0) continue;
      if (isInside(info.path, backend.workDir) || isInside(folder, backend.workDir)) return true;
      break;
    }
    // A folder of the workspace's in PATH may get such a program at any time.
    if (!absolute.some((folder) => isInside(folder, backend.workDir))) elsewhere.add(name);
    return false;
  };
}
