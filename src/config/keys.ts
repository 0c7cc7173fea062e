import { SANDBOX_MODES } from "../contract/containment.ts";
import { MEMORY_SCOPES } from "../contract/memory.ts";
import type { Autonomy } from "../contract/policy.ts";
import type { Verdict } from "../contract/decision.ts";
import { hostRule } from "../network/hosts.ts";
import { FETCH_MODES, PROXY_MODES } from "../network/settings.ts";
import { SEARCH_ENGINES } from "../web/search.ts";
import { checkExamples } from "../policy/rules/examples.ts";
import { parseRule } from "../policy/rules/rule.ts";
import { ASK_IN_SANDBOX, type CommandRule } from "../policy/settings.ts";
import { BUILT_IN } from "../tools/presets/built-in.ts";
import { PRESETS } from "../tools/presets/presets.ts";
import { didYouMean } from "./nearest.ts";
import { type Shape, shape } from "./shape.ts";
import { modelShape } from "./model-shape.ts";
import { type AgentChoice, STORE_KINDS, type ToolSetting } from "./settings.ts";
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

/** From the strictest to the loosest. */
export const AUTONOMIES: readonly Autonomy[] = ["readonly", "supervised", "full"];

const TOOL_NAMES = Object.keys(BUILT_IN);
const NAME = /^[a-zA-Z][a-zA-Z0-9_-]{0,63}$/;

const toolName = text("the name of a tool", (name) => (TOOL_NAMES.includes(name) ? undefined : toolsNear(name)));

const variableName = text("the name of an environment variable", (name) =>
  /^[A-Za-z_][A-Za-z0-9_]*$/.test(name) ? undefined : "A name is letters, digits and _; patterns are not understood.",
);

const host = text('a host ("example.org", "*.example.org", "10.0.0.7", "localhost:3000")', (written) => {
  return typeof hostRule(written) === "string" ? "Leave out scheme and path; a * stands only in front." : undefined;
});

/** Where a rule is about a path, any will do to see whether it can be read. */
const ANY_BASE = { workDir: "/", home: "/" };

const ruleText = text("a rule", (written) => {
  const parsed = parseRule(written, ANY_BASE);
  return parsed.ok ? undefined : parsed.problem;
});
const ruleFields = fields({ rule: ruleText, match: list(text("an example")), not_match: list(text("an example")) });

/** Rules of one list, which decides what they match. Those that fail their own examples are wrong. */
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
        const isGiven = node.entries.some((entry) => entry.key === "rule"); // and then its fault is reported already
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

/** What can be set about single tools, beside the `limit` that all have. */
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
  if (!TOOL_NAMES.includes(name)) return `unknown tool. ${toolsNear(name)}`;
  return Object.hasOwn(OF_ONE_TOOL, name) ? (OF_ONE_TOOL[name] ?? OF_ANY_TOOL) : OF_ANY_TOOL;
});

const toolsets = record("a map of names, each with a list of tools", (name) => {
  if (!NAME.test(name)) return 'expected a name: a letter, then up to 63 letters, digits, "_" or "-"';
  if (Object.hasOwn(PRESETS, name)) return "there is a preset of this name; choose another";
  return located(list(toolName));
});

const searchUrl = text("the URL of a SearXNG instance", (written) =>
  URL.canParse(written) && /^https?:/i.test(written) ? undefined : "It begins with https:// or http://.",
);

const model = modelShape();
const agents = record("a map of names, each with model, toolset, instructions", (name) =>
  NAME.test(name) ? agentShape : 'expected a name: a letter, then up to 63 letters, digits, "_" or "-"',
);
const agentShape: Shape<AgentChoice> = fields({
  model,
  toolset: text("the name of a preset or of a toolset"),
  instructions: text("text for the model"),
});

