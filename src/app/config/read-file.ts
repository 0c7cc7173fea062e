import { realpathSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { valueAt, pointerPart } from "../../core/util/json-pointer.ts";
import { displayPath } from "../../core/util/paths.ts";
import { type Reading, loadCheck, valueText, withoutItems } from "./check.ts";
import { putAt, unitOf, variableOf } from "./names.ts";
import { didYouMean } from "../../core/util/nearest.ts";
import type { Place, Problem } from "./problem.ts";
import { replacementOf } from "./foreign-keys.ts";
import { REMOVED_KEYS } from "../../core/util/removed.ts";
import { ROW_OF } from "./rows.ts";
import { type Given, variablesIn } from "./settings.ts";
import { readSource, sourceOf } from "./source.ts";
import { START, TooMuch, parseYaml } from "./yaml.ts";
import type { Here } from "./find.ts";
import { homeOf } from "./state.ts";
import { tried } from "../../core/util/errors.ts";

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
  /** The whole content; "" if the file could not be read. */
  readonly text: string;
  /** The valid settings. */
  readonly given: Given;
  /** Values with `${NAME}` that have no effect, because the file may not read the environment. */
  readonly leftOut: readonly Ask[];
  /** Returns a problem with the value that keys and indexes lead to. */
  problem(path: readonly string[], message: string, of?: "key"): Problem;
  /** Returns that value as it is written, for people. */
  written(path: readonly string[]): string;
}

/** Returns the environment for `${NAME}` in a file with this content; `undefined` if the file may not read it. */
export type EnvFor = (file: Pick<ConfigFile, "path" | "sha256">) => Promise<NodeJS.ProcessEnv | undefined>;

/**
 * Reads and validates one file. Never rejects: adds errors to the problems. A project's file may only be a link to a
 * file in or below its own folder.
 *
 * @param content is read instead of the file's: `here.cwd` names the paths in messages
 */
export async function readConfigFile(
  path: string,
  problems: Problem[],
  {
    envFor,
    whose,
    here,
    content,
  }: { readonly envFor: EnvFor; readonly whose: "own" | "project"; readonly here: Here; readonly content?: string },
): Promise<ConfigFile> {
  const name = displayPath(path, { workDir: here.cwd });
  const real = inRealFolder(path);
  const read =
    content === undefined
      ? await readSource(path, whose === "project" ? dirname(real) : "/")
      : { ok: true as const, source: sourceOf(content) };
  if (!read.ok) problems.push({ file: name, message: read.message });
  const { text, sha256 } = read.ok ? read.source : { text: "", sha256: "" };
  const { value, part, faults, placeOf } = await parseYaml(text);
  for (const { path: to, ...fault } of faults)
    problems.push({ file: name, ...fault, ...(to !== undefined && isNamed(to) && { key: keyOf(to) }) });
  const problem: ConfigFile["problem"] = (to, message, of) => {
    return { file: name, place: placeOf(to, of), message, ...(isNamed(to) && { key: keyOf(to) }) };
  };
  const env = await envFor({ path: real, sha256 });
  const home = homeOf(here.env);
  const file = { shown: name, path: real, sha256, text, problem };
  // What could be read of a broken file still tightens. That it is broken says enough.
  return readAll(file, { value: value ?? part, folder: dirname(real), home, env }, part === undefined ? problems : []);
}

/** Reads the variables of keys, such as HANDRAIL_POLICY_AUTONOMY, whose values are YAML. Never rejects. */
export async function readEnvironment({ env, cwd }: Here, problems: Problem[]): Promise<ConfigFile> {
  const keys = Object.keys(ROW_OF);
  const shown = "environment";
  const root = {};
  for (const variable of variablesIn(env)) {
    const key = keys.find((each) => variableOf(each) === variable);
    if (key === undefined) {
      const [, removed] = [...REMOVED_KEYS].find(([each]) => variableOf(each) === variable) ?? [];
      const meant = removed ?? didYouMean(variable, keys.map(variableOf));
      const message = `unknown variable. ${meant}`.trimEnd();
      problems.push({ file: shown, key: variable, message });
      continue;
    }
    const text = env[variable] ?? "";
    const isText = ROW_OF[key]?.schema["type"] === "string";
    const { value, faults } = isText ? { value: text, faults: [] } : await parseYaml(text);
    for (const { message } of faults) problems.push({ file: shown, key: variable, message });
    if (faults.length === 0) putAt(root, key.split("."), value);
  }
  const problem: ConfigFile["problem"] = (to, message) => ({ file: shown, key: keyOf(to), message });
  return readAll(
    { shown, path: "", sha256: "", text: "", problem },
    { value: root, folder: cwd, home: homeOf(env), env },
    problems,
  );
}

