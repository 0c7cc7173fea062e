import { posix } from "node:path";

/** A failing test, as the output of `node --test` shows it. */
export interface FailingTest {
  /** The path: relative to the working directory if the file is inside it. */
  readonly file: string;
  /** The line number, counted from 1. */
  readonly line: number;
  readonly what: string;
}

/** One change of a source file. */
export interface Repair {
  readonly before: string;
  readonly after: string;
  /** A description for people: '"a - b" to "a + b"'. */
  readonly what: string;
}

const JS_FRAME = /(?:file:\/\/)?(\/[^\s:()'"]*\.test\.[cm]?js):(\d+):\d+\)/;
const PYTHON_FRAME = /File "([^"]*?(?:test_[^/"]*|_test)\.py)", line (\d+), in test/;

/**
 * Finds the failing assertion: the first place in a test file that a stack trace names, with the expected and the
 * actual value.
 */
export function failingTest(output: string, workDir: string): FailingTest | undefined {
  const [, file, line] = JS_FRAME.exec(output) ?? PYTHON_FRAME.exec(output) ?? [];
  if (file === undefined || line === undefined) return undefined;
  const [, got, wanted] = /^AssertionError: (?:assert )?(\S+) (?:!=|==) (\S+)$/m.exec(output) ?? [];
  const expected = /expected:\s*(.+)/.exec(output)?.[1] ?? wanted;
  const actual = /actual:\s*(.+)/.exec(output)?.[1] ?? got;
  const values =
    expected === undefined || actual === undefined ? "" : ` expected ${trimmed(expected)}, got ${trimmed(actual)}`;
  const path = posix.isAbsolute(file) ? posix.relative(workDir, file) : file;
  return {
    file: path.startsWith("..") ? file : path,
    line: Number(line),
    what: `${posix.basename(file)}, line ${line}${values && `:${values}`}`,
  };
}

function trimmed(value: string): string {
  return value.trim().replace(/,$/, "");
}

/**
 * Finds the function that the failing line tests, and its possible repairs, the likeliest first. `repairs` is absent
 * until the source has been read. Returns `undefined` if the test does not import what the line calls.
 */
export function repairsOf(
  failure: FailingTest,
  test: string,
  read: (path: string) => string | undefined,
): { readonly name: string; readonly path: string; readonly repairs?: readonly Repair[] } | undefined {
  const lines = test.split("\n");
  const asserted = lines[failure.line - 1] ?? "";
  const isPython = failure.file.endsWith(".py");
  for (const { groups } of test.matchAll(isPython ? PYTHON_IMPORT : JS_IMPORT)) {
    const { names = "", from = "" } = groups ?? {};
    const name = names
      .split(",")
      .map((each) => each.trim())
      .find((each) => new RegExp(`\\b${each}\\s*\\(`).test(asserted));
    if (name === undefined) continue;
    const script = posix.extname(from) === "" ? `${from}.js` : from; // require("./sum")
    const path = isPython ? `${from.replaceAll(".", "/")}.py` : posix.join(posix.dirname(failure.file), script);
    const source = read(path);
    if (source === undefined) return { name, path };
    return { name, path, repairs: ranked(bodyOf(source, name), asserted) };
  }
  return undefined;
}

const JS_IMPORT = /(?:import|const)\s*\{(?<names>[^}]*)\}\s*(?:from\s*|=\s*require\()["'](?<from>\.[^"']*)["']/g;
const PYTHON_IMPORT = /^from\s+(?<from>[\w.]+)\s+import\s+\(?(?<names>[\w\s,]+?)\)?$/gm;

/** Returns the lines of a function, without the line that closes it. */
function bodyOf(source: string, name: string): readonly string[] {
  const lines = source.split("\n");
  const definition = lines.findIndex((line) => new RegExp(`^\\s*def\\s+${name}\\b`).test(line));
  if (definition >= 0) {
    const end = lines.findIndex((line, index) => index > definition && !/^\s+\S/.test(line));
    return lines.slice(definition, end < 0 ? undefined : end);
  }
  const start = lines.findIndex((line) => new RegExp(`(function\\s+${name}\\b|\\b${name}\\s*=)`).test(line));
  if (start < 0) return [];
  const end = lines.findIndex((line, index) => index > start && /^\s*\}/.test(line));
  const isOneLine = !/\{\s*$/.test(lines[start] ?? "");
  return lines.slice(start, isOneLine || end < 0 ? start + 1 : end);
}

/** Operators and values that people often confuse, each with its counterparts. */
const CONFUSED: readonly (readonly [string, readonly string[]])[] = [
  [" - 1", [""]],
  [" + 1", [""]],
  [" - ", [" + ", " * "]],
  [" + ", [" - ", " * "]],
  [" * ", [" + ", " / "]],
  [" / ", [" * "]],
  [" <= ", [" < ", " >= "]],
  [" >= ", [" > ", " <= "]],
  [" < ", [" <= ", " > "]],
  [" > ", [" >= ", " < "]],
  [" === ", [" !== "]],
  [" !== ", [" === "]],
  [" == ", [" != "]],
  [" != ", [" == "]],
  [" && ", [" || "]],
  [" || ", [" && "]],
  [" and ", [" or "]],
  [" or ", [" and "]],
  ["min(", ["max("]],
  ["max(", ["min("]],
  ["toUpperCase", ["toLowerCase"]],
  ["toLowerCase", ["toUpperCase"]],
  [".upper(", [".lower("]],
  [".lower(", [".upper("]],
];

/**
 * Returns all one-place changes of the body. An operator that produces the expected result of two numbers comes first.
 */
function ranked(body: readonly string[], asserted: string): readonly Repair[] {
  const repairs: Repair[] = [];
  for (const [index, line] of body.entries()) {
    for (const [wrong, rights] of CONFUSED) {
      for (let at = line.indexOf(wrong); at >= 0; at = line.indexOf(wrong, at + 1)) {
        for (const right of rights) {
          const changed = line.slice(0, at) + right + line.slice(at + wrong.length);
          const what = `"${line.trim()}" to "${changed.trim()}"`;
          // Each repair contains the whole body, so that it matches only once and one repair can replace another.
          repairs.push({ before: body.join("\n"), after: body.with(index, changed).join("\n"), what });
        }
      }
    }
  }
  const [, one, other, expected] = /\(\s*(-?[\d.]+)\s*,\s*(-?[\d.]+)\s*\)\s*(?:,|==)\s*(-?[\d.]+)/.exec(asserted) ?? [];
  const fits = operatorFor(Number(one), Number(other), Number(expected));
  const score = ({ what }: Repair) => (fits !== undefined && what.split('" to "')[1]?.includes(fits) ? 0 : 1);
  return repairs.toSorted((first, second) => score(first) - score(second));
}

function operatorFor(one: number, other: number, expected: number): string | undefined {
  if (one + other === expected) return " + ";
  if (one - other === expected) return " - ";
  if (one * other === expected) return " * ";
  return one / other === expected ? " / " : undefined;
}
