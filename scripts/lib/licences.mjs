/**
 * The licence texts that must travel with a bundle.
 *
 * In:  the files that went into the bundle. Out: one text with each third-party package's name, version, licence and its own
 *      licence and notice files, sorted by name. A package without a licence text is an error: it may not be shipped so.
 */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";

const RULE = "=".repeat(80);

/**
 * @param {Iterable<string>} files absolute paths
 * @returns {string}
 */
export function thirdPartyLicences(files) {
  const folders = new Set();
  for (const file of files) {
    const folder = packageFolder(file);
    if (folder) folders.add(folder);
  }
  const notices = [...folders].map(noticeOf).sort();
  return `Handrail contains code of these packages, each under its own licence.\n\n${notices.join("\n")}`;
}

/** @param {string} file */
function packageFolder(file) {
  return /^.*\/node_modules\/(?:@[^/]+\/)?[^/]+(?=\/)/.exec(file)?.[0];
}

/** @param {string} folder */
function noticeOf(folder) {
  const { name, version, license } = JSON.parse(readFileSync(join(folder, "package.json"), "utf8"));
  const texts = readdirSync(folder)
    .filter((file) => /^(licen[cs]e|copying|notice)/i.test(file))
    .sort()
    .map((file) => readFileSync(join(folder, file), "utf8").trim());
  if (texts.length === 0)
    throw new Error(`${name} ${version} (${license}) is bundled but has no licence file to ship with it`);
  return `${RULE}\n${name} ${version} (${license})\n${RULE}\n\n${texts.join("\n\n")}\n`;
}
