/**
 * Builds dist/ (`npm run build`).
 *
 * In:  package.json (`exports` and `bin` are the list of what is built, see lib/project.mjs), src/, test/suites/, and
 *      the libraries that the sources import.
 * Out: dist/NAME.js per entry and dist/chunks/, bundled with every library and split so that what is behind a dynamic
 *      import loads when it is used; dist/console/, the page of the console (lib/page.mjs); dist/types/ (skipped with
 *      --no-types); dist/THIRD-PARTY-LICENSES.txt.
 *
 * dist is put together beside its place and then moved there in one step, so that a reader never meets half of it.
 */
import { spawn, spawnSync } from "node:child_process";
import {
  chmodSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { builtinModules } from "node:module";
import { join, relative } from "node:path";
import { pathToFileURL } from "node:url";
import { rolldown } from "rolldown";
import { withLockAsync } from "./lib/lock.mjs";
import { thirdPartyLicences } from "./lib/licences.mjs";
import { digestOf } from "./lib/digest.mjs";
import { buildPage } from "./lib/page.mjs";
import { shellText } from "./lib/shell-text.mjs";
import { PROCESSES, SOURCE_FOLDERS, cacheFolder, entriesOf, projectRoot, readManifest } from "./lib/project.mjs";

const SHEBANG = "#!/usr/bin/env node\n";

/** The sources of the JavaScript in dist. Changes of other files do not make it stale. */
const JAVASCRIPT_SOURCES = [...SOURCE_FOLDERS, "package.json", "package-lock.json", "scripts/build.mjs", "scripts/lib"];

/**
 * Packages that contain binaries, or are too large. They are installed next to ours and imported when they are used, and
 * may be missing.
 */
const INSTALLED = ["@vscode/ripgrep", "bullmq", "ioredis", "libsql", "pg", "playwright-core", "sharp"];

/** The path of the spawner, relative to the chunks of dist. */
const SPAWNER = "../spawner.js";

/** The path of the sandbox's bridge, relative to the chunks of dist. */
const BRIDGE = "../bridge.js";

/** The path of the worker that reads web pages, relative to the chunks of dist. */
const WEB_WORKER = "../web-worker.js";

/** The folder of the console's page, relative to the chunks of dist. */
const CONSOLE_PAGE = "../console/";

/**
 * Groups what a start of the command line loads into chunks, because each file costs half a millisecond. Listed in the
 * order of the layers, so that no two chunks need each other. Everything else is split at dynamic imports.
 */
const STARTED_TOGETHER = [
  { name: "base", test: /src\/core\/(contract\/failure|util\/(errors|executable|runtime))\.ts$/, priority: 5 },
  { name: "charset", test: /src\/machine\/network\/charset\.ts$/, priority: 5 }, // for the worker that reads web pages
  {
    name: "shared", // what the words and the tools both need, so that the library does not load the configuration
    test: /src\/(core\/contract\/(approvers|containment|content|memory|policy)|app\/config\/state|machine\/(network\/network-settings|places\/keys)|core\/output\/truncate|policy\/policy-settings|tools\/(presets\/(names|policies)|shared\/duration)|core\/util\/(exact-json|identifier|paths|private-file|quote|text))\.ts$/,
    priority: 5,
  },
  { name: "models", test: /src\/agent\/models\/load\.ts$/, priority: 5 }, // for the agent of the library
  { name: "words", test: /src\/(cli\/(exit|options)|app\/config\/(settings|load|find))\.ts$/, priority: 4 },
  {
    name: "tools",
    test: /src\/(tools\/(?!web\/|plugins\/|mcp\/)|core\/call\/toolset|machine\/targets)/,
    priority: 3,
  },
  {
    name: "toolkit",
    test: /src\/(app\/toolkit|policy\/describe|core\/output\/terminal-text|machine\/sandbox\/(sandbox|hidden|session-files|temporary))\.ts$/,
    priority: 2,
  },
  { name: "settings", test: /src\/cli\/(settings|signals|say)\.ts$/, priority: 1 },
  { name: "call", test: /src\/cli\/(commands\/call|approver)\.ts$/, priority: 0 },
];

const dist = join(projectRoot, "dist");
const stamp = join(cacheFolder, "built");

if (process.argv[1] && import.meta.url === pathToFileURL(process.argv[1]).href) {
  const started = performance.now();
  try {
    await build({ types: !process.argv.includes("--no-types") });
    say(`dist is ready after ${((performance.now() - started) / 1000).toFixed(1)} s`);
  } catch (error) {
    say(error instanceof Error ? error.message : String(error));
    process.exitCode = 1;
  }
}

/**
 * Builds the JavaScript of dist unless it is up to date. Omits declarations, which only a package needs.
 *
 * @returns {Promise<void>}
 */
export async function buildIfStale() {
  if (isFresh()) return;
  say("dist is missing or older than its sources, building …");
  await build({ types: false });
}

/**
 * Builds all of dist. Rejects, and leaves dist unchanged, when a source cannot be bundled, an import cannot be found,
 * or a bundled library has no licence text.
 *
 * @param {{ types: boolean }} options
 * @returns {Promise<void>}
 */
export async function build({ types }) {
  await withLockAsync(`build ${projectRoot}`, async () => {
    mkdirSync(cacheFolder, { recursive: true });
    removeAbandoned();
    const staging = join(cacheFolder, `dist-${process.pid}`);
    const digest = digestOf(projectRoot, JAVASCRIPT_SOURCES);
    try {
      await Promise.all([writeJavaScript(staging), types ? writeTypes(join(staging, "types")) : undefined]);
      replaceDist(staging);
      writeFileSync(stamp, digest);
    } finally {
      rmSync(staging, { recursive: true, force: true });
    }
  });
}

function isFresh() {
  const outputs = entriesOf(readManifest()).map(({ output }) => join(dist, output));
  return (
    outputs.every((file) => existsSync(file)) &&
    existsSync(stamp) &&
    readFileSync(stamp, "utf8") === digestOf(projectRoot, JAVASCRIPT_SOURCES)
  );
}

/**
 * Bundles every entry into `folder`, and writes the licences of the bundled packages.
 *
 * @param {string} folder
 */
async function writeJavaScript(folder) {
  const entries = entriesOf(readManifest());
  const parts = [...entries, ...PROCESSES];
  const isAlone = (/** @type {{ output: string }} */ { output }) => BRIDGE.endsWith(`/${output}`);
  const shared = parts.filter((part) => !isAlone(part));
  const chunks = [
    ...(await bundle(shared, folder, { groups: STARTED_TOGETHER, plugins: [lighterLibraries()] })),
    ...(await bundle(parts.filter(isAlone), folder)), // one file: no other is visible in a sandbox
  ];
  requireSelfContained(chunks);
  requireReachable(chunks);
  const page = await buildPage(join(folder, "console"));
  const bundled = [...chunks.flatMap((chunk) => chunk.moduleIds), ...page];
  writeFileSync(join(folder, "THIRD-PARTY-LICENSES.txt"), thirdPartyLicences(bundled));
  for (const program of entries.filter(({ kind }) => kind === "program")) makeExecutable(join(folder, program.output));
  writeHelp(folder);
}

/**
 * Bundles sources that share chunks, and returns these.
 *
 * @param {readonly { source: string, output: string }[]} parts
 * @param {string} folder
 * @param {{ groups?: typeof STARTED_TOGETHER, plugins?: import("rolldown").Plugin[] }} [how] Default: no shared chunks.
 */
async function bundle(parts, folder, { groups, plugins = [] } = {}) {
  const building = await rolldown({
    cwd: projectRoot,
    input: Object.fromEntries(parts.map(({ source, output }) => [output.replace(/\.js$/, ""), `./${source}`])),
    platform: "node",
    external: INSTALLED,
    resolve: { alias: { "jsonc-parser": "jsonc-parser/lib/esm/main.js" } }, // its UMD cannot be bundled
    tsconfig: true,
    transform: {
      target: "node20.19",
      define: {
        __VERSION__: JSON.stringify(readManifest().version),
        __SPAWNER__: JSON.stringify(SPAWNER),
        __BRIDGE__: JSON.stringify(BRIDGE),
        __WEB_WORKER__: JSON.stringify(WEB_WORKER),
        __CONSOLE_PAGE__: JSON.stringify(CONSOLE_PAGE),
      },
    },
    plugins: [shellText(), ...plugins],
    onLog: refuseWarnings,
  });
  const { output } = await building.write({
    dir: folder,
    format: "esm",
    entryFileNames: "[name].js",
    codeSplitting: groups === undefined ? false : { groups },
    chunkFileNames: (chunk) => `chunks/${chunkName(chunk)}.js`,
    comments: { legal: true, annotation: true, jsdoc: false },
  });
  await building.close();
  return output.filter((file) => file.type === "chunk");
}

/**
 * Renders the help, which is the same for everyone, so that showing it loads no argument parser.
 *
 * @param {string} folder
 */
function writeHelp(folder) {
  const { status, stdout, stderr } = spawnSync(process.execPath, [join(folder, "cli.js"), "--help"], {
    encoding: "utf8",
  });
  if (status !== 0 || stdout === "") throw new Error(`dist/cli.js --help ended with ${status}: ${stderr}`);
  writeFileSync(join(folder, "help.txt"), stdout);
}

/**
 * Removes parts of two libraries that they would load at every start and that we never use: TypeBox's messages in forty
 * languages, and Commander's child processes for subcommands that are separate programs. Fails if these parts have
 * changed. Also takes the Node modules that CommonJS libraries require from Node directly: creating a `require` for
 * them costs a tenth of a start.
 *
 * @returns {import("rolldown").Plugin}
 */
function lighterLibraries() {
  const commander = "const childProcess = require('node:child_process');";
  const found = { languages: 0, commander: 0 };
  return {
    name: "lighter-libraries",
    load(id) {
      const language = /[\\/]typebox[\\/]build[\\/]system[\\/]locale[\\/]([a-z]{2,3}_\w+)\.mjs$/.exec(id)?.[1];
      if (language === undefined || language === "en_US") return null;
      found.languages++;
      return `export const ${language} = undefined;`;
    },
    transform(code, id) {
      if (!/[\\/]node_modules[\\/]/.test(id)) return null;
      const isCommander = /[\\/]commander[\\/]lib[\\/]command\.js$/.test(id) && code.includes(commander);
      if (isCommander) found.commander++;
      const lighter = code
        .replace(isCommander ? commander : "", isCommander ? "const childProcess = {};" : "")
        .replace(/\brequire\((['"])(?:node:)?([a-z_/]+)\1\)/g, (call, quote, name) =>
          builtinModules.includes(name) ? `globalThis.process.getBuiltinModule(${quote}node:${name}${quote})` : call,
        );
      return lighter === code ? null : lighter;
    },
    buildEnd(error) {
      if (error !== undefined || (found.languages > 0 && found.commander > 0)) return;
      throw new Error(`lighter-libraries found ${JSON.stringify(found)}: a library has changed, see scripts/build.mjs`);
    },
  };
}

/**
 * Names a chunk after its content, so that a stack trace shows the place: a library's name, or a source's path in src.
 *
 * @param {import("rolldown").PreRenderedChunk} chunk
 */
function chunkName({ facadeModuleId, moduleIds, name }) {
  const module = facadeModuleId ?? moduleIds.at(-1) ?? "";
  const library = /.*\/node_modules\/(.+)\.[^/.]+$/.exec(module)?.[1];
  if (library) return library.replace(/^@|\/(?:dist|build|esm|lib|src)(?=\/)/g, "").replace(/[^\w.-]+/g, "-");
  const source = relative(join(projectRoot, "src"), module);
  return /^[\w/.-]+\.ts$/.test(source) && !source.startsWith("..")
    ? source.replace(/\.ts$/, "").replaceAll("/", "-")
    : name;
}

/**
 * Turns the bundler's warnings into errors: an import that it could not find would remain in dist and fail for users.
 *
 * @type {NonNullable<import("rolldown").InputOptions["onLog"]>}
 */
function refuseWarnings(level, log) {
  if (level !== "warn") return;
  throw new Error(`rolldown warns (${log.code ?? "no code"}): ${log.message}`);
}

/**
 * Checks that dist imports only itself, Node's own modules and, lazily, the packages installed next to it. All other
 * libraries must be bundled.
 *
 * @param {import("rolldown").OutputChunk[]} chunks
 */
function requireSelfContained(chunks) {
  const inside = new Set(chunks.map((chunk) => chunk.fileName));
  for (const chunk of chunks) {
    for (const imported of [...chunk.imports, ...chunk.dynamicImports]) {
      if (INSTALLED.includes(imported) && !chunk.imports.includes(imported)) continue;
      if (inside.has(imported) || imported.startsWith("node:") || builtinModules.includes(imported)) continue;
      throw new Error(
        `dist/${chunk.fileName} imports "${imported}", which is neither in dist nor in Node: it must be bundled`,
      );
    }
  }
}

/**
 * Checks that chunks find the spawner, the bridge, the worker and the page at their relative paths. The bridge must be
 * one file, because it runs where the rest of dist is not visible.
 *
 * @param {import("rolldown").OutputChunk[]} chunks
 */
function requireReachable(chunks) {
  for (const { program, fewest } of [
    { program: SPAWNER, fewest: 1 },
    { program: BRIDGE, fewest: 0 },
    { program: WEB_WORKER, fewest: 1 },
    { program: CONSOLE_PAGE, fewest: 1 },
  ]) {
    const starters = chunks.filter((chunk) => chunk.code.includes(JSON.stringify(program)));
    const areReachable = starters.every((chunk) => chunk.fileName.startsWith("chunks/"));
    if (areReachable && starters.length >= fewest && starters.length <= 1) continue;
    const found = starters.map((chunk) => chunk.fileName).join(", ") || "nowhere";
    throw new Error(`"${program}" is looked for from ${found}: expected one file of dist/chunks`);
  }
  const parts = chunks.find((chunk) => chunk.fileName === "bridge.js")?.imports ?? ["itself, for it is not there"];
  const foreign = parts.filter((name) => !name.startsWith("node:"));
  if (foreign.length > 0)
    throw new Error(`dist/bridge.js imports ${foreign.join(", ")}: expected nothing but Node's own modules`);
}

/** @param {string} file */
function makeExecutable(file) {
  const code = readFileSync(file, "utf8");
  writeFileSync(file, SHEBANG + code.replace(/^#!.*\n/, ""));
  chmodSync(file, 0o755);
}

/**
 * Writes one .d.ts per source. They import each other as "./x.ts", which a consumer's compiler resolves to "./x.d.ts".
 * Emits types without checking them; `npm run check` does that.
 *
 * @param {string} folder
 * @returns {Promise<void>}
 */
function writeTypes(folder) {
  return new Promise((resolve, reject) => {
    const args = ["node_modules/typescript/bin/tsc", "-p", "tsconfig.build.json", "--outDir", folder];
    const compiler = spawn(process.execPath, args, { cwd: projectRoot, stdio: ["ignore", "pipe", "inherit"] });
    let words = "";
    compiler.stdout.setEncoding("utf8").on("data", (text) => (words += text));
    compiler.on("error", reject);
    compiler.on("close", (code) => (code === 0 ? resolve() : reject(new Error(`tsc found a fault:\n${words}`))));
  });
}

/** Removes what killed builds have left. Call only while holding the lock, so that no other build is running. */
function removeAbandoned() {
  for (const name of readdirSync(cacheFolder)) {
    if (name.startsWith("dist-")) rmSync(join(cacheFolder, name), { recursive: true, force: true });
  }
}

/**
 * Replaces dist with the new build. Keeps declarations that this build did not create. They may be older than the
 * JavaScript, which no test notices, but a package that is being packed during a test run must not lose them.
 *
 * @param {string} staging
 */
function replaceDist(staging) {
  const old = `${staging}-old`;
  const [types, oldTypes] = [join(staging, "types"), join(dist, "types")];
  if (!existsSync(types) && existsSync(oldTypes)) renameSync(oldTypes, types);
  if (existsSync(dist)) renameSync(dist, old);
  renameSync(staging, dist);
  rmSync(old, { recursive: true, force: true });
}

/** @param {string} message */
function say(message) {
  process.stderr.write(`build: ${message}\n`);
}
