import { posix } from "node:path";
import type { Backend, FileInfo, FileKind } from "../../contract/backend.ts";
import { isInside } from "../../util/paths.ts";
import { type LookUps, once } from "../look-ups.ts";
import { type TextOf, createTextReader } from "./small-files.ts";

/** More of a configuration is not read: 64 KiB. */
const MOST_BYTES = 65_536;

// Settings that make git run a program while it only looks, and that no environment turns off (git-config(1), gitattributes(5)).
const RUNS =
  /^\s*(external|textconv|command|clean|smudge|process|path|gpgprogram|program|sshcommand|worktree)\s*=\s*(.*)$/i;
const OTHERS_FILE = /^\s*\[\s*include/i;
/** The one filter that repositories commonly have. */
const KNOWN = /^"?git-lfs (clean|smudge|filter-process)\b[^;&|$`<>]*$/;

/** What git would run in the repository that holds a folder, a sentence each. For one decision. */
export type RepositoryReader = (cwd: string) => Promise<readonly string[]>;

/**
 * Tells what git would run in a repository because its configuration says so, even when it only looks; a folder that is in none has
 * nothing. Looks at the repository that holds the folder, as git does from where the folder really is; a configuration that did not change is
 * read once.
 */
export function createRepositoryReader(backend: Backend): (look: LookUps) => RepositoryReader {
  const readText = createTextReader(backend.files, MOST_BYTES);
  /** Which files had to be read when a folder was looked at last: the next time they are asked for at once. */
  const readBefore = new Map<string, readonly string[]>();

  /** The folder and those above it, side by side: each is one quick look. */
  const lookAround = (cwd: string, look: LookUps): Promise<readonly Around[]> =>
    Promise.all(
      upwards(cwd).map(async (folder) => {
        // A bare repository can be made of ordinary files, whose names nobody protects; above the workspace no tool writes.
        const isReached = isInside(folder, backend.workDir) || !isInside(cwd, backend.workDir);
        const names = isReached ? [".git", "config", "commondir"] : [".git"];
        const [git, ...bare] = await Promise.all(names.map((name) => infoOf(posix.join(folder, name), look)));
        return { folder, git: git?.kind, mayBeBare: bare.some((info) => info?.kind === "file") };
      }),
    );

  return (look) => {
    const needed = new Set<string>();
    const textAt = once((path) => readText(path, { real: true }));
    /** Where no link is on the way, one look is enough; where one is, or nothing is there, it takes another. */
    const textOf = once(async (path) => {
      needed.add(path);
      return (await textAt(path)) ?? readText(path);
    });

    return once(async (cwd) => {
      for (const path of readBefore.get(cwd) ?? []) void textOf(path);
      for (const folder of readBefore.has(cwd) ? [backend.workDir] : upwards(cwd)) void textAt(configOf(folder));
      // Mostly the folder is its own real path already.
      const [real, around] = await Promise.all([look.realPath(cwd), lookAround(cwd, look)]);
      if (real instanceof Error) return ["which repository it looks at cannot be found out"];
      for (const each of real === cwd ? around : await lookAround(real, look)) {
        const runs = await runsAt(each, look, textOf);
        readBefore.set(cwd, [...needed]);
        if (runs !== undefined) return runs;
      }
      return [];
    });
  };
}

/** A folder, with what is called `.git` in it. */
interface Around {
  readonly folder: string;
  readonly git: FileKind | undefined;
  readonly mayBeBare: boolean;
}

/** What the repository of this very folder runs; `undefined` when it is in none. */
async function runsAt(
  { folder, git, mayBeBare }: Around,
  look: LookUps,
  textOf: TextOf,
): Promise<readonly string[] | undefined> {
  // A file leads to a repository elsewhere: a work tree or a submodule. It shares the configuration of the one it belongs to.
  if (git === "file") return linked(folder, textOf);
  const path = configOf(folder);
  if (git === "folder" && (await textOf(path)) !== undefined) return runsIn(path, textOf);
  if (git === "folder" && (await infoOf(path, look))?.kind === "file") {
    return [`the repository's configuration ${path} cannot be read`];
  }
  return mayBeBare ? runsInBare(folder, textOf) : undefined;
}

function configOf(folder: string): string {
  return posix.join(folder, ".git/config");
}

function upwards(folder: string): readonly string[] {
  return folder === "/" ? [folder] : [folder, ...upwards(posix.dirname(folder))];
}

/** What a path leads to. Where no link is on the way, that is known after one look. */
async function infoOf(path: string, look: LookUps): Promise<FileInfo | undefined> {
  try {
    return await look.infoAt(path);
  } catch {
    return look.info(path).catch(() => undefined);
  }
}

/** What git would run in a folder that it may take for a bare repository; `undefined`: nothing, so one further up may be meant. */
async function runsInBare(folder: string, textOf: TextOf): Promise<readonly string[] | undefined> {
  const common = await textOf(`${folder}/commondir`);
  if (common !== undefined) return [`${folder} may be a repository with the configuration of another`];
  const both = [`${folder}/config`, `${folder}/config.worktree`].map((path) => runsIn(path, textOf));
  const found = (await Promise.all(both)).flat();
  return found.length > 0 ? found : undefined;
}

async function linked(folder: string, textOf: TextOf): Promise<readonly string[]> {
  const target = /^gitdir: (.+)$/m.exec((await textOf(`${folder}/.git`)) ?? "")?.[1];
  if (target === undefined) return ["where its repository is cannot be found out"];
  const git = posix.resolve(folder, target);
  const common = (await textOf(`${git}/commondir`))?.trim();
  const own = [`${git}/config`, `${git}/config.worktree`];
  const all = common === undefined ? own : [...own, `${posix.resolve(git, common)}/config`];
  return (await Promise.all(all.map((path) => runsIn(path, textOf)))).flat();
}

async function runsIn(path: string, textOf: TextOf): Promise<readonly string[]> {
  const text = await textOf(path);
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
