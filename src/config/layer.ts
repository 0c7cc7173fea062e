import { CHANNELS } from "../contract/approvers.ts";
import { DEFAULT_LIMIT } from "../output/truncate.ts";
import type { Given } from "./keys.ts";
import { ofProject } from "./mcp.ts";
import { type AgentChoice, type Settings, type ToolSettings, frozen, parkMode } from "./settings.ts";

/** Returns the settings, overridden by a file of the user's. Lists are replaced. */
export function withOwn(base: Settings, given: Given): Settings {
  const outputs = given["state.outputs_mb"]?.value;
  const database = given["state.database_mb"]?.value;
  const undo = given["state.undo_mb"]?.value;
  const parkedDays = given["state.parked_days"]?.value;
  const park = given.park === undefined ? undefined : parkMode(given.park.value);
  const scope = given["memory.scope"]?.value;
  const coreBytes = given["memory.core_bytes"]?.value;
  const [headed, executablePath] = [given["browser.headed"], given["browser.executable_path"]];
  const [profile, cdp] = [given["browser.profile"], given["browser.cdp"]];
  const searchUrl = given["search.url"]?.value ?? base.search.url;
  const keyVariable = given["search.key_variable"]?.value ?? base.search.keyVariable;
  const logFile = given.log_file?.value ?? base.logFile;
  return frozen({
    ...common(base, given),
    policy: {
      autonomy: given["policy.autonomy"]?.value ?? base.policy.autonomy,
      workspaceOnly: given["policy.workspace_only"]?.value ?? base.policy.workspaceOnly,
      allowedRoots: given["policy.allowed_roots"]?.value.map(({ value }) => value) ?? base.policy.allowedRoots,
      forbiddenPaths: given["policy.forbidden_paths"]?.value ?? base.policy.forbiddenPaths,
      ...limits(base, given),
      commands: {
        allow: given["policy.commands.allow"]?.value ?? base.policy.commands.allow,
        only: given["policy.commands.only"]?.value ?? base.policy.commands.only,
        ask: given["policy.commands.ask"]?.value ?? base.policy.commands.ask,
        deny: given["policy.commands.deny"]?.value ?? base.policy.commands.deny,
      },
      network: {
        fetch: given["policy.network.fetch"]?.value ?? base.policy.network.fetch,
        proxy: given["policy.network.proxy"]?.value ?? base.policy.network.proxy,
        allowHosts: given["policy.network.allow_hosts"]?.value ?? base.policy.network.allowHosts,
        denyHosts: given["policy.network.deny_hosts"]?.value ?? base.policy.network.denyHosts,
        allowPrivate: given["policy.network.allow_private"]?.value ?? base.policy.network.allowPrivate,
      },
      env: { pass: given["policy.env.pass"]?.value ?? base.policy.env.pass },
    },
    memory: { ...base.memory, ...(scope !== undefined && { scope }), ...(coreBytes !== undefined && { coreBytes }) },
    search: {
      engine: given["search.engine"]?.value ?? base.search.engine,
      ...(searchUrl !== undefined && { url: searchUrl }),
      ...(keyVariable !== undefined && { keyVariable }),
    },
    browser: {
      ...base.browser,
      ...(headed !== undefined && { headed: headed.value }),
      ...(executablePath !== undefined && { executablePath: executablePath.value }),
      ...(profile !== undefined && { profile: profile.value }),
      ...(cdp !== undefined && { cdp: cdp.value }),
    },
    notify: given.notify?.value ?? base.notify,
    park: park ?? base.park,
    store: given.store?.value ?? base.store,
    state: {
      ...base.state,
      ...(outputs !== undefined && { outputs: outputs * MEBIBYTE }),
      ...(database !== undefined && { database: database * MEBIBYTE }),
      ...(undo !== undefined && { undo: undo * MEBIBYTE }),
      ...(parkedDays !== undefined && { parkedMs: parkedDays * DAY_MS }),
    },
    undo: given.undo?.value ?? base.undo,
    ...(logFile !== undefined && { logFile }),
  });
}

/**
 * Returns the settings, extended by a project's file. The file must be reduced to what it may set. Lists are appended.
 */
export function withProject(base: Settings, given: Given): Settings {
  const { tools, ...rest } = common(base, given);
  return frozen({
    ...base,
    tools: {
      ...tools,
      disable: union(
        base.tools.disable,
        given["tools.disable"]?.value.map(({ value }) => value),
      ),
      plugins: [
        ...base.tools.plugins,
        ...(given["tools.plugins"]?.value ?? []).map((each) => ({ project: "trusted" as const, ...each })),
      ],
      modules: [
        ...base.tools.modules,
        ...(given["tools.modules"]?.value ?? []).map((each) => ({ project: "trusted" as const, ...each })),
      ],
      mcp: { ...ofProject(given["tools.mcp"]?.value ?? {}), ...base.tools.mcp }, // the user's override them
    },
    ...rest,
    policy: {
      autonomy: given["policy.autonomy"]?.value ?? base.policy.autonomy,
      workspaceOnly: given["policy.workspace_only"]?.value ?? base.policy.workspaceOnly,
      allowedRoots: union(
        base.policy.allowedRoots,
        given["policy.allowed_roots"]?.value.map(({ value }) => value),
      ),
      forbiddenPaths: union(base.policy.forbiddenPaths, given["policy.forbidden_paths"]?.value),
      ...limits(base, given),
      commands: {
        allow: base.policy.commands.allow,
        only: given["policy.commands.only"]?.value ?? base.policy.commands.only,
        ask: union(base.policy.commands.ask, given["policy.commands.ask"]?.value),
        deny: union(base.policy.commands.deny, given["policy.commands.deny"]?.value),
      },
      network: {
        ...base.policy.network,
        fetch: given["policy.network.fetch"]?.value ?? base.policy.network.fetch,
        denyHosts: union(base.policy.network.denyHosts, given["policy.network.deny_hosts"]?.value),
      },
      env: { pass: union(base.policy.env.pass, given["policy.env.pass"]?.value) },
    },
  });
}

