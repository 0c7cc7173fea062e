/**
 * Checks test/requirements.md, the table of what the requirement documents ask for: each row names a test, and it exists.
 *
 * In:  test/requirements.md, or another page (`check-seeds.mjs PAGE`), and the test files that it names with what they import. `--ran FILE`, any number of times: a record
 *      of test runs, which the vitest reporter writes to the file that TEST_RECORD names. `--titles TEXT` prints the titles
 *      that contain TEXT instead, in any test file: what a new row can name.
 * Out: how many rows there are, how many differ on purpose, how many tests they name and how many of those were found;
 *      with `--ran` also how many of them ran, and which were skipped. Exit code 1, with a line for each fault, when a row
 *      has another form, a test is missing, has failed or was in no run.
 */
import { existsSync, readFileSync } from "node:fs";
import { dirname, join, relative, resolve } from "node:path";
import { parseArgs } from "node:util";
import ts from "typescript";
import { filesIn } from "./lib/digest.mjs";
import { projectRoot } from "./lib/project.mjs";

/** @typedef {{ file: string, title: string }} Named a test, as a row names it */
/** @typedef {{ file: string, title: string, state: string }} Ran a test of a run */
/** @typedef {{ texts: Set<string>, templates: string[], imports: string[] }} Source what a test file says of its titles */

/** A row: what is wanted, what we have, and tests, with `<br>` between them. */
const ROW = /^\| (?<wanted>(?:[^|\\]|\\.)+) \| (?<ours>(?:[^|\\]|\\.)+) \| (?<tests>(?:[^|\\]|\\.)+) \|$/;
const TEST = /^`(?<file>(?:test|examples)\/[^`]+\.test\.ts)` › (?<title>.+)$/;
const HEADINGS = ["| wanted | ours | test |", "| --- | --- | --- |"];
const DIFFERS = "**Differs:** ";
/** Where a template of titles has a value: those of vitest's `each`, and of a template literal. */
const PLACEHOLDER = /\$\{[^}]*\}|%[sdifjo]|\$[a-z]\w*(?:\.\w+)*/gi;

const {
  values: options,
  positionals: [page = "test/requirements.md"],
} = parseArgs({
  allowPositionals: true,
  options: { ran: { type: "string", multiple: true }, titles: { type: "string" } },
});
/** @type {Map<string, Source>} */
const sources = new Map();

if (options.titles === undefined) check(options.ran);
else printTitles(options.titles);

/** @param {string[] | undefined} records */
function check(records) {
  const { rows, faults } = rowsOf(readFileSync(resolve(projectRoot, page), "utf8"));
  const named = new Map(rows.flatMap(({ tests }) => tests).map((test) => [nameOf(test), test]));
  const found = [...named.values()].filter(isFound);
  for (const test of named.values()) if (!found.includes(test)) faults.push(`there is no test ${nameOf(test)}`);
  const differ = rows.filter(({ ours }) => ours.startsWith(DIFFERS)).length;
  const said = [`${rows.length} rows, ${differ} differ on purpose`, `${named.size} tests, ${found.length} found`];
  if (records !== undefined) {
    const runs = records.flatMap(recordOf);
    const states = new Map(found.map((test) => [nameOf(test), stateOf(test, runs)]));
    said.push(`${[...states.values()].filter((state) => state === "passed").length} ran`);
    for (const [test, state] of states) {
      if (state === "skipped") process.stdout.write(`skipped on this machine: ${test}\n`);
      else if (state !== "passed") faults.push(`${test} ${state === "failed" ? "has failed" : "was in no run"}`);
    }
  }
  for (const fault of faults) process.stdout.write(`${page}: ${fault}\n`);
  process.stdout.write(`${page}: ${said.join("; ")}\n`);
  process.exitCode = faults.length === 0 ? 0 : 1;
}

/**
 * @param {string} text
 * @returns {{ rows: { ours: string, tests: Named[] }[], faults: string[] }}
 */
function rowsOf(text) {
  /** @type {{ ours: string, tests: Named[] }[]} */
  const rows = [];
  /** @type {string[]} */
  const faults = [];
  for (const [index, line] of text.split("\n").entries()) {
    if (!line.startsWith("|") || HEADINGS.includes(line)) continue;
    const { ours = "", tests = "" } = ROW.exec(line)?.groups ?? {};
    const named = tests.split("<br>").map(testOf);
    const known = named.filter((test) => test !== undefined);
    if (known.length < named.length) {
      faults.push(`line ${index + 1}: expected | wanted | ours | \`test/FILE.test.ts\` › TITLE |, got ${line}`);
    }
    rows.push({ ours, tests: known });
  }
  return { rows, faults };
}

/**
 * @param {string} text
 * @returns {Named | undefined}
 */
function testOf(text) {
  const { file, title } = TEST.exec(text)?.groups ?? {};
  return file === undefined || title === undefined ? undefined : { file, title: title.replaceAll("\\|", "|") };
}

