import { createHash } from "node:crypto";
import { dirname, join, resolve } from "node:path";
import { settingsIn } from "./config.ts";
import { isInside } from "../util/paths.ts";
import { commonOf, gitFoldersOf } from "./folders.ts";
import { isHarmless } from "./harmless.ts";
import type { Reader } from "./reader.ts";

/** A longer configuration is not read. Bytes: 1 MiB. */
const LONGEST_CONFIG = 1_048_576;

/** How many configuration files of one repository are read, with those that they include. */
const MOST_CONFIGS = 64;

/** What a repository makes git run or obey, besides the content of commits. */
export interface Obeyed {
  /** Configuration files: the repository's, the person's, and those that they include. They may not exist. */
  readonly configs: readonly string[];
  /** Folders of hooks. */
  readonly hooks: readonly string[];
  /**
   * Files that settings name: programs (filters, drivers, aliases, helpers, pagers, editors, ssh, gpg), their
   * arguments, lists of attributes. They may not exist.
   */
  readonly named: readonly string[];
  /** False: there is more than was read. Then nothing is known. */
  readonly isWhole: boolean;
}

export interface ObeyedOptions {
  /** The real `.git` folder. */
  readonly gitFolder: string;
  /** The folder that git starts in: hooks paths and programs are relative to it. Default: the one that has `.git`. */
  readonly worktree?: string;
  /** The person's home: its configuration counts too. Default: none. */
  readonly home?: string;
}

/** Finds everything that the configuration of a repository leads git to. Pure. */
export function obeyed(reader: Reader, { gitFolder, worktree = dirname(gitFolder), home }: ObeyedOptions): Obeyed {
  const common = commonOf(reader, gitFolder) ?? gitFolder;
  const configs = new Set([join(common, "config"), join(gitFolder, "config.worktree")]);
  if (home !== undefined) for (const name of [".gitconfig", ".config/git/config"]) configs.add(join(home, name));
  const hooks = new Set([join(common, "hooks")]);
  const named = new Set<string>();
  let isWhole = true;
  const pathOf = (written: string, base: string) => {
    const path = written.replace(/^~\//, `${home ?? "~"}/`);
    return path.startsWith("~") || path.includes("\0") ? undefined : resolve(base, path);
  };
  const add = (paths: Set<string>, written: string, base: string) => {
    const path = pathOf(written, base);
    if (path !== undefined) paths.add(path);
  };
  for (const config of configs) {
    const bytes = reader.read(config, LONGEST_CONFIG);
    if (configs.size > MOST_CONFIGS || (bytes === undefined && reader.kindOf(reader.realOf(config)) !== undefined))
      isWhole = false;
    if (bytes === undefined || !isWhole) continue;
    for (const setting of settingsIn(bytes.toString("latin1"))) {
      const { section, key } = setting;
      const value = Buffer.from(setting.value ?? "", "latin1").toString();
      if (value === "" || isHarmless(setting)) continue;
      if (/^include(if)?$/.test(section) && key === "path") add(configs, value, dirname(reader.realOf(config)));
      else if (section === "core" && key === "hookspath") add(hooks, value, worktree);
      else for (const word of wordsIn(value)) add(named, word, worktree);
    }
  }
  return { configs: [...configs], hooks: [...hooks], named: [...named], isWhole };
}

/** The words of a setting that may name files, leniently. A program without a slash is found on the PATH. */
function wordsIn(value: string): readonly string[] {
  const words = value.split(/[\s;&|<>()"'`!]+/).filter((word) => word !== "");
  const parts = words.flatMap((word, index) =>
    [word, ...word.split(/[=:]/)].filter((part) => part !== "" && (index > 0 || part.includes("/"))),
  );
  return [...(value.includes("/") ? [value] : []), ...parts].filter((word) => !word.startsWith("-"));
}

/** More bytes of one file that git obeys, or more names of one folder, make a digest unknown. */
const LARGEST = 16_777_216;
const MOST_NAMES = 1_000;

export interface DigestOptions {
  readonly worktree: string;
  /** Folders that a model may write: of the files that settings name, those in them count. Default: the work tree. */
  readonly writable?: readonly string[];
  readonly home?: string;
}

/**
 * Hashes what git obeys in the repository of a work tree and in its submodules: configurations, hooks, the repository's
 * attributes, and files that settings name. The digest is the same until one of them changes. Not in it are
 * `.gitattributes` and `.gitmodules`, which only choose among these. Returns `undefined` if there is no repository, or
 * more than is read. Pure.
 */
export function digestOf(reader: Reader, { worktree, writable = [worktree], home }: DigestOptions): string | undefined {
  const hash = createHash("sha256");
  const gitFolders = gitFoldersOf(reader, worktree);
  let isKnown = gitFolders.length > 0;
  const take = (path: string, levels = 2): void => {
    const real = reader.realOf(path);
    const kind = reader.kindOf(real);
    hash.update(`${JSON.stringify([path, real, kind ?? "none"])}\n`);
    if (kind === "file") {
      const bytes = reader.read(real, LARGEST);
      if (bytes === undefined) isKnown = false;
      else hash.update(`${bytes.length}\n`).update(bytes);
    } else if (kind === "folder") {
      const names = reader.namesIn(real).filter((name) => !name.endsWith(".sample"));
      if (names.length > MOST_NAMES || levels === 0) isKnown = false;
      else for (const name of names.toSorted()) take(join(real, name), levels - 1);
    } else if (kind === "other") isKnown = false;
  };
  for (const gitFolder of gitFolders) {
    const found = obeyed(reader, { gitFolder, worktree, ...(home !== undefined && { home }) });
    isKnown &&= found.isWhole;
    const own = ["info/attributes", "commondir"].map((name) => join(gitFolder, name));
    const named = found.named.filter((path) => {
      const real = reader.realOf(path);
      return reader.kindOf(real) !== "folder" && writable.some((root) => isInside(real, root) || isInside(path, root));
    });
    for (const path of [...found.configs, ...own, ...found.hooks, ...named]) take(path);
  }
  return isKnown ? hash.digest("hex") : undefined;
}
