import { existsSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import type { SandboxAccess } from "../../../core/contract/containment.ts";
import { ToolFailure } from "../../../core/contract/failure.ts";
import { absolutePath, isInside } from "../../../core/util/paths.ts";
import { words } from "../../../core/util/text.ts";
import { realOf } from "../../git/disk.ts";
import { gitFoldersOf, leadingIn, linkedWorktree, worktreesIn } from "../../git/folders.ts";
import { type Before, stateOf } from "../../git/hold-back.ts";
import { ownCode } from "../../programs/own-code.ts";
import { startUpFile } from "../../places/start-up.ts";
import { type Hidden, type Homes, hiddenPaths, secretAt } from "./hidden.ts";
import type { Facts } from "./mounts.ts";
import { type Unread, protectedFinder } from "./protected.ts";
import { makeFile, makeFolder, putAside, removeIfEmpty } from "./put-aside.ts";
import { newStartUpFiles } from "./start-up-files.ts";
import { heldRepository, holdBack, submoduleFinder } from "./repositories.ts";
import type { SandboxDisk } from "./sandbox-disk.ts";
import { isFolder } from "../read-files.ts";
import { toolchainsOf } from "./toolchains.ts";
import type { Temporary } from "../session/temporary.ts";
import { DISK } from "../../git/disk.ts";

/** Parts of /proc through which root, even without capabilities, could change the machine or read its secrets. */
const MACHINE_SETTINGS = words("sys sysrq-trigger irq bus fs scsi acpi driver asound mtrr latency_stats");

/** Paths in /run that stay visible: NixOS keeps programs and drivers there. The rest of /run is for services. */
const KEPT_OF_RUN = ["/run/current-system", "/run/opengl-driver"];

const RUN = ["/run", "/var/run"] as const;

/** Accounts of services have homes here: /bin, /usr/sbin, /dev, / (see /etc/passwd). */
const SYSTEM_FOLDERS = words("/usr /bin /sbin /lib /etc /dev /proc /sys");

export interface FactsOptions extends Homes {
  /** Writable roots besides the working directory. */
  readonly writable: readonly string[];
  readonly hidden: readonly string[];
  readonly isProtected: (path: string) => boolean;
  /** Folder of the private caches. */
  readonly caches: string;
  /** The temporary folders, and what replaces them. */
  readonly temporary: readonly Temporary[];
  readonly disk: SandboxDisk;
  /** What was there before any command. Default: what is there now. */
  readonly first?: First;
}

/** What was there before any command, which could have put links and repositories in its place. */
export interface First {
  /** The real paths of the further writable roots. */
  readonly allowed: readonly string[];
  /** The repository, if the workspace is a linked worktree. */
  readonly linked: string | undefined;
  /** By root: its repositories, their `.git` folders and its worktrees. */
  readonly old: Map<string, ReadonlySet<string>>;
}

/** Looks up what is there before any command. */
export function firstOn(disk: SandboxDisk, { workDir, home, writable }: Omit<FactsOptions, "disk" | "first">): First {
  return {
    allowed: writable.map((path) => disk.realOf(absolutePath(path, { workDir, home }))),
    linked: linkedWorktree(disk, workDir)?.common,
    old: new Map(),
  };
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
  /** What is in the workspace now. Call it when the command has ended. */
  after(): After;
  /** Empty files that were created so that the command may write them. */
  readonly made: readonly string[];
  /** Folders of the workspace that have not been read: read-only, or hidden with `SandboxAccess.hideSensitive`. */
  readonly unread?: Unread;
}

/** What is in a workspace after a command. */
export interface After {
  readonly gitFolders: readonly string[];
  /** The start-up files and folders. */
  readonly startUp: readonly string[];
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
  const { workDir, isProtected, caches, disk, temporary, first = firstOn(disk, options) } = options;
  const { allowed, linked: worktree, old: atFirst } = first;
  const settings = MACHINE_SETTINGS.map((name) => `/proc/${name}`).filter(disk.isThere);
  const emptied = unique(RUN.filter(disk.isThere).map(disk.realOf)).filter(
    (path) => !temporary.some(({ at }) => isInside(path, at)),
  );
  // The home is visible wherever it is, even in a system folder that is replaced inside.
  const replaced = [...temporary.map(({ at }) => at), ...emptied];
  const home = replaced.some((at) => at !== options.home && isInside(options.home, at)) ? [options.home] : [];

  const code = disk.isHere ? ownCode().filter(disk.isFolder) : [];
  const gitFoldersIn = (folder: string) => gitFoldersOf(disk, folder);
  const repositoriesOf = (root: string) => {
    const { paths, repositories, old = [], unread, all: startUp } = disk.found(root);
    const all = disk.withSubmodules([root, ...repositories]);
    return { paths, all, startUp, below: all.filter((path) => path !== root), old, unread };
  };
  /** The paths with secrets in a root, except files that are unchanged in git. */
  const secretsIn = (root: string) => {
    const { sensitive, repositories } = disk.found(root);
    const secrets = sensitive.flatMap((path) => secretAt(path) ?? []);
    const inGit = disk.filesInGit([root, ...repositories], secrets);
    return secrets.filter((path) => !inGit.includes(path));
  };
  const worktreesOf = (root: string) => Object.values(worktreesIn(disk, join(root, ".git"))).flat();
  /**
   * The repositories of a root, their `.git` folders, and its worktrees, as of the first call, and those that were
   * found later in folders in which no command could write before.
   */
  const oldOnes = (root: string, repositories: readonly string[], late: readonly string[]) => {
    const known = new Set(
      atFirst.get(root) ?? [...repositories.flatMap((path) => [path, ...gitFoldersIn(path)]), ...worktreesOf(root)],
    );
    for (const path of late.filter((each) => isInside(each, root) && !known.has(each)))
      for (const each of [path, ...gitFoldersIn(path)]) if (isInside(each, path)) known.add(each);
    atFirst.set(root, known);
    return known;
  };

  return (access, extras) => {
    const ours = [workDir, ...allowed].filter((path) => disk.isThere(path) && disk.realOf(path) === path);
    const own = access.readOnly === true ? [] : ours;
    const wanted = (access.write ?? []).map((path) => ({ path: stillReal(path, disk), isFolder: path.endsWith("/") }));
    const isComing = ({ path, isFolder: asFolder }: (typeof wanted)[number]) =>
      !asFolder && !disk.isThere(path) && own.some((root) => isInside(path, root));
    const roots = [
      ...new Set([...own, ...wanted.filter((each) => !isComing(each)).map((each) => grantedPath(each, ours, disk))]),
    ];
    const found = roots.filter(disk.isFolder).map((root) => {
      const { paths, all, startUp, below, old: late, unread } = repositoriesOf(root);
      const old = oldOnes(root, all, late);
      const repository = heldRepository(disk, root, {
        linked: root === workDir ? worktree : undefined,
        isHeld: (path) => old.has(path),
        home: options.home,
      });
      return {
        ...{ root, paths, startUp, unread },
        gitFolders: all.flatMap(gitFoldersIn),
        repositories: [
          repository,
          ...below.filter((path) => old.has(path)).map((path) => heldRepository(disk, path, { home: options.home })),
        ],
      };
    });
    const repositories = found.flatMap((each) => each.repositories);
    const gitFolders = unique(found.flatMap((each) => each.gitFolders));
    const state = stateOf(disk, gitFolders);
    const held = unique([
      ...found.flatMap(({ paths }) => paths),
      ...repositories.flatMap(({ readOnly }) => readOnly),
      ...(access.git === true ? [] : state.operations.map(([path]) => path)),
      ...code.filter((path) => roots.some((root) => isInside(path, root))), // also below node_modules
    ]);
    const unread = together(found);
    const made = wanted
      .filter(
        (each) =>
          disk.isHere &&
          isComing(each) &&
          isFolder(dirname(each.path)) &&
          [...held, ...unread.folders].some((path) => isInside(each.path, path)),
      )
      .map(({ path }) => emptyFile(path));
    const absent = unique(repositories.flatMap((each) => each.absent));
    const lifting = (access.write ?? [])
      .map(disk.realOf)
      .filter((path) => held.includes(path) || absent.includes(path) || basename(path) === ".git" || isProtected(path));
    const isLifted = (path: string) => lifting.some((granted) => isInside(path, granted));
    // Includes the workspace if it is read-only.
    const hiding = access.hideSensitive === true ? unique([...ours, ...roots]).filter(disk.isFolder) : [];
    const sensitive = hiding.flatMap(secretsIn);
    const unreadIn = hiding.flatMap((root) => disk.found(root).unread?.folders ?? []); // may hold secrets
    const { hidden, reopened } = hiddenPaths(options.hidden, options, "existing", disk);
    // What reaches a host sees little of the home: it could send what people keep there.
    const homes = (access.network ?? []).length === 0 ? [] : homesBeside(workDir, options);
    const isConfigured = new Set(hidden.map(({ path }) => path));
    const tools = (
      homes.length > 0 || unreadIn.length > 0 ? homesOf(options).flatMap((each) => toolchainsOf(each)) : []
    ).filter((path) => !isConfigured.has(path) && !hiding.some((root) => isInside(root, path)));
    const closed = unreadIn.filter((path) => !tools.some((folder) => isInside(path, folder)));
    // What a person has granted outside the workspace is not ours to change.
    const changeable = [...own, ...repositories.flatMap((each) => each.writable)];
    const watched = repositories
      .flatMap((each) => each.watched)
      .filter((folder) => changeable.some((root) => isInside(folder, root)));
    const allWritable = [...roots, ...unread.read, ...made, ...repositories.flatMap((each) => each.writable), caches];
    const isUnread = new Set(unread.folders);
    return {
      facts: {
        writable: unique(allWritable).filter((path) => !isUnread.has(path)),
        readOnly: [
          ...held.filter((path) => !isLifted(path)),
          ...unread.folders.filter((path) => !roots.includes(path)),
        ],
        hidden: [
          ...homes.map((path) => ({ path, as: "emptied" as const })),
          ...hidden,
          ...sensitive.map((path) => ({ path, as: "closed" as const })),
          // A closed folder could not be the working directory, nor could one that is hidden with the home.
          ...closed.map((path) =>
            hiding.includes(path) ? { path, as: "emptied" as const, isKept: true } : { path, as: "closed" as const },
          ),
        ]
          .filter(({ path }) => disk.isThere(path))
          .map((each: Hidden & { readonly isKept?: boolean }) => ({ ...each, isFolder: disk.isFolder(each.path) })),
        reopened: [
          ...tools,
          ...(homes.length > 0 ? [] : home),
          ...(worktree === undefined ? [] : [worktree]), // in a read-only workspace git needs it too
          ...[...ours, ...roots.filter((path) => isUnread.has(path))].filter((path) => !closed.includes(path)),
          ...reopened,
          ...KEPT_OF_RUN,
          ...(access.read ?? []).map((path) => stillReal(path, disk)),
          ...extras.reopened,
        ].filter(disk.isThere),
        // No mount prevents connecting. Sockets that commands made are in their own network, so they are not listed.
        sockets: disk.listeningSockets([caches]),
        temporary,
        emptied,
        given: extras.given,
        settings,
      },
      before: () => ({
        roots: own,
        writable: allWritable,
        unsearched: unread.folders,
        lifted: lifting,
        old: unique([...atFirst.values()].flatMap((old) => [...old])),
        watched,
        absent,
        leading: watched.flatMap((folder) => leadingIn(disk, folder)),
        startUp: unique(found.flatMap(({ root, startUp }) => (own.includes(root) ? startUp : []))),
        ...state,
      }),
      after() {
        const now = own.filter(disk.isFolder).map(repositoriesOf);
        return {
          gitFolders: unique(now.flatMap(({ all }) => all.flatMap(gitFoldersIn))),
          startUp: unique(now.flatMap(({ startUp }) => startUp)),
        };
      },
      made,
      ...(unread.folders.length > 0 && { unread }),
    };
  };
}

/** What is unread of some roots. A root in another one is judged by itself: more of it may have been read. */
function together(all: readonly { readonly root: string; readonly unread: Unread | undefined }[]): Unread {
  const isRoot = new Set(all.map(({ root }) => root));
  return {
    folders: unique(
      all.flatMap(({ root, unread }) => (unread?.folders ?? []).filter((path) => path === root || !isRoot.has(path))),
    ),
    read: unique(all.flatMap(({ unread }) => unread?.read ?? [])),
    isGoingOn: all.some(({ unread }) => unread?.isGoingOn === true),
  };
}

/** Returns the real homes outside the working directory. The working directory is open as a whole. */
function homesBeside(workDir: string, homes: Homes): readonly string[] {
  return homesOf(homes).filter((path) => !isInside(path, workDir));
}

/** Returns the real homes that exist. A home that is, contains or lies in a system folder holds what programs need. */
function homesOf({ home, accountHome = home }: Homes): readonly string[] {
  const system = SYSTEM_FOLDERS.map(realOf);
  const isOfSystem = (path: string) => system.some((folder) => isInside(path, folder) || isInside(folder, path));
  return unique([home, accountHome]).filter((path) => existsSync(path) && !isOfSystem(path));
}

/**
 * Holds back what a command has left that was running when its owner was killed, or that was detached. Searches its
 * folders in the background. Never rejects.
 */
export async function holdBackLeft(before: Before): Promise<void> {
  const { find, readWhole } = protectedFinder((path) => startUpFile(path) !== undefined);
  const withSubmodules = submoduleFinder();
  const roots = before.roots.filter(isFolder);
  await Promise.all(roots.map(readWhole));
  const trees = roots.flatMap((root) => [root, ...find(root).repositories]);
  holdBack(before, unique(withSubmodules(trees).flatMap((tree) => gitFoldersOf(DISK, tree))));
  newStartUpFiles(DISK, before, unique(roots.flatMap((root) => find(root).all))).aside.forEach(putAside);
}

/** Returns the real path. The approved path was real, so a link in it is newer, and is refused. @throws ToolFailure */
function stillReal(path: string, { realOf: real }: Pick<SandboxDisk, "realOf">): string {
  const plain = path.length > 1 ? path.replace(/\/+$/, "") : path;
  if (real(plain) === plain) return plain;
  throw new ToolFailure(`the sandbox does not open ${path} for the command: it is a link to ${real(plain)}`, {
    hint: "Ask for the real path.",
  });
}

/** Nothing is created outside `ours`, the workspace: a person has granted a path there, not its creation. */
function grantedPath(
  { path, isFolder: asFolder }: { readonly path: string; readonly isFolder: boolean },
  ours: readonly string[],
  disk: Pick<SandboxDisk, "isThere" | "isHere" | "realOf">,
): string {
  if (disk.isThere(path)) return path;
  if (!disk.isHere || !asFolder || !ours.some((root) => isInside(path, root))) {
    throw new ToolFailure(`the sandbox cannot let the command write ${path}: it does not exist`, {
      hint: "Ask for a folder above it that exists.",
    });
  }
  if (makeFolder(path)) return stillReal(path, disk);
  throw new ToolFailure(`the folder ${path} could not be created for the command`);
}

function emptyFile(path: string): string {
  if (makeFile(path)) return path;
  throw new ToolFailure(`the file ${path} could not be created for the command`);
}

/** Removes files that were created for a command and are still empty. Never throws. */
export function removeEmpty(made: readonly string[]): void {
  made.forEach(removeIfEmpty);
}

function unique(paths: readonly string[]): readonly string[] {
  return [...new Set(paths)];
}
