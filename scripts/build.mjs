/**
 * Builds dist/ (`npm run build`).
 *
 * In:  package.json (`exports` and `bin` are the list of what is built, see lib/project.mjs), src/, and the libraries that the
 *      sources import.
 * Out: dist/NAME.js per entry and dist/chunks/, bundled with every library and split so that what is behind a dynamic import
 *      loads when it is used; dist/types/ (skipped with --no-types); dist/THIRD-PARTY-LICENSES.txt.
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
import { PROCESSES, cacheFolder, entriesOf, projectRoot, readManifest } from "./lib/project.mjs";

const SHEBANG = "#!/usr/bin/env node\n";

/** What decides the JavaScript in dist; a change of anything else does not make it stale. */
const JAVASCRIPT_SOURCES = ["src", "package.json", "package-lock.json", "scripts/build.mjs", "scripts/lib"];

/** Packages that bring binaries, so they are installed beside ours; each is imported when it is used, and may be missing. */
const INSTALLED = ["@vscode/ripgrep", "libsql", "sharp"];

/** The spawner, as the chunks of dist see it. */
const SPAWNER = "../spawner.js";

/** The bridge of the sandbox, the same way. */
const BRIDGE = "../bridge.js";

/** The worker that reads web pages, the same way. */
const WEB_WORKER = "../web-worker.js";

/**
 * What a start of the command line loads together is one chunk with all it needs, for each file costs half a millisecond; in the order of
 * the layers, so that no two need each other. Everything else is split where the sources import dynamically.
 */
const STARTED_TOGETHER = [
  { name: "base", test: /src\/(contract\/failure|util\/errors)\.ts$/, priority: 5 },
  { name: "charset", test: /src\/network\/charset\.ts$/, priority: 5 }, // for the worker that reads web pages
  { name: "words", test: /src\/cli\/(exit|options)\.ts$/, priority: 4 },
  { name: "tools", test: /src\/(tools|engine\/toolset|config\/(state|settings|load|find))/, priority: 3 },
  {
    name: "toolkit",
    test: /src\/(toolkit|policy\/describe|output\/terminal-text|backends\/sandbox\/(sandbox|hidden|session-files|temporary))\.ts$/,
    priority: 2,
  },
  { name: "call", test: /src\/cli\/(commands\/call|approver|signals)\.ts$/, priority: 1 },
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
 * Builds the JavaScript of dist unless it is what the sources make already. Declarations are left out: only a package needs them.
 *
 * @returns {Promise<void>}
 */
export async function buildIfStale() {
  if (isFresh()) return;
  say("dist is missing or older than its sources, building …");
  await build({ types: false });
}

/**
 * Builds dist whole. Rejects, and leaves dist as it was, when a source cannot be bundled, an import cannot be found, or a bundled
 * library brings no licence text.
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
 * Bundles every entry into `folder`, and writes the licences of what went in.
 *
 * @param {string} folder
 */
async function writeJavaScript(folder) {
  const manifest = readManifest();
  const entries = entriesOf(manifest);
  const bundle = await rolldown({
    cwd: projectRoot,
    input: Object.fromEntries(
      [...entries, ...PROCESSES].map(({ source, output }) => [output.replace(/\.js$/, ""), `./${source}`]),
    ),
    platform: "node",
    external: INSTALLED,
    tsconfig: true,
    transform: {
      target: "node20.19",
      define: {
        __VERSION__: JSON.stringify(manifest.version),
        __SPAWNER__: JSON.stringify(SPAWNER),
        __BRIDGE__: JSON.stringify(BRIDGE),
        __WEB_WORKER__: JSON.stringify(WEB_WORKER),
      },
    },
    plugins: [lighterLibraries()],
    onLog: refuseWarnings,
  });
  const { output } = await bundle.write({
    dir: folder,
    format: "esm",
    entryFileNames: "[name].js",
    codeSplitting: { groups: STARTED_TOGETHER },
    chunkFileNames: (chunk) => `chunks/${chunkName(chunk)}.js`,
    comments: { legal: true, annotation: true, jsdoc: false },
  });
  await bundle.close();
  const chunks = output.filter((file) => file.type === "chunk");
  requireSelfContained(chunks);
  requireReachable(chunks);
  const bundled = chunks.flatMap((chunk) => chunk.moduleIds);
  writeFileSync(join(folder, "THIRD-PARTY-LICENSES.txt"), thirdPartyLicences(bundled));
  for (const program of entries.filter(({ kind }) => kind === "program")) makeExecutable(join(folder, program.output));
  writeHelp(folder);
}

/**
 * The help is the same for everyone: rendered here once, so that asking for it loads no parser of arguments.
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
 * Leaves out what two libraries would load at every start and nothing of ours ever uses: TypeBox's messages in forty languages, and
 * the child processes that Commander would start for subcommands that are programs of their own. Fails where they have changed. And what
 * CommonJS libraries require of Node they get from Node itself: making a `require` for them costs a tenth of a start.
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
 * Names a chunk after what it holds, so that a stack trace says where it is: a library's name, or a source's path in src.
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
 * A warning of the bundler is a fault of the package: an import that it could not find would stay in dist and fail at the user's.
 *
 * @type {NonNullable<import("rolldown").InputOptions["onLog"]>}
 */
function refuseWarnings(level, log) {
  if (level !== "warn") return;
  throw new Error(`rolldown warns (${log.code ?? "no code"}): ${log.message}`);
}

/**
 * dist may import itself and Node's own modules, and lazily what is installed beside it; all other libraries are inside.
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
 * The library finds its spawner, its bridge and its worker relative to the chunk they are started from. The bridge runs where nothing else of dist can
 * be seen, so it has to be whole.
 *
 * @param {import("rolldown").OutputChunk[]} chunks
 */
function requireReachable(chunks) {
  for (const { program, fewest } of [
    { program: SPAWNER, fewest: 1 },
    { program: BRIDGE, fewest: 0 },
    { program: WEB_WORKER, fewest: 1 },
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
 * Writes one .d.ts per source. They import each other as "./x.ts", which a consumer's compiler finds as "./x.d.ts". Types are
 * emitted here, not checked: that is `npm run check`.
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

/** Removes what killed builds left behind. Only under the lock: nobody else is building then. */
function removeAbandoned() {
  for (const name of readdirSync(cacheFolder)) {
    if (name.startsWith("dist-")) rmSync(join(cacheFolder, name), { recursive: true, force: true });
  }
}

/**
 * Puts what was built in dist's place. Declarations that this build did not make stay: they may be older than the JavaScript, which
 * matters to no test, but a package being packed beside a test run must not lose them.
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
