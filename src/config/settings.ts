import type { Approvers } from "../contract/approvers.ts";
import { resolve } from "node:path";
import type { Limits } from "../agent/turn.ts";
import type { ModelSettings } from "../agent/models/load.ts";
import type { SandboxMode } from "../contract/containment.ts";
import type { MemoryScope } from "../contract/memory.ts";
import type { Autonomy } from "../contract/policy.ts";
import type { FetchMode, ProxyMode } from "../network/network-settings.ts";
import type { BrowserSettings } from "../web/browser/protocol.ts";
import type { SearchEngine } from "../web/search.ts";
import {
  type AskInSandbox,
  type CommandRule,
  type CommandRules,
  DEFAULT_FORBIDDEN_PATHS,
} from "../policy/policy-settings.ts";
import type { McpChoices } from "./mcp.ts";
import { presetPolicy } from "../tools/presets/policies.ts";
import { parseDuration } from "../tools/shared/duration.ts";

/**
 * The settings of one run: validated files and flags over the defaults. Immutable. Paths are absolute or start with
 * `~`.
 */
export interface Settings {
  readonly tools: {
    /** A preset, or a toolset of the user. */
    readonly preset: string;
    /** Default: the current folder. */
    readonly workDir?: string;
    /** The names of tools to omit. */
    readonly disable: readonly string[];
    readonly options: ToolSettings;
    /** External programs that provide tools. */
    readonly plugins: readonly PluginSetting[];
    /** JavaScript modules that provide tools. */
    readonly modules: readonly ModuleSetting[];
    /** MCP servers, by name. */
    readonly mcp: McpChoices;
  };
  /** The user's own presets, as names of tools. */
  readonly toolsets: { readonly [name: string]: readonly string[] };
  readonly policy: {
    readonly autonomy: Autonomy;
    readonly workspaceOnly: boolean;
    readonly allowedRoots: readonly string[];
    readonly forbiddenPaths: readonly string[];
    /** The user's own rules. Deny rules precede ask rules, which precede allow rules. */
    readonly commands: { readonly [List in keyof CommandRules]-?: readonly (string | CommandRule)[] };
    readonly blockHighRiskCommands: boolean;
    readonly requireApprovalForMediumRisk: boolean;
    /** null for no limit; 0 for none. */
    readonly maxActionsPerHour: number | null;
    /** True if every command is asked about. */
    readonly shellConfirm: boolean;
    readonly sandbox: SandboxMode;
    /** Which contained commands are asked about when no rule, name or request requires it. */
    readonly askInSandbox: AskInSandbox;
    /** The resource limits of a command in the sandbox. Default: those of the sandbox. */
    readonly sandboxLimits: { readonly processes?: number; readonly memory?: number; readonly diskFree?: number };
    /**
     * How many sandbox refusals within a minute raise an alarm (0 for never), and for how many seconds no other alarm
     * is raised then.
     */
    readonly sandboxAlarm: { readonly perMinute?: number; readonly cooldown?: number };
    readonly network: {
      readonly fetch: FetchMode;
      readonly proxy: ProxyMode;
      readonly allowHosts: readonly string[];
      readonly denyHosts: readonly string[];
      readonly allowPrivate: readonly string[];
    };
    /** Environment variables that commands get in addition to the harmless ones. */
    readonly env: { readonly pass: readonly string[] };
  };
  /** The search engine of web_search. Default: DuckDuckGo. */
  readonly search: SearchSettings;
  /** The browser of the tool `browser`. */
  readonly browser: BrowserSettings;
  /** The model of agents that set none. Without it, a model must be named when an agent is started. */
  readonly model?: ModelSettings;
  readonly agents: { readonly [name: string]: AgentChoice };
  /**
   * Who shares memories, and the size of core memories in an agent's instructions, in bytes. Default: those of
   * `createToolkit` and `buildInstructions`.
   */
  readonly memory: { readonly scope?: MemoryScope; readonly coreBytes?: number };
  /** From where which risk can be approved. */
  readonly approvers: Approvers;
  /** The program, with its arguments, that is run when somebody is waited for. Empty: none. */
  readonly notify: readonly string[];
  /** When calls that wait for a person are parked. */
  readonly park: ParkMode;
  /** Where calls are recorded: in a file of the state folder, or only in memory. */
  readonly store: StoreKind;
  /**
   * Size limits of saved outputs, the database, and the undo store of a workspace, in bytes. Default: those of their
   * stores.
   */
  readonly state: {
    readonly outputs?: number;
    readonly database?: number;
    readonly undo?: number;
    /** How long parked calls are kept. Milliseconds. */
    readonly parkedMs?: number;
  };
  /** Whether changes of tools are kept, so that they can be undone. */
  readonly undo: (typeof UNDO_MODES)[number];
  /** The log file of the command line. Default: no log. */
  readonly logFile?: string;
}

