import { presetPolicy } from "../../tools/presets/policies.ts";
import { type Here, hereOf } from "./find.ts";
import { type SettingName, camel, putAt, settingName, variableOf } from "./names.ts";
import { REMOVED_KEYS } from "../../core/util/removed.ts";
import { type Key, type ROWS, ROW_OF, type SettingIn } from "./rows.ts";
import { homeOf } from "./state.ts";

type SettingOf<K extends Key> = SettingIn<(typeof ROWS)[K]>;
type WithDefault = { [K in Key]: (typeof ROWS)[K] extends { readonly default: unknown } ? K : never }[Key];

/** The groups of keys: "tools", "policy", "policy.commands". */
type Group<K extends string = Key> = K extends `${infer First}.${infer Rest}`
  ? First | (Rest extends `${string}.${string}` ? `${First}.${Group<Rest>}` : never)
  : never;

/** The name of a key or group in the group of this prefix; none if it is elsewhere or deeper. */
type NameIn<Prefix extends string, Path> = Path extends `${Prefix}${infer Name}`
  ? Name extends `${string}.${string}`
    ? never
    : SettingName<Name>
  : never;

type SettingsIn<Prefix extends string> = {
  readonly [K in WithDefault as NameIn<Prefix, K>]: SettingOf<K>;
} & { readonly [K in Exclude<Key, WithDefault> as NameIn<Prefix, K>]?: SettingOf<K> } & {
  readonly [G in Group as NameIn<Prefix, G>]: SettingsIn<`${G}.`>;
};

/**
 * The settings of one run: `policy.max_actions_per_hour` of the rows is `settings.policy.maxActionsPerHour`. Immutable.
 * Sizes are in bytes, times whose key ends in `_days` in milliseconds. Paths are absolute or start with `~`. A key
 * without a default is absent unless it is set.
 */
export type Settings = SettingsIn<"">;

/** The settings of one file, by key; of all files together, with the defaults. */
export type Given = { readonly [K in Key]?: SettingOf<K> };

/** The defaults, for the user's choice of preset. */
export function defaultsFor(preset: string | undefined): Given {
  const { workspaceOnly, forbiddenPaths, wholeMachine } = presetPolicy(preset) ?? {};
  if ((workspaceOnly ?? forbiddenPaths ?? wholeMachine) === undefined) return DEFAULTS;
  return {
    ...DEFAULTS,
    ...(workspaceOnly !== undefined && { "policy.workspace_only": workspaceOnly }),
    ...(forbiddenPaths !== undefined && { "policy.forbidden_paths": forbiddenPaths }),
    ...(wholeMachine !== undefined && { "policy.whole_machine": wholeMachine }),
  };
}

const DEFAULTS: Given = Object.fromEntries(
  Object.entries(ROW_OF).flatMap(([key, row]) => (row.default === undefined ? [] : [[key, row.default]])),
);

/** Returns the settings, with `value` over those below it. */
export function over(below: Given, value: Given, by: "user" | "project"): Given {
  const merged = Object.entries(value).map(([key, each]): [string, unknown] => {
    const row = ROW_OF[key];
    return [key, row?.merge === undefined ? each : row.merge(below[key as Key], each, by)];
  });
  return { ...below, ...Object.fromEntries(merged) };
}

/** Returns all settings as one object, in groups. */
export function settingsOf(given: Given): Settings {
  const root = {};
  for (const key of Object.keys(ROW_OF)) putAt(root, key.split(".").map(settingName), given[key as Key]);
  return frozen(root) as Settings;
}

/** The default settings. */
export const DEFAULT_SETTINGS = settingsOf(DEFAULTS);

/** The default settings, for the user's choice of preset. */
export function defaultSettings(preset: string | undefined): Settings {
  const given = defaultsFor(preset);
  return given === DEFAULTS ? DEFAULT_SETTINGS : settingsOf(given);
}

/** The flags of the command line that set a key: `--NAME <value>`, with the words to choose from, if there are any. */
export const SETTING_FLAGS = Object.entries(ROW_OF).flatMap(([key, { flag, schema }]) => {
  const choices = schema["enum"] as readonly string[] | undefined;
  return flag === undefined ? [] : [{ key, ...flag, ...(choices !== undefined && { choices }) }];
});

/** Returns the settings of these flags, from options by name. Relative paths are of `cwd`. */
export function flagsIn(options: object, { cwd, env }: Here = hereOf({})): Given {
  const base = { workDir: cwd, home: homeOf(env) };
  const found = SETTING_FLAGS.flatMap(({ key, name }) => {
    const value = new Map<string, unknown>(Object.entries(options)).get(camel(name.replaceAll("-", "_")));
    return value === undefined ? [] : [[key, ROW_OF[key]?.read?.(value, base) ?? value] as const];
  });
  return Object.fromEntries(found);
}

/** Returns the names of variables that set a key, or are meant to: they begin like the variable of a group of keys. */
export function variablesIn(env: NodeJS.ProcessEnv): readonly string[] {
  return Object.keys(env).filter((name) => name.startsWith("HANDRAIL_") && OF_KEYS.test(name));
}

const OF_KEYS = new RegExp(
  `^(?:${[...Object.keys(ROW_OF), ...REMOVED_KEYS.keys()]
    .map((key) => (key.includes(".") ? `${variableOf(key.replace(/\..*/, ""))}_.*` : variableOf(key)))
    .join("|")})$`,
);

/** Makes a value and everything in it immutable. */
function frozen<T>(value: T): T {
  if (typeof value !== "object" || value === null || Object.isFrozen(value)) return value;
  Object.values(value).forEach(frozen);
  return Object.freeze(value);
}
