import { unlink } from "node:fs/promises";
import { join } from "node:path";
import { randomName } from "../../core/util/identifier.ts";
import { git } from "./git.ts";
import type { Item, Log } from "./log.ts";
import { readManifest } from "./manifest.ts";
import { isOfRepository } from "./paths.ts";
import { rowsOf } from "./steps.ts";

/** What is at some paths. Paths have one character per byte. */
export type Items = ReadonlyMap<string, Item | null | undefined>;

/**
 * Returns what was at paths before steps of a record.
 *
 * @param wanted the paths, by the index of the step; the number of steps means now
 */
export function itemsBefore(
  store: string,
  log: Log,
  wanted: ReadonlyMap<number, readonly string[]>,
): ReadonlyMap<number, Items> {
  const manifest = readManifest(store, log);
  const changed = new Map<string, Item | null>();
  const found = new Map<number, Items>();
  for (let index = log.steps.length; index >= 0 && found.size < wanted.size; index--) {
    const step = log.steps[index];
    for (const [path, before] of step === undefined ? [] : rowsOf(store, step).toReversed()) changed.set(path, before);
    const at = (path: string) => (changed.has(path) ? changed.get(path) : manifest?.get(path)?.item);
    const paths = wanted.get(index);
    if (paths !== undefined) found.set(index, new Map(paths.map((path) => [path, at(path)])));
  }
  return found;
}

/**
 * Returns how content differs, as git prints it with one character per byte. Large files, and what repositories have in
 * `.git`, are omitted.
 *
 * @param format options of git-diff-tree(1)
 */
export async function diffOf(store: string, from: Items, to: Items, format: readonly string[]): Promise<string> {
  const items = [...from.values(), ...to.values()];
  const ids = items.flatMap((item) => (item?.kind === "file" || item?.kind === "link" ? [item.id] : []));
  if (ids.length === 0) return "";
  const known = await git(store, ["cat-file", "--batch-check"], { input: ids.map((id) => `${id}\n`).join("") });
  const missing = new Set([...known.matchAll(/^([\da-f]+) missing$/gm)].map(([, id]) => id));
  const [one, other] = [await treeOf(store, from, missing), await treeOf(store, to, missing)];
  return git(store, ["diff-tree", "-r", "--no-renames", ...format, one, other]);
}

async function treeOf(store: string, items: Items, missing: ReadonlySet<string | undefined>): Promise<string> {
  const lines = [...items].flatMap(([path, item]) => {
    if ((item?.kind !== "file" && item?.kind !== "link") || missing.has(item.id) || isOfRepository(path)) return [];
    const mode = item.kind === "link" ? "120000" : (item.mode & 0o100) === 0 ? "100644" : "100755";
    return [`${mode} ${item.id}\t${path}\0`];
  });
  const index = join(store, `index-${randomName(8)}`);
  try {
    await git(store, ["update-index", "-z", "--add", "--index-info"], { index, input: lines.join("") });
    return (await git(store, ["write-tree"], { index })).trim();
  } finally {
    await unlink(index).catch(() => {});
  }
}
