import { posix } from "node:path";
import type { ToolContext } from "../../contract/tool.ts";
import { type GitIgnore, MAX_GITIGNORE, gitIgnore } from "../../files/git-ignore.ts";
import { isInside } from "../../util/paths.ts";

/** What .gitignore files say of the folders and files under a folder. Paths are relative to it. */
export interface IgnoreRules {
  ignores(path: string, kind: "folder" | "file"): Promise<boolean>;
  /** Names of folders that are ignored wherever they lie, unless a .gitignore further in takes one back. Those that are easily told. */
  ignoredNames(): Promise<readonly string[]>;
  /** Whether one of the .gitignore files in these folders may take back one of these names. */
  mayTakeBack(names: readonly string[], folders: ReadonlySet<string>): Promise<boolean>;
  /** Says in which folders under `root` a .gitignore lies, so that it need not be looked for in others. */
  liesOnlyIn(folders: ReadonlySet<string>): void;
}

/**
 * The rules for what lies under `root` (a real path), by the .gitignore files there and between the working directory and it; the
 * latter are read only when they are needed and permitted.
 */
export function ignoreRules(root: string, { backend, permit }: Pick<ToolContext, "backend" | "permit">): IgnoreRules {
  const top = isInside(root, backend.workDir) ? backend.workDir : root;
  const rules = new Map<string, Promise<GitIgnore | undefined>>();
  const decisions = new Map<string, Promise<boolean>>();

  let having: ReadonlySet<string> | undefined;

  const rulesIn = (folder: string) => remembered(rules, folder, () => read(folder));

  const read = async (folder: string): Promise<GitIgnore | undefined> => {
    const under = posix.relative(root, folder);
    if (having !== undefined && isInside(folder, root) && !having.has(under)) return undefined;
    const path = posix.join(folder, ".gitignore");
    try {
      if (!isInside(folder, root)) await permit({ kind: "read", path });
      const file = await backend.files.open(path);
      try {
        return await gitIgnore(Buffer.from(await file.read(0, MAX_GITIGNORE)).toString("utf8"));
      } finally {
        await file.close();
      }
    } catch {
      return undefined; // there is none, or none that may be read
    }
  };

  /** The nearest file that says anything of it decides; but what lies in an ignored folder is ignored. */
  const decide = async (path: string, kind: "folder" | "file"): Promise<boolean> => {
    const parent = posix.dirname(path);
    if (parent !== root && (await ignores(parent, "folder"))) return true;
    for (let folder = parent; ; folder = posix.dirname(folder)) {
      const relative = posix.relative(folder, path) + (kind === "folder" ? "/" : "");
      const said = (await rulesIn(folder))?.say(relative);
      if (said?.ignored === true) return true;
      if (said?.unignored === true || folder === top) return false;
    }
  };

  const ignores = (path: string, kind: "folder" | "file") => remembered(decisions, path, () => decide(path, kind));

  return {
    ignores: (path, kind) => ignores(posix.join(root, path), kind),
    liesOnlyIn(folders) {
      having = folders;
    },
    ignoredNames: async () => (await rulesIn(root))?.names ?? [],
    async mayTakeBack(names, folders) {
      for (const folder of names.length === 0 ? [] : folders) {
        const inFolder = await rulesIn(posix.join(root, folder));
        if (names.some((name) => inFolder?.mayTakeBack(name))) return true;
      }
      return false;
    },
  };
}

function remembered<T>(known: Map<string, T>, name: string, make: () => T): T {
  const made = known.get(name) ?? make();
  known.set(name, made);
  return made;
}
