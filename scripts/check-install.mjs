/**
 * Installs the packed package in an empty project and uses it as a stranger would (`npm run check -- install`).
 *
 * In:  the path of the tarball. Out: on stdout one line a step; at the first that fails its reason and exit 1. The steps: every
 *      subpath imports, every program says its version, our declarations hold in a strict TypeScript project with nothing but our
 *      dependencies, and nothing heavy is among what an entry loads before it is asked for.
 */
import { execFile } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { promisify } from "node:util";
import ts from "typescript";
import { entriesOf, projectRoot, readManifest } from "./lib/project.mjs";

/** Libraries that must wait behind a dynamic import, whatever the entry; an entry whose very purpose they are is named. */
const HEAVY = [
  { path: /^node_modules\/(@modelcontextprotocol|zod)\//, except: ["mcp.js"] },
  { path: /^src\/mcp\//, except: ["mcp.js"] },
  { path: /^node_modules\/(@ai-sdk|ai)\//, except: [] },
  { path: /^src\/agent\//, except: ["agent.js"] },
  { path: /^src\/(console|plugins)\//, except: [] },
  { path: /^src\/cli\//, except: ["cli.js"] },
  // What brings a backend shares chunks with the library itself, and with what that needs (a few kilobytes).
  {
    path: /^node_modules\/(?!commander\/|picocolors\/)/,
    except: ["index.js", "mcp.js", "agent.js", "ssh.js", "container.js"],
  },
];

const run = promisify(execFile);
const [tarball] = process.argv.slice(2);
if (!tarball) throw new Error("expected the path of the packed package, got nothing");

const manifest = readManifest();
const entries = entriesOf(manifest);
const folder = mkdtempSync(join(tmpdir(), "handrail-install-"));
try {
  await install(tarball);
  await importAll();
  await startPrograms();
  compileConsumer();
  for (const { output } of entries) requireLight(output);
} catch (error) {
  say(error instanceof Error ? error.message : String(error));
  process.exitCode = 1;
} finally {
  rmSync(folder, { recursive: true, force: true });
}

/** @param {string} archive */
async function install(archive) {
  writeFileSync(join(folder, "package.json"), JSON.stringify({ private: true, type: "module" }));
  await run("npm", ["install", "--no-audit", "--no-fund", "--prefer-offline", resolve(archive)], { cwd: folder });
  say(`${manifest.name} ${manifest.version} installed`);
}

async function importAll() {
  for (const { subpath } of libraries()) {
    const code = `console.log(Object.keys(await import(${JSON.stringify(subpath)})).length)`;
    const { stdout } = await run(process.execPath, ["--input-type=module", "--eval", code], { cwd: folder });
    if (Number(stdout) < 1) throw new Error(`import "${subpath}": expected exports, got none`);
    say(`import "${subpath}": ${stdout.trim()} names`);
  }
}

async function startPrograms() {
  for (const { subpath } of entries.filter(({ kind }) => kind === "program")) {
    const { stdout } = await run(join(folder, "node_modules", ".bin", subpath), ["--version"], { cwd: folder });
    if (!stdout.includes(manifest.version)) {
      throw new Error(`${subpath} --version: expected ${manifest.version}, got ${JSON.stringify(stdout)}`);
    }
    say(`${subpath} --version: ${stdout.trim()}`);
  }
}

/** Checks the declarations themselves: one that needs a package which is only bundled fails here. */
function compileConsumer() {
  const consumer = join(folder, "consumer.ts");
  writeFileSync(
    consumer,
    libraries()
      .map(({ subpath }) => `export type * from "${subpath}";\n`)
      .join(""),
  );
  const program = ts.createProgram([consumer], {
    module: ts.ModuleKind.NodeNext,
    target: ts.ScriptTarget.ES2023,
    types: [join(projectRoot, "node_modules/@types/node")],
    strict: true,
    exactOptionalPropertyTypes: true,
    noEmit: true,
  });
  // Not every declaration there is: checking those of Node and of our dependencies takes a quarter of a minute.
  const ours = program
    .getSourceFiles()
    .filter(({ fileName }) => fileName === consumer || fileName.includes(`/node_modules/${manifest.name}/`));
  const faults = ours.flatMap((file) => [
    ...program.getSyntacticDiagnostics(file),
    ...program.getSemanticDiagnostics(file),
  ]);
  if (faults.length > 0) {
    const host = { getCanonicalFileName: String, getCurrentDirectory: () => folder, getNewLine: () => "\n" };
    throw new Error(`a consumer's TypeScript project does not compile:\n${ts.formatDiagnostics(faults, host)}`);
  }
  say(`${ours.length - 1} declarations hold in a strict TypeScript project`);
}

/** @param {string} output relative to dist */
function requireLight(output) {
  const sources = sourcesLoadedBy(join(folder, "node_modules", manifest.name, "dist", output));
  if (sources.length === 0) throw new Error(`dist/${output}: expected comments that name its sources, found none`);
  for (const { path, except } of HEAVY) {
    const heavy = except.includes(output) ? undefined : sources.find((source) => path.test(source));
    if (heavy) throw new Error(`dist/${output} loads ${heavy} when it is imported; put it behind a dynamic import`);
  }
  say(`dist/${output} loads ${sources.length} sources when it is imported, none of them heavy`);
}

/**
 * The sources in a built file and in what it imports statically, as the bundler's comments name them.
 *
 * @param {string} file
 * @param {Set<string>} [seen]
 * @returns {string[]}
 */
function sourcesLoadedBy(file, seen = new Set()) {
  if (seen.has(file)) return [];
  seen.add(file);
  const code = readFileSync(file, "utf8");
  const sources = [...code.matchAll(/^\/\/ ((?:src|node_modules)\/\S+)$/gm)].map(([, source]) => source ?? "");
  const imports = [...code.matchAll(/^(?:import|export)\b[^;]*?"(\.{1,2}\/[^"]+)"/gm)].map(([, path]) => path ?? "");
  return [...sources, ...imports.flatMap((path) => sourcesLoadedBy(join(dirname(file), path), seen))];
}

function libraries() {
  return entries.filter(({ kind }) => kind === "library");
}

/** @param {string} line */
function say(line) {
  process.stdout.write(`${line}\n`);
}
