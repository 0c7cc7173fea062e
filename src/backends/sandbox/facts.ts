import { existsSync, mkdirSync, statSync } from "node:fs";
import { basename } from "node:path";
import type { Needs } from "../../contract/containment.ts";
import { ToolFailure } from "../../contract/failure.ts";
import { messageOf } from "../../util/errors.ts";
import { absolutePath, type Base, isInside } from "../../util/paths.ts";
import { gitFolder, linkedWorktree } from "./git-folders.ts";
import { hiddenPaths, realOf } from "./hidden.ts";
import type { Facts } from "./mounts.ts";
import { protectedFinder } from "./protected.ts";
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

const TEMPORARY = ["/tmp", "/var/tmp"] as const;
const RUN = ["/run", "/var/run"] as const;

export interface FactsOptions extends Base {
  /** Roots beside the working directory. */
  readonly writable: readonly string[];
  readonly hidden: readonly string[];
  readonly isProtected: (path: string) => boolean;
  /** Of the private caches. */
  readonly caches: string;
  /** In place of /tmp and /var/tmp. */
  readonly tmp: string;
  readonly varTmp: string;
}

/** What a command needs beside what it is granted: the bridge to the network, its socket. */
export interface Extras {
  readonly reopened: readonly string[];
  readonly given: Facts["given"];
}

export interface CommandFacts {
  readonly facts: Omit<Facts, "ownProcesses">;
  /** What is not there now and must not be there after the command. */
  readonly mustNotAppear: readonly string[];
}

/**
 * Looks at the machine for one command after another. What is granted and does not exist is made where it is asked for as a folder
 * ("out/"), else the command fails: there is nothing to open, and the folder above was not granted.
 *
 * @throws ToolFailure
 */
export function factFinder(options: FactsOptions): (needs: Needs, extras: Extras) => CommandFacts {
  const { workDir, writable, isProtected, caches, tmp, varTmp } = options;
  const findProtected = protectedFinder(isProtected);
  const worktree = linkedWorktree(workDir); // now, before any command has run
  const settings = MACHINE_SETTINGS.map((name) => `/proc/${name}`).filter((path) => existsSync(path));
  const temporary = uniqueReal(TEMPORARY).map((at) => ({ at, from: at === realOf("/tmp") ? tmp : varTmp }));
  const emptied = uniqueReal(RUN).filter((path) => !temporary.some(({ at }) => isInside(path, at)));

  const rootsWith = (needs: Needs) => [
    ...new Set([
      workDir,
      ...writable.map((path) => realOf(absolutePath(path, options))).filter((path) => existsSync(path)),
      ...(needs.write ?? []).map(grantedPath),
    ]),
  ];

  return (needs, extras) => {
    const roots = rootsWith(needs);
    const found = roots.filter(isFolder).map((root) => {
      const { paths, repositories } = findProtected(root);
      const repository = gitFolder(root, root === workDir ? worktree : undefined);
      return { paths, repositories: [repository, ...repositories.map((folder) => gitFolder(folder))] };
    });
    const repositories = found.flatMap((each) => each.repositories);
    const held = [...found.flatMap(({ paths }) => paths), ...repositories.flatMap(({ readOnly }) => readOnly)];
    const lifting = (needs.write ?? [])
      .map(realOf)
      .filter((path) => held.includes(path) || basename(path) === ".git" || isProtected(path));
    const isLifted = (path: string) => lifting.some((granted) => isInside(path, granted));
    const { hidden, reopened } = hiddenPaths(options.hidden, options, "existing");
    const allWritable = [...roots, ...repositories.flatMap((each) => each.writable), caches];
    return {
      facts: {
        writable: [...new Set(allWritable)],
        readOnly: [...new Set(held)].filter((path) => !isLifted(path)),
        hidden: hidden
          .filter(({ path }) => existsSync(path))
          .map((each) => ({ ...each, isFolder: isFolder(each.path) })),
        reopened: [...reopened, ...KEPT_OF_RUN, ...(needs.read ?? []).map(realOf), ...extras.reopened].filter((path) =>
          existsSync(path),
        ),
        sockets: listeningSockets(allWritable),
        temporary,
        emptied,
        given: extras.given,
        settings,
      },
      mustNotAppear: repositories.flatMap((each) => each.mustNotAppear).filter((path) => !isLifted(path)),
    };
  };
}

function grantedPath(path: string): string {
  if (!existsSync(path)) {
    if (!path.endsWith("/")) {
      throw new ToolFailure(`the sandbox cannot let the command write ${path}: it does not exist`, {
        hint: `Make it first, or ask for ${path}/ to have the folder made.`,
      });
    }
    try {
      mkdirSync(path, { recursive: true });
    } catch (error) {
      throw new ToolFailure(`the folder ${path} could not be made for the command: ${messageOf(error)}`, {
        cause: error,
      });
    }
  }
  return realOf(path.length > 1 ? path.replace(/\/+$/, "") : path);
}

/** As they really are, those that are there, each once. */
function uniqueReal(paths: readonly string[]): readonly string[] {
  return [...new Set(paths.filter((path) => existsSync(path)).map(realOf))];
}

function isFolder(path: string): boolean {
  try {
    return statSync(path).isDirectory();
  } catch {
    return false;
  }
}
