import { dirname, join, resolve } from "node:path";
import { type Setting, settingsIn } from "./config.ts";
import { isInside } from "../../core/util/paths.ts";
import { commonOf, gitFolderOf } from "./folders.ts";
import { isHarmless, settingName, startsProgram } from "./settings.ts";
import { LONGEST_CONFIG, type Reader } from "./reader.ts";

/** How many configuration files of one repository are read, included files counted. */
const MOST_CONFIGS = 64;

/** What a repository makes git run or obey, besides the content of commits. */
export interface Obeyed {
  /** Configuration files: the repository's, the person's, and the files that these include. They may not exist. */
  readonly configs: readonly string[];
  /** Folders of hooks. */
  readonly hooks: readonly string[];
  /**
   * Files that settings name: programs (filters, drivers, aliases, helpers, pagers, editors, ssh, gpg), their
   * arguments, lists of attributes. They may not exist.
   */
  readonly named: readonly string[];
  /** Programs at the start of a value, named with a path. Git starts such a file as soon as it exists. */
  readonly programs: readonly string[];
  /** All settings, in the order in which they were read. Values have one character per byte. */
  readonly settings: readonly Setting[];
  /** False: there is more than was read, so nothing is known for certain. */
  readonly isWhole: boolean;
}

export interface ObeyedOptions {
  /** The real `.git` folder. */
  readonly gitFolder: string;
  /** The folder in which git starts: hooks paths and programs are relative to it. Default: the folder with `.git`. */
  readonly worktree?: string;
  /** The person's home, whose configuration counts too. Default: no home. */
  readonly home?: string;
}

/** Finds everything that the configuration of a repository leads git to. Pure. */
export function obeyed(reader: Reader, { gitFolder, worktree = dirname(gitFolder), home }: ObeyedOptions): Obeyed {
  const common = commonOf(reader, gitFolder) ?? gitFolder;
  const configs = new Set([join(common, "config"), join(gitFolder, "config.worktree")]);
  if (home !== undefined) for (const name of [".gitconfig", ".config/git/config"]) configs.add(join(home, name));
  const hooks = new Set([join(common, "hooks")]);
  const [named, programs] = [new Set<string>(), new Set<string>()];
  const settings: Setting[] = [];
  let isWhole = true;
  const add = (paths: Set<string>, written: string, base: string) => {
    for (const path of pathOf(written, base, home)) paths.add(path);
  };
  for (const config of configs) {
    const bytes = reader.read(config, LONGEST_CONFIG);
    if (configs.size > MOST_CONFIGS || (bytes === undefined && reader.kindOf(reader.realOf(config)) !== undefined))
      isWhole = false;
    if (bytes === undefined || !isWhole) continue;
    for (const setting of settingsIn(bytes.toString("latin1"))) {
      const { section, key } = setting;
      settings.push(setting);
      const value = Buffer.from(setting.value ?? "", "latin1").toString();
      if (value === "" || isHarmless(setting)) continue;
      if (/^include(if)?$/.test(section) && key === "path")
        for (const base of [config, reader.realOf(config)]) add(configs, value, dirname(base));
      else if (/^(core\.hookspath|init\.templatedir)$/.test(`${section}.${key}`)) add(hooks, value, worktree);
      else for (const path of filesNamedBy(setting, worktree, home)) named.add(path);
      const [, program] =
        (startsProgram(settingName(setting)) && /^!?\s*["']?([^\s"';]*\/[^\s"';]*)/.exec(value)) || [];
      if (program !== undefined && section !== "include" && section !== "includeif") add(programs, program, worktree);
    }
  }
  const lists = { configs: [...configs], hooks: [...hooks], named: [...named], programs: [...programs] };
  return { ...lists, settings, isWhole };
}

/**
 * Returns the real paths of files and folders with which git starts programs in a work tree, or reads what can name
 * one: hooks, included files, programs and their files. They need not exist. Pure.
 */
export function startedIn(reader: Reader, worktree: string, home: string): readonly string[] {
  const gitFolder = gitFolderOf(reader, worktree);
  if (gitFolder === undefined) return [];
  const { configs, hooks, programs, settings } = obeyed(reader, { gitFolder, worktree, home });
  const named = settings
    .filter((setting) => startsProgram(settingName(setting)) && !/^(include|includeif)$/.test(setting.section))
    .flatMap((setting) => filesNamedBy(setting, worktree, home))
    .map(reader.realOf)
    .filter((path) => reader.kindOf(path) === "file");
  return [...[...configs, ...hooks, ...programs].map(reader.realOf), ...named].filter(
    (path) => !isInside(worktree, path),
  );
}

/** The files that the value of a setting may name, leniently. A program without a slash is found on the PATH. Pure. */
export function filesNamedBy({ value = "" }: Setting, worktree: string, home?: string): readonly string[] {
  return wordsIn(Buffer.from(value, "latin1").toString()).flatMap((word) => pathOf(word, worktree, home));
}

/** The path that git reads in a value; empty for the home of another person. */
function pathOf(written: string, base: string, home: string | undefined): readonly string[] {
  const path = written.replace(/^~\//, `${home ?? "~"}/`);
  return path.startsWith("~") || path.includes("\0") ? [] : [resolve(base, path)];
}

function wordsIn(value: string): readonly string[] {
  const words = value.split(/[\s;&|<>()"'`!]+/).filter((word) => word !== "");
  const parts = words.flatMap((word, index) =>
    [word, ...word.split(/[=:]/)].filter((part) => part !== "" && (index > 0 || part.includes("/"))),
  );
  return [...(value.includes("/") ? [value] : []), ...parts].filter((word) => !word.startsWith("-"));
}