/** @param {Named} test */
function nameOf({ file, title }) {
  return `\`${file}\` › ${title}`;
}

/**
 * Returns whether the file, or a suite that it imports, has a test with this title: as it is written there, or as one of
 * those that a template of titles stands for. A template without words stands for any text of those files, and for the
 * examples.
 *
 * @param {Named} test
 */
function isFound({ file, title }) {
  const read = withImports(file);
  if (read.some(({ texts }) => texts.has(title))) return true;
  const templates = read.flatMap((source) => source.templates).filter((template) => patternOf(template).test(title));
  if (templates.some((template) => /\w/.test(template.replace(PLACEHOLDER, "")))) return true;
  const isText = read.some(({ texts }) => [...texts].some((text) => text.includes(title)));
  return templates.length > 0 && (isText || existsSync(join(projectRoot, "examples", title)));
}

/**
 * @param {Named} test
 * @param {Ran[]} runs
 * @returns {string} "passed" when one of its runs passed and none of its titles always failed; "none" when it is in no run
 */
function stateOf({ file, title }, runs) {
  const pattern = patternOf(title);
  const own = runs.filter((run) => run.file === file && (run.title === title || pattern.test(run.title)));
  const passed = new Set(own.filter(({ state }) => state === "passed").map((run) => run.title));
  if (own.some((run) => run.state === "failed" && !passed.has(run.title))) return "failed";
  return passed.size > 0 ? "passed" : (own[0]?.state ?? "none");
}

/**
 * @param {string} file
 * @returns {Ran[]}
 */
function recordOf(file) {
  const lines = readFileSync(file, "utf8").split("\n");
  return lines.filter((line) => line !== "").map((line) => JSON.parse(line));
}

/** @param {string} text */
function printTitles(text) {
  for (const file of ["test", "examples"].flatMap((folder) => filesIn(projectRoot, folder))) {
    if (!file.endsWith(".test.ts")) continue;
    const titles = withImports(file).flatMap(({ templates }) => templates);
    for (const title of titles) if (title.includes(text)) process.stdout.write(`\`${file}\` › ${title}\n`);
  }
}

/**
 * @param {string} file
 * @param {Set<string>} [met]
 * @returns {Source[]} the file and those of test/ that it imports
 */
function withImports(file, met = new Set()) {
  if (met.has(file)) return [];
  met.add(file);
  const source = sources.get(file) ?? sourceOf(file);
  sources.set(file, source);
  return [source, ...source.imports.flatMap((imported) => withImports(imported, met))];
}

/**
 * @param {string} file
 * @returns {Source}
 */
function sourceOf(file) {
  /** @type {Source} */
  const source = { texts: new Set(), templates: [], imports: [] };
  const text = ts.sys.readFile(join(projectRoot, file));
  if (text === undefined) return source;
  ts.forEachChild(ts.createSourceFile(file, text, ts.ScriptTarget.Latest), function visit(node) {
    if (ts.isImportDeclaration(node) || ts.isExportDeclaration(node)) {
      const from = node.moduleSpecifier && ts.isStringLiteral(node.moduleSpecifier) ? node.moduleSpecifier.text : "";
      const imported = relative(projectRoot, resolve(projectRoot, dirname(file), from));
      if (from.startsWith(".") && /^test\/|\/suite\.ts$/.test(imported)) source.imports.push(imported);
      return;
    }
    if (ts.isStringLiteralLike(node)) source.texts.add(node.text);
    if (ts.isCallExpression(node) && /^test\b/.test(calledName(node.expression))) {
      const [title] = node.arguments;
      if (title !== undefined && ts.isStringLiteralLike(title)) source.templates.push(title.text);
      if (title !== undefined && ts.isTemplateExpression(title)) {
        const spans = title.templateSpans.map(
          ({ expression, literal }) => `\${${expressionText(text, expression)}}${literal.text}`,
        );
        source.templates.push(title.head.text + spans.join(""));
      }
    }
    ts.forEachChild(node, visit);
  });
  return source;
}

/**
 * @param {ts.Expression} called
 * @returns {string} the name that a chain of calls begins with: `test` of `test.skipIf(x).for(cases)`
 */
function calledName(called) {
  if (ts.isIdentifier(called)) return called.text;
  return ts.isPropertyAccessExpression(called) || ts.isCallExpression(called) ? calledName(called.expression) : "";
}

/**
 * @param {string} text
 * @param {ts.Expression} expression
 */
function expressionText(text, expression) {
  return text.slice(expression.pos, expression.end).trim();
}

/**
 * @param {string} template
 * @returns {RegExp} what vitest makes of it
 */
function patternOf(template) {
  const literals = template.split(PLACEHOLDER).map((part) => part.replace(/[$()*+.?[\\\]^{|}]/g, "\\$&"));
  return new RegExp(`^${literals.join("[^]+")}$`);
}
