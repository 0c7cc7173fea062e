import { basename } from "node:path";
import { PRESETS } from "../tools/presets/presets.ts";
import type { Ask, Without } from "./asking.ts";
import { type ConfigFiles, PROJECT_FILE } from "./find.ts";
import { withOwn, withProject } from "./layer.ts";
import { didYouMean } from "./nearest.ts";
import { ConfigError, type Problem } from "./problem.ts";
import { allowedOfProject } from "./project.ts";
import { type ConfigFile, readConfigFile } from "./read-file.ts";
import { DEFAULT_SETTINGS, type Settings, defaultSettings, frozen } from "./settings.ts";
import type { Standing, Trust, TrustedFile } from "./trust.ts";

/** What the files say. */
export interface FileSettings {
  readonly settings: Settings;
  /** Left out when there is no project's file. */
  readonly project?: ProjectStanding;
}

/** A project's file and what of it needs trust. */
export interface ProjectStanding {
  readonly file: TrustedFile;
  /** As people would write it. */
  readonly shown: string;
  readonly standing: Standing;
  /** What trust gives it, passed over unless it is trusted. Of a trusted file, values with `${NAME}` are not among these. */
  readonly asks: readonly Ask[];
}

export interface ReadOptions {
  readonly trust: Pick<Trust, "standing">;
  readonly env?: NodeJS.ProcessEnv;
  /** The preset that a flag says. It counts before those of the files for what presets say of the policy, and for nothing else here. */
  readonly preset?: string;
}

/**
 * Reads and checks the files, and puts one over the other: the user's own, the one they named, the project's.
 *
 * @throws ConfigError with everything that is wrong in any of them.
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
  // A project that wants another preset gets none of what the user's own would loosen.
  const isOwn = preset !== undefined || all.settings.tools.preset === settings.tools.preset;
  if (!isOwn && problems.length === 0 && defaultSettings(chosen) !== DEFAULT_SETTINGS) {
    all = await withProjectOver(over(DEFAULT_SETTINGS, own, problems));
  }
  if (problems.length > 0) throw new ConfigError(inOrder(problems));
  return files.named === undefined ? all : { settings: protecting(all.settings, files.named) };
}

/** The user's own files, one over the other. */
function over(base: Settings, files: readonly ConfigFile[], problems: Problem[]): Settings {
  let settings = base;
  for (const file of files) {
    settings = withOwn(settings, file.given);
    requirePreset(file, settings, problems);
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
  return { settings, project: { file: { path: file.path, sha256: file.sha256 }, shown: file.shown, standing, asks } };
}

/** A preset or toolset that holds for this file must be there. */
function requirePreset({ shown, given }: ConfigFile, { toolsets }: Settings, problems: Problem[]): void {
  const preset = given["tools.preset"];
  const known = [...Object.keys(PRESETS), ...Object.keys(toolsets)];
  if (preset === undefined || known.includes(preset.value)) return;
  const advice = JSON.stringify(preset.value) === preset.written ? didYouMean(preset.value, known) : "";
  const message = `expected a preset or a toolset (${known.join(", ")}), got ${preset.written}. ${advice}`;
  problems.push({ file: shown, place: preset.place, key: "tools.preset", message: message.trimEnd() });
}

/** File by file, and in each from top to bottom. */
function inOrder(problems: readonly Problem[]): readonly Problem[] {
  const files = [...new Set(problems.map(({ file }) => file))];
  const start = { line: 0, column: 0 };
  return problems.toSorted(
    ({ file, place = start }, { file: otherFile, place: other = start }) =>
      files.indexOf(file) - files.indexOf(otherFile) || place.line - other.line || place.column - other.column,
  );
}

/** A file by another name than a project's is not protected by its name, and yet it says what is allowed. */
function protecting(settings: Settings, named: string): Settings {
  if (basename(named) === PROJECT_FILE) return settings;
  const forbiddenPaths = [...settings.policy.forbiddenPaths, named];
  return frozen({ ...settings, policy: { ...settings.policy, forbiddenPaths } });
}
