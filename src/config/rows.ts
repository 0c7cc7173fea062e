import { APPROVER_LIMITS } from "../contract/approvers.ts";
import { SANDBOX_MODES } from "../contract/containment.ts";
import { MEMORY_SCOPES } from "../contract/memory.ts";
import { AUTONOMIES } from "../contract/policy.ts";
import type { Verdict } from "../contract/decision.ts";
import { FETCH_MODES, PROXY_MODES } from "../network/network-settings.ts";
import { ASK_IN_SANDBOX, type CommandRule, DEFAULT_FORBIDDEN_PATHS } from "../policy/policy-settings.ts";
import { PRESET_NAMES } from "../tools/presets/names.ts";
import type { SearchEngine } from "../web/search.ts";
import { type Base, absolutePath } from "../util/paths.ts";
import { complaintsOfServers, markServers, serverNames, serverOf, serverSchema, startOf } from "./mcp.ts";
import { added, byName, mergedOptions, yoursFirst } from "./merge.ts";
import {
  type Complaint,
  type ProjectRule,
  free,
  inOwnFolder,
  looser,
  never,
  notLooser,
  notMore,
} from "./project-rules.ts";
import {
  type Schema,
  choice,
  either,
  fields,
  host,
  integer,
  limitOrNone,
  list,
  name,
  path,
  policyPath,
  positive,
  record,
  text,
  variable,
  webUrl,
  yesOrNo,
} from "./schemas.ts";
import {
  type ModuleSetting,
  type Owner,
  type PluginSetting,
  type ToolSetting,
  agentOf,
  agentSchema,
  describePlugin,
  modelOf,
  modelSchema,
  parkMode,
  pluginOf,
  pluginSchema,
  programIn,
} from "./values.ts";

/**
 * A key of the configuration: everything about it. Validation, merging, what a project may set, flags, environment
 * variables, the table in docs/configuration.md and the schema for editors follow from the rows.
 */
export interface Row<Written, T = Written> {
  /** The value in a file. Its `title` is what a message says was expected. */
  readonly schema: Schema<Written>;
  /** Returns the setting for the value in a file. Relative paths are relative to `base`. Default: the value itself. */
  read?(written: Written, base: Base): T;
  /** Complains about what a schema cannot say. Loaded when a file sets the key. */
  check?(): Promise<(written: Written) => readonly Complaint[]>;
  /** Without a default, the setting may be absent; `otherwise` says in Markdown what applies then. */
  readonly default?: NoInfer<T>;
  readonly otherwise?: string;
  /** What a project's file may set. */
  readonly project: ProjectRule<NoInfer<T>>;
  /** Combines the value with the one below it. Default: it replaces that. */
  merge?(below: NoInfer<T> | undefined, value: NoInfer<T>, by: Owner): NoInfer<T>;
  /** A flag of the command line: `--NAME <value>`. The schema of the key is then that of a text. */
  readonly flag?: { readonly name: string; readonly value: string; readonly help: string };
  /** One line of Markdown. */
  readonly doc: string;
}

type Defaulted<T> = { readonly default: NoInfer<T> };

function row<Written, T = Written>(row: Row<Written, T> & Defaulted<T>): Row<Written, T> & Defaulted<T>;
function row<Written, T = Written>(row: Row<Written, T>): Row<Written, T>;
function row<Written, T>(given: Row<Written, T>): Row<Written, T> {
  return given;
}

const ENGINES: readonly SearchEngine["engine"][] = ["duckduckgo", "searxng", "brave"];
const LOOSE_IF_FALSE = notLooser([false, true]);
const MOST_MB = 16_777_216;

const keepingHome = (written: readonly string[], base: Base): readonly string[] =>
  written.map((each) => (each === "~" || each.startsWith("~/") ? each : absolutePath(each, base)));

