import { posix } from "node:path";
import type { ToolContext } from "../../contract/tool.ts";
import { isInside } from "../../util/paths.ts";

/** Of a .gitignore so much is read. */
const MAX_BYTES = 256 * 1024;

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
  const rules = new Map<string, Promise<Rules | undefined>>();
  const decisions = new Map<string, Promise<boolean>>();

  let having: ReadonlySet<string> | undefined;

  const rulesIn = (folder: string) => remembered(rules, folder, () => read(folder));

  const read = async (folder: string): Promise<Rules | undefined> => {
    const under = posix.relative(root, folder);
    if (having !== undefined && isInside(folder, root) && !having.has(under)) return undefined;
    const path = posix.join(folder, ".gitignore");
    try {
      if (!isInside(folder, root)) await permit({ kind: "read", path });
      const file = await backend.files.open(path);
      try {
        return await rulesOf(Buffer.from(await file.read(0, MAX_BYTES)).toString("utf8"));
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

interface Rules {
  /** What one file says of a path in a folder that is not ignored. */
  say(path: string): { readonly ignored: boolean; readonly unignored: boolean };
  /** Names that are ignored at any depth, and not taken back here. */
  readonly names: readonly string[];
  mayTakeBack(name: string): boolean;
}

async function rulesOf(text: string): Promise<Rules> {
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
      // Another file, further in, has taken the folder back.
      const takenBack = above.map((folder) => `!/${folder.replace(/[\\*?[\] ]/g, "\\$&")}`);
      return ignore({ ignorecase: false }).add(rules).add(takenBack).test(path);
    },
    names: names.filter((name) => !mayTakeBack(name)),
    mayTakeBack,
  };
}

/** "a/", "a/b/" of "a/b/c". */
function foldersAbove(path: string): readonly string[] {
  const parts = path.replace(/\/$/, "").split("/");
  return parts.slice(1).map((_, index) => `${parts.slice(0, index + 1).join("/")}/`);
}

function remembered<T>(known: Map<string, T>, name: string, make: () => T): T {
  const made = known.get(name) ?? make();
  known.set(name, made);
  return made;
}
