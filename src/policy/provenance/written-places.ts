import { readFileSync, statSync } from "node:fs";
import { appendFile, readFile } from "node:fs/promises";
import { join } from "node:path";
import type { ApprovedCall, BeforeAct } from "../../core/contract/call.ts";
import { ToolFailure } from "../../core/contract/failure.ts";
import { messageOf, tried } from "../../core/util/errors.ts";
import { parseJson } from "../../core/util/json.ts";
import { isInside } from "../../core/util/paths.ts";
import { isMissing, makePrivateFolder, replacePrivateFile } from "../../core/util/private-file.ts";

/** Where models may have written, in any session: workspaces, and what was opened for writing beside them. */
export interface WrittenPlaces {
  /** Adds real paths, durably. Rejects with the system's error. */
  add(paths: readonly string[]): Promise<void>;
  /** The real paths, oldest first. Rejects with the system's error if they cannot be read. */
  list(): Promise<readonly string[]>;
  /** As `list`, at once: for what is about to start a program. A list that cannot be read is empty. */
  now(): readonly string[];
  /** Resolves to false if the list does not have the path. */
  forget(path: string): Promise<boolean>;
}

const NAME = "written";

/** Opens the list in the state folder: a file (0600) with a path as JSON on each line. */
export function writtenPlaces(stateFolder: string): WrittenPlaces {
  const file = join(stateFolder, NAME);
  const known = new Set<string>();
  const list = async (): Promise<readonly string[]> => {
    const text = await readFile(file, "utf8").catch((error: unknown) => {
      if (isMissing(error)) return "";
      throw error;
    });
    return pathsIn(text);
  };
  let last: { readonly version: string; readonly paths: readonly string[] } | undefined;
  return {
    list,
    now() {
      const info = tried(() => statSync(file, { throwIfNoEntry: false }));
      if (info === undefined) return [];
      const version = `${info.ino} ${info.size} ${info.mtimeMs}`;
      if (last?.version !== version) last = { version, paths: tried(() => pathsIn(readFileSync(file, "utf8"))) ?? [] };
      return last.paths;
    },
    async add(paths) {
      if (paths.every((path) => known.has(path))) return;
      for (const path of await list()) known.add(path);
      const missing = paths.filter((path) => !known.has(path));
      if (missing.length > 0) {
        await makePrivateFolder(stateFolder);
        const lines = missing.map((path) => `${JSON.stringify(path)}\n`).join("");
        await appendFile(file, lines, { mode: 0o600, flush: true });
      }
      for (const path of missing) known.add(path);
    },
    async forget(path) {
      const all = await list();
      const left = all.filter((each) => each !== path);
      known.delete(path);
      if (left.length === all.length) return false;
      await replacePrivateFile(stateFolder, NAME, left.map((each) => `${JSON.stringify(each)}\n`).join(""));
      return true;
    },
  };
}

function pathsIn(text: string): readonly string[] {
  const paths = text.split("\n").map((line) => parseJson(line));
  return [...new Set(paths.flatMap((path) => (path.ok && typeof path.value === "string" ? [path.value] : [])))];
}

/** The folders of a backend, as real paths. */
interface Folders {
  readonly workDir: string;
  readonly home: string;
  /** Folders besides the workspace that are always writable. */
  readonly writable: readonly string[];
}

/**
 * Returns a hook that records which folders an act may write. It omits `/tmp`, which belongs to the session, and a
 * workspace that contains the home: with it, every program of the user would count.
 */
export function keepPlaces(places: WrittenPlaces, folders: Folders): BeforeAct {
  return async (call) => {
    await places.add(writtenBy(call, folders)).catch((error: unknown) => {
      throw new ToolFailure(`the folders of this call could not be recorded, so nothing ran: ${messageOf(error)}`);
    });
    return undefined;
  };
}

function writtenBy({ effects, decision: { within } }: ApprovedCall, { workDir, home, writable }: Folders) {
  const isContained = within !== undefined && within !== "none" && within.readOnly !== true;
  const files = effects.flatMap((effect) => (effect.kind === "write" && effect.real !== undefined ? effect.real : []));
  const opened = isContained ? [...(within.write ?? []), ...writable] : [];
  const beside = [...files, ...opened].filter((path) => ![workDir, ...TEMPORARY].some((root) => isInside(path, root)));
  const isReadOnly = within !== undefined && within !== "none" && within.readOnly === true;
  const runs = !isReadOnly && effects.some(({ kind }) => kind === "exec" || kind === "terminal");
  const isUsed = runs || files.some((path) => isInside(path, workDir));
  return isUsed && !isInside(home, workDir) ? [workDir, ...beside] : beside;
}

const TEMPORARY = ["/tmp", "/var/tmp"];
