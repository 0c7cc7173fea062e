import { existsSync } from "node:fs";
import { stat } from "node:fs/promises";
import { resolve } from "node:path";
import type { TargetOptions } from "../machine/targets.ts";
import { MCP_FILE, findConfig, findProjectFile } from "../app/config/find.ts";
import type { McpChoices } from "../app/config/mcp.ts";
import { type Loaded, loadSettings } from "../app/config/load.ts";
import type { ToolSettings } from "../app/config/values.ts";
import { type Settings, flagsIn } from "../app/config/settings.ts";
import { databaseFile, homeOf, keyFile, stateFolder } from "../app/config/state.ts";
import type { Store } from "../core/contract/activity.ts";
import type { ToolSource } from "../core/contract/tool-source.ts";
import type { Toolkit } from "../core/contract/toolkit.ts";
import { realOf } from "../machine/git/disk.ts";
import { keepProgramsOutOf } from "../machine/programs/places.ts";
import { writtenPlaces } from "../policy/provenance/written-places.ts";
import { messageOf } from "../core/util/errors.ts";
import { absolutePath } from "../core/util/paths.ts";
import type { ToolOptionsByName } from "../tools/presets/built-in.ts";
import { NO_SUCH_TOOL, type ToolChoice } from "../tools/presets/choose.ts";
import { PRESET_NAMES } from "../tools/presets/names.ts";
import type { SearchEngine } from "../tools/web/search.ts";
import type { ToolkitOptions } from "../app/toolkit-options.ts";
import type { DebugLog } from "./log.ts";
import type { GlobalOptions } from "./options.ts";
import { warn } from "./say.ts";
import type { Tracing } from "./tracing.ts";
import type { Io } from "./io.ts";

/** The shared owner of saved outputs: an output that one `handrail call` saved can be read by the next. */
const OUTPUT_OWNER = "command-line";

/**
 * Loads the settings from files and options, with notices for people.
 *
 * @throws ConfigError when a file is not valid; Error when there is no such preset.
 */
export async function loadedSettings(options: GlobalOptions): Promise<Loaded> {
  const { config, preset, target, workDir, ...rest } = options;
  // a path on another system does not select files on this machine
  const ofFolder = workDir === undefined || target !== undefined ? {} : { workDir };
  const loaded = await loadSettings({
    ...{ env: options.io.env, cwd: options.io.cwd },
    ...(config !== undefined && { config }),
    ...(ofFolder.workDir !== undefined && { from: ofFolder.workDir }),
    flags: flagsIn({ ...rest, ...ofFolder, ...(preset !== undefined && { preset }) }, options.io),
  });
  const names = [...PRESET_NAMES, ...Object.keys(loaded.settings.toolsets)];
  if (preset !== undefined && !names.includes(preset)) {
    throw new Error(
      `option '--preset <name>' argument '${preset}' is invalid. Allowed choices are ${names.join(", ")}.`,
    );
  }
  return loaded;
}

/**
 * Loads the settings from files and options. Prints a notice to stderr for settings of a project's file without effect.
 *
 * @throws Like `loadedSettings`; Error when `--work-dir` is not a folder of this machine, unless a target is named.
 */
export async function settingsFrom(options: GlobalOptions): Promise<Settings> {
  const { settings, notices } = await loadedSettings(options);
  warn(options.io, notices);
  const { workDir } = options;
  if (workDir !== undefined && options.target === undefined) await requireFolder(options.io, workDir);
  return settings;
}

async function requireFolder(io: Io, workDir: string): Promise<void> {
  const info = await stat(resolve(io.cwd, workDir)).catch(() => undefined);
  if (info?.isDirectory() === true) return;
  const problem = info === undefined ? "does not exist" : "is not a folder";
  throw new Error(
    `option '--work-dir <folder>' argument '${workDir}' is invalid: ${resolve(io.cwd, workDir)} ${problem}.`,
  );
}

/** What watches one run of the program. */
export interface Watched {
  /** Ends what holds during the run. */
  readonly release: () => void;
  readonly log?: DebugLog;
  readonly tracing?: Tracing;
}

