import { APPROVER_LIMITS } from "../../core/contract/approvers.ts";
import { SANDBOX_MODES } from "../../core/contract/containment.ts";
import { MEMORY_SCOPES } from "../../core/contract/memory.ts";
import { AUTONOMIES } from "../../core/contract/policy.ts";
import type { Verdict } from "../../core/contract/decision.ts";
import { FETCH_MODES, PROXY_MODES } from "../../machine/network/network-settings.ts";
import { ASK_IN_SANDBOX, type CommandRule, DEFAULT_FORBIDDEN_PATHS } from "../../policy/policy-settings.ts";
import { PRESET_NAMES } from "../../tools/presets/names.ts";
import type { SearchEngine } from "../../tools/web/search.ts";
import { type Base, absolutePath } from "../../core/util/paths.ts";
import { CHAT_KEYS, type ChatAction } from "./chat-keys.ts";
import { complaintsOfServers, markServers, serverNames, serverSchema, serversOf, startOf } from "./mcp.ts";
import { complaintsOfHooks, describeHooks, hooksSchema, markHooks, mergedHooks } from "./hooks.ts";
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
  record,
  text,
  toolName,
  variable,
  webUrl,
  yesOrNo,
} from "./schemas.ts";
import {
  type Owner,
  agentSchema,
  agentsOf,
  describePlugin,
  markEach,
  modelOf,
  modelSchema,
  modulesOf,
  parkMode,
  pluginSchema,
  pluginsOf,
  toolOptions,
  wordsOf,
} from "./values.ts";

declare const SETTING: unique symbol;

/** The setting that a row describes. */
export type SettingIn<R> = R extends { readonly [SETTING]?: infer T } ? T : never;

/**
 * A key of the configuration: everything about it. Validation, merging, what a project may set, flags, environment
 * variables, the table in docs/configuration.md and the schema for editors follow from the rows.
 */
export interface Row<Written, T = Written> extends More<Written, T> {
  readonly [SETTING]?: T;
  /** The value in a file. Messages name its `title` as what was expected. */
  readonly schema: Schema<Written>;
  readonly default?: NoInfer<T>;
  /** What a project's file may set. */
  readonly project: ProjectRule<NoInfer<T>>;
}

interface More<Written, T> {
  /** One line of Markdown. */
  readonly doc: string;
  /** What applies without the key, in Markdown. Default: the default; "none" if that is empty. */
  readonly otherwise?: string;
  /** A flag of the command line: `--NAME <value>`. The schema of the key is then that of a text. */
  readonly flag?: { readonly name: string; readonly value: string; readonly help: string };
  /** Returns the setting for the value in a file. Relative paths are relative to `base`. Default: the value itself. */
  read?(written: Written, base: Base): T;
  /** Complains about what a schema cannot say. Loaded when a file sets the key. */
  check?(): Promise<(written: Written) => readonly Complaint[]>;
  /** Combines the value with the one below it. Default: it replaces that. */
  merge?(below: NoInfer<T> | undefined, value: NoInfer<T>, by: Owner): NoInfer<T>;
}

/** A key with a default. */
const row = <Written, T = Written>(
  schema: Schema<Written>,
  value: NoInfer<T>,
  project: ProjectRule<NoInfer<T>>,
  more: More<Written, T>,
): Row<Written, T> & { readonly default: T } => ({ schema, default: value, project, ...more });

/** A key whose setting may be absent. */
const optional = <Written, T = Written>(
  schema: Schema<Written>,
  otherwise: string,
  project: ProjectRule<NoInfer<T>>,
  more: More<Written, T>,
): Row<Written, T> => ({ schema, otherwise, project, ...more });

const ENGINES: readonly SearchEngine["engine"][] = ["duckduckgo", "searxng", "brave"];
const LOOSE_IF_FALSE = notLooser([false, true]);
const MOST_MB = 16_777_216;

