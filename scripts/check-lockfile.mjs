/**
 * Checks what package.json and package-lock.json promise about packages (`npm run check -- packages`).
 *
 * In:  both files. Out: on stdout what is wrong; exit 1 then.
 *  - every dependency is pinned to one version: what was tested is what is installed;
 *  - the lock file names no registry host: it must serve behind any mirror;
 *  - only packages listed in `allowScripts` bring an install script.
 */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { projectRoot, readManifest } from "./lib/project.mjs";

const manifest = readManifest();
/** @type {{ packages: Record<string, { version?: string, resolved?: string, hasInstallScript?: boolean }> }} */
const lock = JSON.parse(readFileSync(join(projectRoot, "package-lock.json"), "utf8"));

/** `name` or `name@version` */
const decided = new Set(Object.keys(manifest.allowScripts).map((entry) => entry.replace(/(?<=.)@.*$/, "")));

const faults = [
  ...Object.entries({ ...manifest.dependencies, ...manifest.devDependencies })
    .filter(([, version]) => !/^\d+\.\d+\.\d+(-[\w.]+)?$/.test(version))
    .map(([name, version]) => `package.json: ${name} is "${version}", expected one exact version`),
  ...Object.entries(lock.packages)
    .filter(([, { resolved }]) => resolved !== undefined)
    .map(
      ([path]) => `package-lock.json: ${path} has a "resolved" address; remove it (.npmrc keeps npm from adding it)`,
    ),
  ...Object.entries(lock.packages)
    .filter(([path, { hasInstallScript }]) => hasInstallScript && !decided.has(nameOf(path)))
    .map(
      ([path]) =>
        `package-lock.json: ${path} runs a script when installed; decide on it in package.json's allowScripts`,
    ),
];

for (const fault of faults) process.stdout.write(`${fault}\n`);
process.stdout.write(`${Object.keys(lock.packages).length - 1} packages, ${faults.length} faults\n`);
process.exitCode = faults.length > 0 ? 1 : 0;

/** @param {string} path "node_modules/a/node_modules/@b/c" */
function nameOf(path) {
  return path.slice(path.lastIndexOf("node_modules/") + "node_modules/".length);
}