/**
 * Opens the log that the options or the user's files ask for, and begins to send traces if the files do. Logs
 * `command`, versions, the configuration files and, if they are valid, the settings. If they are not, the command
 * itself reports that.
 *
 * @throws Error that names the file when it cannot be written.
 */
export async function startWatching(command: string, options: GlobalOptions): Promise<Watched> {
  const settings = await loadedSettings(options).then(
    (loaded) => loaded.settings,
    () => undefined,
  );
  const release = keepProgramsOutOfTools(options, settings);
  const collector = settings?.telemetry.traces;
  const tracing = collector && { tracing: (await import("./tracing.ts")).startTracing(collector, options.io.env) };
  const file = options.logFile ?? settings?.logFile;
  if (file === undefined) return { release, ...tracing };
  const log = (await import("./log.ts")).openLog(options.io, file);
  const { config, workDir, target, targets: _, io: __, words: ___, ...rest } = options;
  const files = findConfig({
    ...{ env: options.io.env, cwd: options.io.cwd },
    ...(config !== undefined && { named: config }),
    ...(workDir !== undefined && target === undefined && { from: workDir }),
  });
  const { version: node, platform } = process;
  log.write("info", "program.started", {
    command,
    version: __VERSION__,
    node,
    platform,
    files,
    options: { ...rest, config, workDir, target },
    settings: settings && { ...settings, store: settings.store.replace(/:\/\/.*/s, "://…") }, // it may have a password
  });
  return { release, log, ...tracing };
}

/** The run starts no programs from where tools can write, or could in an earlier session, until it is released. */
function keepProgramsOutOfTools({ io, target, workDir }: GlobalOptions, settings: Settings | undefined): () => void {
  const written = writtenPlaces(stateFolder(io.env));
  const folder = target === undefined ? (workDir ?? settings?.tools.workDir ?? ".") : ".";
  const base = { workDir: resolve(io.cwd, folder), home: homeOf(io.env) };
  const open = ["", ...(settings?.policy.allowedRoots ?? [])].map((path) => realOf(absolutePath(path, base)));
  return keepProgramsOutOf(() => [...open, ...written.now()]);
}

/**
 * Opens the session of a shared terminal, and tells people once how to attach to it. Does nothing without such a
 * terminal. Never rejects: a session that cannot be opened is reported.
 *
 * @param tell default: prints a line to stderr
 */
export async function tellHowToAttach(
  io: Io,
  { backend: { terminal } }: Toolkit,
  tell: (text: string) => void = (text) => warn(io, [text]),
): Promise<void> {
  if (terminal === undefined || terminal.isPersons === true) return;
  const report = (error: unknown) => tell(messageOf(error));
  await terminal.capture().then(() => tell(`to watch the commands and to type: ${terminal.attach}`), report);
}

/** Returns true when plugins, modules or MCP servers are configured. Otherwise their code is not loaded. */
export function hasSources({ tools }: Settings, { io, target, workDir }: GlobalOptions): boolean {
  if (tools.plugins.length + tools.modules.length + Object.keys(tools.mcp).length > 0) return true;
  return findProjectFile(target === undefined ? workDir : undefined, io, MCP_FILE) !== undefined;
}

/** What a command needs from a toolkit. */
export interface ToolkitNeeds {
  /** True starts plugins and MCP servers. A source's name starts only that one. Default false. */
  readonly sources?: boolean | string;
  /** MCP servers in addition to those of the configuration. They override servers of the same name. Default: none. */
  readonly servers?: McpChoices;
  /** Called with news about a plugin or a server, for people. Default: prints a line to stderr. */
  readonly tell?: (text: string) => void;
}

/** Stands for sources that are not started, because the settings may still name their tools. */
const NOT_STARTED: ToolSource = { name: "others", start: async () => {}, close: async () => {} };

