import { APPROVER_LIMITS } from "../contract/approvers.ts";
import { SANDBOX_MODES } from "../contract/containment.ts";
import { MEMORY_SCOPES } from "../contract/memory.ts";
import type { Autonomy } from "../contract/policy.ts";
import { isToolName } from "../contract/tool.ts";
import type { Verdict } from "../contract/decision.ts";
import { hostRule } from "../network/hosts.ts";
import { FETCH_MODES, PROXY_MODES } from "../network/network-settings.ts";
import { SEARCH_ENGINES } from "../web/search.ts";
import { checkExamples } from "../policy/rules/examples.ts";
import { parseRule } from "../policy/rules/rule.ts";
import { ASK_IN_SANDBOX, type CommandRule } from "../policy/policy-settings.ts";
import { BUILT_IN } from "../tools/presets/built-in.ts";
import { isOfSource } from "../tools/presets/choose.ts";
import { PRESETS } from "../tools/presets/presets.ts";
import { absolutePath } from "../util/paths.ts";
import { didYouMean } from "./nearest.ts";
import { type Shape, shape } from "./shape.ts";
import { mcpServers } from "./mcp.ts";
import { modelShape } from "./model-shape.ts";
import {
  type ModuleSetting,
  type PluginSetting,
  STORE_KINDS,
  type ToolSetting,
  UNDO_MODES,
  parkMode,
} from "./settings.ts";
import {
  choice,
  fields,
  integer,
  limitOrNone,
  list,
  located,
  path,
  policyPath,
  positive,
  record,
  text,
  yesOrNo,
} from "./shapes.ts";

/** The autonomies, strictest first. */
export const AUTONOMIES: readonly Autonomy[] = ["readonly", "supervised", "full"];

const TOOL_NAMES = Object.keys(BUILT_IN);

/**
 * The name of any tool. Which tools exist is known only after plugins and MCP servers have started. `*` matches any
 * characters.
 */
const toolName = located(
  text("the name of a tool", (name) => (/^[a-zA-Z_*][a-zA-Z0-9_*-]{0,127}$/.test(name) ? undefined : toolsNear(name))),
);

/**
 * Returns what is wrong with a tool's name if there are only built-in tools; `undefined` for a valid name or a pattern.
 */
export function unknownTool(name: string): string | undefined {
  if (TOOL_NAMES.includes(name) || isOfSource(name)) return undefined;
  return `expected the name of a tool, got ${JSON.stringify(name)}. ${toolsNear(name)}`;
}

const SOURCE_NAME = /^[a-zA-Z0-9]+(?:-+[a-zA-Z0-9]+)*$/;
const NAME = /^[a-zA-Z][a-zA-Z0-9_-]{0,63}$/;

const variableName = text("the name of an environment variable", (name) =>
  /^[A-Za-z_][A-Za-z0-9_]*$/.test(name) ? undefined : "A name is letters, digits and _; patterns are not supported.",
);

const host = text('a host ("example.org", "*.example.org", "10.0.0.7", "localhost:3000")', (written) => {
  return typeof hostRule(written) === "string" ? "Omit scheme and path; a * may only be the first part." : undefined;
});

/** Used to validate rules about paths, for which any base will do. */
const ANY_BASE = { workDir: "/", home: "/" };

const ruleText = text("a rule", (written) => {
  const parsed = parseRule(written, ANY_BASE);
  return parsed.ok ? undefined : parsed.problem;
});
const ruleFields = fields({ rule: ruleText, match: list(text("an example")), not_match: list(text("an example")) });

/** The rules of one list. The list decides their verdict. A rule that does not satisfy its own examples is invalid. */
function rules(verdict: Verdict): Shape<readonly (string | CommandRule)[]> {
  const rule = shape<string | CommandRule>(
    "a rule, or a map of rule, match, not_match",
    (node, { key, reading, wrong }) => {
      if (node.kind === "text") return ruleText.read(node, key, reading);
      if (node.kind !== "map") return wrong();
      const read = ruleFields.read(node, key, reading);
      if (read === undefined) return undefined;
      const { rule: written, match, not_match } = read;
      if (written === undefined) {
        const isGiven = node.entries.some((entry) => entry.key === "rule"); // the fault of the rule is reported already
        return isGiven ? undefined : wrong("The rule itself is missing.");
      }
      const given = {
        rule: written,
        ...(match !== undefined && { match }),
        ...(not_match !== undefined && { not_match }),
      };
      const parsed = parseRule(written, ANY_BASE);
      const problems = parsed.ok ? checkExamples(parsed.rule, given, verdict, ANY_BASE) : [];
      for (const problem of problems) reading.report(node.place, key, `${JSON.stringify(written)}: ${problem}`);
      return given;
    },
  );
  return list(rule);
}

