import { posix } from "node:path";

/** How much of a .gitignore is read, in bytes. */
export const MAX_GITIGNORE = 256 * 1024;

/** The rules of one .gitignore file. Paths are relative to its folder; those of folders end with a slash. */
export interface GitIgnore {
  /** Returns what the rules decide on a path, provided that its folder is not ignored. */
  say(path: string): { readonly ignored: boolean; readonly unignored: boolean };
  /** Names that are ignored at any depth, and not unignored in this file. */
  readonly names: readonly string[];
  /** Returns whether the file may unignore this name, at any depth. */
  mayTakeBack(name: string): boolean;
}

/** Parses a .gitignore file. */
export async function gitIgnore(text: string): Promise<GitIgnore> {
  const { default: ignore } = await import("ignore");
  const rules = ignore({ ignorecase: false }).add(text);
  const lines = text.split(/\r?\n/);
  const taken = lines.filter((line) => line.startsWith("!")).map((line) => posix.basename(line.slice(1).trimEnd()));
  const mayTakeBack = (name: string) => taken.some((last) => last === name || /[*?[\\]/.test(last));
  const names = lines.flatMap((line) => /^(\w[\w.-]*)\/?$/.exec(line)?.[1] ?? []);
  return {
    say(path) {
      const above = foldersAbove(path);
      if (!above.some((folder) => rules.test(folder).ignored)) return rules.test(path);
      // Unignores these folders, because a file further in has unignored them.
      const takenBack = above.map((folder) => `!/${folder.replace(/[\\*?[\] ]/g, "\\$&")}`);
      return ignore({ ignorecase: false }).add(rules).add(takenBack).test(path);
    },
    names: names.filter((name) => !mayTakeBack(name)),
    mayTakeBack,
  };
}

/** Returns the folders above a path: "a/", "a/b/" for "a/b/c". */
function foldersAbove(path: string): readonly string[] {
  const parts = path.replace(/\/$/, "").split("/");
  return parts.slice(1).map((_, index) => `${parts.slice(0, index + 1).join("/")}/`);
}
