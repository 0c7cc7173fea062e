/**
 * Computes a digest of names and contents of files, to detect whether something made from them is stale. Does not use
 * times, which a checkout or a branch switch changes.
 *
 * In:  a folder and paths in it (files, or folders with everything below).
 * Out: a hexadecimal text.
 */
import { createHash } from "node:crypto";
import { readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";

/**
 * @param {string} root
 * @param {readonly string[]} paths
 * @returns {string}
 */
export function digestOf(root, paths) {
  const hash = createHash("sha256");
  for (const file of paths.flatMap((path) => filesIn(root, path))) {
    const content = readFileSync(join(root, file));
    hash.update(`${file}\0${content.length}\0`).update(content);
  }
  return hash.digest("hex");
}

/**
 * Returns the files at or below `path`, sorted, relative to `root`.
 *
 * @param {string} root
 * @param {string} path
 * @returns {string[]}
 */
export function filesIn(root, path) {
  if (!statSync(join(root, path)).isDirectory()) return [path];
  return readdirSync(join(root, path))
    .sort()
    .flatMap((name) => filesIn(root, `${path}/${name}`));
}
