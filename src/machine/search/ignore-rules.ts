import { posix } from "node:path";
import type { Files } from "../../core/contract/backend.ts";
import { type GitIgnore, MAX_GITIGNORE, gitIgnore } from "../../core/files/git-ignore.ts";
import { isInside } from "../../core/util/paths.ts";

/** Answers whether paths below `root` are ignored. Keys and paths are absolute. */
export interface IgnoreRules {
  ignores(path: string, kind: "folder" | "file"): boolean;
}

/** Combines the rules of folders with a `.gitignore`, by the folder's path. A path in an ignored folder is ignored. */
export function ignoreRules(root: string, rules: ReadonlyMap<string, GitIgnore>): IgnoreRules {
  const decisions = new Map<string, boolean>();
  const above = [...rules.keys()].filter((folder) => isInside(root, folder));
  const top = above.reduce((highest, each) => (each.length < highest.length ? each : highest), root);

  /** The nearest file that has a matching rule decides. */
  const decide = (path: string, kind: "folder" | "file"): boolean => {
    const parent = posix.dirname(path);
    if (parent !== root && ignores(parent, "folder")) return true;
    for (let folder = parent; ; folder = posix.dirname(folder)) {
      const rule = rules.get(folder)?.say(posix.relative(folder, path) + (kind === "folder" ? "/" : ""));
      if (rule?.ignored === true) return true;
      if (rule?.unignored === true || folder === top) return false;
    }
  };
  const ignores = (path: string, kind: "folder" | "file"): boolean => {
    const known = decisions.get(path) ?? decide(path, kind);
    decisions.set(path, known);
    return known;
  };
  return { ignores };
}

/** Reads the `.gitignore` files of these folders. Missing and unreadable files are skipped. */
export async function readRules(
  folders: readonly string[],
  files: Pick<Files, "open">,
): Promise<ReadonlyMap<string, GitIgnore>> {
  const read = await Promise.all(folders.map(async (folder) => [folder, await rulesIn(folder, files)] as const));
  return new Map(read.flatMap(([folder, rules]) => (rules === undefined ? [] : [[folder, rules]])));
}

async function rulesIn(folder: string, files: Pick<Files, "open">): Promise<GitIgnore | undefined> {
  try {
    const file = await files.open(posix.join(folder, ".gitignore"));
    try {
      return await gitIgnore(Buffer.from(await file.read(0, MAX_GITIGNORE)).toString("utf8"));
    } finally {
      await file.close();
    }
  } catch {
    return undefined;
  }
}

/** The folders from `top` down to the parent of `path`, which must be inside `top`; otherwise none. */
export function foldersAbove(path: string, top: string): readonly string[] {
  return path === top || !isInside(path, top) ? [] : [...foldersAbove(posix.dirname(path), top), posix.dirname(path)];
}
