import { createHash } from "node:crypto";
import { join } from "node:path";
import { isInside } from "../../core/util/paths.ts";
import type { Setting } from "./config.ts";
import { gitFolderOf, gitFoldersOf, repositoryAbove, submodulesIn, withSubmodules, workTreeOf } from "./folders.ts";
import { filesNamedBy, obeyed } from "./obeyed.ts";
import type { Reader } from "./reader.ts";
import { settingName, startsProgram } from "./settings.ts";

/** The maximum number of repositories in one work tree. With more, the result is unknown. */
const MOST_REPOSITORIES = 200;

/** If one file has more bytes, the digest is unknown: 16 MiB. */
const LARGEST = 16_777_216;

/** Hooks that `git push` and `git fetch` start (githooks(5)). They may start whatever the project contains. */
const HOOKS = ["pre-push", "reference-transaction", "pre-auto-gc"];

/** Settings of programs that neither command starts. Hooks and included files are looked at separately. */
const UNUSED = new RegExp(
  String.raw`^(core\.(hookspath|editor)$|include|` +
    String.raw`(alias|filter|(diff|merge)(tool)?|guitool|sequence|interactive|browser|man|submodule)\.)`,
);

export interface TransferOptions {
  /** The folder in which git starts. */
  readonly folder: string;
  /** The remote that the command names. Default: the remote that the configuration chooses. */
  readonly remote: string | undefined;
  /** Real folders that a model may write. */
  readonly writable: readonly string[];
  /** The person's home: its configuration counts too. */
  readonly home: string;
}

/**
 * Hashes what decides where `git push` and `git fetch` of a folder connect to and which programs they start: the
 * repository that git finds, its configuration, the person's, what they include and name, and those of submodules.
 *
 * @returns the same text until one of them changes. `undefined` if there is no repository, or more than is read, and if
 *   files that a model may write decide: a hook, a program in `writable`, a remote that is a folder or a helper. Pure.
 */
export function transferDigest(reader: Reader, options: TransferOptions): string | undefined {
  const { writable, home } = options;
  const top = repositoryAbove(reader, reader.realOf(options.folder));
  if (top === undefined) return undefined;
  const own = gitFolderOf(reader, top);
  const trees = withSubmodules(reader, [top]);
  const repositories = new Map<string, string>();
  for (const tree of trees)
    for (const gitFolder of gitFoldersOf(reader, tree))
      repositories.set(
        gitFolder,
        gitFolder === gitFolderOf(reader, tree) ? tree : (workTreeOf(reader, gitFolder) ?? tree),
      );
  let isKnown = repositories.size <= MOST_REPOSITORIES;
  const hash = createHash("sha256");
  const isThere = (path: string) => reader.kindOf(reader.realOf(path)) !== undefined;
  const isWritable = (path: string) =>
    [path, reader.realOf(path)].some((each) => writable.some((root) => isInside(each, root)));
  for (const [gitFolder, worktree] of repositories) {
    const { configs, hooks, named, settings, isWhole } = obeyed(reader, { gitFolder, worktree, home });
    const programs = settings
      .filter((setting) => startsProgram(settingName(setting)) && !UNUSED.test(settingName(setting)))
      .flatMap((setting) => filesNamedBy(setting, worktree, home));
    const started = [
      ...hooks.flatMap((folder) => HOOKS.map((name) => join(folder, name))),
      ...["remotes", "branches"].flatMap((name) =>
        reader.namesIn(join(gitFolder, name)).map((each) => join(gitFolder, name, each)),
      ),
      ...programs.filter(isWritable),
    ];
    isKnown &&=
      isWhole &&
      submodulesIn(reader, gitFolder).unknown.length === 0 &&
      isRemote(settings, gitFolder === own ? options.remote : undefined) &&
      !started.some(isThere);
    for (const path of [gitFolder, ...configs, join(gitFolder, "commondir"), ...named.filter(isWritable), ...started])
      isKnown &&= takeFile(reader, path, (text) => hash.update(text));
  }
  return isKnown ? hash.digest("hex") : undefined;
}

/** Adds a path, where it leads and the content of a file. Returns false if that is too large. */
function takeFile(reader: Reader, path: string, add: (text: string | Buffer) => void): boolean {
  const real = reader.realOf(path);
  const kind = reader.kindOf(real);
  const bytes = kind === "file" ? reader.read(real, LARGEST) : Buffer.alloc(0);
  add(`${JSON.stringify([path, real, kind ?? "none", bytes?.length])}\n`);
  if (bytes !== undefined) add(bytes);
  return bytes !== undefined && kind !== "other";
}

/**
 * Whether the remotes of a configuration are on other hosts, reached by git itself, and the chosen one is among them.
 * Another name is a path to git: the repository in it would run its own hooks.
 */
function isRemote(settings: readonly Setting[], remote: string | undefined): boolean {
  const valuesOf = (section: string, keys: RegExp) =>
    settings.flatMap((each) => (each.section === section && keys.test(each.key) ? [each] : []));
  const names = new Set(valuesOf("remote", /^url$/).map(({ subsection }) => subsection));
  const urls = [
    ...valuesOf("remote", /^(push)?url$/).map(({ value = "" }) => value),
    ...valuesOf("url", /^/).map(({ subsection = "" }) => subsection),
  ];
  const chosen = [
    ...valuesOf("branch", /^(push)?remote$/).map(({ value = "" }) => value),
    ...valuesOf("remote", /^pushdefault$/).map(({ value = "" }) => value),
    "origin",
  ];
  return urls.every(isOnAnotherHost) && (remote === undefined ? chosen : [remote]).every((name) => names.has(name));
}

/** `https://host/x`, `user@host:x` (git-fetch(1), "GIT URLS"), but no path and no remote helper (`ext::sh x`). */
function isOnAnotherHost(url: string): boolean {
  if (url.includes("::") || /[\0\n]/.test(url)) return false;
  return /^(https?|ssh|git|git\+ssh|ssh\+git|ftps?):\/\/[^/-]/.test(url) || /^[^-/:][^/:]*:(?!\/\/)/.test(url);
}
