import { DEFAULT_LIMIT } from "../output/truncate.ts";
import type { Given } from "./keys.ts";
import { type Settings, type ToolSettings, frozen } from "./settings.ts";

/** Settings with what a file of the user's says over them: what it names is replaced, lists too. */
export function withOwn(base: Settings, given: Given): Settings {
  const outputs = given["state.outputs_mb"]?.value;
  const database = given["state.database_mb"]?.value;
  const scope = given["memory.scope"]?.value;
  const coreBytes = given["memory.core_bytes"]?.value;
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
    store: given.store?.value ?? base.store,
    state: {
      ...base.state,
      ...(outputs !== undefined && { outputs: outputs * MEBIBYTE }),
      ...(database !== undefined && { database: database * MEBIBYTE }),
    },
    ...(logFile !== undefined && { logFile }),
  });
}

/** Settings with what a project's file says over them, of which nothing is left that it may not say: its lists add. */
export function withProject(base: Settings, given: Given): Settings {
  const { tools, ...rest } = common(base, given);
  return frozen({
    ...base,
    tools: { ...tools, disable: union(base.tools.disable, given["tools.disable"]?.value) },
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

/** What both kinds of file say in the same way. */
function common(
  { tools, toolsets, agents, ...base }: Settings,
  given: Given,
): Pick<Settings, "tools" | "toolsets" | "agents" | "model"> {
  const model = given.model?.value ?? base.model;
  const workDir = given["tools.work_dir"]?.value ?? tools.workDir;
  return {
    tools: {
      preset: given["tools.preset"]?.value ?? tools.preset,
      ...(workDir !== undefined && { workDir }),
      disable: given["tools.disable"]?.value ?? tools.disable,
      options: withOptions(tools.options, given["tools.options"]?.value ?? {}),
    },
    toolsets: { ...toolsets, ...toolsetsIn(given) },
    agents: { ...agents, ...given.agents?.value },
    ...(model !== undefined && { model }),
  };
}

/** What a file of either kind says in place of what was said before; of a project's nothing looser is left. */
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

const MEBIBYTE = 1_048_576;

/** The toolsets of a file, by name. */
export function toolsetsIn(given: Given): Settings["toolsets"] {
  return Object.fromEntries(
    Object.entries(given.toolsets?.value ?? {}).map(([name, { value }]) => [name, value] as const),
  );
}

/** A limit of one kind leaves the other as it is. */
function withOptions(base: ToolSettings, added: ToolSettings): ToolSettings {
  const merged = Object.entries(added).map(([tool, options]) => {
    const before = Object.hasOwn(base, tool) ? base[tool] : undefined;
    const limit = options.limit && { limit: { ...DEFAULT_LIMIT, ...before?.limit, ...options.limit } };
    return [tool, { ...before, ...options, ...limit }] as const;
  });
  return { ...base, ...Object.fromEntries(merged) };
}

function union<T>(one: readonly T[], other: readonly T[] = []): readonly T[] {
  return [...new Set([...one, ...other])];
}
