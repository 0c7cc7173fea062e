/**
 * Facts about this project, read from package.json, which lists what is built and published.
 *
 * A subpath export is added only in package.json: `"./name": { types: "./dist/types/PATH.d.ts", default:
 * "./dist/NAME.js" }` builds PATH.ts (src/connect/mcp/serve.ts) into dist/NAME.js.
 */
import { readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

/** The folders whose code is published: the library, the page, and the test suites for parts that others write. */
export const SOURCE_FOLDERS = ["src", "page", "test/suites"];

/** The folder of the checkout. */
export const projectRoot = dirname(dirname(dirname(fileURLToPath(import.meta.url))));

/** The folder of the scripts' cache, which can be deleted. */
export const cacheFolder = join(projectRoot, "node_modules", ".cache", "handrail");

/** The source of each program in package.json's `bin`, which has no field for it, unlike `exports`. */
const PROGRAM_SOURCES = /** @type {Record<string, string>} */ ({ "./dist/cli.js": "src/cli/main.ts" });

/** Processes that the library starts. They are built like programs and stored next to them, but are not for users. */
export const PROCESSES = [
  { source: "src/machine/spawner/main.ts", output: "spawner.js" },
  { source: "src/machine/bridge/main.ts", output: "bridge.js" },
  { source: "src/tools/web/worker.ts", output: "web-worker.js" },
];

/** The entry of the console's page, which Vite builds for browsers. */
export const PAGE = { source: "page/main.tsx" };

/**
 * @typedef {object} Manifest
 * @property {string} name
 * @property {string} version
 * @property {string} description
 * @property {{ url: string }} repository
 * @property {{ node: string }} engines
 * @property {Record<string, string>} bin
 * @property {Record<string, string | { types: string, default: string }>} exports
 * @property {Record<string, string>} dependencies
 * @property {Record<string, string>} devDependencies
 * @property {Record<string, boolean>} allowScripts
 */

/**
 * @typedef {object} Entry
 * @property {"library" | "program"} kind
 * @property {string} subpath   as users import it: "handrail/mcp"; for a program its name
 * @property {string} source    relative to the checkout: "src/connect/mcp/serve.ts"
 * @property {string} output    relative to dist: "mcp.js"
 */

/**
 * @param {string} [root]
 * @returns {Manifest}
 */
export function readManifest(root = projectRoot) {
  return JSON.parse(readFileSync(join(root, "package.json"), "utf8"));
}

/**
 * Returns everything that package.json publishes as code, in its order.
 *
 * @param {Manifest} manifest
 * @returns {Entry[]}
 */
export function entriesOf(manifest) {
  return [...libraryEntries(manifest), ...programEntries(manifest)];
}

/**
 * @param {Manifest} manifest
 * @returns {Entry[]}
 */
function libraryEntries(manifest) {
  return Object.entries(manifest.exports).flatMap(([subpath, target]) => {
    if (typeof target === "string") return [];
    const source = /^\.\/dist\/types\/(.+)\.d\.ts$/.exec(target.types)?.[1];
    const output = /^\.\/dist\/([^/]+\.js)$/.exec(target.default)?.[1];
    if (!source || !output) {
      throw new Error(
        `package.json, exports["${subpath}"]: expected { "types": "./dist/types/PATH.d.ts", "default": "./dist/NAME.js" }, ` +
          `got ${JSON.stringify(target)}`,
      );
    }
    return [{ kind: "library", subpath: manifest.name + subpath.slice(1), source: `${source}.ts`, output }];
  });
}

/**
 * @param {Manifest} manifest
 * @returns {Entry[]}
 */
function programEntries(manifest) {
  return Object.entries(manifest.bin).map(([name, target]) => {
    const source = PROGRAM_SOURCES[target];
    if (!source)
      throw new Error(`package.json, bin.${name}: add the source of ${target} to PROGRAM_SOURCES in project.mjs`);
    return { kind: "program", subpath: name, source, output: target.slice("./dist/".length) };
  });
}
