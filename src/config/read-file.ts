import { realpathSync } from "node:fs";
import { homedir } from "node:os";
import { basename, dirname, join } from "node:path";
import { valueAt, pointerPart } from "../util/json-pointer.ts";
import { displayPath } from "../util/paths.ts";
import { type Reading, loadCheck, valueText } from "./check.ts";
import { variableOf, unitOf } from "./names.ts";
import { didYouMean } from "./nearest.ts";
import type { Place, Problem } from "./problem.ts";
import { ROW_OF } from "./rows.ts";
import { type Given, variablesIn } from "./settings.ts";
import { readSource } from "./source.ts";
import { TooMuch, parseYaml } from "./yaml.ts";

/** A part of a project's file that takes effect only when the user trusts the file. */
export interface Ask {
  readonly key: string;
  readonly place: Place;
  /** What trust would allow, for people: "commands get GITHUB_TOKEN from your environment". Not safe for a terminal. */
  readonly gives: string;
}

/** A configuration file, or the environment, read and validated by itself. */
export interface ConfigFile {
  /** The path, as people would write it. */
  readonly shown: string;
  /** The path in its real folder. If the file itself is a link, it is not followed. */
  readonly path: string;
  /** "" if the file could not be read. */
  readonly sha256: string;
  /** The valid settings. */
  readonly given: Given;
  /** Values with `${NAME}` that have no effect, because the file may not read the environment. */
  readonly leftOut: readonly Ask[];
  /** Returns a problem with the value that keys and indexes lead to. */
  problem(path: readonly string[], message: string): Problem;
  /** Returns that value as it is written, for people. */
  written(path: readonly string[]): string;
}

/** Returns the environment for `${NAME}` in a file with this content; `undefined` if the file may not read it. */
export type EnvFor = (file: Pick<ConfigFile, "path" | "sha256">) => Promise<NodeJS.ProcessEnv | undefined>;

/**
 * Reads and validates one file. Never rejects: adds errors to the problems. A project's file may only be a link to a
 * file in or below its own folder.
 */
export async function readConfigFile(
  path: string,
  problems: Problem[],
  envFor: EnvFor,
  whose: "own" | "project",
): Promise<ConfigFile> {
  const name = displayPath(path, { workDir: process.cwd() });
  const real = inRealFolder(path);
  const read = await readSource(path, whose === "project" ? dirname(real) : "/");
  if (!read.ok) problems.push({ file: name, message: read.message });
  const { text, sha256 } = read.ok ? read.source : { text: "", sha256: "" };
  const { value, faults, placeOf } = await parseYaml(text);
  for (const { path: to, ...fault } of faults)
    problems.push({ file: name, ...fault, ...(to !== undefined && isNamed(to) && { key: keyOf(to) }) });
  const leftOut: Ask[] = [];
  const problem = (to: readonly string[], message: string, of?: "key"): Problem => {
    return { file: name, place: placeOf(to, of), message, ...(isNamed(to) && { key: keyOf(to) }) };
  };
  const reading: Reading = {
    env: await envFor({ path: real, sha256 }),
    report: (to, message, of) => void problems.push(problem(to, message, of)),
    leftOut(to, names) {
      const gives = `this value gets ${names.join(", ")} of your environment`;
      leftOut.push({ key: keyOf(to), place: placeOf(to), gives });
    },
  };
  let given: Given = {};
  try {
    given = await readGiven(value, dirname(real), reading);
  } catch (error) {
    if (!(error instanceof TooMuch)) throw error;
    problems.push({ file: name, place: { line: 1, column: 1 }, message: error.message });
  }
  return { shown: name, path: real, sha256, given, leftOut, problem, written: (to) => valueText(at(value, to)) };
}

/** Reads the variables of keys, such as HANDRAIL_POLICY_AUTONOMY, whose values are YAML. Never rejects. */
export async function readEnvironment(env: NodeJS.ProcessEnv, problems: Problem[]): Promise<ConfigFile> {
  const keys = Object.keys(ROW_OF);
  const root: { [name: string]: unknown } = {};
  const written = new Map<string, unknown>();
  for (const variable of variablesIn(env)) {
    const key = keys.find((each) => variableOf(each) === variable);
    if (key === undefined) {
      const message = `unknown variable. ${didYouMean(variable, keys.map(variableOf))}`.trimEnd();
      problems.push({ file: "environment", key: variable, message });
      continue;
    }
    const text = env[variable] ?? "";
    const { value, faults } =
      ROW_OF[key]?.schema["type"] === "string" ? { value: text, faults: [] } : await parseYaml(text);
    for (const { message } of faults) problems.push({ file: "environment", key: variable, message });
    if (faults.length === 0) written.set(key, value);
  }
  for (const [key, value] of written) {
    const parts = key.split(".");
    let group = root;
    for (const part of parts.slice(0, -1)) group = (group[part] ??= {}) as { [name: string]: unknown };
    group[parts.at(-1) ?? ""] = value;
  }
  const problem = (to: readonly string[], message: string): Problem => {
    return { file: "environment", key: keyOf(to), message };
  };
  const reading: Reading = { env, report: (to, message) => void problems.push(problem(to, message)), leftOut() {} };
  const given = await readGiven(root, process.cwd(), reading);
  return {
    shown: "environment",
    path: "",
    sha256: "",
    given,
    leftOut: [],
    problem,
    written: (to) => valueText(at(root, to)),
  };
}

