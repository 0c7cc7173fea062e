import { posix } from "node:path";
import type { Backend, FileInfo } from "../../core/contract/backend.ts";
import { isInside } from "../../core/util/paths.ts";
import type { LookUps } from "../look-ups.ts";

/** A program as PATH finds it. `real` is its path with every link followed. */
export interface FoundProgram {
  readonly path: string;
  readonly real: string;
}

/** Finds the program with a name. A string tells why no program of that name may run unasked. */
export type ProgramFinder = (name: string, look: LookUps) => Promise<FoundProgram | string>;

/** The program folders of a backend that reports none. */
const SYSTEM_FOLDERS = ["/usr/local/bin", "/usr/bin", "/bin", "/usr/local/sbin", "/usr/sbin", "/sbin"] as const;

/** Version managers run what files of the project name (`.tool-versions`, `.python-version`). */
const SHIM = /\/shims\/[^/]*$|\/(asdf|mise|rtx|volta-shim|proto-shim)$/;

/** The folders of a PATH that no tool can write, in order: each as written, and as its real path. */
export type TrustedFolders = (look: LookUps) => Promise<ReadonlyMap<string, string>>;

/** The programs of a backend. */
export interface Programs {
  readonly find: ProgramFinder;
  readonly trusted: TrustedFolders;
  /** Whether every folder of the PATH is closed to writes of tools. */
  readonly isPathTrusted: (look: LookUps) => Promise<boolean>;
}

/** `writable`: folders that tools may write, from which no program is taken. */
export function programsOf({ programFolders = SYSTEM_FOLDERS }: Backend, writable: readonly string[]): Programs {
  const folders = programFolders.filter((path) => path.startsWith("/"));
  const trusted = trustedFolders(folders, writable);
  const find = createProgramFinder(folders, writable, trusted);
  return { find, trusted, isPathTrusted: async (look) => (await trusted(look)).size === new Set(folders).size };
}

/** The folders are looked up once: system folders do not change. */
function trustedFolders(folders: readonly string[], writable: readonly string[]): TrustedFolders {
  let trusted: ReturnType<TrustedFolders> | undefined;
  return async (look) => {
    trusted ??= (async () => {
      const realOf = async (path: string) => look.realPath(path);
      const [real, roots] = await Promise.all([Promise.all(folders.map(realOf)), Promise.all(writable.map(realOf))]);
      const closed = [...writable, ...roots.filter((root) => typeof root === "string")];
      const pairs = folders.map((folder, index) => [folder, real[index]] as const);
      return new Map(
        pairs.flatMap(([folder, at]) =>
          typeof at === "string" && !closed.some((root) => isInside(at, root)) ? [[folder, at]] : [],
        ),
      );
    })();
    trusted.catch(() => (trusted = undefined));
    return trusted;
  };
}

/** Finds programs in the folders of a PATH, in their order. Programs where no tool can write are remembered. */
function createProgramFinder(
  folders: readonly string[],
  writable: readonly string[],
  trusted: TrustedFolders,
): ProgramFinder {
  const found = new Map<string, FoundProgram>();

  return async (name, look) => {
    const known = found.get(name);
    if (known !== undefined) return known;
    const [safe, ...infos] = await Promise.all([
      trusted(look),
      ...folders.map((folder) => look.info(posix.join(folder, name)).catch(() => undefined)),
    ]);
    const first = infos.findIndex(isProgram);
    const real = infos[first]?.path;
    if (real === undefined) return `${name} is not in PATH`;
    const program = { path: posix.join(folders[first] ?? "/", name), real };
    if (writable.some((root) => isInside(real, root)) || !safe.has(folders[first] ?? ""))
      return `${name} is a program that tools can write (${real})`;
    if (SHIM.test(real) || SHIM.test(program.path)) return `${program.path} lets files of the project choose what runs`;
    found.set(name, program);
    return program;
  };
}

function isProgram(info: FileInfo | undefined): boolean {
  return info?.kind === "file" && (info.mode & 0o111) !== 0;
}