/** Returns the options of a toolkit, from files and options. Rejects like `settingsFrom`. */
export async function toolkitOptions(options: GlobalOptions, needs: ToolkitNeeds = {}): Promise<ToolkitOptions> {
  const { sources: starts = false, servers = {}, tell = (text) => warn(options.io, [text]) } = needs;
  const settings = await settingsFrom(options);
  const { commands } = settings.policy;
  if (Object.values(commands).some(({ length }) => length > 0)) {
    warn(options.io, (await import("../policy/rules/warnings.ts")).ruleWarnings(commands));
  }
  const store = await storeOf(options.io, settings);
  const { log } = options;
  const areNamed = hasSources(settings, options) || Object.keys(servers).length > 0;
  const { sources, notices } =
    areNamed && starts !== false
      ? await (await import("./sources.ts")).sourcesOf(settings, options, servers)
      : { sources: [], notices: [] };
  notices.forEach(tell);
  const started = sources.filter(({ name }) => starts === true || starts === name);
  return {
    ...toolkitOptionsOf(settings, options),
    ...(Object.keys(settings.hooks).length > 0 && {
      hooks: (await import("./hooks.ts")).hooksOf(settings, options, tell),
    }),
    mask: { values: await keptKeys(options.io) },
    store: log === undefined ? store : (await import("./log.ts")).loggedStore(store, log),
    sources: areNamed && starts !== true ? [...started, NOT_STARTED] : started,
    onWaiting: async (notice) => {
      const report = (text: string) => {
        log?.write("warn", "notify.failed", { text });
        tell(text);
      };
      const { sendNotice } = await import("../serve/notify.ts");
      await sendNotice(notice, { program: settings.notify, onFailure: report });
    },
    onNotice(text) {
      log?.write("warn", "backend.noticed", { text });
      if (started.some(({ name }) => text.startsWith(name)) || text.endsWith(NO_SUCH_TOOL)) tell(text);
    },
  };
}

/** Returns the keys in the file of keys, which are masked. Never rejects: whoever uses a key reports a broken file. */
export async function keptKeys(io: Io): Promise<readonly string[]> {
  if (!existsSync(keyFile(io.env))) return [];
  const { readKeyFile } = await import("../agent/models/keys.ts");
  const keys = await readKeyFile(keyFile(io.env)).catch(() => undefined);
  return [...(keys?.values() ?? [])];
}

/** Returns what the reader of a denial can do when nobody could be asked. */
export function howToApprove({ store }: Pick<Settings, "store">, by: "call" | "mcp"): string {
  const wait = store === "memory" ? [] : ["`handrail approvals wait` open in a terminal"];
  if (by === "call") {
    const ways = [
      "run it in a terminal",
      ...wait.map((what) => `keep ${what} meanwhile`),
      "or approve in advance with --yes",
    ];
    return `To allow it, ${ways.join(", ")}.`;
  }
  const ways = [
    ...wait.map((what) => `keeps ${what} while you make the call again`),
    "uses an MCP client that can ask them",
  ];
  return `To allow it, a person ${ways.join(", or ")}.`;
}

/** Returns the settings as options of a toolkit, without the store. */
export function toolkitOptionsOf(settings: Settings, options: GlobalOptions): Omit<ToolkitOptions, "store"> {
  const { env, maxActionsPerHour, sandbox, sandboxLimits, sandboxAlarm, ...policy } = settings.policy;
  const { perMinute, cooldown } = sandboxAlarm;
  // the files name a folder of this machine
  const workDir = options.target === undefined ? (settings.tools.workDir ?? options.io.cwd) : options.workDir;
  const { log } = options;
  return {
    ...toolChoice(options.io, settings),
    policy: {
      ...policy,
      ...(maxActionsPerHour !== null && { maxActionsPerHour }),
      // Tools can neither read nor change the log.
      ...(log !== undefined &&
        options.target === undefined && { forbiddenPaths: [...policy.forbiddenPaths, log.path] }),
    },
    env: options.io.env,
    howToApprove: howToApprove(settings, "call"),
    passEnv: env.pass,
    sandbox: {
      mode: sandbox,
      limits: sandboxLimits,
      alarms: {
        ...(perMinute !== undefined && { perMinute }),
        ...(cooldown !== undefined && { cooldownMs: cooldown * 1_000 }),
      },
    },
    ...(settings.memory.scope !== undefined && { memoryScope: settings.memory.scope }),
    outputOwner: OUTPUT_OWNER,
    ...(settings.state.outputs !== undefined && { maxOutputBytes: settings.state.outputs }),
    browser: settings.browser,
    undo: settings.undo === "on",
    ...(settings.queue !== undefined && { queue: settings.queue }),
    park: settings.park,
    ...(Object.keys(settings.approvers).length > 0 && { approvers: settings.approvers }),
    ...(settings.state.parkedMs !== undefined && { keepParkedMs: settings.state.parkedMs }),
    ...(settings.state.undo !== undefined && { maxUndoBytes: settings.state.undo }),
    ...(workDir !== undefined && { workDir }),
    ...placeOf(options),
  };
}

