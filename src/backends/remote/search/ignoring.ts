import { posix } from "node:path";
import type { Files } from "../../../contract/backend.ts";
import { type GitIgnore, MAX_GITIGNORE, gitIgnore } from "../../../files/git-ignore.ts";

/** Which files under a folder are ignored, by the .gitignore files there and in all folders above, and by what git keeps in .git/info/exclude. */
export interface Ignoring {
  /** Names of folders that are ignored wherever they lie, as far as is known before anything is read further in. */
  readonly names: readonly string[];
  /** Whether one of the .gitignore files under the folder may take one of the names back. Paths are relative to it. */
  mayTakeBack(paths: readonly string[]): Promise<boolean>;
  /** Reads those of them that are not ignored themselves. */
  read(paths: readonly string[]): Promise<void>;
  /** A file; its path is relative. */
  ignores(path: string): boolean;
}

/** The rules of one folder. A .gitignore, wherever it is, goes before what git keeps. */
interface FolderRules {
  readonly gitignore?: GitIgnore;
  readonly exclude?: GitIgnore;
}

/** Reads what says what is ignored in a folder (a real path) and above it. What cannot be read says nothing. */
export async function ignoring(root: string, files: Pick<Files, "open">): Promise<Ignoring> {
  const contents = new Map<string, Promise<GitIgnore | undefined>>();
  const rulesAt = (path: string) => {
    const known = contents.get(path) ?? readRules(path, files);
    contents.set(path, known);
    return known;
  };
  const folderRules = async (folder: string, exclude: boolean): Promise<FolderRules> => {
    const [own, gits] = await Promise.all([
      rulesAt(posix.join(folder, ".gitignore")),
      exclude ? rulesAt(posix.join(folder, EXCLUDE)) : undefined,
    ]);
    return { ...(own !== undefined && { gitignore: own }), ...(gits !== undefined && { exclude: gits }) };
  };

  // The folder itself and all above it, the nearest first.
  const above = await Promise.all(
    foldersUp(root).map(async (folder) => ({ rules: await folderRules(folder, true), prefix: prefixOf(folder, root) })),
  );
  const within = new Map<string, FolderRules>();
  const known = above
    .flatMap(({ rules: { gitignore, exclude } }) => [gitignore, exclude])
    .filter((rules) => rules !== undefined);
  const names = [...new Set(known.flatMap((rules) => rules.names))].filter(
    (name) => !known.some((rules) => rules.mayTakeBack(name)),
  );

  const decide = (path: string): boolean => {
    for (const which of ["gitignore", "exclude"] as const) {
      for (
        let slash = path.lastIndexOf("/", path.length - 2);
        slash !== -1;
        slash = slash === 0 ? -1 : path.lastIndexOf("/", slash - 1)
      ) {
        const said = within.get(path.slice(0, slash))?.[which]?.say(path.slice(slash + 1));
        if (said?.ignored === true) return true;
        if (said?.unignored === true) return false;
      }
      for (const { rules, prefix } of above) {
        const said = rules[which]?.say(prefix + path);
        if (said?.ignored === true) return true;
        if (said?.unignored === true) return false;
      }
    }
    return false;
  };
  const decided = new Map<string, boolean>();
  const ignoresFolder = (folder: string): boolean => {
    if (folder === ".") return false;
    const before = decided.get(folder);
    if (before !== undefined) return before;
    const said = ignoresFolder(posix.dirname(folder)) || decide(`${folder}/`);
    decided.set(folder, said);
    return said;
  };

  return {
    names,
    async mayTakeBack(paths) {
      if (names.length === 0) return false;
      const inner = await Promise.all(paths.filter(isGitignore).map((path) => rulesAt(posix.join(root, path))));
      return inner.some((rules) => names.some((name) => rules?.mayTakeBack(name)));
    },
    async read(paths) {
      const folders = new Map<string, boolean>();
      for (const path of paths) {
        const folder = posix.dirname(path);
        if (folder !== ".") folders.set(folder, folders.get(folder) === true || !isGitignore(path));
      }
      // What is further out may say that what is further in need not be read.
      const depths = new Map<number, string[]>();
      for (const folder of folders.keys()) {
        const depth = folder.split("/").length;
        depths.set(depth, [...(depths.get(depth) ?? []), folder]);
      }
      for (const depth of [...depths.keys()].sort((one, other) => one - other)) {
        const wanted = (depths.get(depth) ?? []).filter((folder) => !ignoresFolder(folder));
        const rules = await Promise.all(
          wanted.map((folder) => folderRules(posix.join(root, folder), folders.get(folder) === true)),
        );
        wanted.forEach((folder, index) => within.set(folder, rules[index] ?? {}));
        // Only folders of this depth were decided on, and those above them: nothing that the new rules could change.
      }
    },
    ignores: (path) => ignoresFolder(posix.dirname(path)) || decide(path),
  };
}

/** Git's rules that are no part of what it keeps. */
const EXCLUDE = ".git/info/exclude";

async function readRules(path: string, files: Pick<Files, "open">): Promise<GitIgnore | undefined> {
  try {
    const file = await files.open(path);
    try {
      return await gitIgnore(Buffer.from(await file.read(0, MAX_GITIGNORE)).toString("utf8"));
    } finally {
      await file.close();
    }
  } catch {
    return undefined; // there is none, or none that may be read
  }
}

function isGitignore(path: string): boolean {
  return path === ".gitignore" || path.endsWith("/.gitignore");
}

function foldersUp(folder: string): readonly string[] {
  const parent = posix.dirname(folder);
  return parent === folder ? [folder] : [folder, ...foldersUp(parent)];
}

function prefixOf(folder: string, root: string): string {
  const relative = posix.relative(folder, root);
  return relative === "" ? "" : `${relative}/`;
}
