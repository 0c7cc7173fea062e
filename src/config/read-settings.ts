import { basename } from "node:path";
import { PRESETS } from "../tools/presets/presets.ts";
import type { Ask, Without } from "./asking.ts";
import { type ConfigFiles, PROJECT_FILE } from "./find.ts";
import { withOwn, withProject } from "./layer.ts";
import { didYouMean } from "./nearest.ts";
import { ConfigError, type Problem } from "./problem.ts";
import { allowedOfProject } from "./project.ts";
import { type ConfigFile, readConfigFile } from "./read-file.ts";
import { DEFAULT_SETTINGS, type Settings, frozen } from "./settings.ts";
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
}

/**
 * Reads and checks the files, and puts one over the other: the user's own, the one they named, the project's.
 *
 * @throws ConfigError with everything that is wrong in any of them.
 */
export async function readSettings(
  files: ConfigFiles,
  { trust, env = process.env }: ReadOptions,
): Promise<FileSettings> {
  const problems: Problem[] = [];
  const readOwn = async (path: string, base: Settings) => {
    const file = await readConfigFile(path, problems, async () => env);
    const settings = withOwn(base, file.given);
    requirePreset(file, settings, problems);
    return { settings, choseTools: file.given["tools.preset"] !== undefined };
  };

  const nothing: Without = { settings: DEFAULT_SETTINGS, choseTools: false };
  const user = files.user === undefined ? nothing : await readOwn(files.user, nothing.settings);
  const named = files.named === undefined ? user : await readOwn(files.named, user.settings);
  const all = files.project === undefined ? named : await readProject(files.project, named, { trust, env }, problems);
  if (problems.length > 0) throw new ConfigError(inOrder(problems));
  return files.named === undefined ? all : { settings: protecting(all.settings, files.named) };
}

async function readProject(
  path: string,
  without: Without,
  { trust, env }: Required<ReadOptions>,
  problems: Problem[],
): Promise<FileSettings> {
  const envFor = async (file: TrustedFile) => ((await trust.standing(file)) === "trusted" ? env : undefined);
  const file = await readConfigFile(path, problems, envFor);
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