/** The name of any tool: which exist is known only after plugins and servers have started. `*` is any characters. */
const toolName = text("the name of a tool", { format: "tool" });
const limit = fields({ lines: integer(1, 1_000_000), bytes: integer(1, 10_485_760) });
const timed = (most: number) => fields({ limit, timeout: positive(most, "seconds") });
const counted = (most: number) => fields({ limit, max_results: integer(1, most) });

const ruleMap = fields(
  { rule: text("a rule", { format: "rule" }), match: list(text("an example")), not_match: list(text("an example")) },
  ["rule"],
);
const rules = list(
  either<string, CommandRule>(
    "a rule, or a map of rule, match, not_match",
    text("a rule", { format: "rule" }),
    ruleMap,
  ),
);
/** A rule that does not satisfy its own examples is invalid. */
const examples = async (verdict: Verdict) => (await import("./formats.ts")).complaintsOfExamples(verdict);
const ruleText = (entry: string | CommandRule) => (typeof entry === "string" ? entry : entry.rule);

const approver = (doc: string) =>
  row({
    schema: choice(APPROVER_LIMITS),
    otherwise: "`high`",
    project: notLooser(APPROVER_LIMITS, ""),
    doc,
  });

/** Every key, in the order of the documentation. An unknown key is an error. */
export const ROWS = {
  "tools.preset": row({
    schema: text("the name of a preset or of a toolset"),
    default: "coding",
    project: {
      rule: "trusted",
      note: "only if you chose a preset yourself, and it adds tools that do more than look",
      gives(preset, { addedTools }) {
        const tools = addedTools(preset);
        return tools.length === 0 ? undefined : `tools that act and are not in your own toolset: ${tools.join(", ")}`;
      },
    },
    flag: {
      name: "preset",
      value: "name",
      help: `the toolset: ${PRESET_NAMES.join(", ")} or one of yours (default: coding)`,
    },
    doc: "the toolset: a [preset](#presets) or one of `toolsets`",
  }),
  "tools.work_dir": row({
    schema: path,
    read: absolutePath,
    otherwise: "the current folder",
    project: inOwnFolder<string>("in its own folder"),
    flag: {
      name: "work-dir",
      value: "folder",
      help:
        "the folder that tools work in (default: the current folder; on a remote host the home folder, in a " +
        "container the image's)",
    },
    doc: "where tools work",
  }),
  "tools.disable": row({
    schema: list(toolName),
    default: [],
    project: free("adds to yours"),
    merge: added,
    doc: "names of tools to omit; of plugins and servers too, with `*` for any characters",
  }),
  "tools.options": row({
    schema: record<ToolSetting>("a map of tools, each with its options", toolName, fields({ limit }), {
      bash: timed(86_400),
      shell: timed(86_400),
      grep: counted(10_000),
      find: counted(10_000),
      web_search: counted(20),
      web_fetch: timed(600),
    }),
    default: {},
    otherwise: "none",
    project: free(),
    merge: mergedOptions,
    doc:
      "by tool: `limit: { lines, bytes }` of a result that is shown (2000 and 51200); `grep`, `find` and `web_search`: " +
      "`max_results` (100, 200, 10); `bash`, `shell` and `web_fetch`: `timeout` in seconds (120, 60, 30)",
  }),
  "tools.plugins": row({
    schema: list(pluginSchema),
    read: (written, base): readonly PluginSetting[] => written.map((each) => pluginOf(each, base)),
    default: [],
    otherwise: "none",
    project: {
      rule: "trusted",
      note: "adds to yours",
      gives: (plugins) => plugins.map(describePlugin).join("; ") || undefined,
      mark: (plugins, project) => plugins.map((each) => ({ ...each, project })),
    },
    merge: added,
    doc:
      "[plugins](plugins.md), a list: `path`, and `args`, `env` (names of variables), `sandbox`, `cwd`, `hosts`, `name`, " +
      "`timeout` in seconds (600)",
  }),
  "tools.modules": row({
    schema: list(path),
    read: (written, base): readonly ModuleSetting[] => written.map((each) => ({ path: absolutePath(each, base) })),
    default: [],
    otherwise: "none",
    project: {
      rule: "trusted",
      note: "adds to yours",
      gives: (modules) =>
        modules.length === 0
          ? undefined
          : `code runs in Handrail's own process, outside the sandbox: ${modules.map((each) => each.path).join(", ")}`,
      mark: (modules, project) => modules.map((each) => ({ ...each, project })),
    },
    merge: added,
    doc:
      "JavaScript modules whose default export is a tool or a list of tools: [tools of your " +
      "own](plugins.md#a-module-instead-of-a-program)",
  }),
  "tools.mcp": row({
    schema: record("a map of names, each with an MCP server", serverNames, serverSchema),
    check: async () => complaintsOfServers,
    read: (servers, base) => mapped(servers, (each) => serverOf(each, base)),
    default: {},
    otherwise: "none",
    project: {
      rule: "trusted",
      note: "in the sandbox; yours win",
      gives(servers) {
        const starts = Object.entries(markServers(servers, "trusted")).map(([of, each]) => `${of} ${startOf(each)}`);
        return starts.length === 0 ? undefined : `MCP servers: ${starts.join("; ")}`;
      },
      mark: markServers,
    },
    merge: yoursFirst,
    doc:
      "by name, [MCP servers](mcp-client.md) whose tools are used: `{ command, args, env, sandbox, cwd, hosts }` or " +
      "`{ url, headers, token_variable, auth, oauth }`, with `tools`, `timeout`, `start_timeout`",
  }),
  toolsets: row({
    schema: record("a map of names, each with a list of tools", name("toolset-name"), list(toolName)),
    default: {},
    otherwise: "none",
    project: {
      rule: "tightens",
      note: "not a name that you use",
      complaints: (toolsets, own) =>
        Object.keys(toolsets)
          .filter((each) => Object.hasOwn(own as object, each))
          .map((each) => ({ at: [each], message: "you have a toolset of this name; a project cannot change it" })),
    },
    merge: byName,
    doc: "presets of your own: a name and its tools, which models are offered in this order",
  }),
  "policy.autonomy": row({
    schema: choice(AUTONOMIES),
    default: "supervised",
    project: notLooser(AUTONOMIES.toReversed()),
    flag: { name: "autonomy", value: "level", help: "what runs without a question (default: supervised)" },
    doc: "`readonly`: no changes; `supervised`: acts need approval; `full`: they do not",
  }),
  "policy.workspace_only": row({
    schema: yesOrNo,
    default: true,
    project: LOOSE_IF_FALSE,
    doc: "`false`: paths outside the workspace need approval instead of being refused",
  }),
  "policy.allowed_roots": row({
    schema: list(policyPath),
    read: keepingHome,
    default: [],
    project: inOwnFolder<readonly string[]>("in its own folder, and not what you forbid; adds"),
    merge: added,
    doc: "folders that may be used like the workspace",
  }),
  "policy.forbidden_paths": row({
    schema: list(policyPath),
    read: keepingHome,
    default: DEFAULT_FORBIDDEN_PATHS,
    otherwise: "system folders, other homes, key folders",
    project: free("adds to yours"),
    merge: added,
    doc: "files and folders that are never read or written; no patterns",
  }),
  "policy.commands.allow": row({
    schema: rules,
    check: () => examples("allow"),
    default: [],
    project: never("only you can allow"),
    doc: "rules for what runs without a question",
  }),
  "policy.commands.only": row({
    schema: rules,
    check: () => examples("allow"), // compared as strictly
    default: [],
    project: {
      rule: "tightens",
      note: "a part of your list, if you have one",
      complaints(value, own) {
        const yours = new Set((own as typeof value).map(ruleText));
        if (yours.size === 0) return [];
        if (value.length === 0) return looser("an empty list is looser than yours");
        const extra = value.map(ruleText).find((each) => !yours.has(each));
        return extra === undefined ? [] : looser(`your own list does not have "${extra}"`);
      },
    },
    doc: "the only commands that are not refused; they allow nothing by themselves",
  }),
  "policy.commands.ask": row({
    schema: rules,
    check: () => examples("ask"),
    default: [],
    project: free("adds to yours"),
    merge: added,
    doc: "rules for what always needs approval",
  }),
  "policy.commands.deny": row({
    schema: rules,
    check: () => examples("deny"),
    default: [],
    project: free("adds to yours"),
    merge: added,
    doc: "rules for what is always refused",
  }),
  "policy.block_high_risk_commands": row({
    schema: yesOrNo,
    default: true,
    project: LOOSE_IF_FALSE,
    doc: "commands of high risk are refused; `false`: they are judged like others",
  }),
  "policy.require_approval_for_medium_risk": row({
    schema: yesOrNo,
    default: true,
    project: LOOSE_IF_FALSE,
    doc: "commands of medium risk need approval; `false`: they do not",
  }),
  "policy.max_actions_per_hour": row({
    schema: limitOrNone(1_000_000),
    default: null,
    project: notMore,
    doc: "acts in any hour: `null` no limit, `0` none",
  }),
  "policy.shell_confirm": row({
    schema: yesOrNo,
    default: false,
    project: LOOSE_IF_FALSE,
    doc: "`true`: every command needs approval",
  }),
  "policy.sandbox": row({
    schema: choice(SANDBOX_MODES),
    default: "auto",
    project: notLooser(SANDBOX_MODES),
    flag: {
      name: "sandbox",
      value: "mode",
      help: "run commands in a sandbox: where it works (auto, the default), always (on), never (off)",
    },
    doc: "`auto`: commands run in the sandbox where it works; `on`: without it nothing runs; `off`: none",
  }),
  "policy.ask_in_sandbox": row({
    schema: choice(ASK_IN_SANDBOX),
    default: "nothing",
    project: notLooser(ASK_IN_SANDBOX),
    doc: "further questions about commands in the sandbox: `nothing`, none; `all`, the same as without a sandbox",
  }),
  "policy.sandbox_limits.processes": row({
    schema: integer(1, 1_000_000),
    otherwise: "`1000`",
    project: never("it is your machine"),
    doc: "processes of a command in the sandbox",
  }),
  "policy.sandbox_limits.memory_mb": row({
    schema: integer(1, MOST_MB),
    otherwise: "80 % of the machine's",
    project: never("it is your machine"),
    doc: "MiB of memory of a command in the sandbox, where memory can be limited",
  }),
  "policy.sandbox_limits.disk_free_mb": row({
    schema: integer(0, MOST_MB),
    otherwise: "`512`",
    project: never("it is your machine"),
    doc: "MiB that stay free on a disk: a command in the sandbox that needs more is stopped",
  }),
  "policy.sandbox_alarm.per_minute": row({
    schema: integer(0, 1_000),
    otherwise: "`10`",
    project: never("alarms are for you"),
    doc: "how many sandbox refusals within a minute raise an alarm in the record; `0`: none",
  }),
  "policy.sandbox_alarm.cooldown": row({
    schema: integer(0, 86_400),
    otherwise: "`60`",
    project: never("alarms are for you"),
    doc: "seconds between two alarms",
  }),
  "policy.network.fetch": row({
    schema: choice(FETCH_MODES),
    default: "seen",
    project: notLooser(FETCH_MODES),
    doc:
      "which [fetches](web.md#when-a-person-is-asked) need approval: `open`, long queries to hosts that nobody named; " +
      "`seen`, also hosts and text that the conversation has not seen; `ask`, every URL",
  }),
  "policy.network.proxy": row({
    schema: choice(PROXY_MODES),
    default: "none",
    project: never("it is your network"),
    doc: "`environment`: fetches go through the proxy in `HTTPS_PROXY`, `HTTP_PROXY` or `ALL_PROXY`",
  }),
  "policy.network.allow_hosts": row({
    schema: list(host),
    default: [],
    project: never("only you can allow"),
    doc: "hosts that are fetched from without a question",
  }),
  "policy.network.deny_hosts": row({
    schema: list(host),
    default: [],
    project: free("adds to yours"),
    merge: added,
    doc: "hosts that are never fetched from",
  }),
  "policy.network.allow_private": row({
    schema: list(host),
    default: [],
    project: never("it is your network"),
    doc: "hosts that may have an address that is not public",
  }),
  "policy.env.pass": row({
    schema: list(variable),
    default: [],
    project: {
      rule: "trusted",
      note: "adds to yours",
      gives: (names) => (names.length === 0 ? undefined : `commands get ${names.join(", ")} from your environment`),
    },
    merge: added,
    doc: "variables of your environment that commands get",
  }),
  "search.engine": row({
    schema: choice(ENGINES),
    default: "duckduckgo",
    project: never("it receives your queries"),
    doc: "the engine of `web_search`: `duckduckgo`, `searxng` or `brave`",
  }),
  "search.url": row({
    schema: webUrl("the URL of a SearXNG instance"),
    otherwise: "none",
    project: never(),
    doc: "your SearXNG instance, for `searxng`",
  }),
  "search.key_variable": row({
    schema: variable,
    otherwise: "`BRAVE_API_KEY`",
    project: never(),
    doc: "the environment variable with your key, for `brave`",
  }),
  "browser.headed": row({
    schema: yesOrNo,
    otherwise: "`false`",
    project: never("it is your screen"),
    doc: "whether the [browser](browser.md) has a window that people see",
  }),
  "browser.executable_path": row({
    schema: path,
    read: absolutePath,
    otherwise: "the first Chromium or Chrome found",
    project: never("it is started"),
    doc: "the program of the browser",
  }),
  "browser.profile": row({
    schema: name(),
    otherwise: "none",
    project: never("logins are yours"),
    doc: "the [profile](browser.md#logins-and-people) in which the browser keeps logins; one process at a time uses it",
  }),
  "browser.cdp": row({
    schema: text("the address of a running browser", {
      pattern: "^(?:[hH][tT][tT][pP]|[wW][sS])[sS]?://[^/\\s]+",
      advice: "For example http://127.0.0.1:9222.",
    }),
    otherwise: "none",
    project: never("it has your logins"),
    doc:
      "the address of a running browser to join, such as `http://127.0.0.1:9222`; it is [not " +
      "contained](browser.md#joining-a-running-browser)",
  }),
  model: row({
    schema: modelSchema,
    read: modelOf,
    otherwise: "none",
    project: {
      rule: "trusted",
      note: "",
      gives: (model) =>
        `your prompts and what tools read are sent to the model ${model.provider}:${model.name}` +
        (model.baseUrl === undefined ? "" : ` at ${model.baseUrl}`),
    },
    doc:
      "the [model](agent.md#models) of agents that name none: `openai:gpt-5`, or `{ provider, name, base_url, " +
      "key_variable, context, price: { input, output } }`; `price` is US dollars for a million tokens, for limits of `cost`",
  }),
  agents: row({
    schema: record("a map of names, each with model, toolset, instructions, limits", name(), agentSchema),
    read: (agents) => mapped(agents, agentOf),
    default: {},
    otherwise: "none",
    project: {
      rule: "trusted",
      note: "",
      gives(agents) {
        const names = Object.keys(agents).join(", ");
        return names === "" ? undefined : `agents with the project's own model, tools and instructions: ${names}`;
      },
    },
    merge: byName,
    doc:
      "by name, for `--agent NAME` and for the tool [`delegate`](agent.md#sub-agents): `{ model, toolset, instructions, " +
      "limits: { rounds, time, tokens, cost } }`, `time` in seconds",
  }),
  "memory.scope": row({
    schema: choice(MEMORY_SCOPES),
    otherwise: "`user`",
    project: never("your memories are yours to share"),
    doc:
      "who shares [memories](memory.md): `user`, all your workspaces; `workspace`, only sessions in the same folder of " +
      "the same target",
  }),
  "memory.core_bytes": row({
    schema: integer(0, 1_048_576),
    otherwise: "`4096`",
    project: never("it is your agent"),
    doc: "bytes that core memories may take in an agent's instructions; `0`: none",
  }),
  "approvers.terminal": approver(
    "the highest risk that can be [approved](threads.md#who-may-answer) in a terminal, or through an MCP client's own " +
      "question: `high`, `medium`, `low`, `none`",
  ),
  "approvers.browser": approver("in a browser on a computer"),
  "approvers.phone": approver("on a phone that was paired"),
  "approvers.api": approver("by a program with the token"),
  notify: row({
    schema: { ...list(text("a word of a command")), title: "a list: a program and its arguments" },
    read: ([program, ...args], base) => (program === undefined ? [] : [programIn(program, base), ...args]),
    default: [],
    project: never("it starts a program"),
    doc:
      "a program of yours with its arguments, run when [somebody is waited for](threads.md#reaching-people): `[ntfy, " +
      "publish, my-topic]`",
  }),
  park: row({
    schema: text('when calls are parked ("now", "after 10m", "never")', {
      format: "park",
      advice: "Durations: 30s, 10m, 2h.",
    }),
    read: (written) => parkMode(written) ?? "never",
    default: "never",
    project: never("you decide who waits for you"),
    doc:
      "when a call that waits for a person is [parked](threads.md#parked-calls): `now`, `after 10m` (or another time), " +
      "`never`",
  }),
  store: row({
    schema: choice(["sqlite", "memory"]),
    default: "sqlite",
    project: never("the record is yours"),
    doc:
      "where calls are recorded: `sqlite` in the state folder, which [all processes share](threads.md), or `memory`, " +
      "until the program ends",
  }),
  "state.outputs_mb": row({
    schema: integer(1, MOST_MB),
    otherwise: "`2048`",
    project: never("they belong to all projects"),
    doc: "MiB for all saved outputs in the state folder; the oldest are removed first, and each after 7 days",
  }),
  "state.database_mb": row({
    schema: integer(1, MOST_MB),
    otherwise: "`1024`",
    project: never("the record is yours"),
    doc:
      "MiB for the database in the state folder; the oldest calls are removed first, and each after 30 days. Its " +
      "write-ahead log takes some 16 MiB more",
  }),
  "state.undo_mb": row({
    schema: integer(1, MOST_MB),
    otherwise: "`2048`",
    project: never(),
    doc: "MiB that [undo](undo.md) may take for one workspace; the oldest states are removed first, and each after 30 days",
  }),
  "state.parked_days": row({
    schema: integer(1, 365),
    otherwise: "`7`",
    project: never(),
    doc: "days that a parked call waits for its answer, and then again for a process",
  }),
  undo: row({
    schema: choice(["on", "off"]),
    default: "on",
    project: never("the way back is yours"),
    doc: "`on`: what tools change is kept, so that it can be [undone](undo.md); `off`: nothing is kept",
  }),
  log_file: row({
    schema: path,
    read: absolutePath,
    otherwise: "none",
    project: never("it would write to your files"),
    flag: { name: "log-file", value: "file", help: "append a debug log to this file, as JSON lines" },
    doc: "a file for the [debug log](#the-debug-log), like `--log-file`",
  }),
};

export type Key = keyof typeof ROWS;

/** The rows without the types of their values, for code that treats all keys alike. */
export const ROW_OF: { readonly [key: string]: Row<unknown> } = ROWS as never;

function mapped<A, B>(values: { readonly [name: string]: A }, to: (value: A) => B): { readonly [name: string]: B } {
  return Object.fromEntries(Object.entries(values).map(([each, value]) => [each, to(value)]));
}
