/**
 * A digest of files' names and content, to see whether something made from them is stale. Content, not times: a checkout or a
 * branch switch changes times at will.
 *
 * In:  a folder and paths in it (files, or folders with all below). Out: a hexadecimal text.
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
 * The files at or below `path`, sorted, relative to `root`.
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
