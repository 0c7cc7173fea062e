import { createHash } from "node:crypto";
import { lstatSync, readFileSync, readdirSync, readlinkSync, renameSync, rmSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import { ASIDE } from "../git/layout.ts";
import { startUpFile } from "../places/start-up.ts";
import { bytesOf, readablePath } from "../../core/util/byte-paths.ts";
import { messageOf, tried } from "../../core/util/errors.ts";

/** How many folders are searched for what was put aside. */
const MOST_FOLDERS = 100_000;

/** How many bytes a person can look at here. More is looked at with other programs. */
const MOST_BYTES = 1_048_576;

/** Never searched. A repository's objects and references hold no such files. */
const SKIPPED = new Set(["node_modules", "objects", "refs", "logs"]);

/** A file or folder that was put aside when a command ended. */
export interface HeldBack {
  /** Where it is now. */
  readonly path: string;
  /** Where the command made it. */
  readonly original: string;
  /** What obeys it. */
  readonly what: string;
  /** When it was made or changed, in milliseconds since 1970. */
  readonly changedMs: number;
}

/** The content that a person looks at. */
export interface HeldBackContent {
  /** Each file, with its path in the folder; one with the path "" for a file. */
  readonly files: readonly { readonly path: string; readonly content: Buffer }[];
  /** Changes with any name or byte. */
  readonly digest: string;
}

/** Lists what was put aside in a folder and below it, in the order of its paths. Follows no links. Never throws. */
export function heldBackIn(root: string): readonly HeldBack[] {
  const found: HeldBack[] = [];
  const folders = [root];
  for (let next = 0; next < folders.length && next < MOST_FOLDERS; next++) {
    const folder = folders[next] ?? root;
    for (const entry of tried(() => readdirSync(bytesOf(folder), { withFileTypes: true })) ?? []) {
      const path = join(folder, entry.name);
      if (ASIDE.test(entry.name)) found.push(entryOf(path));
      else if (entry.isDirectory() && !SKIPPED.has(entry.name)) folders.push(path);
    }
  }
  return found.sort((one, other) => (one.path < other.path ? -1 : 1));
}

/** Reads what was put aside. @throws Error when it is larger than a person can look at here, or cannot be read. */
export function contentOf({ path }: Pick<HeldBack, "path">): HeldBackContent {
  const files: { readonly path: string; readonly content: Buffer }[] = [];
  let bytes = 0;
  const hash = createHash("sha256");
  const read = (at: string) => {
    const info = lstatSync(bytesOf(at));
    if (info.isDirectory()) {
      hash.update(`folder\0${relative(path, at)}\0`);
      for (const name of readdirSync(bytesOf(at)).sort()) read(join(at, name));
      return;
    }
    bytes += info.size;
    if (bytes > MOST_BYTES) {
      throw new Error(
        `${readablePath(path)} has more than 1 MB: look at it with another program, then rename it yourself`,
      );
    }
    if (!info.isFile() && !info.isSymbolicLink()) throw new Error(`${readablePath(at)} is no regular file: remove it`);
    const content = info.isFile() ? readFileSync(bytesOf(at)) : Buffer.from(`link to ${readlinkSync(bytesOf(at))}`);
    hash.update(`${info.isFile() ? "file" : "link"}\0${info.mode}\0${relative(path, at)}\0${content.length}\0`);
    hash.update(content);
    files.push({ path: relative(path, at), content });
  };
  read(path);
  return { files, digest: hash.digest("hex") };
}

/**
 * Gives a file or folder its name back, if it is still what the person has looked at.
 *
 * @param digest of the content that the person has seen
 * @throws Error when it has changed, or when something is in its place.
 */
export function putBack({ path, original }: Pick<HeldBack, "path" | "original">, digest: string): void {
  const changed = new Error(`${readablePath(path)} has changed since you looked at it: look at it again`);
  if (contentOf({ path }).digest !== digest) throw changed;
  if (tried(() => lstatSync(bytesOf(original))) !== undefined)
    throw new Error(`${readablePath(original)} exists: remove or rename it first`);
  try {
    renameSync(bytesOf(path), bytesOf(original));
  } catch (error) {
    throw new Error(`${readablePath(path)} could not be put back: ${messageOf(error)}`, { cause: error });
  }
  // A command that still runs could have written in between.
  if (tried(() => contentOf({ path: original }).digest) === digest) return;
  renameSync(bytesOf(original), bytesOf(path));
  throw changed;
}

/** Removes what was put aside. @throws Error */
export function removeHeldBack({ path }: Pick<HeldBack, "path">): void {
  try {
    rmSync(bytesOf(path), { recursive: true });
  } catch (error) {
    throw new Error(`${readablePath(path)} could not be removed: ${messageOf(error)}`, { cause: error });
  }
}

/** The entry for a path, by the name that it has now or had. @throws Error when nothing was put aside there. */
export function heldBackAt(path: string): HeldBack {
  const folder = dirname(path);
  const all = tried(() => readdirSync(bytesOf(folder))) ?? [];
  const names = all.map((name) => join(folder, name)).filter((each) => ASIDE.test(each));
  const found = names.find((each) => each === path) ?? names.find((each) => each.replace(ASIDE, "") === path);
  if (found === undefined)
    throw new Error(`nothing was put aside at ${readablePath(path)}: handrail held-back lists what was`);
  return entryOf(found);
}

function entryOf(path: string): HeldBack {
  const original = path.replace(ASIDE, "");
  const changedMs = tried(() => lstatSync(bytesOf(path)).ctimeMs) ?? 0;
  return { path, original, what: startUpFile(original) ?? "a file that programs obey", changedMs };
}
