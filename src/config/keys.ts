import type { Autonomy } from "../contract/policy.ts";
import { BUILT_IN } from "../tools/presets/built-in.ts";
import { PRESETS } from "../tools/presets/presets.ts";
import { didYouMean } from "./nearest.ts";
import type { Shape } from "./shape.ts";
import { STORE_KINDS, type ToolSetting } from "./settings.ts";
import { choice, fields, integer, list, located, path, policyPath, positive, record, text, yesOrNo } from "./shapes.ts";

/** From the strictest to the loosest. */
export const AUTONOMIES: readonly Autonomy[] = ["readonly", "supervised", "full"];

const TOOL_NAMES = Object.keys(BUILT_IN);
const NAME = /^[a-zA-Z][a-zA-Z0-9_-]{0,63}$/;

const toolName = text("the name of a tool", (name) => (TOOL_NAMES.includes(name) ? undefined : toolsNear(name)));

const variableName = text("the name of an environment variable", (name) =>
  /^[A-Za-z_][A-Za-z0-9_]*$/.test(name) ? undefined : "A name is letters, digits and _; patterns are not understood.",
);

const limit = fields({ lines: integer(1, 1_000_000), bytes: integer(1, 10_485_760) });
const maxResults = integer(1, 10_000);

/** What can be set about single tools, beside the `limit` that all have. */
const OF_ONE_TOOL: { readonly [tool: string]: Shape<ToolSetting> } = {
  bash: fields({ limit, timeout: positive(86_400, "seconds") }),
  shell: fields({ limit, timeout: positive(86_400, "seconds") }),
  grep: fields({ limit, max_results: maxResults }),
  find: fields({ limit, max_results: maxResults }),
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
  "policy.env.pass": located(list(variableName)),
  store: located(choice(STORE_KINDS)),
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
  "policy.env.pass": "when trusted", // adds
  store: "never", // the record of what was done is the user's
} as const satisfies { readonly [K in Key]: ProjectRule };

/** The keys with this rule. */
export type KeysWith<Rule extends ProjectRule> = {
  [K in Key]: (typeof PROJECT_RULES)[K] extends Rule ? K : never;
}[Key];

function toolsNear(name: string): string {
  return didYouMean(name, TOOL_NAMES) || `Tools: ${TOOL_NAMES.join(", ")}.`;
}
