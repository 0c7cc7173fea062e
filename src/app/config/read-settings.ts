import { basename } from "node:path";
import { isOfAgent } from "../../tools/presets/choose.ts";
import { PRESETS } from "../../tools/presets/presets.ts";
import { type ConfigFiles, type Here, PROJECT_FILE, hereOf } from "./find.ts";
import { toolAdvice } from "./formats.ts";
import { didYouMean } from "../../core/util/nearest.ts";
import type { LastValid } from "./last-valid.ts";
import { ConfigError, type Problem } from "./problem.ts";
import { type Without, allowedOfProject } from "./project.ts";
import { type Ask, type ConfigFile, readConfigFile, readEnvironment } from "./read-file.ts";
import { type Given, type Settings, defaultsFor, over, settingsOf } from "./settings.ts";
import type { Standing, Trust, TrustedFile } from "./trust.ts";

/** The settings from the files, the environment and the flags. */
export interface FileSettings {
  readonly settings: Settings;
  /** Absent if there is no project's file. */
  readonly project?: ProjectStanding;
  /**
   * What is wrong in the project's file, and has no effect. A project's file never ends anything: a command may have
   * written it. While it is broken, its last valid content counts too, so that breaking it loosens nothing.
   */
  readonly warnings: readonly Problem[];
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

export interface ReadOptions extends Partial<Here> {
  readonly trust: Pick<Trust, "standing">;
  /** Default: the last valid content of a project's file is not known. */
  readonly lastValid?: LastValid;
  /** The settings of flags. They override everything. */
  readonly flags?: Given;
}

/**
 * Reads and validates the settings. From the lowest: the defaults, the user's own file, the named file, the
 * environment, the project's file, which extends them, and the flags.
 *
 * @throws ConfigError with all problems of the user's files and the environment.
 */
export async function readSettings(
  files: ConfigFiles,
  { trust, lastValid, flags = {}, ...place }: ReadOptions,
): Promise<FileSettings> {
  const here = hereOf(place);
  const problems: Problem[] = [];
  const own: ConfigFile[] = [];
  for (const path of [files.user, files.named]) {
    if (path !== undefined)
      own.push(await readConfigFile(path, problems, { envFor: async () => here.env, whose: "own", here }));
  }
  const ofFiles = own.at(-1)?.given["tools.preset"] !== undefined;
  own.push(await readEnvironment(here, problems));
  const chosen = own.map(({ given }) => given["tools.preset"]).findLast((each) => each !== undefined);
  const ofPreset = defaultsFor(flags["tools.preset"] ?? chosen);
  const settings = withOwn(ofPreset, own, problems);
  const choseTools = ofFiles || own.at(-1)?.given["tools.preset"] !== undefined;
  const withProject = async (without: Given) =>
    files.project === undefined
      ? { settings: without, warnings: [] }
      : await readProject(files.project, { settings: without, choseTools }, { trust, here, lastValid });
  let all = await withProject(settings);
  // If the project sets another preset, the policy defaults of the user's preset do not apply, because they may be
  // looser.
  const isOwn = flags["tools.preset"] !== undefined || all.settings["tools.preset"] === settings["tools.preset"];
  if (!isOwn && problems.length === 0 && ofPreset !== defaultsFor(undefined)) {
    all = await withProject(withOwn(defaultsFor(undefined), own, problems));
  }
  if (problems.length > 0) throw new ConfigError(inOrder([...problems, ...all.warnings]));
  const merged = over(protecting(all.settings, files.named), flags, "user");
  return { ...all, settings: settingsOf(merged) };
}

/** Applies the user's own files in order. */
function withOwn(base: Given, files: readonly ConfigFile[], problems: Problem[]): Given {
  let settings = base;
  for (const file of files) {
    settings = over(settings, file.given, "user");
    requirePresets(file, file.given, settings, problems);
    requireTools(file, settings, problems);
  }
  return settings;
}

async function readProject(
  path: string,
  without: Omit<Without, "env">,
  {
    trust,
    here,
    lastValid,
  }: Pick<ReadOptions, "trust"> & { readonly here: Here; readonly lastValid: LastValid | undefined },
) {
  const envFor = async (file: TrustedFile) => ((await trust.standing(file)) === "trusted" ? here.env : undefined);
  const apply = async (to: Given, content?: string) => {
    const problems: Problem[] = [];
    const how = { envFor, whose: "project" as const, here, ...(content !== undefined && { content }) };
    const file = await readConfigFile(path, problems, how);
    const standing = await trust.standing(file);
    const isTrusted = standing === "trusted";
    const { given, asks } = allowedOfProject(file, { ...without, settings: to, env: here.env }, isTrusted, problems);
    requirePresets(file, given, over(to, given, "project"), problems);
    requireTools(file, over(to, given, "project"), problems);
    const settings = over(to, withoutUnknown(given, over(to, given, "project")), "project");
    return { file, problems, settings, standing, asks };
  };
  const found = await apply(without.settings);
  const { file, problems, standing, asks } = found;
  const project = { file: { path: file.path, sha256: file.sha256 }, shown: file.shown, standing, asks };
  if (problems.length === 0) await lastValid?.keep(file.path, file.text);
  const before = problems.length === 0 ? undefined : await lastValid?.read(file.path);
  const base = before === undefined ? without.settings : (await apply(without.settings, before)).settings;
  const settings = before === undefined ? found.settings : (await apply(base)).settings;
  return { settings, project, warnings: inOrder(problems) };
}

/** Leaves out the tools of a project's file that do not exist. Instead of an unknown preset, one that only looks counts. */
function withoutUnknown(given: Given, settings: Given): Given {
  const presets = [...Object.keys(PRESETS), ...Object.keys(settings.toolsets ?? {})];
  const isKnown = (name: string) => hasSources(settings) || toolAdvice(name) === undefined || isOfAgent(name);
  const {
    "tools.preset": preset,
    "tools.disable": disable,
    "tools.options": options,
    toolsets,
    agents,
    ...rest
  } = given;
  const filtered = <T>(map: { readonly [name: string]: T }, keeps: (name: string, value: T) => boolean) =>
    Object.fromEntries(Object.entries(map).filter(([name, value]) => keeps(name, value)));
  return {
    ...rest,
    ...(preset !== undefined && { "tools.preset": presets.includes(preset) ? preset : "readonly" }),
    ...(disable && { "tools.disable": disable.filter(isKnown) }),
    ...(options && { "tools.options": filtered(options, isKnown) }),
    ...(toolsets && {
      toolsets: Object.fromEntries(Object.entries(toolsets).map(([name, tools]) => [name, tools.filter(isKnown)])),
    }),
    ...(agents && {
      agents: filtered(agents, (_, { toolset }) => toolset === undefined || presets.includes(toolset)),
    }),
  };
}

/** Whether there may be tools besides the built-in ones. */
function hasSources(settings: Given): boolean {
  const sources = [settings["tools.plugins"], settings["tools.modules"], Object.keys(settings["tools.mcp"] ?? {})];
  return sources.some((each) => each !== undefined && each.length > 0);
}

/** Requires that the preset or toolset of this file, or of an agent in it, exists. */
function requirePresets(file: ConfigFile, given: Given, { toolsets = {} }: Given, problems: Problem[]): void {
  const known = [...Object.keys(PRESETS), ...Object.keys(toolsets)];
  const named = [
    [["tools", "preset"], given["tools.preset"]] as const,
    ...Object.entries(given.agents ?? {}).map(([name, agent]) => [["agents", name, "toolset"], agent.toolset] as const),
  ];
  for (const [path, preset] of named) {
    if (preset === undefined || known.includes(preset)) continue;
    const written = file.written(path);
    const advice = JSON.stringify(preset) === written ? didYouMean(preset, known) : "";
    const message = `expected a preset or a toolset (${known.join(", ")}), got ${written}. ${advice}`;
    problems.push(file.problem(path, message.trimEnd()));
  }
}

/** Requires known tools if there are no plugins, modules or MCP servers: then only the built-in tools exist. */
function requireTools(file: ConfigFile, settings: Given, problems: Problem[]): void {
  if (hasSources(settings)) return;
  const require = (name: string, ...path: readonly string[]) => {
    const isDelegate = name === "delegate" && path[0] === "toolsets";
    if (isDelegate && Object.keys(settings.agents ?? {}).length > 0) return;
    const advice = isDelegate ? "It is there with agents, and the configuration has none." : toolAdvice(name);
    if (advice === undefined) return;
    problems.push(file.problem(path, `expected the name of a tool, got ${JSON.stringify(name)}. ${advice}`));
  };
  const { given } = file;
  given["tools.disable"]?.forEach((name, index) => {
    if (!isOfAgent(name)) require(name, "tools", "disable", `${index}`);
  });
  for (const name of Object.keys(given["tools.options"] ?? {})) require(name, "tools", "options", name);
  for (const [toolset, names] of Object.entries(given.toolsets ?? {}))
    names.forEach((name, index) => require(name, "toolsets", toolset, `${index}`));
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
function protecting(settings: Given, named: string | undefined): Given {
  if (named === undefined || basename(named) === PROJECT_FILE) return settings;
  return { ...settings, "policy.forbidden_paths": [...(settings["policy.forbidden_paths"] ?? []), named] };
}
