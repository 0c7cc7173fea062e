import { existsSync, mkdirSync, rmSync, statSync, writeFileSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import type { Needs } from "../../contract/containment.ts";
import { ToolFailure } from "../../contract/failure.ts";
import { messageOf } from "../../util/errors.ts";
import { absolutePath, isInside } from "../../util/paths.ts";
import type { FolderChanges } from "./folder-changes.ts";
import { gitFolder, linkedWorktree, worktreesIn } from "./git-folders.ts";
import { type Sequence, createSequences } from "./git-sequences.ts";
import { type Homes, hiddenPaths, realOf, secretAt } from "./hidden.ts";
import type { Facts } from "./mounts.ts";
import { filesInGit, gitFoldersOf, submoduleFinder } from "./new-repositories.ts";
import { protectedFinder } from "./protected.ts";
import { temporaryOf } from "./temporary.ts";
import { listeningSockets } from "./sockets.ts";

/** What of /proc root could change the whole machine with, or learn its secrets from, even without any of root's rights. */
const MACHINE_SETTINGS = [
  "sys",
  "sysrq-trigger",
  "irq",
  "bus",
  "fs",
  "scsi",
  "acpi",
  "driver",
  "asound",
  "mtrr",
  "latency_stats",
];

/** What is looked for in /run although the rest of it is for services: where NixOS keeps its programs and drivers. */
const KEPT_OF_RUN = ["/run/current-system", "/run/opengl-driver"];

const RUN = ["/run", "/var/run"] as const;

export interface FactsOptions extends Homes {
  /** Roots beside the working directory. */
  readonly writable: readonly string[];
  readonly hidden: readonly string[];
  readonly isProtected: (path: string) => boolean;
  readonly isSensitive: (path: string) => boolean;
  /** Of the private caches. */
  readonly caches: string;
  /** In place of /tmp and /var/tmp. */
  readonly tmp: string;
  readonly varTmp: string;
  readonly changes: FolderChanges;
}

/** What a command needs beside what it is granted: the bridge to the network, its socket. */
export interface Extras {
  readonly reopened: readonly string[];
  readonly given: Facts["given"];
}

export interface CommandFacts {
  readonly facts: Omit<Facts, "ownProcesses">;
  /** What of repositories is there when the command has ended, was not there now, and leads git to programs or elsewhere. */
  appeared(): readonly string[];
  /** Folders of the repositories that are there now, for when the command has ended. */
  repositories(): readonly string[];
  /** The rebases and their like in them. */
  readonly sequence: Sequence;
  /** Whether a command could have made what is in a repository's folder. */
  isMade(gitFolder: string): boolean;
  /** Empty files that were made so that the command may write them. */
  readonly made: readonly string[];
}

/**
 * Looks at the machine for one command after another. What is granted and does not exist is made: a folder where it is asked for as one
 * ("out/"), an empty file in what may be written but for the folder that holds it. Elsewhere the command fails: there is nothing to open, and
 * the folder above was not granted.
 *
 * Of repositories and worktrees inside the workspace those are held that were there before any command was: what commands have made they could
 * have made as they liked, and they can take it away again.
 *
 * @throws ToolFailure
 */
export function factFinder(options: FactsOptions): (needs: Needs, extras: Extras) => CommandFacts {
  const { workDir, writable, isProtected, caches, tmp, varTmp } = options;
  const findProtected = protectedFinder(isProtected, options.isSensitive, options.changes);
  // Now: a command that can write the folder above one of them can put a link in its place.
  const allowed = writable.map((path) => realOf(absolutePath(path, options)));
  const worktree = linkedWorktree(workDir); // now, before any command has run
  const settings = MACHINE_SETTINGS.map((name) => `/proc/${name}`).filter((path) => existsSync(path));
  const temporary = temporaryOf({ tmp, varTmp });
  const emptied = uniqueReal(RUN).filter((path) => !temporary.some(({ at }) => isInside(path, at)));
  // A home is seen wherever it lies, also in a folder of the system that is another inside.
  const replaced = [...temporary.map(({ at }) => at), ...emptied];
  const home = replaced.some((at) => at !== options.home && isInside(options.home, at)) ? [options.home] : [];

  const withSubmodules = submoduleFinder();
  const sequences = createSequences();
  const repositoriesOf = (root: string) => {
    const { paths, repositories } = findProtected(root);
    const all = withSubmodules([root, ...repositories]);
    return { paths, all, below: all.filter((path) => path !== root) };
  };
  /** What holds a root's secrets, but for what its repositories have as it is. */
  const secretsIn = (root: string) => {
    const { sensitive, repositories } = findProtected(root);
    const secrets = sensitive.flatMap((path) => secretAt(path) ?? []);
    const inGit = filesInGit([root, ...repositories], secrets);
    return secrets.filter((path) => !inGit.includes(path));
  };
  const atFirst = new Map<string, ReadonlySet<string>>();
  /** The repositories of a root, their folders, and the worktrees of its own, that were there when it was first looked at. */
  const oldOnes = (root: string, repositories: readonly string[]) => {
    const first =
      atFirst.get(root) ??
      new Set([...repositories.flatMap((path) => [path, ...gitFoldersOf(path)]), ...worktreesIn(join(root, ".git"))]);
    atFirst.set(root, first);
    return first;
  };

  return (needs, extras) => {
    const ours = [workDir, ...allowed].filter((path) => existsSync(path) && realOf(path) === path);
    const own = needs.readOnly === true ? [] : ours;
    const wanted = (needs.write ?? []).map((path) => ({ path: stillReal(path), isFolder: path.endsWith("/") }));
    const isComing = ({ path, isFolder: asFolder }: (typeof wanted)[number]) =>
      !asFolder && !existsSync(path) && own.some((root) => isInside(path, root));
    const roots = [...new Set([...own, ...wanted.filter((each) => !isComing(each)).map(grantedPath)])];
    const found = roots.filter(isFolder).map((root) => {
      const { paths, all, below } = repositoriesOf(root);
      const old = oldOnes(root, all);
      const repository = gitFolder(root, {
        ...(root === workDir && worktree !== undefined && { worktree }),
        isHeld: (path) => old.has(path),
      });
      return {
        paths,
        gitFolders: all.flatMap(gitFoldersOf),
        repositories: [repository, ...below.filter((path) => old.has(path)).map((path) => gitFolder(path))],
      };
    });
    const repositories = found.flatMap((each) => each.repositories);
    const sequence = sequences.begin(unique(found.flatMap(({ gitFolders }) => gitFolders)), needs.git);
    const held = unique([
      ...found.flatMap(({ paths }) => paths),
      ...repositories.flatMap(({ readOnly }) => readOnly),
      ...sequence.readOnly,
    ]);
    const made = wanted
      .filter(
        (each) => isComing(each) && isFolder(dirname(each.path)) && held.some((path) => isInside(each.path, path)),
      )
      .map(({ path }) => emptyFile(path));
    const lifting = (needs.write ?? [])
      .map(realOf)
      .filter((path) => held.includes(path) || basename(path) === ".git" || isProtected(path));
    const isLifted = (path: string) => lifting.some((granted) => isInside(path, granted));
    // Those of the workspace where it is read-only, too.
    const sensitive =
      needs.hideSensitive === true ? [...new Set([...ours, ...roots])].filter(isFolder).flatMap(secretsIn) : [];
    const { hidden, reopened } = hiddenPaths(options.hidden, options, "existing");
    const allWritable = [...roots, ...made, ...repositories.flatMap((each) => each.writable), caches];
    return {
      facts: {
        writable: [...new Set(allWritable)],
        readOnly: held.filter((path) => !isLifted(path)),
        hidden: [...hidden, ...sensitive.map((path) => ({ path, as: "closed" as const }))]
          .filter(({ path }) => existsSync(path))
          .map((each) => ({ ...each, isFolder: isFolder(each.path) })),
        reopened: [
          ...home,
          ...ours,
          ...reopened,
          ...KEPT_OF_RUN,
          ...(needs.read ?? []).map(stillReal),
          ...extras.reopened,
        ].filter((path) => existsSync(path)),
        sockets: listeningSockets([...new Set([...allWritable, ...ours])]), // a read-only mount keeps nobody from connecting
        temporary,
        emptied,
        given: extras.given,
        settings,
      },
      appeared: () => repositories.flatMap((each) => each.appeared()).filter((path) => !isLifted(path)),
      repositories: () =>
        unique(roots.filter(isFolder).flatMap((root) => repositoriesOf(root).all.flatMap(gitFoldersOf))),
      sequence,
      isMade: (path) =>
        allWritable.some((root) => isInside(path, root)) &&
        ![...atFirst.values()].some((old) => old.has(path)) &&
        !isLifted(join(path, "config")),
      made,
    };
  };
}

/** What was judged was real: where a link leads elsewhere by now, somebody has put it there since. */
function stillReal(path: string): string {
  const plain = path.length > 1 ? path.replace(/\/+$/, "") : path;
  if (realOf(plain) === plain) return plain;
  throw new ToolFailure(`the sandbox does not open ${path} for the command: a link there leads to ${realOf(plain)}`, {
    hint: "Ask for the path that is meant.",
  });
}

function grantedPath({ path, isFolder: asFolder }: { readonly path: string; readonly isFolder: boolean }): string {
  if (existsSync(path)) return path;
  if (!asFolder) {
    throw new ToolFailure(`the sandbox cannot let the command write ${path}: it does not exist`, {
      hint: `Make it first, or ask for ${path}/ to have the folder made.`,
    });
  }
  try {
    mkdirSync(path, { recursive: true });
    return realOf(path);
  } catch (error) {
    throw new ToolFailure(`the folder ${path} could not be made for the command: ${messageOf(error)}`, {
      cause: error,
    });
  }
}

function emptyFile(path: string): string {
  try {
    writeFileSync(path, "", { flag: "wx" });
    return path;
  } catch (error) {
    throw new ToolFailure(`the file ${path} could not be made for the command: ${messageOf(error)}`, { cause: error });
  }
}

/** Takes away what was made for a command that did not write it. Never throws. */
export function removeEmpty(made: readonly string[]): void {
  for (const path of made) {
    try {
      if (statSync(path).size === 0) rmSync(path);
    } catch {
      // gone
    }
  }
}

/** As they really are, those that are there, each once. */
function uniqueReal(paths: readonly string[]): readonly string[] {
  return [...new Set(paths.filter((path) => existsSync(path)).map(realOf))];
}

function unique(paths: readonly string[]): readonly string[] {
  return [...new Set(paths)];
}

function isFolder(path: string): boolean {
  try {
    return statSync(path).isDirectory();
  } catch {
    return false;
  }
}
