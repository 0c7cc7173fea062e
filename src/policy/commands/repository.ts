import { posix } from "node:path";
import type { Backend, FileInfo, FileKind } from "../../contract/backend.ts";
import { isInside } from "../../util/paths.ts";

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
 * nothing. Looks at the repository that holds the folder, as git does from where the folder really is; a configuration that did not change is
 * read once.
 */
export function createRepositoryReader(backend: Backend): (cwd: string) => Promise<readonly string[]> {
  const read = new Map<string, readonly string[]>();

  /** What the repository of this very folder runs; `undefined` when it is in none. */
  const runsAt = async ({ folder, git, mayBeBare }: Look): Promise<readonly string[] | undefined> => {
    // A file leads to a repository elsewhere: a work tree or a submodule. It shares the configuration of the one it belongs to.
    if (git === "file") return linked(folder, backend);
    const path = posix.join(folder, ".git/config");
    const info = git === "folder" ? await infoOf(path, backend) : undefined;
    if (info?.kind !== "file") return mayBeBare ? runsInBare(folder, backend) : undefined;
    const found = read.get(`${path} ${info.version}`) ?? (await runsIn(path, backend));
    read.set(`${path} ${info.version}`, found);
    return found;
  };

  /** The folder and those above it, side by side: each is one quick look. */
  const lookAround = (cwd: string): Promise<readonly Look[]> =>
    Promise.all(
      upwards(cwd).map(async (folder) => {
        // A bare repository can be made of ordinary files, whose names nobody protects; above the workspace no tool writes.
        const isReached = isInside(folder, backend.workDir) || !isInside(cwd, backend.workDir);
        const names = isReached ? [".git", "config", "commondir"] : [".git"];
        const [git, ...bare] = await Promise.all(names.map((name) => infoOf(posix.join(folder, name), backend)));
        return { folder, git: git?.kind, mayBeBare: bare.some((info) => info?.kind === "file") };
      }),
    );

  return async (cwd) => {
    // Mostly the folder is its own real path already.
    const [real, around] = await Promise.all([backend.files.realPath(cwd).catch(() => undefined), lookAround(cwd)]);
    if (real === undefined) return ["which repository it looks at cannot be found out"];
    for (const look of real === cwd ? around : await lookAround(real)) {
      const found = await runsAt(look);
      if (found !== undefined) return found;
    }
    return [];
  };
}

/** A folder, with what is called `.git` in it. */
interface Look {
  readonly folder: string;
  readonly git: FileKind | undefined;
  readonly mayBeBare: boolean;
}

function upwards(folder: string): readonly string[] {
  return folder === "/" ? [folder] : [folder, ...upwards(posix.dirname(folder))];
}

/** What a path leads to. Where no link is on the way, that is known after one look. */
async function infoOf(path: string, backend: Backend): Promise<FileInfo | undefined> {
  try {
    return await backend.files.stat(path, { real: true });
  } catch {
    return backend.files.stat(path).catch(() => undefined);
  }
}

/** What git would run in a folder that it may take for a bare repository; `undefined`: nothing, so one further up may be meant. */
async function runsInBare(folder: string, backend: Backend): Promise<readonly string[] | undefined> {
  const common = await textOf(`${folder}/commondir`, backend);
  if (common !== undefined) return [`${folder} may be a repository with the configuration of another`];
  const both = [`${folder}/config`, `${folder}/config.worktree`].map((path) => runsIn(path, backend));
  const found = (await Promise.all(both)).flat();
  return found.length > 0 ? found : undefined;
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