/** Every key there is, and what is expected there. An unknown key is an error. */
export const KEYS = {
  "tools.preset": located(text("the name of a preset or of a toolset")),
  "tools.work_dir": located(path),
  "tools.disable": located(list(toolName)),
  "tools.options": located(toolOptions),
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
  model: located(model),
  agents: located(agents),
  "memory.scope": located(choice(MEMORY_SCOPES)),
  "memory.core_bytes": located(integer(0, 1_048_576)),
  store: located(choice(STORE_KINDS)),
  "state.outputs_mb": located(integer(1, 16_777_216)),
  "state.database_mb": located(integer(1, 16_777_216)),
  log_file: located(path),
} satisfies { readonly [key: string]: Shape<unknown> };

export type Key = keyof typeof KEYS;

/** What a file says: the keys that it sets, each checked by itself. */
export type Given = { readonly [K in Key]?: (typeof KEYS)[K] extends Shape<infer T> ? T : never };

/**
 * What a project's file may say of a key. It came with the project, so whoever wrote it is not the user. (A user's own file, and
 * one named with `--config`, may say anything.)
 */
export type ProjectRule =
  /** Anything: it makes nothing possible that was not. */
  | "free"
  /** Nothing looser than what holds without it (tightening.ts says how that is seen); anything else is an error. */
  | "tightening"
  /** It hands out what is the user's, or has something act (asking.ts says what): passed over until the user trusts the file. */
  | "when trusted"
  /** Nothing: it is the user's alone, so it is an error. */
  | "never";

/** Who may set what: the one table. `${NAME}` in any value is "when trusted" too, since it hands out the environment. */
export const PROJECT_RULES = {
  "tools.preset": "when trusted", // only one that adds tools that act to a choice of the user's own
  "tools.work_dir": "tightening", // in the project's folder
  "tools.disable": "free", // adds
  "tools.options": "free",
  toolsets: "tightening", // no name that the user has taken
  "policy.autonomy": "tightening",
  "policy.workspace_only": "tightening",
  "policy.allowed_roots": "tightening", // in the project's folder; adds
  "policy.forbidden_paths": "free", // adds
  "policy.commands.allow": "never", // what it allows runs without a question
  "policy.commands.only": "tightening", // where you have one, only what is on yours
  "policy.commands.ask": "free", // adds
  "policy.commands.deny": "free", // adds
  "policy.block_high_risk_commands": "tightening",
  "policy.require_approval_for_medium_risk": "tightening",
  "policy.max_actions_per_hour": "tightening",
  "policy.shell_confirm": "tightening",
  "policy.sandbox": "tightening",
  "policy.ask_in_sandbox": "tightening",
  "policy.sandbox_limits.processes": "never", // what this machine can bear is the user's to say
  "policy.sandbox_limits.memory_mb": "never",
  "policy.sandbox_limits.disk_free_mb": "never",
  "policy.sandbox_alarm.per_minute": "never",
  "policy.sandbox_alarm.cooldown": "never",
  "policy.network.fetch": "tightening",
  "policy.network.proxy": "never", // which way out there is, the user knows
  "policy.network.allow_hosts": "never", // like what it allows to run
  "policy.network.deny_hosts": "free", // adds
  "policy.network.allow_private": "never", // what is inside is the user's
  "policy.env.pass": "when trusted", // adds
  "search.engine": "never", // what is searched for goes there
  "search.url": "never",
  "search.key_variable": "never",
  model: "when trusted", // what is said and read goes there
  agents: "when trusted",
  "memory.scope": "never", // what you have stored is yours to share
  "memory.core_bytes": "never",
  store: "never", // the record of what was done is the user's
  "state.outputs_mb": "never", // they are those of all projects
  "state.database_mb": "never",
  log_file: "never", // it would write to any file of the user's
} as const satisfies { readonly [K in Key]: ProjectRule };

/** The keys with this rule. */
export type KeysWith<Rule extends ProjectRule> = {
  [K in Key]: (typeof PROJECT_RULES)[K] extends Rule ? K : never;
}[Key];

function toolsNear(name: string): string {
  return didYouMean(name, TOOL_NAMES) || `Tools: ${TOOL_NAMES.join(", ")}.`;
}
