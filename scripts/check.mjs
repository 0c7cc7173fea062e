/**
 * Runs all checks except the tests (`npm run check`), concurrently where they are independent.
 *
 * In:  names of parts to run (`npm run check -- lint types`); the parts that they need run too. Default: all.
 * Out: a line per part with its duration in seconds, and the whole output of each part that failed. Exit code 1 if any
 *      failed.
 */
import { spawn } from "node:child_process";
import { mkdirSync } from "node:fs";
import { availableParallelism } from "node:os";
import { delimiter, join } from "node:path";
import { cacheFolder, projectRoot, readManifest } from "./lib/project.mjs";

/**
 * @typedef {object} Part
 * @property {string} name
 * @property {string} finds      what it would catch
 * @property {string[]} command
 * @property {string} [needs]    the part that must have succeeded before
 */

/**
 * @typedef {object} Outcome
 * @property {boolean} ok
 * @property {string} output
 * @property {number} seconds
 */

const { name, version } = readManifest();
const tarball = join(cacheFolder, `${name}-${version}.tgz`);

/** The longest chain first, so that it does not run alone at the end. @type {Part[]} */
const PARTS = [
  { name: "build", finds: "dist cannot be built", command: ["node", "scripts/build.mjs"] },
  { name: "types", finds: "type errors in src, test, examples", command: ["tsc", "-p", "."] },
  {
    name: "pack",
    finds: "the package cannot be packed",
    command: ["npm", "pack", "--ignore-scripts", "--pack-destination", cacheFolder],
    needs: "build",
  },
  {
    name: "install",
    finds: "the installed package does not import, start, type-check or stay light",
    command: ["node", "scripts/check-install.mjs", tarball],
    needs: "pack",
  },
  {
    name: "attw",
    finds: "types that some resolution does not find",
    command: ["attw", tarball, "--profile", "esm-only", "--no-emoji"],
    needs: "pack",
  },
  { name: "publint", finds: "faults of package.json", command: ["publint", "run", "--strict", tarball], needs: "pack" },
  {
    name: "page-types",
    finds: "type errors in the console's page",
    command: ["tsc", "-p", "page"],
  },
  { name: "script-types", finds: "type errors in scripts and configuration", command: ["tsc", "-p", "scripts"] },
  { name: "lint", finds: "unsound code", command: ["oxlint", "--type-aware", "--deny-warnings"] },
  { name: "shell", finds: "faults of shell programs", command: ["node", "scripts/check-shell.mjs"] },
  { name: "format", finds: "code not as `npm run format` writes it", command: ["oxfmt", "--check"] },
  {
    name: "layers",
    finds: "imports against the layers, circles, orphans",
    command: ["node", "scripts/check-layers.mjs"],
  },
  { name: "picture", finds: "a stale docs/architecture.md", command: ["node", "scripts/docs-layers.mjs", "--check"] },
  {
    name: "api",
    finds: "schemas of the API that are not its types",
    command: ["node", "scripts/api-schemas.mjs", "--check"],
  },
  { name: "llms", finds: "a stale llms.txt", command: ["node", "scripts/llms.mjs", "--check"] },
  { name: "events", finds: "a stale docs/events.md", command: ["node", "scripts/docs-events.mjs", "--check"] },
  { name: "seeds", finds: "rows of test/requirements.md without a test", command: ["node", "scripts/check-seeds.mjs"] },
  { name: "unused", finds: "unused files, exports and packages", command: ["knip", "--no-progress"] },
  {
    name: "packages",
    finds: "loose versions, addresses, install scripts",
    command: ["node", "scripts/check-lockfile.mjs"],
  },
];

const started = performance.now();
const parts = chosen(process.argv.slice(2));
/** @type {Map<string, Promise<Outcome>>} */
const outcomes = new Map();
const slots = semaphore(Math.max(2, availableParallelism()));
mkdirSync(cacheFolder, { recursive: true });
for (const part of parts) outcomes.set(part.name, checkPart(part));
const results = await Promise.all(outcomes.values());
const failed = parts.filter((_, index) => !results[index]?.ok).map((part) => part.name);
const seconds = ((performance.now() - started) / 1000).toFixed(1);
process.stdout.write(
  failed.length === 0
    ? `check: all ${parts.length} parts are well, ${seconds} s\n`
    : `check: ${failed.length} of ${parts.length} parts found faults (${failed.join(", ")}), ${seconds} s\n`,
);
process.exitCode = failed.length === 0 ? 0 : 1;

/**
 * @param {string[]} names
 * @returns {Part[]}
 */
function chosen(names) {
  const known = PARTS.map((part) => part.name);
  const unknown = names.filter((wanted) => !known.includes(wanted));
  if (unknown.length > 0) {
    process.stderr.write(`check: there is no part ${unknown.join(", ")}; there are ${known.join(", ")}\n`);
    process.exit(2);
  }
  const wanted = new Set(names.length === 0 ? known : names);
  for (const part of PARTS.toReversed()) if (part.needs && wanted.has(part.name)) wanted.add(part.needs);
  return PARTS.filter((part) => wanted.has(part.name));
}

/**
 * Runs a part after the part that it needs, and prints its line. Never rejects.
 *
 * @param {Part} part
 * @returns {Promise<Outcome>}
 */
async function checkPart(part) {
  const needed = part.needs ? await outcomes.get(part.needs) : undefined;
  const outcome =
    needed?.ok === false
      ? { ok: false, output: `not run: ${part.needs} did not succeed\n`, seconds: 0 }
      : await slots(() => runPart(part));
  const line = `${outcome.ok ? "ok    " : "FAILED"} ${part.name.padEnd(13)} ${outcome.seconds.toFixed(1).padStart(5)} s`;
  const isSkipped = outcome.ok && outcome.output.startsWith("skipped");
  process.stdout.write(
    isSkipped
      ? `${line}  ${outcome.output}`
      : outcome.ok
        ? `${line}\n`
        : `${line}  ${part.finds}\n${indented(outcome.output)}\n`,
  );
  return outcome;
}

/**
 * @param {Part} part
 * @returns {Promise<Outcome>}
 */
function runPart({ command: [program = "", ...args] }) {
  const begun = performance.now();
  const path = `${join(projectRoot, "node_modules", ".bin")}${delimiter}${process.env["PATH"] ?? ""}`;
  return new Promise((resolve) => {
    const child = spawn(program === "node" ? process.execPath : program, args, {
      cwd: projectRoot,
      env: { ...process.env, PATH: path, NO_COLOR: "1" },
      stdio: ["ignore", "pipe", "pipe"],
    });
    let output = "";
    const end = (/** @type {boolean} */ ok) => resolve({ ok, output, seconds: (performance.now() - begun) / 1000 });
    for (const stream of [child.stdout, child.stderr])
      stream.setEncoding("utf8").on("data", (text) => (output += text));
    child.on("error", (error) => {
      output += `${program} could not be started: ${error.message}\n`;
      end(false);
    });
    child.on("close", (code) => end(code === 0));
  });
}

/**
 * Limits work to `count` tasks at a time.
 *
 * @param {number} count
 * @returns {<T>(work: () => Promise<T>) => Promise<T>}
 */
function semaphore(count) {
  let free = count;
  /** @type {(() => void)[]} */
  const waiting = [];
  return async (work) => {
    if (free > 0) free -= 1;
    else await new Promise((resolve) => waiting.push(() => resolve(undefined)));
    try {
      return await work();
    } finally {
      const next = waiting.shift();
      if (next) next();
      else free += 1;
    }
  };
}

/** @param {string} text */
function indented(text) {
  return text.trimEnd().replace(/^/gm, "       | ");
}
