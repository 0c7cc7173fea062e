import { delimiter, isAbsolute, join } from "node:path";
import { isExecutable } from "../../core/util/executable.ts";
import { realPath, writablePlaceOf } from "./places.ts";

/** A program of this machine that no tool could have written. */
export interface FoundProgram {
  /** Where it was found. */
  readonly path: string;
  /** The same with every link followed: what is started. */
  readonly real: string;
}

/** A program was not found where no tool could write. The message is a sentence for people. `code` as of the system. */
export class ProgramMissing extends Error {
  readonly code = "ENOENT";
  /** The folder in which a tool could write it, if it is only there. */
  readonly onlyIn: string | undefined;

  constructor(message: string, onlyIn?: string) {
    super(message);
    this.onlyIn = onlyIn;
  }
}

export interface Search {
  /** Folders to look in, separated as in PATH. Default: the PATH of this process. */
  readonly path?: string | undefined;
  /** Looks in the folders of the system first: for programs of the system that Handrail runs by itself. */
  readonly systemFirst?: boolean | undefined;
}

const SYSTEM_FOLDERS = ["/usr/bin", "/bin", "/usr/sbin", "/sbin"];

/** npm, and what else starts scripts of packages, puts such folders into PATH: they have the project's own programs. */
const OF_PACKAGES = /(^|\/)node_modules(\/|$)/;

/**
 * Finds a program by its name in the PATH, or by its absolute path, where no tool could ever write: not in a workspace,
 * in what was opened for writing, or in a `node_modules`, whatever PATH has. Takes some file system calls, each time:
 * what a tool may write grows.
 *
 * @throws ProgramMissing with the program, and the folder if it is only where a tool could write.
 */
export function findProgram(name: string, { path, systemFirst = false }: Search = {}): FoundProgram {
  if (name.includes("/")) return atPath(name);
  let onlyIn: string | undefined;
  for (const folder of foldersOf(path, systemFirst)) {
    const found = join(folder, name);
    if (name === "" || !isExecutable(found)) continue;
    if (!OF_PACKAGES.test(folder) && writablePlaceOf(found) === undefined)
      return { path: found, real: realPath(found) };
    onlyIn ??= folder;
  }
  if (onlyIn === undefined) throw new ProgramMissing(`there is no program ${name || '""'} on the PATH`);
  throw new ProgramMissing(whyClosed(name, onlyIn), onlyIn);
}

/** As `findProgram`; `undefined` instead of an error. */
export function foundProgram(name: string, search?: Search): FoundProgram | undefined {
  try {
    return findProgram(name, search);
  } catch (error) {
    if (error instanceof ProgramMissing) return undefined;
    throw error;
  }
}

/** Returns the folders of a PATH in which programs are found, in order, for the environment of what is started. */
export function programPath(search: Search = {}): string {
  const isClosed = (folder: string) => !OF_PACKAGES.test(folder) && writablePlaceOf(folder) === undefined;
  return foldersOf(search.path, search.systemFirst).filter(isClosed).join(delimiter);
}

function atPath(path: string): FoundProgram {
  if (!isAbsolute(path)) throw new ProgramMissing(`${path} is a relative path: expected a name or an absolute path`);
  if (!isExecutable(path)) throw new ProgramMissing(`${path} is not a program that can be started`);
  const place = writablePlaceOf(path);
  if (place !== undefined && !isOwn(path)) throw new ProgramMissing(whyClosed(path, place), place);
  return { path, real: realPath(path) };
}

/** The Node.js that runs this process: a person has started it, wherever it is. */
const isOwn = (path: string) => path === process.execPath;

function foldersOf(path = process.env["PATH"] ?? "", systemFirst = false): readonly string[] {
  const all = [...(systemFirst ? SYSTEM_FOLDERS : []), ...path.split(delimiter)];
  return [...new Set(all)].filter((folder) => isAbsolute(folder)); // a relative one could be in the workspace
}

function whyClosed(program: string, folder: string): string {
  return (
    `${program} is only in ${folder}, where tools can write, so Handrail does not start it. ` +
    "Install it in a folder outside of every workspace and of node_modules"
  );
}