const limit = fields({ lines: integer(1, 1_000_000), bytes: integer(1, 10_485_760) });
const maxResults = integer(1, 10_000);

/** Settings of single tools, besides `limit`, which all tools have. */
const OF_ONE_TOOL: { readonly [tool: string]: Shape<ToolSetting> } = {
  bash: fields({ limit, timeout: positive(86_400, "seconds") }),
  shell: fields({ limit, timeout: positive(86_400, "seconds") }),
  grep: fields({ limit, max_results: maxResults }),
  find: fields({ limit, max_results: maxResults }),
  web_search: fields({ limit, max_results: integer(1, 20) }),
  web_fetch: fields({ limit, timeout: positive(600, "seconds") }),
};
const OF_ANY_TOOL: Shape<ToolSetting> = fields({ limit });

const toolOptions = record("a map of tools, each with its options", (name) => {
  if (!isToolName(name)) return `this is not the name of a tool. ${toolsNear(name)}`;
  return located(Object.hasOwn(OF_ONE_TOOL, name) ? (OF_ONE_TOOL[name] ?? OF_ANY_TOOL) : OF_ANY_TOOL);
});

const pluginFields = fields({
  path: text("a program: a path, or a name that is found on the PATH", (given) =>
    given.trim() === "" ? "It is empty." : undefined,
  ),
  args: list(text("an argument")),
  env: list(variableName),
  sandbox: yesOrNo,
  cwd: choice(["workspace"]),
  hosts: list(host),
  name: text("a name", (given) => (SOURCE_NAME.test(given) ? undefined : "A name is letters, digits and -.")),
  timeout: positive(86_400, "seconds"),
});