/** Returns where work happens, from the options. Run inside a tmux pane, it adds that pane as the terminal. */
export function placeOf({
  io,
  target,
  targets,
  tmux,
  tmuxSession,
}: GlobalOptions): Pick<TargetOptions, "target" | "targets" | "terminal"> {
  const session = tmuxSession ?? tmux;
  const { TMUX: server, TMUX_PANE: id } = io.env;
  const [socketPath = ""] = server?.split(",") ?? [];
  return {
    ...(target !== undefined && { target }),
    ...(targets !== undefined && { targets }),
    ...(session !== undefined && { terminal: session }),
    ...(session === undefined && id !== undefined && socketPath !== "" && { terminal: { id, socketPath } }),
  };
}

/**
 * Calls `work` with the store that this user's processes share, and closes it afterwards.
 *
 * @throws Error when the configured store is not shared between processes.
 */
export async function withStore<T>(options: GlobalOptions, work: (store: Store) => Promise<T>): Promise<T> {
  const settings = await settingsFrom(options);
  if (settings.store === "memory") {
    throw new Error("the configuration has store: memory, which other processes do not see. Choose store: sqlite");
  }
  const store = await storeOf(options.io, settings);
  try {
    return await work(store);
  } finally {
    await store.close().catch((error: unknown) => warn(options.io, [messageOf(error)]));
  }
}

/** Opens the configured store. Loads only the code for this kind of store. */
export async function storeOf(io: Io, { store, state: { database: maxBytes } }: Settings): Promise<Store> {
  if (store === "memory") return (await import("../record/activity/memory-store.ts")).memoryStore();
  if (store !== "sqlite") return (await import("../record/activity/postgres-store.ts")).postgresStore({ url: store });
  const { sqliteStore } = await import("../record/activity/sqlite-store.ts");
  return sqliteStore({ file: databaseFile(io.env), ...(maxBytes !== undefined && { maxBytes }) });
}

/** Returns which tools the settings choose. */
export function toolChoice(io: Io, { tools, toolsets, search }: Settings): ToolChoice {
  const { preset, disable } = tools;
  const options = factoryOptions(tools.options);
  const engine = searchEngine(io, search);
  return {
    preset,
    toolsets,
    disable,
    toolOptions: { ...options, ...(engine !== undefined && { web_search: { ...options.web_search, engine } }) },
  };
}

/**
 * Returns the configured search engine; `undefined` for the default.
 *
 * @throws Error when a setting or key that it needs is missing.
 */
function searchEngine(
  io: Io,
  { engine, url, keyVariable = "BRAVE_API_KEY" }: Settings["search"],
): SearchEngine | undefined {
  if (engine === "duckduckgo") return undefined;
  if (engine === "searxng") {
    if (url !== undefined) return { engine, url };
    throw new Error('search.engine is "searxng", and search.url is missing: set it to the URL of your instance.');
  }
  const key = io.env[keyVariable];
  if (key !== undefined && key !== "") return { engine, key };
  throw new Error(`search.engine is "brave", and the environment has no ${keyVariable}: put your key there.`);
}

/** Settings are named like a call's arguments (snake_case). Factories have the same names in camelCase. */
function factoryOptions(options: ToolSettings): ToolOptionsByName {
  const byName = Object.entries(options).map(([tool, { max_results: maxResults, ...rest }]) => {
    return [tool, { ...rest, ...(maxResults !== undefined && { maxResults }) }] as const;
  });
  return Object.fromEntries(byName);
}
