import { existsSync, mkdirSync, rmSync, statSync, writeFileSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import type { SandboxAccess } from "../../../contract/containment.ts";
import { ToolFailure } from "../../../contract/failure.ts";
import { messageOf, tried } from "../../../util/errors.ts";
import { absolutePath, isInside } from "../../../util/paths.ts";
import { words } from "../../../util/text.ts";
import { DISK, realOf } from "../../../git/disk.ts";
import { gitFoldersOf, leadingIn, linkedWorktree, worktreesIn } from "../../../git/folders.ts";
import { type Before, stateOf } from "../../../git/hold-back.ts";
import type { FolderChanges } from "./folder-changes.ts";
import { type Homes, hiddenPaths, secretAt } from "./hidden.ts";
import type { Facts } from "./mounts.ts";
import { protectedFinder } from "./protected.ts";
import { filesInGit, heldRepository, holdBack, submoduleFinder } from "./repositories.ts";
import { isFolder } from "../read-files.ts";
import type { Session } from "../session/session.ts";
import { toolchainsOf } from "./toolchains.ts";
import { temporaryOf } from "../session/temporary.ts";
import { listeningSockets } from "./sockets.ts";

/** Parts of /proc through which root, even without capabilities, could change the machine or read its secrets. */
const MACHINE_SETTINGS = words("sys sysrq-trigger irq bus fs scsi acpi driver asound mtrr latency_stats");

/** Paths in /run that stay visible: NixOS keeps programs and drivers there. The rest of /run is for services. */
const KEPT_OF_RUN = ["/run/current-system", "/run/opengl-driver"];

const RUN = ["/run", "/var/run"] as const;

export interface FactsOptions extends Homes {
  /** Writable roots besides the working directory. */
  readonly writable: readonly string[];
  readonly hidden: readonly string[];
  readonly isProtected: (path: string) => boolean;
  readonly isSensitive: (path: string) => boolean;
  /** Folder of the private caches. */
  readonly caches: string;
  /** Has the folders that replace /tmp and /var/tmp. */
  readonly session: Pick<Session, "tmp" | "varTmp">;
  readonly changes: FolderChanges;
}

/** What a command needs in addition to its grants: the network bridge and the proxy's socket. */
export interface Extras {
  readonly reopened: readonly string[];
  readonly given: Facts["given"];
}

export interface CommandFacts {
  readonly facts: Omit<Facts, "ownProcesses">;
  /** The repositories before the command. Call it immediately before that starts. */
  before(): Before;
  /** The `.git` folders of the workspace that exist now. Call it when the command has ended. */
  gitFolders(): readonly string[];
  /** Empty files that were created so that the command may write them. */
  readonly made: readonly string[];
}

/**
 * Returns a function that collects the facts for each command. In the workspace it creates what is granted and does not
 * exist: an empty file, if the path is in a read-only folder. Elsewhere a missing path is an error: nothing outside the
 * workspace is created or changed by Handrail itself.
 *
 * Only repositories and worktrees that existed before any command are protected. A command could have created others
 * with any content, and can remove them again.
 *
 * @throws ToolFailure
 */
export function factFinder(options: FactsOptions): (access: SandboxAccess, extras: Extras) => CommandFacts {
  const { workDir, writable, isProtected, caches } = options;
  const findProtected = protectedFinder(isProtected, options.isSensitive, options.changes);
  // Resolved now: a command that can write the folder above could later put a link in its place.
  const allowed = writable.map((path) => realOf(absolutePath(path, options)));
  const worktree = linkedWorktree(DISK, workDir)?.common; // before any command has run
  const settings = MACHINE_SETTINGS.map((name) => `/proc/${name}`).filter((path) => existsSync(path));
  const temporary = temporaryOf(options.session);
  const emptied = uniqueReal(RUN).filter((path) => !temporary.some(({ at }) => isInside(path, at)));
  // The home is visible wherever it is, even in a system folder that is replaced inside.
  const replaced = [...temporary.map(({ at }) => at), ...emptied];
  const home = replaced.some((at) => at !== options.home && isInside(options.home, at)) ? [options.home] : [];

  const withSubmodules = submoduleFinder();
  const gitFoldersIn = (folder: string) => gitFoldersOf(DISK, folder);
  const repositoriesOf = (root: string) => {
    const { paths, repositories } = findProtected(root);
    const all = withSubmodules([root, ...repositories]);
    return { paths, all, below: all.filter((path) => path !== root) };
  };
  /** The paths with secrets in a root, except files that are unchanged in git. */
  const secretsIn = (root: string) => {
    const { sensitive, repositories } = findProtected(root);
    const secrets = sensitive.flatMap((path) => secretAt(path) ?? []);
    const inGit = filesInGit([root, ...repositories], secrets);
    return secrets.filter((path) => !inGit.includes(path));
  };
  const worktreesOf = (root: string) => Object.values(worktreesIn(DISK, join(root, ".git"))).flat();
  const atFirst = new Map<string, ReadonlySet<string>>();
  /** The repositories of a root, their `.git` folders, and its worktrees, as of the first call. */
  const oldOnes = (root: string, repositories: readonly string[]) => {
    const first =
      atFirst.get(root) ??
      new Set([...repositories.flatMap((path) => [path, ...gitFoldersIn(path)]), ...worktreesOf(root)]);
    atFirst.set(root, first);
    return first;
  };

  return (access, extras) => {
    const ours = [workDir, ...allowed].filter((path) => existsSync(path) && realOf(path) === path);
    const own = access.readOnly === true ? [] : ours;
    const wanted = (access.write ?? []).map((path) => ({ path: stillReal(path), isFolder: path.endsWith("/") }));
    const isComing = ({ path, isFolder: asFolder }: (typeof wanted)[number]) =>
      !asFolder && !existsSync(path) && own.some((root) => isInside(path, root));
    const roots = [
      ...new Set([...own, ...wanted.filter((each) => !isComing(each)).map((each) => grantedPath(each, ours))]),
    ];
    const found = roots.filter(isFolder).map((root) => {
      const { paths, all, below } = repositoriesOf(root);
      const old = oldOnes(root, all);
      const repository = heldRepository(root, {
        linked: root === workDir ? worktree : undefined,
        isHeld: (path) => old.has(path),
        home: options.home,
      });
      return {
        paths,
        gitFolders: all.flatMap(gitFoldersIn),
        repositories: [
          repository,
          ...below.filter((path) => old.has(path)).map((path) => heldRepository(path, { home: options.home })),
        ],
      };
    });
    const repositories = found.flatMap((each) => each.repositories);
    const gitFolders = unique(found.flatMap((each) => each.gitFolders));
    const state = stateOf(DISK, gitFolders);
    const held = unique([
      ...found.flatMap(({ paths }) => paths),
      ...repositories.flatMap(({ readOnly }) => readOnly),
      ...(access.git === true ? [] : state.operations.map(([path]) => path)),
    ]);
    const made = wanted
      .filter(
        (each) => isComing(each) && isFolder(dirname(each.path)) && held.some((path) => isInside(each.path, path)),
      )
      .map(({ path }) => emptyFile(path));
    const absent = unique(repositories.flatMap((each) => each.absent));
    const lifting = (access.write ?? [])
      .map(realOf)
      .filter((path) => held.includes(path) || absent.includes(path) || basename(path) === ".git" || isProtected(path));
    const isLifted = (path: string) => lifting.some((granted) => isInside(path, granted));
    // Includes the workspace if it is read-only.
    const sensitive =
      access.hideSensitive === true ? [...new Set([...ours, ...roots])].filter(isFolder).flatMap(secretsIn) : [];
    const { hidden, reopened } = hiddenPaths(options.hidden, options, "existing");
    // What reaches a host sees little of the home: it could send what people keep there.
    const homes = (access.network ?? []).length === 0 ? [] : homesBeside(workDir, options);
    // What a person has granted outside the workspace is not ours to change.
    const changeable = [...own, ...repositories.flatMap((each) => each.writable)];
    const watched = repositories
      .flatMap((each) => each.watched)
      .filter((folder) => changeable.some((root) => isInside(folder, root)));
    const allWritable = [...roots, ...made, ...repositories.flatMap((each) => each.writable), caches];
    return {
      facts: {
        writable: [...new Set(allWritable)],
        readOnly: held.filter((path) => !isLifted(path)),
        hidden: [
          ...homes.map((path) => ({ path, as: "emptied" as const })),
          ...hidden,
          ...sensitive.map((path) => ({ path, as: "closed" as const })),
        ]
          .filter(({ path }) => existsSync(path))
          .map((each) => ({ ...each, isFolder: isFolder(each.path) })),
        reopened: [
          ...(homes.length > 0 ? homes.flatMap((each) => toolchainsOf(each)) : home),
          ...ours,
          ...reopened,
          ...KEPT_OF_RUN,
          ...(access.read ?? []).map(stillReal),
          ...extras.reopened,
        ].filter((path) => existsSync(path)),
        // No mount prevents connecting. Sockets that commands made are in their own network, so they are not listed.
        sockets: listeningSockets([caches]),
        temporary,
        emptied,
        given: extras.given,
        settings,
      },
      before: () => ({
        roots: own,
        writable: allWritable,
        lifted: lifting,
        old: unique([...atFirst.values()].flatMap((old) => [...old])),
        watched,
        absent,
        leading: watched.flatMap((folder) => leadingIn(DISK, folder)),
        ...state,
      }),
      gitFolders: () => unique(own.filter(isFolder).flatMap((root) => repositoriesOf(root).all.flatMap(gitFoldersIn))),
      made,
    };
  };
}

/** Returns the real homes outside the working directory. The working directory is open as a whole. */
function homesBeside(workDir: string, { home, accountHome = home }: Homes): readonly string[] {
  return unique([home, accountHome]).filter((path) => existsSync(path) && path !== "/" && !isInside(path, workDir));
}

/** Holds back what a command has left that was running when its owner was killed, or that was detached. */
export function holdBackLeft(before: Before): void {
  const find = protectedFinder(() => false);
  const withSubmodules = submoduleFinder();
  const trees = before.roots.filter(isFolder).flatMap((root) => [root, ...find(root).repositories]);
  holdBack(before, unique(withSubmodules(trees).flatMap((tree) => gitFoldersOf(DISK, tree))));
}

/** Returns the real path. The approved path was real, so a link in it is newer, and is refused. @throws ToolFailure */
function stillReal(path: string): string {
  const plain = path.length > 1 ? path.replace(/\/+$/, "") : path;
  if (realOf(plain) === plain) return plain;
  throw new ToolFailure(`the sandbox does not open ${path} for the command: it is a link to ${realOf(plain)}`, {
    hint: "Ask for the real path.",
  });
}

/** Nothing is created outside `ours`, the workspace: a person has granted a path there, not its creation. */
function grantedPath(
  { path, isFolder: asFolder }: { readonly path: string; readonly isFolder: boolean },
  ours: readonly string[],
): string {
  if (existsSync(path)) return path;
  if (!asFolder || !ours.some((root) => isInside(path, root))) {
    throw new ToolFailure(`the sandbox cannot let the command write ${path}: it does not exist`, {
      hint: "Ask for a folder above it that exists.",
    });
  }
  try {
    mkdirSync(path, { recursive: true });
    return realOf(path);
  } catch (error) {
    throw new ToolFailure(`the folder ${path} could not be created for the command: ${messageOf(error)}`, {
      cause: error,
    });
  }
}

function emptyFile(path: string): string {
  try {
    writeFileSync(path, "", { flag: "wx" });
    return path;
  } catch (error) {
    throw new ToolFailure(`the file ${path} could not be created for the command: ${messageOf(error)}`, {
      cause: error,
    });
  }
}

/** Removes files that were created for a command and are still empty. Never throws. */
export function removeEmpty(made: readonly string[]): void {
  for (const path of made) if (tried(() => statSync(path).size) === 0) tried(() => rmSync(path));
}

/** The real paths of the existing files, each once. */
function uniqueReal(paths: readonly string[]): readonly string[] {
  return [...new Set(paths.filter((path) => existsSync(path)).map(realOf))];
}

function unique(paths: readonly string[]): readonly string[] {
  return [...new Set(paths)];
}
