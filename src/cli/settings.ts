import { type Place, isElsewhere } from "../backends/place.ts";
import { loadSettings } from "../config/load.ts";
import type { Settings, ToolSettings } from "../config/settings.ts";
import { databaseFile } from "../config/state.ts";
import type { Store } from "../contract/activity.ts";
import { oneLine } from "../output/terminal-text.ts";
import { ruleWarnings } from "../policy/rules/rules.ts";
import type { ToolOptionsByName } from "../tools/presets/built-in.ts";
import type { ToolChoice } from "../tools/presets/choose.ts";
import type { ToolkitOptions } from "../toolkit.ts";
import { type GlobalOptions, PRESET_NAMES } from "./options.ts";

/** Outputs that one `handrail call` saved can be read by the next. */
const OUTPUT_OWNER = "command-line";

/**
 * What files and options say. Of what in a project's file has no effect a notice goes to stderr.
 *
 * @throws ConfigError when a file is not valid; Error when there is no such preset.
 */
export async function settingsFrom(options: GlobalOptions): Promise<Settings> {
  const { config, preset, autonomy, sandbox } = options;
  const workDir = isElsewhere(options) ? undefined : options.workDir; // a path of another system says nothing of files here
  const { settings, notices } = await loadSettings({
    ...(config !== undefined && { config }),
    ...(preset !== undefined && { preset }),
    ...(workDir !== undefined && { workDir }),
    ...(autonomy !== undefined && { autonomy }),
    ...(sandbox !== undefined && { sandbox }),
  });
  for (const notice of notices) process.stderr.write(`handrail: ${oneLine(notice, 1_000)}\n`);
  const names = [...PRESET_NAMES, ...Object.keys(settings.toolsets)];
  if (preset !== undefined && !names.includes(preset)) {
    throw new Error(
      `option '--preset <name>' argument '${preset}' is invalid. Allowed choices are ${names.join(", ")}.`,
    );
  }
  return settings;
}

/** What files and options say of a toolkit. Fails like `settingsFrom`. */
export async function toolkitOptions(options: GlobalOptions): Promise<ToolkitOptions> {
  const settings = await settingsFrom(options);
  const { env, maxActionsPerHour, sandbox, sandboxLimits, sandboxAlarm, ...policy } = settings.policy;
  const { perMinute, cooldown } = sandboxAlarm;
  const workDir = isElsewhere(options) ? options.workDir : settings.tools.workDir; // the folders of files are not meant there
  for (const warning of ruleWarnings(policy.commands)) process.stderr.write(`handrail: ${oneLine(warning, 1_000)}\n`);
  return {
    ...toolChoice(settings),
    policy: { ...policy, ...(maxActionsPerHour !== null && { maxActionsPerHour }) },
    passEnv: env.pass,
    sandbox,
    sandboxLimits,
    alarms: {
      ...(perMinute !== undefined && { perMinute }),
      ...(cooldown !== undefined && { cooldownMs: cooldown * 1_000 }),
    },
    outputOwner: OUTPUT_OWNER,
    store: await storeOf(settings),
    ...(settings.state.outputs !== undefined && { maxOutputBytes: settings.state.outputs }),
    ...(workDir !== undefined && { workDir }),
    ...placeOf(options),
  };
}

/** Where the options say that work happens. In a pane of tmux on this machine, that is there too. */
export function placeOf({
  ssh,
  container,
  tmux,
  tmuxSession,
}: GlobalOptions): Pick<Place, "ssh" | "container" | "tmux" | "pane"> {
  const session = tmuxSession ?? tmux;
  const { TMUX: server, TMUX_PANE: id } = process.env;
  const [socketPath = ""] = server?.split(",") ?? [];
  return {
    ...(ssh !== undefined && { ssh }),
    ...(container !== undefined && { container }),
    ...(session !== undefined && { tmux: session }),
    ...(session === undefined && id !== undefined && socketPath !== "" && { pane: { id, socketPath } }),
  };
}

/** Each is loaded where it is chosen. */
async function storeOf({ store, state: { database: maxBytes } }: Settings): Promise<Store> {
  if (store === "memory") return (await import("../activity/memory-store.ts")).memoryStore();
  const { sqliteStore } = await import("../activity/sqlite-store.ts");
  return sqliteStore({ file: databaseFile(), ...(maxBytes !== undefined && { maxBytes }) });
}

/** Which tools the settings choose. */
export function toolChoice({ tools, toolsets }: Settings): ToolChoice {
  const { preset, disable } = tools;
  return { preset, toolsets, disable, toolOptions: factoryOptions(tools.options) };
}

/** A setting has the name that a call's argument has; the factory's option has the same in our own spelling. */
function factoryOptions(options: ToolSettings): ToolOptionsByName {
  const byName = Object.entries(options).map(([tool, { max_results: maxResults, ...rest }]) => {
    return [tool, { ...rest, ...(maxResults !== undefined && { maxResults }) }] as const;
  });
  return Object.fromEntries(byName);
}
