import { existsSync } from "node:fs";
import { join } from "node:path";
import type { Files } from "../../contract/backend.ts";
import type { GitAccess } from "../../contract/containment.ts";
import { sequencesIn } from "./git-folders.ts";
import { versionOf } from "./git-index.ts";
import { putAside } from "./put-aside.ts";
import { readRegular } from "./read-files.ts";

/**
 * Lines that only a person, or a command that names them, may write, by file. The first group of the pattern is the
 * part that is compared.
 */
const WATCHED: readonly (readonly [path: string, line: RegExp])[] = [
  ["rebase-merge/git-rebase-todo", /^\s*(?:x|exec)\s+(.*?)\s*$/], // runs a program (git-rebase(1), "exec")
  ["sequencer/todo", /^\s*(?:x|exec)\s+(.*?)\s*$/],
  ["packed-refs", /^\S+ (refs\/replace\/.*)$/], // replaces an object with another (git-replace(1))
];

/** A longer file is put aside as a whole. Bytes. */
const LONGEST = 268_435_456;

/** What one command may change in unfinished rebases, cherry-picks, reverts and bisects. */
export interface Sequence {
  /** What the command must not change. */
  readonly readOnly: readonly string[];
  /** Call it immediately before the command starts, after everything else that can fail. */
  start(): void;
  /**
   * Call it when the command has ended, with the `.git` folders that exist now. Resolves to the paths that were held
   * back.
   */
  end(gitFolders: readonly string[], files: Files): Promise<readonly string[]>;
  /** Call it when the command was not started, or is detached. */
  cancel(): void;
}

/**
 * Prevents a command from leaving a rebase, cherry-pick, revert or bisect that a person continues later, outside the
 * sandbox. Only a git command that the policy has judged (`SandboxAccess.git`) may begin or change one, and only steps
 * that it named may run programs. Replacements of objects are removed too.
 *
 * @returns A function that begins to watch one command before it starts. `gitFolders`: the `.git` folders of all
 * repositories that the command can write.
 */
export function createSequences(): (gitFolders: readonly string[], git: GitAccess | undefined) => Sequence {
  /** Paths of the operations that git commands have begun. */
  const known = new Set<string>();
  /** Programs that git commands named, to be run between commits. */
  const named = new Set<string>();
  let gitCommands = 0;
  const read = watchedReader();

  return (gitFolders, git) => {
    const before = new Set(gitFolders.flatMap(sequencesIn));
    const lines = new Set(watchedIn(gitFolders).flatMap(({ path, line }) => read(path, line) ?? []));
    let isCounted = false;
    const cancel = () => {
      if (isCounted) gitCommands--;
      isCounted = false;
    };
    for (const program of git?.exec ?? []) named.add(program);
    return {
      readOnly: git === undefined ? [...before] : [],
      start() {
        isCounted = git !== undefined;
        if (isCounted) gitCommands++;
      },
      async end(now, files) {
        const heldBack: string[] = [];
        for (const path of now.flatMap(sequencesIn)) {
          if (git !== undefined) known.add(path);
          // New operations are judged when no git command is running.
          if (gitCommands === 0 && !before.has(path) && !known.has(path) && putAside(path)) heldBack.push(path);
        }
        cancel();
        for (const { path, line } of watchedIn(now)) {
          const found = read(path, line);
          const isNew = (said: string) => !lines.has(said) && !named.has(said);
          if (found !== undefined && !found.some(isNew)) continue;
          await withoutLines(
            path,
            (text) => [line.exec(text)?.[1]].some((said) => said !== undefined && isNew(said)),
            files,
          );
          heldBack.push(path);
        }
        for (const path of known) if (!existsSync(path)) known.delete(path);
        return heldBack;
      },
      cancel,
    };
  };
}

function watchedIn(gitFolders: readonly string[]): readonly { readonly path: string; readonly line: RegExp }[] {
  return gitFolders
    .flatMap((folder) => WATCHED.map(([name, line]) => ({ path: join(folder, name), line })))
    .filter(({ path }) => existsSync(path));
}

/** Reads the matching lines of a file, once for each version. `undefined`: no file, or too long. */
function watchedReader(): (path: string, line: RegExp) => readonly string[] | undefined {
  const known = new Map<string, { readonly version: string; readonly lines: readonly string[] }>();
  return (path, line) => {
    const version = versionOf(path);
    const before = known.get(path);
    if (before !== undefined && before.version === version) return before.lines;
    const text = readRegular(path, LONGEST)?.toString("latin1"); // byte for byte
    const lines = text?.split("\n").flatMap((each) => line.exec(each)?.[1] ?? []);
    if (lines !== undefined && version !== undefined) known.set(path, { version, lines });
    return lines;
  };
}

/** Removes lines from a file; the original is kept beside it. */
async function withoutLines(path: string, isOut: (line: string) => boolean, files: Files): Promise<void> {
  const text = readRegular(path, LONGEST)?.toString("latin1");
  if (!putAside(path) || text === undefined) return;
  const kept = text.split("\n").filter((line) => !isOut(line));
  await files.write(path, Buffer.from(kept.join("\n"), "latin1"), { real: true });
}
