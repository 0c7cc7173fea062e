/**
 * Collects the licence texts that a bundle must contain.
 *
 * In:  the files that were bundled.
 * Out: one text with the name, version, licence, licence files and notice files of each third-party package, sorted by
 *      name. Fails for a package without a licence text, which must not be distributed.
 */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";

/** Packages without a licence text, and a package of the same repository and licence that has one. */
const TEXT_OF = /** @type {Record<string, string>} */ ({ "@ai-sdk/provider-utils": "@ai-sdk/provider" });

/** Packages that their author declares as MIT, and publishes without the text of the licence. */
const DECLARED_MIT = ["http_ece", "@earendil-works/pi-tui"];

/** The text of the MIT licence (https://opensource.org/license/mit). @param {string} holder */
const mit = (holder) => `Copyright (c) ${holder}

Permission is hereby granted, free of charge, to any person obtaining a copy of this software and associated
documentation files (the "Software"), to deal in the Software without restriction, including without limitation the
rights to use, copy, modify, merge, publish, distribute, sublicense, and/or sell copies of the Software, and to permit
persons to whom the Software is furnished to do so, subject to the following conditions:

The above copyright notice and this permission notice shall be included in all copies or substantial portions of the
Software.

THE SOFTWARE IS PROVIDED "AS IS", WITHOUT WARRANTY OF ANY KIND, EXPRESS OR IMPLIED, INCLUDING BUT NOT LIMITED TO THE
WARRANTIES OF MERCHANTABILITY, FITNESS FOR A PARTICULAR PURPOSE AND NONINFRINGEMENT. IN NO EVENT SHALL THE AUTHORS OR
COPYRIGHT HOLDERS BE LIABLE FOR ANY CLAIM, DAMAGES OR OTHER LIABILITY, WHETHER IN AN ACTION OF CONTRACT, TORT OR
OTHERWISE, ARISING FROM, OUT OF OR IN CONNECTION WITH THE SOFTWARE OR THE USE OR OTHER DEALINGS IN THE SOFTWARE.`;

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
  const { name, version, license, author } = JSON.parse(readFileSync(join(folder, "package.json"), "utf8"));
  const texts = textsIn(folder);
  const other = TEXT_OF[name];
  if (texts.length === 0 && other)
    texts.push(...textsIn(folder.replace(/\/node_modules\/.*/, `/node_modules/${other}`)));
  if (texts.length === 0 && license === "MIT" && DECLARED_MIT.includes(name)) texts.push(mit(author.name ?? author));
  if (texts.length === 0)
    throw new Error(`${name} ${version} (${license}) is bundled but has no licence file to ship with it`);
  return `${RULE}\n${name} ${version} (${license})\n${RULE}\n\n${texts.join("\n\n")}\n`;
}

/** @param {string} folder */
function textsIn(folder) {
  return readdirSync(folder)
    .filter((file) => /^(licen[cs]e|copying|notice)/i.test(file))
    .sort()
    .map((file) => readFileSync(join(folder, file), "utf8").trim());
}