/** A plugin, as a file configures it. */
export interface PluginSetting {
  /** Absolute, or a name to look up on the PATH. */
  readonly path: string;
  readonly args: readonly string[];
  /** The names of environment variables that are passed to it. */
  readonly env: readonly string[];
  /** Whether it runs in the sandbox. Default: if a project configures it, or a model can write where it is. */
  readonly sandbox?: boolean;
  /** "workspace": it starts there, and runs in the sandbox by default. */
  readonly cwd?: "workspace";
  /** The hosts that it may reach from the sandbox. Default: none. */
  readonly hosts?: readonly string[];
  /** Default: see `pluginName`. */
  readonly name?: string;
  /** How long a call may take without a result or an update, in seconds. */
  readonly timeout?: number;
  /**
   * Absent for the user's own plugin. Otherwise whether the user has trusted the project that configures it. Without
   * trust it is not started.
   */
  readonly project?: "trusted" | "not trusted";
}

/** A module with tools, as a file configures it. */
export interface ModuleSetting extends Pick<PluginSetting, "project"> {
  /** Absolute. */
  readonly path: string;
}

export interface SearchSettings {
  readonly engine: SearchEngine["engine"];
  /** The URL of the user's SearXNG instance. */
  readonly url?: string;
  /** The environment variable with the key for Brave Search. Default: BRAVE_API_KEY. */
  readonly keyVariable?: string;
}

/** An agent that the user configures. */
export interface AgentChoice {
  readonly model?: ModelSettings;
  /** A preset, or a toolset of the user. */
  readonly toolset?: string;
  readonly instructions?: string;
  readonly limits?: Pick<Limits, "rounds" | "timeMs" | "tokens" | "cost">;
}

export const STORE_KINDS = ["sqlite", "memory"] as const;
export type StoreKind = (typeof STORE_KINDS)[number];

export const UNDO_MODES = ["on", "off"] as const;

/** Options of tools, by the tool's name. */
export interface ToolSettings {
  readonly [tool: string]: ToolSetting;
}

/** The settings of a tool. `tools.options` of the key table decides which of them a tool has. */
export interface ToolSetting {
  /** How much of a result a model gets. */
  readonly limit?: { readonly lines?: number; readonly bytes?: number };
  /** The number of results if a call sets none. */
  readonly max_results?: number;
  /** The timeout of a command if a call sets none, in seconds. */
  readonly timeout?: number;
}

/** As the option `park` of a toolkit. */
export type ParkMode = "now" | "never" | { readonly afterMs: number };

/** Reads "now", "never" or "after 10m"; `undefined` for anything else. */
export function parkMode(written: string): ParkMode | undefined {
  if (written === "now" || written === "never") return written;
  const afterMs = parseDuration(/^after (.+)$/.exec(written)?.[1] ?? "");
  return afterMs === undefined || afterMs === 0 ? undefined : { afterMs };
}

/** The settings from flags. Each overrides every file. */
export interface Flags {
  readonly preset?: string;
  /** Relative to the current folder. */
  readonly workDir?: string;
  readonly autonomy?: Autonomy;
  readonly sandbox?: SandboxMode;
}

/** The defaults. */
export const DEFAULT_SETTINGS: Settings = frozen({
  tools: { preset: "coding", disable: [], options: {}, plugins: [], modules: [], mcp: {} },
  toolsets: {},
  search: { engine: "duckduckgo" },
  browser: {},
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
    network: { fetch: "seen", proxy: "none", allowHosts: [], denyHosts: [], allowPrivate: [] },
    env: { pass: [] },
  },
  memory: {},
  approvers: {},
  notify: [],
  park: "never",
  store: "sqlite",
  state: {},
  undo: "on",
});

/** The defaults, for the user's choice of preset. */
export function defaultSettings(preset: string | undefined): Settings {
  const policy = presetPolicy(preset);
  if (policy === undefined) return DEFAULT_SETTINGS;
  return frozen({ ...DEFAULT_SETTINGS, policy: { ...DEFAULT_SETTINGS.policy, ...policy } });
}

/** Returns the settings, overridden by flags. */
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

/** Makes a value and everything in it immutable. */
export function frozen<T>(value: T): T {
  if (typeof value !== "object" || value === null || Object.isFrozen(value)) return value;
  Object.values(value).forEach(frozen);
  return Object.freeze(value);
}