/** Validates the content of a file, key by key. Reports everything that is invalid, and returns what is valid. */
async function readGiven(root: unknown, folder: string, reading: Reading): Promise<Given> {
  const check = await loadCheck();
  const base = { workDir: folder, home: homedir() };
  const given: { [key: string]: unknown } = {};
  const readKey = async (key: string, raw: unknown) => {
    const row = ROW_OF[key];
    if (row === undefined) return;
    const { schema, read, check: further, project } = row;
    const path = key.split(".");
    const checked = check(schema, raw, path, reading);
    if (checked === undefined || checked.leftOut.has("")) return;
    // What waits for trust is shown to people as it is written. From the rest, items with ${NAME} are removed.
    const value = project.rule === "trusted" ? checked.value : without(checked.value, checked.leftOut);
    const complaints = further === undefined ? [] : (await further())(value);
    for (const { at: inside, message } of complaints) reading.report([...path, ...inside], message);
    if (complaints.length > 0) return;
    const setting = read === undefined ? value : read(value, base);
    given[key] = typeof setting === "number" ? setting * unitOf(key) : setting;
  };
  const readGroup = async (raw: unknown, path: readonly string[]): Promise<void> => {
    if (raw === null || raw === undefined) return; // nothing after the colon, or an empty file
    const known = namesIn(path);
    if (typeof raw !== "object" || Array.isArray(raw)) {
      // The content is not quoted, because the file may be any file of the user's.
      const kind = typeof raw === "string" ? "text" : valueText(raw);
      return reading.report(path, `expected a map of ${known.join(", ")}, got ${kind}`);
    }
    for (const [name, value] of Object.entries(raw)) {
      const inner = [...path, name];
      if (Object.hasOwn(ROW_OF, inner.join("."))) await readKey(inner.join("."), value);
      else if (known.includes(name)) await readGroup(value, inner);
      else {
        const meant = didYouMean(name, known) || elsewhere(name) || `Keys here: ${known.join(", ")}.`;
        reading.report(inner, `unknown key. ${meant}`, "key");
      }
    }
  };
  await readGroup(root, []);
  return given;
}

/** Removes the texts with these JSON pointers: each with the item of the innermost list that it is part of. */
function without(value: unknown, pointers: ReadonlySet<string>, pointer = ""): unknown {
  if (typeof value !== "object" || value === null || pointers.size === 0) return value;
  if (!Array.isArray(value)) {
    const entries = Object.entries(value).map(([name, each]) => {
      return [name, without(each, pointers, `${pointer}/${pointerPart(name)}`)] as const;
    });
    return Object.fromEntries(entries);
  }
  return value.flatMap((each: unknown, index) => {
    const own = `${pointer}/${index}`;
    const rest = without(each, pointers, own);
    const inOwn = [...pointers].filter((other) => other === own || other.startsWith(`${own}/`));
    const isInner = (other: string) =>
      valueAt(rest, other.slice(own.length)) !== valueAt(each, other.slice(own.length));
    return inOwn.every((other) => other !== own && isInner(other)) ? [rest] : [];
  });
}

/** Returns advice for a known name in the wrong group. */
function elsewhere(name: string): string | undefined {
  const key = Object.keys(ROW_OF).find((full) => full.endsWith(`.${name}`));
  return key && `Did you mean ${JSON.stringify(key)}?`;
}

/** Returns the names of the keys and groups in a group. */
function namesIn(path: readonly string[]): readonly string[] {
  const before = path.map((part) => `${part}.`).join("");
  const inside = Object.keys(ROW_OF).filter((key) => key.startsWith(before));
  return [...new Set(inside.map((key) => key.slice(before.length).split(".")[0] ?? key))];
}

/** Returns the path as people write it: "policy.commands.deny[0]". */
function keyOf(path: readonly string[]): string {
  return path.reduce(
    (key, part) => (/^\d+$/.test(part) ? `${key}[${part}]` : key === "" ? part : `${key}.${part}`),
    "",
  );
}

/**
 * Returns whether a message names a key. At the top of a file, anything but a plain word may be text of a file that is
 * no configuration at all.
 */
function isNamed([first = "", ...more]: readonly string[]): boolean {
  return more.length > 0 ? namesIn([]).includes(first) : /^\w{1,80}$/.test(first);
}

function at(value: unknown, path: readonly string[]): unknown {
  return valueAt(value, path.map((part) => `/${pointerPart(part)}`).join(""));
}

/** Follows the links of the path's folder, but not of its last part. */
export function inRealFolder(path: string): string {
  try {
    return join(realpathSync(dirname(path)), basename(path));
  } catch {
    return path;
  }
}