/** Validates the content of a file, or of the environment, and reports what is invalid. */
async function readAll(
  file: Pick<ConfigFile, "shown" | "path" | "sha256" | "text" | "problem">,
  { value, folder, home, env }: { readonly value: unknown; folder: string; home: string; env: Reading["env"] },
  problems: Problem[],
): Promise<ConfigFile> {
  const leftOut: Ask[] = [];
  const reading: Reading = {
    env,
    report: (to, message, of) => void problems.push(file.problem(to, message, of)),
    leftOut(to, names) {
      const { place = START } = file.problem(to, "");
      leftOut.push({ key: keyOf(to), place, gives: `this value gets ${names.join(", ")} of your environment` });
    },
  };
  const given = await readGiven(value, { workDir: folder, home }, reading).catch((error: unknown): Given => {
    if (!(error instanceof TooMuch)) throw error;
    problems.push({ file: file.shown, place: START, message: error.message });
    return {};
  });
  return { ...file, given, leftOut, written: (to) => valueText(at(value, to)) };
}

/**
 * Validates the content of a file, key by key. Reports everything that is invalid, and returns what is valid. A mistake
 * in what a project tightens loosens nothing: the other items of a list count, and the strictest value of a choice.
 */
async function readGiven(root: unknown, base: { workDir: string; home: string }, reading: Reading): Promise<Given> {
  const { check, salvage } = await loadCheck();
  const given: { [key: string]: unknown } = {};
  const readKey = async (key: string, raw: unknown) => {
    const row = ROW_OF[key];
    if (row === undefined) return;
    const { schema, read, check: further, project } = row;
    const path = key.split(".");
    const put = (value: unknown) => {
      const setting = read === undefined ? value : read(value, base);
      given[key] = typeof setting === "number" ? setting * unitOf(key) : setting;
    };
    const strictest = project.rule === "tightens" ? project.strictest : undefined;
    const tightens = project.rule === "free" || project.rule === "tightens";
    const first = check(schema, raw, path, reading);
    const checked = first.wrong !== undefined && tightens ? salvage(schema, raw, first.wrong, reading.env) : first;
    if (checked.wrong !== undefined || checked.leftOut.has(""))
      return strictest === undefined ? undefined : put(strictest);
    // What waits for trust is shown to people as it is written. From the rest, items with ${NAME} are removed.
    const value = project.rule === "trusted" ? checked.value : withoutItems(checked.value, checked.leftOut);
    const complaints = further === undefined ? [] : (await further())(value);
    for (const { at: inside, message } of complaints) reading.report([...path, ...inside], message);
    if (complaints.length > 0 && !tightens) return;
    const left = withoutItems(value, new Set(complaints.map(({ at: inside }) => `/${inside.join("/")}`)));
    const isEmptied = Array.isArray(left) && left.length === 0 && !(Array.isArray(raw) && raw.length === 0);
    put(isEmptied && strictest !== undefined ? strictest : left);
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
        const removed = REMOVED_KEYS.get(inner.join("."));
        if (removed !== undefined) {
          reading.report(inner, removed, "key");
          continue;
        }
        const meant =
          replacementOf(name) || didYouMean(name, known) || elsewhere(name) || `Keys here: ${known.join(", ")}.`;
        reading.report(inner, `unknown key. ${meant}`, "key");
      }
    }
  };
  await readGroup(root, []);
  return given;
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
  return tried(() => join(realpathSync(dirname(path)), basename(path))) ?? path;
}