const keepingHome = (written: readonly string[], base: Base): readonly string[] =>
  written.map((each) => (each === "~" || each.startsWith("~/") ? each : absolutePath(each, base)));

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
/** The list of the only commands that are not refused, when none of it can be read. It runs nothing. */
const NOTHING = ["/dev/null"];
const ruleText = (entry: string | CommandRule) => (typeof entry === "string" ? entry : entry.rule);

const chatKey = list(
  text('a key, such as "enter", "ctrl+o" or "alt+left"', { pattern: "^(?:(?:ctrl|shift|alt)\\+)*\\S+$" }),
);
const chatKeysSchema = fields(
  Object.fromEntries(Object.keys(CHAT_KEYS).map((action) => [action, chatKey])) as Record<ChatAction, typeof chatKey>,
);

const approver = (doc: string) => optional(choice(APPROVER_LIMITS), "`high`", notLooser(APPROVER_LIMITS, ""), { doc });

/** Every key, in the order of the documentation. An unknown key is an error. */
export const ROWS = {
  "tools.preset": row(
    text("the name of a preset or of a toolset"),
    "coding",
    {
      rule: "trusted",
      note: "only if you chose a preset yourself, and it adds tools that do more than look",
      gives: (preset, { addedTools }) => {
        const tools = addedTools(preset);
        return tools.length === 0 ? undefined : `tools that act and are not in your own toolset: ${tools.join(", ")}`;
      },
    },
    {
      doc: "the toolset: a [preset](#presets) or one of `toolsets`",
      flag: {
        name: "preset",
        value: "name",
        help: `the toolset: ${PRESET_NAMES.join(", ")} or one of yours (default: coding)`,
      },
    },
  ),
  "tools.work_dir": optional(path, "the current folder", inOwnFolder<string>("in its own folder"), {
    doc: "where tools work",
    flag: {
      name: "work-dir",
      value: "folder",
      help:
        "the folder that tools work in (default: the current folder; on a remote host the home folder, in a " +
        "container the image's)",
    },
    read: absolutePath,
  }),
  "tools.disable": row(list(toolName), [], free("adds to yours"), {
    doc: "names of tools to omit; of plugins and servers too, with `*` for any characters",
    merge: added,
  }),
  "tools.options": row(toolOptions, {}, free(), {
    doc:
      "by tool: `limit: { lines, bytes }` of a result that is shown (2000 and 51200); `grep`, `find` and " +
      "`web_search`: `max_results` (100, 200, 10); `bash`, `shell` and `web_fetch`: `timeout` in seconds (120, 60, 30)",
    merge: mergedOptions,
  }),
  "tools.plugins": row(
    list(pluginSchema),
    [],
    {
      rule: "trusted",
      note: "adds to yours",
      gives: (plugins) => plugins.map(describePlugin).join("; ") || undefined,
      mark: markEach,
    },
    {
      doc:
        "[plugins](plugins.md), a list: `path`, and `args`, `env` (names of variables), `sandbox`, `cwd`, `hosts`, " +
        "`name`, `timeout` in seconds (600)",
      read: pluginsOf,
      merge: added,
    },
  ),
  "tools.modules": row(
    list(path),
    [],
    {
      rule: "trusted",
      note: "adds to yours",
      gives: (modules) =>
        modules.length === 0
          ? undefined
          : `code runs in Handrail's own process, outside the sandbox: ${modules.map((each) => each.path).join(", ")}`,
      mark: markEach,
    },
    {
      doc:
        "JavaScript modules whose default export is a tool or a list of tools: [tools of your " +
        "own](plugins.md#a-module-instead-of-a-program)",
      read: modulesOf,
      merge: added,
    },
  ),
  "tools.mcp": row(
    record("a map of names, each with an MCP server", serverNames, serverSchema),
    {},
    {
      rule: "trusted",
      note: "in the sandbox; yours win",
      gives: (servers) => {
        const starts = Object.entries(markServers(servers, "trusted")).map(([of, each]) => `${of} ${startOf(each)}`);
        return starts.length === 0 ? undefined : `MCP servers: ${starts.join("; ")}`;
      },
      mark: markServers,
    },
    {
      doc:
        "by name, [MCP servers](mcp-client.md) whose tools are used: `{ command, args, env, sandbox, cwd, hosts }` " +
        "or `{ url, headers, token_variable, auth, oauth }`, with `tools`, `timeout`, `start_timeout`",
      read: serversOf,
      check: async () => complaintsOfServers,
      merge: yoursFirst,
    },
  ),
  toolsets: row(
    record("a map of names, each with a list of tools", name("toolset-name"), list(toolName)),
    {},
    {
      rule: "tightens",
      note: "not a name that you use",
      complaints: (toolsets, own) =>
        Object.keys(toolsets)
          .filter((each) => Object.hasOwn(own as object, each))
          .map((each) => ({ at: [each], message: "you have a toolset of this name; a project cannot change it" })),
    },
    { doc: "presets of your own: a name and its tools, which models are offered in this order", merge: byName },
  ),
  "policy.autonomy": row(choice(AUTONOMIES), "supervised", notLooser(AUTONOMIES.toReversed()), {
    doc:
      "`readonly`: nothing is changed; `supervised`: what reaches beyond the workspace and the sandbox needs approval; " +
      "`full`: hardly anything does",
    flag: { name: "autonomy", value: "level", help: "what runs without a question (default: supervised)" },
  }),
  "policy.workspace_only": row(yesOrNo, true, LOOSE_IF_FALSE, {
    doc: "`false`: paths outside the workspace need approval instead of being refused; none with the autonomy `full`",
  }),
  "policy.whole_machine": row(yesOrNo, false, notLooser([true, false]), {
    doc:
      "`true`: [a person administers the machine](policy.md#a-person-who-administers-the-machine): what only looks runs " +
      "unasked, commands of high risk need approval instead of being refused",
    otherwise: "`false`; `true` with the preset `operator`",
  }),
  "policy.allowed_roots": row(
    list(policyPath),
    [],
    inOwnFolder<readonly string[]>("in its own folder, and not what you forbid; adds"),
    { doc: "folders that may be used like the workspace", read: keepingHome, merge: added },
  ),
  "policy.forbidden_paths": row(list(policyPath), DEFAULT_FORBIDDEN_PATHS, free("adds to yours"), {
    otherwise: "system folders, other homes, key folders",
    doc: "files and folders that are never read or written; no patterns",
    read: keepingHome,
    merge: added,
  }),
  "policy.commands.allow": row(rules, [], never("only you can allow"), {
    doc: "rules for what runs without a question",
    check: () => examples("allow"),
  }),
  "policy.commands.only": row(
    rules,
    [],
    {
      rule: "tightens",
      note: "a part of your list, if you have one",
      strictest: NOTHING,
      complaints(value, own) {
        const yours = new Set((own as typeof value).map(ruleText));
        if (yours.size === 0) return [];
        if (value.length === 0) return looser("an empty list is looser than yours");
        const extra = value.map(ruleText).find((each) => !yours.has(each));
        return extra === undefined ? [] : looser(`your own list does not have "${extra}"`);
      },
    },
    { doc: "the only commands that are not refused; they allow nothing by themselves", check: () => examples("allow") },
  ),
  "policy.commands.ask": row(rules, [], free("adds to yours"), {
    doc: "rules for what always needs approval",
    check: () => examples("ask"),
    merge: added,
  }),
  "policy.commands.deny": row(rules, [], free("adds to yours"), {
    doc: "rules for what is always refused",
    check: () => examples("deny"),
    merge: added,
  }),
  "policy.block_high_risk_commands": row(yesOrNo, true, LOOSE_IF_FALSE, {
    doc: "commands of high risk are refused; `false`: they are judged like others",
  }),
  "policy.require_approval_for_medium_risk": row(yesOrNo, true, LOOSE_IF_FALSE, {
    doc: "commands of medium risk need approval; `false`: they do not",
  }),
  "policy.max_actions_per_hour": row(limitOrNone(1_000_000), null, notMore, {
    doc: "acts in any hour: `null` no limit, `0` none",
  }),
  "policy.shell_confirm": row(yesOrNo, false, LOOSE_IF_FALSE, { doc: "`true`: every command needs approval" }),
  "policy.sandbox": row(choice(SANDBOX_MODES), "auto", notLooser(SANDBOX_MODES), {
    doc: "`auto`: commands run in the sandbox where it works; `on`: without it nothing runs; `off`: none",
    flag: {
      name: "sandbox",
      value: "mode",
      help: "run commands in a sandbox: where it works (auto, the default), always (on), never (off)",
    },
  }),
  "policy.ask_in_sandbox": row(choice(ASK_IN_SANDBOX), "nothing", notLooser(ASK_IN_SANDBOX), {
    doc: "further questions about commands in the sandbox: `nothing`, none; `all`, the same as without a sandbox",
  }),
  "policy.sandbox_limits.processes": optional(integer(1, 1_000_000), "`1000`", never("it is your machine"), {
    doc: "processes of a command in the sandbox",
  }),
  "policy.sandbox_limits.memory_mb": optional(
    integer(1, MOST_MB),
    "80 % of the machine's",
    never("it is your machine"),
    { doc: "MiB of memory of a command in the sandbox, where memory can be limited" },
  ),
  "policy.sandbox_limits.disk_free_mb": optional(integer(0, MOST_MB), "`512`", never("it is your machine"), {
    doc: "MiB that stay free on a disk: a command in the sandbox that needs more is stopped",
  }),
  "policy.sandbox_limits.caches_mb": optional(integer(1, MOST_MB), "`4096`", never("it is your machine"), {
    doc:
      "MiB for the package caches of commands in the sandbox, of all workspaces together. Measured every hour; those of " +
      "the workspace that was not used for longest are removed first, and none while a process uses it",
  }),
  "policy.sandbox_alarm.per_minute": optional(integer(0, 1_000), "`10`", never("alarms are for you"), {
    doc: "how many sandbox refusals within a minute raise an alarm in the record; `0`: none",
  }),
  "policy.sandbox_alarm.cooldown": optional(integer(0, 86_400), "`60`", never("alarms are for you"), {
    doc: "seconds between two alarms",
  }),
  "policy.network.fetch": row(choice(FETCH_MODES), "seen", notLooser(FETCH_MODES), {
    doc:
      "which [fetches](web.md#when-a-person-is-asked) need approval: `open`, long queries to hosts that nobody " +
      "named; `seen`, also hosts and text that the conversation has not seen; `ask`, every URL",
  }),
  "policy.network.proxy": row(choice(PROXY_MODES), "none", never("it is your network"), {
    doc: "`environment`: fetches go through the proxy in `HTTPS_PROXY`, `HTTP_PROXY` or `ALL_PROXY`",
  }),
  "policy.network.allow_hosts": row(list(host), [], never("only you can allow"), {
    doc: "hosts that are fetched from without a question",
  }),
  "policy.network.deny_hosts": row(list(host), [], free("adds to yours"), {
    doc: "hosts that are never fetched from",
    merge: added,
  }),
  "policy.network.allow_private": row(list(host), [], never("it is your network"), {
    doc: "hosts that may have an address that is not public",
  }),
  "policy.env.pass": row(
    list(variable),
    [],
    {
      rule: "trusted",
      note: "adds to yours",
      gives: (names) => (names.length === 0 ? undefined : `commands get ${names.join(", ")} from your environment`),
    },
    { doc: "variables of your environment that commands get", merge: added },
  ),
  "search.engine": row(choice(ENGINES), "duckduckgo", never("it receives your queries"), {
    doc: "the engine of `web_search`: `duckduckgo`, `searxng` or `brave`",
  }),
  "search.url": optional(webUrl("the URL of a SearXNG instance"), "none", never(), {
    doc: "your SearXNG instance, for `searxng`",
  }),
  "search.key_variable": optional(variable, "`BRAVE_API_KEY`", never(), {
    doc: "the environment variable with your key, for `brave`",
  }),
  "browser.headed": optional(yesOrNo, "`false`", never("it is your screen"), {
    doc: "whether the [browser](browser.md) has a window that people see",
  }),
  "browser.executable_path": optional(path, "the first Chromium or Chrome found", never("it is started"), {
    doc: "the program of the browser",
    read: absolutePath,
  }),
  "browser.profile": optional(name(), "none", never("logins are yours"), {
    doc: "the [profile](browser.md#logins-and-people) in which the browser keeps logins; one process at a time uses it",
  }),
  "browser.cdp": optional(
    text("the address of a running browser", {
      pattern: "^(?:[hH][tT][tT][pP]|[wW][sS])[sS]?://[^/\\s]+",
      advice: "For example http://127.0.0.1:9222.",
    }),
    "none",
    never("it has your logins"),
    {
      doc:
        "the address of a running browser to join, such as `http://127.0.0.1:9222`; it is [not " +
        "contained](browser.md#joining-a-running-browser)",
    },
  ),
  model: optional(
    modelSchema,
    "none",
    {
      rule: "trusted",
      note: "",
      gives: (model) =>
        `your prompts and what tools read are sent to the model ${model.provider}:${model.name}` +
        (model.baseUrl === undefined ? "" : ` at ${model.baseUrl}`),
    },
    {
      doc:
        "the [model](agent.md#models) of agents that name none: `openai:gpt-5`, or `{ provider, name, base_url, " +
        "key_variable, context, price: { input, output } }`; `price` is US dollars for a million tokens, for limits " +
        "of `cost`",
      read: modelOf,
    },
  ),
  agents: row(
    record("a map of names, each with model, toolset, instructions, limits", name(), agentSchema),
    {},
    {
      rule: "trusted",
      note: "",
      gives: (agents) => {
        const names = Object.keys(agents).join(", ");
        return names === "" ? undefined : `agents with the project's own model, tools and instructions: ${names}`;
      },
    },
    {
      doc:
        "by name, for `--agent NAME` and for the tool [`delegate`](agent.md#sub-agents): `{ model, toolset, " +
        "instructions, limits: { rounds, time, tokens, cost } }`, `time` in seconds",
      read: agentsOf,
      merge: byName,
    },
  ),
  "memory.scope": optional(choice(MEMORY_SCOPES), "`user`", never("your memories are yours to share"), {
    doc:
      "who shares [memories](memory.md): `user`, all your workspaces; `workspace`, only sessions in the same folder " +
      "of the same target",
  }),
  "chat.keys": row(chatKeysSchema, {}, never("they are your keys"), {
    otherwise: "as `/keys` lists them",
    doc:
      "by action, the keys of a [chat](chat.md#keys) at a terminal, such as `queue: [alt+enter]`; an empty list " +
      "leaves the action without a key",
  }),
  "memory.core_bytes": optional(integer(0, 1_048_576), "`4096`", never("it is your agent"), {
    doc: "bytes that core memories may take in an agent's instructions; `0`: none",
  }),
  "approvers.terminal": approver(
    "the highest risk that can be [approved](threads.md#who-may-answer) in a terminal, or through an MCP client's " +
      "own question: `high`, `medium`, `low`, `none`",
  ),
  "approvers.browser": approver("in a browser on a computer"),
  "approvers.phone": approver("on a phone that was paired"),
  "approvers.api": approver("by a program with the token"),
  notify: row(
    { ...list(text("a word of a command")), title: "a list: a program and its arguments" },
    [],
    never("it starts a program"),
    {
      doc:
        "a program of yours with its arguments, run when [somebody is waited for](threads.md#reaching-people): " +
        "`[ntfy, publish, my-topic]`",
      read: wordsOf,
    },
  ),
  "serve.origins": row(
    list(
      text('an origin, as browsers send it ("https://app.example.org")', {
        pattern: "^https?://[a-z0-9.-]+(:[1-9][0-9]{0,4})?$",
        advice: "Scheme, name and port, without a path; not the port 80 of http or 443 of https, and no wildcard.",
      }),
    ),
    [],
    never("pages could use your token"),
    {
      doc:
        "origins whose pages may use the [HTTP API](api.md#apps-on-other-origins) of `handrail serve`, with the " +
        "token, such as `http://localhost:5173`",
    },
  ),
  park: row(
    text('when calls are parked ("now", "after 10m", "never")', {
      format: "park",
      advice: "Durations: 30s, 10m, 2h.",
    }),
    "never",
    never("you decide who waits for you"),
    {
      doc:
        "when a call that waits for a person is [parked](threads.md#parked-calls): `now`, `after 10m` (or another " +
        "time), `never`",
      read: (written: string) => parkMode(written) ?? "never",
    },
  ),
  store: row(
    text("sqlite, memory or postgres://USER@HOST:PORT/DATABASE", {
      pattern: "^(sqlite|memory|postgres(ql)?://[^\\s]+)$",
      advice: "See docs/operations.md.",
    }),
    "sqlite",
    never("the record is yours"),
    {
      doc:
        "where calls, memories and schedules are recorded: `sqlite` in the state folder, which [all processes " +
        "share](threads.md); `postgres://USER@HOST:PORT/DATABASE`, which [several machines share](operations.md); or " +
        "`memory`, until the program ends (memories and schedules are in the state folder then)",
    },
  ),
  queue: optional(
    text("redis://HOST:PORT, or rediss:// with TLS", {
      pattern: "^rediss?://[^\\s]+$",
      advice: "See docs/workers.md.",
    }),
    "none",
    never("it wakes your workers"),
    {
      doc:
        "the Redis server that wakes [workers](workers.md): `redis://HOST:PORT`, or `rediss://…` with TLS; without " +
        "it, the store alone wakes them",
    },
  ),
  "state.outputs_mb": optional(integer(1, MOST_MB), "`2048`", never("they belong to all projects"), {
    doc: "MiB for all saved outputs in the state folder; the oldest are removed first, and each after 7 days",
  }),
  "state.database_mb": optional(integer(1, MOST_MB), "`1024`", never("the record is yours"), {
    doc:
      "MiB for the database in the state folder; the oldest calls are removed first, and each after 30 days. Its " +
      "write-ahead log takes some 16 MiB more",
  }),
  "state.undo_mb": optional(integer(1, MOST_MB), "`2048`", never(), {
    doc: "MiB that [undo](undo.md) may take for one workspace; the oldest states go first, and each after 30 days",
  }),
  "state.parked_days": optional(integer(1, 365), "`7`", never(), {
    doc: "days that a parked call waits for its answer, and then again for a process",
  }),
  "guard.ask": row(choice(["client", "here"]), "client", never("you decide who is asked"), {
    doc:
      "who asks about calls of [agents that Handrail guards](guard.md): `client`, their own question where they have " +
      "one that works; `here`, always the console, a terminal or a phone",
  }),
  hooks: row(
    hooksSchema,
    {},
    { rule: "trusted", note: "adds to yours, and cannot allow", gives: describeHooks, mark: markHooks },
    {
      doc:
        "by event, [programs of yours](hooks.md) that run before and after calls and in turns, with the names " +
        "and the JSON of Claude Code: `PreToolUse: [{ matcher: Bash, hooks: [{ type: command, command: ./check.sh }] }]`",
      check: async () => complaintsOfHooks,
      merge: mergedHooks,
    },
  ),
  undo: row(choice(["on", "off"]), "on", never("the way back is yours"), {
    doc: "`on`: what tools change is kept, so that it can be [undone](undo.md); `off`: nothing is kept",
  }),
  "telemetry.traces": optional(webUrl("the URL of an OpenTelemetry collector"), "none", never(), {
    doc:
      "an OpenTelemetry collector that gets [traces](operations.md#traces) by OTLP over HTTP, such as " +
      "`http://localhost:4318`",
  }),
  log_file: optional(path, "none", never("it would write to your files"), {
    doc: "a file for the [debug log](#the-debug-log), like `--log-file`",
    flag: { name: "log-file", value: "file", help: "append a debug log to this file, as JSON lines" },
    read: absolutePath,
  }),
};

export type Key = keyof typeof ROWS;

/** The rows without the types of their values, for code that treats all keys alike. */
export const ROW_OF: { readonly [key: string]: Row<unknown> } = ROWS as never;
