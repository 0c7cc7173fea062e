import { posix } from "node:path";
import type { Backend } from "../../contract/backend.ts";
import type { Env } from "../../contract/effect.ts";
import { isInside } from "../../util/paths.ts";
import { createTextReader } from "./small-files.ts";
import type { LookUps } from "../look-ups.ts";

/** More of a configuration is not read: 64 KiB. */
const MOST_BYTES = 65_536;

const SWITCH = /^(true|false|yes|no|on|off|[01])$/i;
const WORD = /^[\w.-]+$/;
const LINE = /^[^"\\;#\p{Cc}]+$/u;
const URL = /^[^\s"\\;#\p{Cc}]+$/u;

/** Keys that start nothing and lead nowhere when git only looks (git-config(1)), with their values. */
const INERT: { readonly [key: string]: RegExp } = {
  "core.repositoryformatversion": /^[01]$/,
  "core.filemode": SWITCH,
  "core.bare": /^false$/i,
  "core.logallrefupdates": WORD,
  "core.ignorecase": SWITCH,
  "core.precomposeunicode": SWITCH,
  "core.symlinks": SWITCH,
  "core.longpaths": SWITCH,
  "core.quotepath": SWITCH,
  "core.untrackedcache": WORD,
  "core.autocrlf": WORD,
  "core.safecrlf": WORD,
  "core.eol": WORD,
  "remote.*.url": URL,
  "remote.*.pushurl": URL,
  "remote.*.fetch": URL,
  "remote.*.tagopt": URL,
  "remote.*.prune": SWITCH,
  "branch.*": LINE,
  "user.*": LINE,
  "init.defaultbranch": URL,
  "pull.rebase": WORD,
  "pull.ff": WORD,
  "push.default": WORD,
  "push.autosetupremote": SWITCH,
  "fetch.prune": SWITCH,
  "rerere.enabled": SWITCH,
  "submodule.*.url": URL,
  "submodule.*.active": SWITCH,
  "lfs.repositoryformatversion": /^0$/,
  "lfs.*.access": WORD,
  "filter.lfs.clean": /^git-lfs clean -- %f$/,
  "filter.lfs.smudge": /^git-lfs smudge -- %f$/,
  "filter.lfs.process": /^git-lfs filter-process$/,
  "filter.lfs.required": /^true$/,
};

/** Where links could lead git to read, show or write something else. */
const LINKED = [
  "",
  "info",
  "objects",
  "objects/info",
  "objects/pack",
  "refs",
  "refs/heads",
  "refs/tags",
  "refs/remotes",
  "refs/remotes/origin",
  "logs",
].concat(["rebase-merge", "rebase-apply", "sequencer"]);

const SECTION = /^\[([a-z]+)(?: "([^"\\\p{Cc}]*)")?\]$/iu;
const NAME = /^[a-z][a-z0-9-]*$/i;

/** Why a repository's configuration is not plain; `undefined`: each line of it is known to be inert. */
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
  const keys =
    subsection === undefined
      ? [`${section}.${name}`, ...(section === "user" ? ["user.*"] : [])]
      : section === "filter"
        ? [`filter.${subsection}.${name}`]
        : [`${section}.*.${name}`, ...(section === "branch" ? ["branch.*"] : [])];
  const key = keys.find((each) => Object.hasOwn(INERT, each));
  return key === undefined ? undefined : INERT[key];
}

/** What is written before and behind git's name, so that looking starts nothing. */
export interface GitSurroundings {
  readonly env: Env;
  readonly options: readonly string[];
}

export interface GitRepository {
  readonly surroundings: GitSurroundings;
  /** Why git cannot look at the workspace's repository from a real folder in it; `undefined`: it can. */
  objection(folder: string, look: LookUps): Promise<string | undefined>;
}

/** The workspace's own repository: git reads this one, wherever it is started. */
export function gitRepository({ workDir, files }: Backend): GitRepository {
  const readText = createTextReader(files, MOST_BYTES);
  const git = posix.join(workDir, ".git");
  /** Where a link is on the way, it counts as something that is not the file. */
  const kindOf = (at: string, look: LookUps) => look.infoAt(at).then(kind, () => "link" as const);

  return {
    surroundings: {
      env: {
        GIT_DIR: git,
        GIT_WORK_TREE: workDir,
        GIT_OPTIONAL_LOCKS: "0",
        GIT_NO_LAZY_FETCH: "1",
        GIT_ALLOW_PROTOCOL: "none",
      },
      // An empty file system monitor is none for every version of git.
      options: [
        "--no-pager",
        ...[
          "core.fsmonitor=",
          "core.hooksPath=/dev/null",
          "log.showSignature=false",
          "diff.autoRefreshIndex=false",
        ].flatMap((each) => ["-c", each]),
      ],
    },
    async objection(folder, look) {
      if (!isInside(folder, workDir)) return "git looks only at the repository of the workspace";
      const inner = foldersBetween(folder, workDir).flatMap((each) => [`${each}/.git`, `${each}/HEAD`]);
      const [links, repository, common, config, ...nested] = await Promise.all([
        Promise.all(
          LINKED.map(async (path) => (await look.list(posix.join(git, path))).filter((each) => each.kind === "link")),
        ),
        kindOf(git, look),
        Promise.all(["commondir", "objects/info/alternates"].map(async (path) => kindOf(`${git}/${path}`, look))),
        readText(`${git}/config`, { real: true }).catch(() => undefined),
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

function kind(info: { readonly kind: string } | undefined): string | undefined {
  return info?.kind;
}

/** A folder and those above it, up to another that is not included. */
function foldersBetween(folder: string, top: string): readonly string[] {
  return folder === top ? [] : [folder, ...foldersBetween(posix.dirname(folder), top)];
}