/** Settings that both kinds of file override in the same way. */
function common(
  { tools, toolsets, agents, approvers, ...base }: Settings,
  given: Given,
): Pick<Settings, "tools" | "toolsets" | "agents" | "model" | "approvers"> {
  const model = given.model?.value ?? base.model;
  const workDir = given["tools.work_dir"]?.value ?? tools.workDir;
  return {
    tools: {
      preset: given["tools.preset"]?.value ?? tools.preset,
      ...(workDir !== undefined && { workDir }),
      disable: given["tools.disable"]?.value.map(({ value }) => value) ?? tools.disable,
      options: withOptions(tools.options, given["tools.options"]?.value ?? {}),
      plugins: given["tools.plugins"]?.value ?? tools.plugins,
      modules: given["tools.modules"]?.value ?? tools.modules,
      mcp: { ...tools.mcp, ...given["tools.mcp"]?.value },
    },
    toolsets: { ...toolsets, ...toolsetsIn(given) },
    agents: { ...agents, ...agentsIn(given) },
    approvers: Object.fromEntries(
      CHANNELS.flatMap((channel) => {
        const limit = given[`approvers.${channel}`]?.value ?? approvers[channel];
        return limit === undefined ? [] : [[channel, limit]];
      }),
    ),
    ...(model !== undefined && { model }),
  };
}

/** The limits that a file overrides. A project's file has been reduced to limits that are not looser. */
function limits(
  { policy }: Settings,
  given: Given,
): Pick<
  Settings["policy"],
  | "blockHighRiskCommands"
  | "requireApprovalForMediumRisk"
  | "maxActionsPerHour"
  | "shellConfirm"
  | "sandbox"
  | "askInSandbox"
  | "sandboxLimits"
  | "sandboxAlarm"
> {
  const processes = given["policy.sandbox_limits.processes"]?.value;
  const memory = given["policy.sandbox_limits.memory_mb"]?.value;
  const diskFree = given["policy.sandbox_limits.disk_free_mb"]?.value;
  const perMinute = given["policy.sandbox_alarm.per_minute"]?.value;
  const cooldown = given["policy.sandbox_alarm.cooldown"]?.value;
  const most = given["policy.max_actions_per_hour"];
  return {
    blockHighRiskCommands: given["policy.block_high_risk_commands"]?.value ?? policy.blockHighRiskCommands,
    requireApprovalForMediumRisk:
      given["policy.require_approval_for_medium_risk"]?.value ?? policy.requireApprovalForMediumRisk,
    maxActionsPerHour: most === undefined ? policy.maxActionsPerHour : most.value, // null is a value: no limit
    shellConfirm: given["policy.shell_confirm"]?.value ?? policy.shellConfirm,
    sandbox: given["policy.sandbox"]?.value ?? policy.sandbox,
    askInSandbox: given["policy.ask_in_sandbox"]?.value ?? policy.askInSandbox,
    sandboxLimits: {
      ...policy.sandboxLimits,
      ...(processes !== undefined && { processes }),
      ...(memory !== undefined && { memory: memory * MEBIBYTE }),
      ...(diskFree !== undefined && { diskFree: diskFree * MEBIBYTE }),
    },
    sandboxAlarm: {
      ...policy.sandboxAlarm,
      ...(perMinute !== undefined && { perMinute }),
      ...(cooldown !== undefined && { cooldown }),
    },
  };
}

const DAY_MS = 86_400_000;
const MEBIBYTE = 1_048_576;

/** Returns the toolsets of a file, by name. */
export function toolsetsIn(given: Given): Settings["toolsets"] {
  return Object.fromEntries(
    Object.entries(given.toolsets?.value ?? {}).map(
      ([name, { value }]) => [name, value.map((each) => each.value)] as const,
    ),
  );
}

/** Returns the agents of a file, by name. */
function agentsIn(given: Given): Settings["agents"] {
  const all = Object.entries(given.agents?.value ?? {}).map(([name, agent]) => {
    const { model, toolset, instructions, limits: { rounds, time, tokens } = {} } = agent;
    const bounds = {
      ...(rounds !== undefined && { rounds }),
      ...(time !== undefined && { timeMs: time * 1_000 }),
      ...(tokens !== undefined && { tokens }),
    };
    const choice: AgentChoice = {
      ...(model !== undefined && { model }),
      ...(toolset !== undefined && { toolset: toolset.value }),
      ...(instructions !== undefined && { instructions }),
      limits: bounds,
    };
    return [name, choice] as const;
  });
  return Object.fromEntries(all);
}

/** Merges options of tools. A limit on lines or bytes keeps the other limit. */
function withOptions(base: ToolSettings, added: NonNullable<Given["tools.options"]>["value"]): ToolSettings {
  const merged = Object.entries(added).map(([tool, { value: options }]) => {
    const before = Object.hasOwn(base, tool) ? base[tool] : undefined;
    const limit = options.limit && { limit: { ...DEFAULT_LIMIT, ...before?.limit, ...options.limit } };
    return [tool, { ...before, ...options, ...limit }] as const;
  });
  return { ...base, ...Object.fromEntries(merged) };
}

function union<T>(one: readonly T[], other: readonly T[] = []): readonly T[] {
  return [...new Set([...one, ...other])];
}
