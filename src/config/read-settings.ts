import { basename } from "node:path";
import { isOfAgent } from "../tools/presets/choose.ts";
import { PRESETS } from "../tools/presets/presets.ts";
import type { Ask, Without } from "./asking.ts";
import { type ConfigFiles, PROJECT_FILE } from "./find.ts";
import { withOwn, withProject } from "./layer.ts";
import { unknownTool } from "./keys.ts";
import { didYouMean } from "./nearest.ts";
import { ConfigError, type Problem } from "./problem.ts";
import { allowedOfProject } from "./project.ts";
import { type ConfigFile, readConfigFile } from "./read-file.ts";
import { DEFAULT_SETTINGS, type Settings, defaultSettings, frozen } from "./settings.ts";
import type { Standing, Trust, TrustedFile } from "./trust.ts";

/** The settings from the files. */
export interface FileSettings {
  readonly settings: Settings;
  /** Absent if there is no project's file. */
  readonly project?: ProjectStanding;
}

/** A project's file, and what in it needs trust. */
export interface ProjectStanding {
  readonly file: TrustedFile;
  /** The path, as people would write it. */
  readonly shown: string;
  readonly standing: Standing;
  /**
   * What trust would allow. Ignored unless the file is trusted. For a trusted file, does not include values with
   * `${NAME}`.
   */
  readonly asks: readonly Ask[];
}

export interface ReadOptions {
  readonly trust: Pick<Trust, "standing">;
  readonly env?: NodeJS.ProcessEnv;
  /**
   * The preset that a flag names. It replaces those of the files when the presets' policy defaults are chosen, and has
   * no other effect here.
   */
  readonly preset?: string;
}

/**
 * Reads and validates the files. The named file overrides the user's own; the project's file extends both.
 *
 * @throws ConfigError with all problems of all files.
 */
export async function readSettings(
  files: ConfigFiles,
  { trust, env = process.env, preset }: ReadOptions,
): Promise<FileSettings> {
  const problems: Problem[] = [];
  const own: ConfigFile[] = [];
  for (const path of [files.user, files.named]) {
    if (path !== undefined) own.push(await readConfigFile(path, problems, async () => env, "own"));
  }
  const chosen = own.map(({ given }) => given["tools.preset"]?.value).findLast((each) => each !== undefined);
  const settings = over(defaultSettings(preset ?? chosen), own, problems);
  const choseTools = own.at(-1)?.given["tools.preset"] !== undefined;
  const withProjectOver = async (without: Settings): Promise<FileSettings> => {
    if (files.project === undefined) return { settings: without };
    return readProject(files.project, { settings: without, choseTools }, { trust, env }, problems);
  };
  let all = await withProjectOver(settings);
  // If the project sets another preset, the policy defaults of the user's preset do not apply, because they may be
  // looser.
  const isOwn = preset !== undefined || all.settings.tools.preset === settings.tools.preset;
  if (!isOwn && problems.length === 0 && defaultSettings(chosen) !== DEFAULT_SETTINGS) {
    all = await withProjectOver(over(DEFAULT_SETTINGS, own, problems));
  }
  if (problems.length > 0) throw new ConfigError(inOrder(problems));
  return files.named === undefined ? all : { settings: protecting(all.settings, files.named) };
}

/** Applies the user's own files in order. */
function over(base: Settings, files: readonly ConfigFile[], problems: Problem[]): Settings {
  let settings = base;
  for (const file of files) {
    settings = withOwn(settings, file.given);
    requirePreset(file, settings, problems);
    requireTools(file, settings, problems);
  }
  return settings;
}

async function readProject(
  path: string,
  without: Without,
  { trust, env }: Required<Pick<ReadOptions, "trust" | "env">>,
  problems: Problem[],
): Promise<FileSettings> {
  const envFor = async (file: TrustedFile) => ((await trust.standing(file)) === "trusted" ? env : undefined);
  const file = await readConfigFile(path, problems, envFor, "project");
  const standing = await trust.standing(file);
  const { given, asks } = allowedOfProject(file, without, standing === "trusted", problems);
  const settings = withProject(without.settings, given);
  requirePreset(file, settings, problems);
  requireTools(file, settings, problems);
  return { settings, project: { file: { path: file.path, sha256: file.sha256 }, shown: file.shown, standing, asks } };
}

/** Requires that the preset or toolset of this file, or of an agent in it, exists. */
function requirePreset({ shown, given }: ConfigFile, { toolsets }: Settings, problems: Problem[]): void {
  const known = [...Object.keys(PRESETS), ...Object.keys(toolsets)];
  const named = [
    ["tools.preset", given["tools.preset"]] as const,
    ...Object.entries(given.agents?.value ?? {}).map(
      ([name, { toolset }]) => [`agents.${name}.toolset`, toolset] as const,
    ),
  ];
  for (const [key, preset] of named) {
    if (preset === undefined || known.includes(preset.value)) continue;
    const advice = JSON.stringify(preset.value) === preset.written ? didYouMean(preset.value, known) : "";
    const message = `expected a preset or a toolset (${known.join(", ")}), got ${preset.written}. ${advice}`;
    problems.push({ file: shown, place: preset.place, key, message: message.trimEnd() });
  }
}

/** Requires known tools if there are no plugins, modules or MCP servers: then only the built-in tools exist. */
function requireTools({ shown, given }: ConfigFile, { tools }: Settings, problems: Problem[]): void {
  if (tools.plugins.length + tools.modules.length + Object.keys(tools.mcp).length > 0) return;
  const require = (key: string, name: string, place: Problem["place"]) => {
    const message = unknownTool(name);
    if (message !== undefined) problems.push({ file: shown, ...(place && { place }), key, message });
  };
  given["tools.disable"]?.value.forEach(({ value, place }, index) => {
    if (!isOfAgent(value)) require(`tools.disable[${index}]`, value, place);
  });
  for (const [name, { place }] of Object.entries(given["tools.options"]?.value ?? {})) {
    require(`tools.options.${name}`, name, place);
  }
  for (const [name, { value: names }] of Object.entries(given.toolsets?.value ?? {})) {
    names.forEach(({ value, place }, index) => require(`toolsets.${name}[${index}]`, value, place));
  }
}

/** Sorts by file, and in each file from top to bottom. */
function inOrder(problems: readonly Problem[]): readonly Problem[] {
  const files = [...new Set(problems.map(({ file }) => file))];
  const start = { line: 0, column: 0 };
  return problems.toSorted(
    ({ file, place = start }, { file: otherFile, place: other = start }) =>
      files.indexOf(file) - files.indexOf(otherFile) || place.line - other.line || place.column - other.column,
  );
}

/**
 * Protects the named file from changes. Its name does not protect it as that of a project's file does, yet it contains
 * permissions.
 */
function protecting(settings: Settings, named: string): Settings {
  if (basename(named) === PROJECT_FILE) return settings;
  const forbiddenPaths = [...settings.policy.forbiddenPaths, named];
  return frozen({ ...settings, policy: { ...settings.policy, forbiddenPaths } });
}
