/**
 * Installs the packed package in an empty project and uses it as a new user would (`npm run check -- install`).
 *
 * In:  the path of the tarball.
 * Out: one line per step on stdout; at the first failure its reason, and exit code 1. The steps: every subpath can be
 *      imported; every program prints its version; the tests of a new tool pass; our declarations and those of our
 *      dependencies compile in a strict TypeScript project without `skipLibCheck`; no entry loads anything heavy before
 *      it is used.
 */
import { execFile } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { promisify } from "node:util";
import ts from "typescript";
import { entriesOf, projectRoot, readManifest } from "./lib/project.mjs";

/**
 * Libraries that every entry must load with a dynamic import, and the entries that are exceptions because they exist
 * for the library.
 */
const HEAVY = [
  { path: /^node_modules\/(@modelcontextprotocol|zod)\//, except: ["mcp.js"] },
  { path: /^src\/(connect|tools)\/mcp\//, except: ["mcp.js", "mcp-client.js"] },
  { path: /^node_modules\/(@ai-sdk|ai)\//, except: [] },
  { path: /^src\/agent\//, except: ["agent.js"] },
  { path: /^src\/serve\//, except: ["client.js"] },
  { path: /^src\/tools\/plugins\//, except: ["index.js", "testing.js"] },
  { path: /^src\/cli\//, except: ["cli.js"] },
  // What backends need shares chunks with the library itself and its dependencies (a few kilobytes).
  {
    path: /^node_modules\/(?!commander\/|picocolors\/)/,
    except: [
      ...["index.js", "mcp.js", "mcp-client.js", "agent.js", "ssh.js", "container.js", "testing.js"],
      ...["ai-sdk.js", "openai.js", "anthropic.js", "langchain.js", "mastra.js"],
    ],
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
  await testNewTool();
  for (const isExact of [true, false]) compileConsumer(isExact);
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

/** Writes a new tool with the installed program, and runs its tests with the installed library. */
async function testNewTool() {
  await run(join(folder, "node_modules", ".bin", "handrail"), ["new", "tool", "line-count"], { cwd: folder });
  await run("npm", ["test", "--silent"], { cwd: join(folder, "line-count") });
  say("handrail new tool line-count: its tests pass");
}

/**
 * Type-checks the declarations. One that needs a package which is only bundled, or not declared, fails here.
 *
 * @param {boolean} exactOptionalPropertyTypes most programs do not set it
 */
function compileConsumer(exactOptionalPropertyTypes) {
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
    skipLibCheck: false,
    exactOptionalPropertyTypes,
    noEmit: true,
  });
  // Without the declarations of Node and of TypeScript itself, which are not in the folder.
  const installed = program.getSourceFiles().filter(({ fileName }) => fileName.startsWith(`${folder}/`));
  const faults = installed.flatMap((file) => [
    ...program.getSyntacticDiagnostics(file),
    ...program.getSemanticDiagnostics(file),
  ]);
  if (faults.length > 0) {
    const host = { getCanonicalFileName: String, getCurrentDirectory: () => folder, getNewLine: () => "\n" };
    throw new Error(`a consumer's TypeScript project does not compile:\n${ts.formatDiagnostics(faults, host)}`);
  }
  say(`${installed.length - 1} declarations hold in a strict TypeScript project`);
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
 * Returns the sources in a built file and its static imports, as named by the bundler's comments.
 *
 * @param {string} file
 * @param {Set<string>} [seen]
 * @returns {string[]}
 */
function sourcesLoadedBy(file, seen = new Set()) {
  if (seen.has(file)) return [];
  seen.add(file);
  const code = readFileSync(file, "utf8");
  const sources = [...code.matchAll(/^\/\/ ((?:src|test|node_modules)\/\S+)$/gm)].map(([, source]) => source ?? "");
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
