import { posix } from "node:path";
import type { Backend } from "../../contract/backend.ts";

/** More of a configuration is not read: 64 KiB. */
const MOST_BYTES = 65_536;

// Settings that make git run a program while it only looks, and that no environment turns off (git-config(1), gitattributes(5)).
const RUNS =
  /^\s*(external|textconv|command|clean|smudge|process|path|gpgprogram|program|sshcommand|worktree)\s*=\s*(.*)$/i;
const OTHERS_FILE = /^\s*\[\s*include/i;
/** The one filter that repositories commonly have. */
const KNOWN = /^"?git-lfs (clean|smudge|filter-process)\b[^;&|$`<>]*$/;

/**
 * Tells what git would run in a repository because its configuration says so, even when it only looks; a folder that is in none has
 * nothing. Looks at the repository that holds the folder; a configuration that did not change is read once.
 */
export function createRepositoryReader(backend: Backend): (cwd: string) => Promise<readonly string[]> {
  const read = new Map<string, readonly string[]>();
  return async (cwd) => {
    for (let folder = cwd; ; folder = posix.dirname(folder)) {
      const path = posix.join(folder, ".git/config");
      const info = await backend.files.stat(path).catch(() => undefined);
      if (info?.kind === "file") {
        const found = read.get(`${path} ${info.version}`) ?? (await runsIn(path, backend));
        read.set(`${path} ${info.version}`, found);
        return found;
      }
      // A file leads to a repository elsewhere: a work tree or a submodule. It shares the configuration of the one it belongs to.
      const link = await backend.files.stat(posix.join(folder, ".git")).catch(() => undefined);
      if (link?.kind === "file") return linked(folder, backend);
      if (folder === "/") return [];
    }
  };
}

async function linked(folder: string, backend: Backend): Promise<readonly string[]> {
  const target = /^gitdir: (.+)$/m.exec((await textOf(`${folder}/.git`, backend)) ?? "")?.[1];
  if (target === undefined) return ["where its repository is cannot be found out"];
  const git = posix.resolve(folder, target);
  const common = (await textOf(`${git}/commondir`, backend))?.trim();
  const own = [`${git}/config`, `${git}/config.worktree`];
  const all = common === undefined ? own : [...own, `${posix.resolve(git, common)}/config`];
  return (await Promise.all(all.map((path) => runsIn(path, backend)))).flat();
}

async function runsIn(path: string, backend: Backend): Promise<readonly string[]> {
  const text = await textOf(path, backend);
  if (text === undefined) return [];
  if (text.length >= MOST_BYTES) return [`the repository's configuration ${path} is too long to be looked at`];
  for (const line of text.replaceAll("\\\n", "").split("\n")) {
    const [, name = "", value = ""] = RUNS.exec(line.replace(/^\s*\[[^\]]*\]/, "")) ?? [];
    if (OTHERS_FILE.test(line)) return ["the repository's configuration includes other files"];
    if (name !== "" && !KNOWN.test(value.trim()) && value.trim() !== "") {
      return [`the repository's configuration makes git run a program (${name} = ${value.trim()})`];
    }
  }
  return [];
}

async function textOf(path: string, backend: Backend): Promise<string | undefined> {
  const file = await backend.files.open(path).catch(() => undefined);
  if (file === undefined) return undefined;
  try {
    return Buffer.from(await file.read(0, MOST_BYTES)).toString("utf8");
  } finally {
    await file.close();
  }
}