const plugins = list(
  shape<PluginSetting>(pluginFields.expected, (node, { key, reading, wrong }) => {
    const read = pluginFields.read(node, key, reading);
    if (read === undefined) return undefined;
    const { path: program, args = [], env = [], ...rest } = read;
    if (program === undefined)
      return node.kind === "map" && node.entries.some((each) => each.key === "path")
        ? undefined
        : wrong("The path is missing.");
    const base = { workDir: reading.folder, home: reading.home };
    const isPath = program.includes("/");
    return {
      path: isPath ? absolutePath(program, base) : program,
      args: args.map((arg) => (/^(?:\.\.?|~)\//.test(arg) ? absolutePath(arg, base) : arg)),
      env,
      ...rest,
    };
  }),
);

const modules = list(
  shape<ModuleSetting>(path.expected, (node, { key, reading }) => {
    const file = path.read(node, key, reading);
    return file === undefined ? undefined : { path: file };
  }),
);

const toolsets = record("a map of names, each with a list of tools", (name) => {
  if (!NAME.test(name)) return 'expected a name: a letter, then up to 63 letters, digits, "_" or "-"';
  if (Object.hasOwn(PRESETS, name)) return "there is a preset of this name; choose another";
  return located(list(toolName));
});

const searchUrl = text("the URL of a SearXNG instance", (written) =>
  URL.canParse(written) && /^https?:/i.test(written) ? undefined : "It begins with https:// or http://.",
);

const profileName = text("the name of a profile", (written) =>
  NAME.test(written) ? undefined : 'A letter, then up to 63 letters, digits, "_" or "-".',
);
const browserAddress = text("the address of a running browser", (written) =>
  URL.canParse(written) && /^(?:https?|wss?):/i.test(written) ? undefined : "For example http://127.0.0.1:9222.",
);

const model = modelShape();
const agent = fields({
  model,
  toolset: located(text("the name of a preset or of a toolset")),
  instructions: text("text for the model"),
  limits: fields({
    rounds: integer(1, 1_000_000),
    time: positive(86_400, "seconds"),
    tokens: integer(1, 1_000_000_000),
    cost: positive(1_000_000, "the currency of the prices"),
  }),
});
const agents = record("a map of names, each with model, toolset, instructions, limits", (name) =>
  NAME.test(name) ? agent : 'expected a name: a letter, then up to 63 letters, digits, "_" or "-"',
);

/** A name without a slash is found on the PATH; a path is relative to the file. */
const ownProgram = shape<readonly string[]>("a list: a program and its arguments", (node, { key, reading }) => {
  const words = list(text("a word of a command")).read(node, key, reading);
  const base = { workDir: reading.folder, home: reading.home };
  return words?.map((word, index) => (index === 0 && word.includes("/") ? absolutePath(word, base) : word));
});

const park = text('when calls are parked ("now", "after 10m", "never")', (written) =>
  parkMode(written) === undefined ? "Durations: 30s, 10m, 2h." : undefined,
);

/** All keys, and the shape of their values. An unknown key is an error. */
export const KEYS = {
  "tools.preset": located(text("the name of a preset or of a toolset")),
  "tools.work_dir": located(path),
  "tools.disable": located(list(toolName)),
  "tools.options": located(toolOptions),
  "tools.plugins": located(plugins),
  "tools.modules": located(modules),
  "tools.mcp": located(mcpServers),
  toolsets: located(toolsets),
  "policy.autonomy": located(choice(AUTONOMIES)),
  "policy.workspace_only": located(yesOrNo),
  "policy.allowed_roots": located(list(located(policyPath))),
  "policy.forbidden_paths": located(list(policyPath)),
  "policy.commands.allow": located(rules("allow")),
  "policy.commands.only": located(rules("allow")), // compared as strictly
  "policy.commands.ask": located(rules("ask")),
  "policy.commands.deny": located(rules("deny")),
  "policy.block_high_risk_commands": located(yesOrNo),
  "policy.require_approval_for_medium_risk": located(yesOrNo),
  "policy.max_actions_per_hour": located(limitOrNone(1_000_000)),
  "policy.shell_confirm": located(yesOrNo),
  "policy.sandbox": located(choice(SANDBOX_MODES)),
  "policy.ask_in_sandbox": located(choice(ASK_IN_SANDBOX)),
  "policy.sandbox_limits.processes": located(integer(1, 1_000_000)),
  "policy.sandbox_limits.memory_mb": located(integer(1, 16_777_216)),
  "policy.sandbox_limits.disk_free_mb": located(integer(0, 16_777_216)),
  "policy.sandbox_alarm.per_minute": located(integer(0, 1_000)),
  "policy.sandbox_alarm.cooldown": located(integer(0, 86_400)),
  "policy.network.fetch": located(choice(FETCH_MODES)),
  "policy.network.proxy": located(choice(PROXY_MODES)),
  "policy.network.allow_hosts": located(list(host)),
  "policy.network.deny_hosts": located(list(host)),
  "policy.network.allow_private": located(list(host)),
  "policy.env.pass": located(list(variableName)),
  "search.engine": located(choice(SEARCH_ENGINES)),
  "search.url": located(searchUrl),
  "search.key_variable": located(variableName),
  "browser.headed": located(yesOrNo),
  "browser.executable_path": located(path),
  "browser.profile": located(profileName),
  "browser.cdp": located(browserAddress),
  model: located(model),
  agents: located(agents),
  "memory.scope": located(choice(MEMORY_SCOPES)),
  "memory.core_bytes": located(integer(0, 1_048_576)),
  "approvers.terminal": located(choice(APPROVER_LIMITS)),
  "approvers.browser": located(choice(APPROVER_LIMITS)),
  "approvers.phone": located(choice(APPROVER_LIMITS)),
  "approvers.api": located(choice(APPROVER_LIMITS)),
  notify: located(ownProgram),
  park: located(park),
  store: located(choice(STORE_KINDS)),
  "state.outputs_mb": located(integer(1, 16_777_216)),
  "state.database_mb": located(integer(1, 16_777_216)),
  "state.undo_mb": located(integer(1, 16_777_216)),
  "state.parked_days": located(integer(1, 365)),
  undo: located(choice(UNDO_MODES)),
  log_file: located(path),
} satisfies { readonly [key: string]: Shape<unknown> };

export type Key = keyof typeof KEYS;

/** The content of a file: the keys that it sets, each validated by itself. */
export type Given = { readonly [K in Key]?: (typeof KEYS)[K] extends Shape<infer T> ? T : never };

/**
 * What a project's file may set a key to. The file came with the project, so its author is not the user. (The user's
 * own file, and one named with `--config`, may set anything.)
 */
export type ProjectRule =
  /** Any value: it allows nothing that was not allowed before. */
  | "free"
  /** Nothing looser than what applies without it (see tightening.ts). Anything else is an error. */
  | "tightening"
  /**
   * The value gives away something of the user's, or makes something run (see asking.ts). It is ignored until the user
   * trusts the file.
   */
  | "when trusted"
  /** No value: only the user may set it, so it is an error. */
  | "never";

/** Who may set which key. `${NAME}` in any value is "when trusted" too, because it gives away the environment. */
export const PROJECT_RULES = {
  "tools.preset": "when trusted", // only a preset that adds acting tools to the user's own choice
  "tools.work_dir": "tightening", // only inside the project's folder
  "tools.disable": "free", // adds
  "tools.options": "free",
  "tools.plugins": "when trusted", // adds: they are programs
  "tools.modules": "when trusted", // adds: they run in Handrail's process
  "tools.mcp": "when trusted", // starts programs
  toolsets: "tightening", // not names of the user's toolsets
  "policy.autonomy": "tightening",
  "policy.workspace_only": "tightening",
  "policy.allowed_roots": "tightening", // only inside the project's folder; adds
  "policy.forbidden_paths": "free", // adds
  "policy.commands.allow": "never", // allowed commands run without a question
  "policy.commands.only": "tightening", // if the user has a list, only its entries
  "policy.commands.ask": "free", // adds
  "policy.commands.deny": "free", // adds
  "policy.block_high_risk_commands": "tightening",
  "policy.require_approval_for_medium_risk": "tightening",
  "policy.max_actions_per_hour": "tightening",
  "policy.shell_confirm": "tightening",
  "policy.sandbox": "tightening",
  "policy.ask_in_sandbox": "tightening",
  "policy.sandbox_limits.processes": "never", // the user decides how much of this machine to use
  "policy.sandbox_limits.memory_mb": "never",
  "policy.sandbox_limits.disk_free_mb": "never",
  "policy.sandbox_alarm.per_minute": "never",
  "policy.sandbox_alarm.cooldown": "never",
  "policy.network.fetch": "tightening",
  "policy.network.proxy": "never", // the user knows the way out
  "policy.network.allow_hosts": "never", // requests to allowed hosts are made without a question
  "policy.network.deny_hosts": "free", // adds
  "policy.network.allow_private": "never", // private networks are the user's
  "policy.env.pass": "when trusted", // adds
  "search.engine": "never", // it is sent all queries
  "search.url": "never",
  "search.key_variable": "never",
  "browser.headed": "never", // windows, programs and logins are the user's
  "browser.executable_path": "never",
  "browser.profile": "never",
  "browser.cdp": "never",
  model: "when trusted", // it is sent the whole conversation
  agents: "when trusted",
  "memory.scope": "never", // stored memories are the user's to share
  "memory.core_bytes": "never",
  "approvers.terminal": "tightening",
  "approvers.browser": "tightening",
  "approvers.phone": "tightening",
  "approvers.api": "tightening",
  notify: "never", // it starts a program
  park: "never", // the user decides who waits for them
  store: "never", // the record of calls is the user's
  "state.outputs_mb": "never", // shared by all projects
  "state.database_mb": "never",
  "state.undo_mb": "never",
  "state.parked_days": "never",
  undo: "never", // only the user may give up undo
  log_file: "never", // it could write to any file of the user's
} as const satisfies { readonly [K in Key]: ProjectRule };

/** The keys with a rule. */
export type KeysWith<Rule extends ProjectRule> = {
  [K in Key]: (typeof PROJECT_RULES)[K] extends Rule ? K : never;
}[Key];

function toolsNear(name: string): string {
  return didYouMean(name, TOOL_NAMES) || `Tools: ${TOOL_NAMES.join(", ")}.`;
}
