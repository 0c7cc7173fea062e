/**
 * Checks what package.json and package-lock.json promise about packages (`npm run check -- packages`).
 *
 * In:  both files, those of the project and those of the site. Out: on stdout what is wrong; exit 1 then.
 *  - every dependency is pinned to one version: what was tested is what is installed;
 *  - the lock file names no registry host: it must serve behind any mirror;
 *  - only packages listed in `allowScripts` bring an install script;
 *  - no package names a newer Node than ours, for which \`npm ci\` would warn each user. One whose tests pass here all the same
 *    (the editor of pi-tui) has no \`engines\` in the lock file.
 */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { projectRoot, readManifest } from "./lib/project.mjs";

/** The oldest Node that we support: `engines` of package.json. */
const OLDEST = /** @type {[number, number]} */ (
  (/(\d+)\.(\d+)/.exec(readManifest().engines.node) ?? []).slice(1).map(Number)
);

const checked = [".", "site"].map(checkFolder);
for (const fault of checked.flatMap(({ faults }) => faults)) process.stdout.write(`${fault}\n`);
const [packages, faults] = [checked.flatMap((each) => each.packages), checked.flatMap((each) => each.faults)];
process.stdout.write(`${packages.length} packages, ${faults.length} faults\n`);
process.exitCode = faults.length > 0 ? 1 : 0;

/**
 * Returns the packages that the lock file of a folder of the project names, and what is wrong with it.
 *
 * @param {string} folder
 */
function checkFolder(folder) {
  const manifest = readManifest(join(projectRoot, folder));
  /** @type {{ packages: Record<string, { version?: string, resolved?: string, hasInstallScript?: boolean, engines?: { node?: string } }> }} */
  const lock = JSON.parse(readFileSync(join(projectRoot, folder, "package-lock.json"), "utf8"));
  const [manifestFile, lockFile] = ["package.json", "package-lock.json"].map((name) => join(folder, name));

  /** `name` or `name@version` */
  const decided = new Set(Object.keys(manifest.allowScripts).map((entry) => entry.replace(/(?<=.)@.*$/, "")));

  return {
    packages: Object.keys(lock.packages).filter((path) => path !== ""),
    faults: [
      ...Object.entries({ ...manifest.dependencies, ...manifest.devDependencies })
        .filter(([, version]) => !/^\d+\.\d+\.\d+(-[\w.]+)?$/.test(version))
        .map(([name, version]) => `${manifestFile}: ${name} is "${version}", expected one exact version`),
      ...Object.entries(lock.packages)
        .filter(([path, { engines }]) => path !== "" && isNewer(engines?.node))
        .map(
          ([path, { engines }]) => `${lockFile}: ${path} wants Node ${engines?.node}, we support ${OLDEST.join(".")}`,
        ),
      ...Object.entries(lock.packages)
        .filter(([, { resolved }]) => resolved !== undefined)
        .map(([path]) => `${lockFile}: ${path} has a "resolved" address; remove it (.npmrc keeps npm from adding it)`),
      ...Object.entries(lock.packages)
        .filter(([path, { hasInstallScript }]) => hasInstallScript && !decided.has(nameOf(path)))
        .map(
          ([path]) =>
            `${lockFile}: ${path} runs a script when installed; decide on it in the allowScripts of ${manifestFile}`,
        ),
    ],
  };
}

/** @param {string} path "node_modules/a/node_modules/@b/c" */
function nameOf(path) {
  return path.slice(path.lastIndexOf("node_modules/") + "node_modules/".length);
}

/**
 * Whether a range of Node versions begins above the oldest that we support. Knows ranges such as ">=22.19.0 || ^20.19".
 *
 * @param {string} [range]
 */
function isNewer(range = "*") {
  return range.split("||").every((part) => {
    const [, major, minor = "0"] = /(?:>=|\^|~)\s*v?(\d+)(?:\.(\d+))?/.exec(part) ?? [];
    return major !== undefined && (+major > OLDEST[0] || (+major === OLDEST[0] && +minor > OLDEST[1]));
  });
}
