import { join } from "node:path";
import type { Refusal } from "../../../core/contract/containment.ts";
import { type Before, couldWrite, isLifted } from "../../git/hold-back.ts";
import { ASIDE } from "../../git/layout.ts";
import type { Reader } from "../../git/reader.ts";
import { readablePath } from "../../../core/util/byte-paths.ts";
import { startUpFile, startsUnasked } from "../../places/start-up.ts";

/** How many files of a new start-up folder are looked at, and how deep. A folder with more is put aside as a whole. */
const MOST_FILES = 500;
const MOST_LEVELS = 8;

/** How many files that start nothing are reported. */
const MOST_NAMED = 20;

/** New start-up files: those to put aside, and those to name, which start nothing by themselves. */
export interface NewStartUpFiles {
  readonly aside: readonly string[];
  readonly named: readonly string[];
}

/**
 * Finds the start-up files that a command made. Those that were there before it are mounts of its sandbox, so neither
 * they nor the folders above them can have moved.
 *
 * @param found the start-up files and folders that exist now
 */
export function newStartUpFiles(reader: Reader, before: Before, found: readonly string[]): NewStartUpFiles {
  if (before.startUp === undefined) return { aside: [], named: [] };
  const paths = new Set(before.startUp);
  const made = found.filter(
    (path) =>
      !paths.has(path) && couldWrite(path, before) && !isLifted(path, before) && reader.kindOf(path) !== undefined,
  );
  const aside: string[] = [];
  const named: string[] = [];
  for (const path of made) {
    const files = reader.kindOf(path) === "folder" ? filesIn(reader, path) : [path];
    if (files === undefined) aside.push(path);
    else for (const file of files) (startsUnasked(file) ? aside : named).push(file);
  }
  return { aside, named };
}

/** What a command left, as the sandbox reports it. Real paths. */
export function leftRefusals({
  git,
  aside,
  named,
}: NewStartUpFiles & { readonly git: readonly string[] }): readonly Refusal[] {
  const startUp = (path: string, isAside: boolean): Refusal => {
    return { kind: "start-up", path: readablePath(path), what: startUpFile(path) ?? "a start-up file", isAside };
  };
  return [
    ...Array.from(new Set(git), (path): Refusal => ({ kind: "held-back", path: readablePath(path) })),
    ...aside.map((path) => startUp(path, true)),
    ...named.slice(0, MOST_NAMED).map((path) => startUp(path, false)),
  ];
}

/** The files in a folder, at any depth; `undefined`: too many. */
function filesIn(reader: Reader, folder: string): readonly string[] | undefined {
  const files: string[] = [];
  let level = [folder];
  for (let depth = 0; level.length > 0; depth++) {
    if (depth === MOST_LEVELS) return undefined;
    const deeper: string[] = [];
    for (const at of level)
      for (const name of reader.namesIn(at)) {
        if (ASIDE.test(name)) continue;
        const path = join(at, name);
        (reader.kindOf(path) === "folder" ? deeper : files).push(path);
        if (files.length + deeper.length > MOST_FILES) return undefined;
      }
    level = deeper;
  }
  return files;
}
