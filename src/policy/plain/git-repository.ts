import { posix } from "node:path";
import type { Backend, Files } from "../../contract/backend.ts";
import type { Env } from "../../contract/effect.ts";
import { isInside } from "../../util/paths.ts";
import type { LookUps } from "../look-ups.ts";

/** The most bytes of a configuration that are read: 64 KiB. */
const MOST_BYTES = 65_536;

const SWITCH = /^(true|false|yes|no|on|off|[01])$/i;
const WORD = /^[\w.-]+$/;
const URL = /^[^\s"\\;#\p{Cc}]+$/u;

/**
 * Keys with which git starts nothing and reads no other file when it only reads (git-config(1)), with their allowed
 * values.
 */
const INERT: readonly (readonly [keys: string, value: RegExp])[] = [
  ["core.filemode core.ignorecase core.precomposeunicode core.symlinks core.longpaths core.quotepath", SWITCH],
  ["remote.*.prune push.autosetupremote fetch.prune rerere.enabled submodule.*.active", SWITCH],
  ["core.logallrefupdates core.untrackedcache core.autocrlf core.safecrlf core.eol lfs.*.access", WORD],
  ["pull.rebase pull.ff push.default", WORD],
  ["remote.*.url remote.*.pushurl remote.*.fetch remote.*.tagopt init.defaultbranch submodule.*.url", URL],
  ["branch.* user.*", /^[^"\\;#\p{Cc}]+$/u],
  ["core.repositoryformatversion", /^[01]$/],
  ["core.bare", /^false$/i],
  ["lfs.repositoryformatversion", /^0$/],
  ["filter.lfs.clean", /^git-lfs clean -- %f$/],
  ["filter.lfs.smudge", /^git-lfs smudge -- %f$/],
  ["filter.lfs.process", /^git-lfs filter-process$/],
  ["filter.lfs.required", /^true$/],
];
const INERT_KEYS = new Map(INERT.flatMap(([keys, value]) => keys.split(" ").map((key) => [key, value] as const)));

/** Paths where a link could make git read, show or write something else. */
const LINKED = [
  ...["", "info", "objects", "objects/info", "objects/pack", "refs", "refs/heads", "refs/tags", "refs/remotes"],
  ...["refs/remotes/origin", "logs", "rebase-merge", "rebase-apply", "sequencer"],
];

const SECTION = /^\[([a-z]+)(?: "([^"\\\p{Cc}]*)")?\]$/iu;
const NAME = /^[a-z][a-z0-9-]*$/i;

/** Why a repository's configuration is not plain; `undefined` if every line is known to be inert. */
export function unknownSetting(config: string): string | undefined {
  let section = "";
  let subsection: string | undefined;
  for (const line of config.split("\n").map((each) => each.trim())) {
    const clipped = JSON.stringify(line.slice(0, 100));
    if (line.includes("\\")) return clipped;
    if (line === "" || line.startsWith("#") || line.startsWith(";")) continue;
    const header = SECTION.exec(line);
    if (header !== null) {
      section = (header[1] ?? "").toLowerCase();
      subsection = header[2];
      continue;
    }
    const equals = line.indexOf("=");
    const name = line.slice(0, equals).trim();
    if (equals === -1 || !NAME.test(name)) return clipped;
    const allowed = inert(section, subsection, name.toLowerCase());
    if (allowed === undefined || !allowed.test(line.slice(equals + 1).trim())) return clipped;
  }
  return undefined;
}

function inert(section: string, subsection: string | undefined, name: string): RegExp | undefined {
  if (section === "filter") return INERT_KEYS.get(`filter.${subsection ?? ""}.${name}`);
  const isWhole = section === (subsection === undefined ? "user" : "branch");
  return INERT_KEYS.get(isWhole ? `${section}.*` : `${section}.${subsection === undefined ? "" : "*."}${name}`);
}

/** The variables and arguments with which git starts nothing while it reads. */
export interface GitSurroundings {
  readonly env: Env;
  readonly options: readonly string[];
}

export interface GitRepository {
  readonly surroundings: GitSurroundings;
  /** Why git cannot look at the workspace's repository from a real folder in it; `undefined`: it can. */
  objection(folder: string, look: LookUps): Promise<string | undefined>;
}

const LOOKING = { GIT_OPTIONAL_LOCKS: "0", GIT_NO_LAZY_FETCH: "1", GIT_ALLOW_PROTOCOL: "none" } as const;
// An empty file system monitor is none for every version of git.
const SWITCHED_OFF = [
  ...["core.fsmonitor=", "core.hooksPath=/dev/null", "log.showSignature=false", "diff.autoRefreshIndex=false"],
] as const;

/** The workspace's own repository: git reads this one, wherever it is started. */
export function gitRepository({ workDir, files }: Backend): GitRepository {
  const readConfig = configReader(files);
  const git = posix.join(workDir, ".git");
  /** A path with a link on the way counts as another kind of file. */
  const kindOf = (at: string, look: LookUps) =>
    look.infoAt(at).then(
      (info) => info?.kind,
      () => "link" as const,
    );

  return {
    surroundings: {
      env: { GIT_DIR: git, GIT_WORK_TREE: workDir, ...LOOKING },
      options: ["--no-pager", ...SWITCHED_OFF.flatMap((each) => ["-c", each])],
    },
    async objection(folder, look) {
      if (!isInside(folder, workDir)) return "git looks only at the repository of the workspace";
      const inner = foldersBetween(folder, workDir).flatMap((each) => [`${each}/.git`, `${each}/HEAD`]);
      const linksIn = async (path: string) =>
        (await look.list(posix.join(git, path))).filter(({ kind }) => kind === "link");
      const [links, repository, common, config, ...nested] = await Promise.all([
        Promise.all(LINKED.map(linksIn)),
        kindOf(git, look),
        Promise.all(["commondir", "objects/info/alternates"].map(async (path) => kindOf(`${git}/${path}`, look))),
        readConfig(`${git}/config`).catch(() => undefined),
        ...inner.map((each) => kindOf(each, look)),
      ]);
      if (repository !== "folder" || common.some((each) => each !== undefined))
        return `${git} is not a folder with a repository of its own`;
      if (links.flat().length > 0) return `${git} has links in it: ${links.flat()[0]?.name ?? ""}`;
      if (nested.some((each) => each !== undefined)) return `${folder} may be in a repository of its own`;
      if (config === undefined) return `${git}/config cannot be read`;
      if (Buffer.byteLength(config) >= MOST_BYTES) return `${git}/config is longer than 64 KiB`;
      const unknown = unknownSetting(config);
      return unknown === undefined ? undefined : `${git}/config has settings that may start something: ${unknown}`;
    },
  };
}

/** A folder and its parents, up to `top`, which is not included. */
function foldersBetween(folder: string, top: string): readonly string[] {
  return folder === top ? [] : [folder, ...foldersBetween(posix.dirname(folder), top)];
}

/** Returns a function that reads the beginning of a file. An unchanged file is opened, but not read again. */
function configReader(files: Files): (path: string) => Promise<string> {
  let known: { readonly version: string; readonly text: string } | undefined;
  return async (path) => {
    const file = await files.open(path, { real: true });
    try {
      const { version } = file.info;
      if (known?.version !== version)
        known = { version, text: Buffer.from(await file.read(0, MOST_BYTES)).toString("utf8") };
      return known.text;
    } finally {
      file.close().catch(() => undefined); // need not be awaited
    }
  };
}
