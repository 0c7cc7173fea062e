import { posix } from "node:path";
import type { Backend, FileInfo } from "../../contract/backend.ts";
import { isInside } from "../../util/paths.ts";
import type { LookUps } from "../look-ups.ts";

/** Tells whether a command of this name would be a program of the workspace's, which anyone who writes there may change. */
type ProgramFinder = (name: string, look: LookUps) => Promise<boolean>;

/**
 * Finds programs in the folders of a PATH. A name that is not found is none of the workspace's. What is found elsewhere is remembered: that
 * does not change while an agent works.
 */
export function createProgramFinder(
  backend: Pick<Backend, "name" | "workDir" | "home">,
  folders: readonly string[] = programFolders(backend),
): ProgramFinder {
  const elsewhere = new Set<string>();
  const absolute = folders.filter((folder) => folder.startsWith("/"));
  const isOurs = (path: string) => isInside(path, backend.workDir);

  return async (name, look) => {
    if (elsewhere.has(name)) return false;
    const infos = await Promise.all(
      absolute.map((folder) => look.info(posix.join(folder, name)).catch(() => undefined)),
    );
    const first = infos.findIndex(isProgram);
    const found = infos[first];
    if (found !== undefined && (isOurs(found.path) || isOurs(absolute[first] ?? ""))) return true;
    // A folder of the workspace's in PATH may get such a program at any time.
    if (!absolute.some(isOurs)) elsewhere.add(name);
    return false;
  };
}

/**
 * Where commands are looked for: on this machine our own PATH. What a login elsewhere has in its PATH is not known here; of the folders that
 * are commonly in it only those of the home can lie in a workspace (where the home itself is the workspace), and count as standing first.
 */
function programFolders({ name, workDir, home }: Pick<Backend, "name" | "workDir" | "home">): readonly string[] {
  if (/^(sandbox\(local\)|local)$/.test(name)) return (process.env["PATH"] ?? "").split(":");
  return HOME_FOLDERS.map((folder) => posix.join(home, folder)).filter((folder) => isInside(folder, workDir));
}

/** Put into PATH by the profiles of the distributions, and by the installers of Rust and Go. */
const HOME_FOLDERS = ["bin", ".local/bin", ".cargo/bin", "go/bin"] as const;

function isProgram(info: FileInfo | undefined): boolean {
  return info?.kind === "file" && (info.mode & 0o111) !== 0;
}
