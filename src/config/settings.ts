import { resolve } from "node:path";
import type { ModelSettings } from "../agent/models/load.ts";
import type { SandboxMode } from "../contract/containment.ts";
import type { MemoryScope } from "../contract/memory.ts";
import type { Autonomy } from "../contract/policy.ts";
import type { FetchMode, ProxyMode } from "../network/settings.ts";
import type { SearchEngine } from "../web/search.ts";
import { type AskInSandbox, type CommandRule, type CommandRules, DEFAULT_FORBIDDEN_PATHS } from "../policy/settings.ts";
import { presetPolicy } from "../tools/presets/policies.ts";

/** What is set for one run: files and flags, checked, over the defaults. Immutable. Paths are absolute or start with `~`. */
export interface Settings {
  readonly tools: {
    /** A preset, or a toolset of the user's. */
    readonly preset: string;
    /** Left out: the current folder. */
    readonly workDir?: string;
    /** Tools that are left out, by name. */
    readonly disable: readonly string[];
    readonly options: ToolSettings;
  };
  /** The user's own presets: names of tools. */
  readonly toolsets: { readonly [name: string]: readonly string[] };
  readonly policy: {
    readonly autonomy: Autonomy;
    readonly workspaceOnly: boolean;
    readonly allowedRoots: readonly string[];
    readonly forbiddenPaths: readonly string[];
    /** The user's own rules: deny before ask before allow. */
    readonly commands: { readonly [List in keyof CommandRules]-?: readonly (string | CommandRule)[] };
    readonly blockHighRiskCommands: boolean;
    readonly requireApprovalForMediumRisk: boolean;
    /** null: no limit; 0: none. */
    readonly maxActionsPerHour: number | null;
    /** Every command is asked about. */
    readonly shellConfirm: boolean;
    readonly sandbox: SandboxMode;
    /** Which contained commands are asked about that no rule, name or request asks about. */
    readonly askInSandbox: AskInSandbox;
    /** What a command in the sandbox may use at most. Left out: the sandbox's own limits. */
    readonly sandboxLimits: { readonly processes?: number; readonly memory?: number; readonly diskFree?: number };
    /** From how many refusals of the sandbox in a minute on there is an alarm (0: never), and for how many seconds then no other. */
    readonly sandboxAlarm: { readonly perMinute?: number; readonly cooldown?: number };
    readonly network: {
      readonly fetch: FetchMode;
      readonly proxy: ProxyMode;
      readonly allowHosts: readonly string[];
      readonly denyHosts: readonly string[];
      readonly allowPrivate: readonly string[];
    };
    /** Variables of our environment that commands get beside the harmless ones. */
    readonly env: { readonly pass: readonly string[] };
  };
  /** What web_search asks. Left out: DuckDuckGo. */
  readonly search: SearchSettings;
  /** The model of agents that name none. Left out: it has to be named where one is started. */
  readonly model?: ModelSettings;
  readonly agents: { readonly [name: string]: AgentChoice };
  /** Who shares memories, and bytes of core memories in an agent's instructions. Left out: the defaults of `createToolkit` and `buildInstructions`. */
  readonly memory: { readonly scope?: MemoryScope; readonly coreBytes?: number };
  /** Where calls are recorded: in a file of the state folder, or only as long as the program runs. */
  readonly store: StoreKind;
  /** Bytes that saved outputs and the database may take in the state folder. Left out: the defaults of `createOutputs` and `sqliteStore`. */
  readonly state: { readonly outputs?: number; readonly database?: number };
  /** Where the command line logs what it does. Left out: nowhere. */
  readonly logFile?: string;
}

export interface SearchSettings {
  readonly engine: SearchEngine["engine"];
  /** Of the user's SearXNG instance. */
  readonly url?: string;
  /** The variable that holds the key for Brave Search. Left out: BRAVE_API_KEY. */
  readonly keyVariable?: string;
}

/** An agent of the user's. */
export interface AgentChoice {
  readonly model?: ModelSettings;
  readonly toolset?: string;
  readonly instructions?: string;
}

export const STORE_KINDS = ["sqlite", "memory"] as const;
export type StoreKind = (typeof STORE_KINDS)[number];

/** Options of tools, by the tool's name. */
export interface ToolSettings {
  readonly [tool: string]: ToolSetting;
}

/** What can be set about a tool; which of it, `tools.options` of the key table says. */
export interface ToolSetting {
  /** How much of a result a model is shown. */
  readonly limit?: { readonly lines?: number; readonly bytes?: number };
  /** How many results are shown unless a call says otherwise. */
  readonly max_results?: number;
  /** Seconds that a command may take unless a call says otherwise. */
  readonly timeout?: number;
}

/** What flags say; each wins over every file. */
export interface Flags {
  readonly preset?: string;
  /** Relative to the current folder. */
  readonly workDir?: string;
  readonly autonomy?: Autonomy;
  readonly sandbox?: SandboxMode;
}

/** What holds where nothing is said. */
export const DEFAULT_SETTINGS: Settings = frozen({
  tools: { preset: "coding", disable: [], options: {} },
  toolsets: {},
  search: { engine: "duckduckgo" },
  agents: {},
  policy: {
    autonomy: "supervised",
    workspaceOnly: true,
    allowedRoots: [],
    forbiddenPaths: [...DEFAULT_FORBIDDEN_PATHS],
    commands: { allow: [], only: [], ask: [], deny: [] },
    blockHighRiskCommands: true,
    requireApprovalForMediumRisk: true,
    maxActionsPerHour: null,
    shellConfirm: false,
    sandbox: "auto",
    askInSandbox: "nothing",
    sandboxLimits: {},
    sandboxAlarm: {},
    network: { fetch: "open", proxy: "none", allowHosts: [], denyHosts: [], allowPrivate: [] },
    env: { pass: [] },
  },
  memory: {},
  store: "sqlite",
  state: {},
});

/** What holds where nothing is said but which preset the user wants. */
export function defaultSettings(preset: string | undefined): Settings {
  const policy = presetPolicy(preset);
  if (policy === undefined) return DEFAULT_SETTINGS;
  return frozen({ ...DEFAULT_SETTINGS, policy: { ...DEFAULT_SETTINGS.policy, ...policy } });
}

/** The settings with what flags say in place of what files say. */
export function withFlags(
  { tools, policy, ...settings }: Settings,
  { preset, workDir, autonomy, sandbox }: Flags,
): Settings {
  return frozen({
    ...settings,
    tools: {
      ...tools,
      ...(preset !== undefined && { preset }),
      ...(workDir !== undefined && { workDir: resolve(workDir) }),
    },
    policy: {
      ...policy,
      ...(autonomy !== undefined && { autonomy }),
      ...(sandbox !== undefined && { sandbox }),
    },
  });
}

/** The value, with all that is in it, made immutable. */
export function frozen<T>(value: T): T {
  if (typeof value !== "object" || value === null || Object.isFrozen(value)) return value;
  Object.values(value).forEach(frozen);
  return Object.freeze(value);
}
