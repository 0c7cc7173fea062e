import { type Dirent, readdirSync, statSync } from "node:fs";
import { join } from "node:path";
import { sensitive } from "../../machine/places/keys.ts";
import { Unreadable } from "./unreadable.ts";

/** A glob with more alternatives is refused. */
const MOST_ALTERNATIVES = 256;
/** How many entries of folders are looked at. */
const MOST_ENTRIES = 200_000;
/** What has a meaning of its own in the globs of some client. A backslash quotes in some, and is a slash in others. */
const MAGIC = /[*?[\]{}()!+@\\]/;

/**
 * Returns the texts that a glob with braces stands for.
 *
 * @throws Unreadable when there are too many
 */
export function alternativesOf(glob: string): readonly string[] {
  let done: string[] = [];
  const open = [glob];
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    const [whole, inner = ""] = /\{([^{}]*)\}/.exec(next) ?? [];
    if (whole === undefined) done = [...done, next];
    else open.push(...(inner.includes(",") ? inner.split(",") : ["*"]).map((one) => next.replace(whole, () => one)));
    if (done.length + open.length > MOST_ALTERNATIVES) throw new Unreadable("the glob has too many alternatives");
  }
  return done;
}

/** The folder or file that a glob without braces begins with, and what follows it: "" if it is a plain path. */
export interface Begun {
  readonly base: string;
  readonly rest: string;
}

/**
 * Returns where the matches of a glob are.
 *
 * @throws Unreadable when that does not follow from its beginning
 */
export function beginningOf(glob: string): Begun {
  const parts = glob.split("/");
  const first = parts.findIndex((part) => MAGIC.test(part));
  if (first === -1) return { base: glob, rest: "" };
  const rest = parts.slice(first);
  if (rest.includes("..") || glob.includes("\\"))
    throw new Unreadable(`the glob ${JSON.stringify(glob)} has ".." after a wildcard, or a backslash. Name the folder`);
  const base = parts.slice(0, first).join("/");
  return { base: base === "" && first > 0 ? "/" : base, rest: rest.join("/") };
}

/**
 * Whether a glob may select a file, by the path of the file below the searched folder. Programs read globs differently:
 * where they do, it may.
 */
export function maySelect(glob: string, path: string): boolean {
  if (/[()\\]/.test(glob)) return true;
  const names = path.toLowerCase().split("/");
  return alternativesOf(glob.toLowerCase()).some((one) => {
    const parts = one.split("/").filter((part) => part !== "" && part !== ".");
    // Relative to which folder, differs: the pattern may begin at each of the path.
    return parts.length === 0 || names.some((_, from) => matchesPath(parts, names.slice(from)));
  });
}

function matchesPath([part, ...parts]: readonly string[], names: readonly string[]): boolean {
  if (part === undefined) return true; // a folder that is matched, with everything in it
  const [name, ...below] = names;
  if (/^\*\*+$/.test(part)) return parts.length === 0 || names.some((_, from) => matchesPath(parts, names.slice(from)));
  return name !== undefined && matchesName(part, name) && matchesPath(parts, below);
}

/** Wildcards of one name; a set of characters, such as [a-z], counts as any character. */
function matchesName(pattern: string, name: string): boolean {
  const wanted = pattern.replaceAll(/\[[^\]]*\]/g, "?").replaceAll(/\*+/g, "*");
  let reached = new Set([0]);
  for (const character of wanted) {
    const next = new Set<number>();
    for (const at of reached) {
      if (character === "*") for (let to = at; to <= name.length; to += 1) next.add(to);
      else if (character === "?" ? at < name.length : name[at] === character) next.add(at + 1);
    }
    reached = next;
  }
  return reached.has(name.length);
}

/** Files of a folder that a search should not open unasked. */
export interface Secrets {
  /** Paths below the folder: of sensitive files, of links to files, and of links to folders. */
  readonly sensitive: readonly string[];
  readonly links: readonly string[];
  readonly linkedFolders: readonly string[];
  /** Whether the folder has more entries than were looked at. */
  readonly isPart: boolean;
}

/** Looks for them, without `.git` and what package managers have brought. Never throws: what is closed has none. */
export function secretsBelow(folder: string): Secrets {
  const found = { sensitive: [] as string[], links: [] as string[], linkedFolders: [] as string[] };
  const open = [""];
  let left = MOST_ENTRIES;
  for (let below = open.pop(); below !== undefined && left > 0; below = open.pop()) {
    for (const entry of entriesOf(join(folder, below))) {
      left -= 1;
      const path = join(below, entry.name);
      if (entry.isDirectory()) {
        if (entry.name !== ".git" && entry.name !== "node_modules") open.push(path);
      } else if (sensitive(join(folder, path)) !== undefined) found.sensitive.push(path);
      else if (entry.isSymbolicLink()) (isFolder(join(folder, path)) ? found.linkedFolders : found.links).push(path);
    }
  }
  return { ...found, isPart: left <= 0 };
}

function isFolder(path: string): boolean {
  try {
    return statSync(path).isDirectory();
  } catch {
    return false; // it leads nowhere
  }
}

function entriesOf(folder: string): readonly Dirent[] {
  try {
    return readdirSync(folder, { withFileTypes: true });
  } catch {
    return [];
  }
}
