import type { Verdict } from "../contract/decision.ts";
import type { CommandRule } from "./policy-settings.ts";
import { parseRule } from "./rules/rule.ts";
import { checkExamples } from "./rules/examples.ts";
import { wordsOf } from "./rules/words.ts";

/** Agents whose permission rules can be read. */
export const RULE_CLIENTS = ["claude-code", "codex", "gemini", "opencode"] as const;
export type RuleClient = (typeof RULE_CLIENTS)[number];

/** A rule of another agent, read, or why it has no counterpart. */
export type ForeignRule = { readonly verdict: Verdict; readonly written: string } & (
  | { readonly rule: string; readonly match?: readonly string[]; readonly not_match?: readonly string[] }
  | { readonly rule?: undefined; readonly why: string; readonly about: Kind }
);

/** What a rule is about. "any": it may be about everything. */
type Kind = "command" | "path" | "fetch" | "foreign" | "any";

/** Rules for `policy.commands`, and those without a counterpart. */
export interface Imported {
  readonly rules: { readonly [verdict in Verdict]: readonly CommandRule[] };
  readonly left: readonly { readonly verdict: Verdict; readonly written: string; readonly why: string }[];
}

/** Any folder: relative paths stay as they are written. */
const BASE = { workDir: "/", home: "/" };

/**
 * Returns the rules in our form. Nothing becomes looser: where a rule that restricts has no counterpart, no rule about
 * the same kind of thing is imported that allows.
 */
export function importRules(given: readonly ForeignRule[]): Imported {
  const read = given.map((each): ForeignRule => (each.rule === undefined ? each : checked(each)));
  const lost = read.flatMap((each) => (each.rule === undefined && each.verdict !== "allow" ? [each] : []));
  const rules: { [verdict in Verdict]: CommandRule[] } = { allow: [], ask: [], deny: [] };
  const left: { verdict: Verdict; written: string; why: string }[] = [];
  for (const each of read) {
    const { verdict, written } = each;
    const kind = each.rule === undefined ? each.about : kindOf(each.rule);
    const missing = verdict === "allow" ? lost.find(({ about }) => about === kind || about === "any") : undefined;
    if (each.rule === undefined) left.push({ verdict, written, why: each.why });
    else if (missing !== undefined)
      left.push({ verdict, written, why: `"${missing.written}" restricts it and has no counterpart` });
    else {
      const { match, not_match } = each;
      rules[verdict].push({ rule: each.rule, ...(match && { match }), ...(not_match && { not_match }) });
    }
  }
  return { rules, left };
}

/** Omits a rule that we cannot read, or that does not satisfy its examples here. */
function checked(each: Extract<ForeignRule, { readonly rule: string }>): ForeignRule {
  const parsed = parseRule(each.rule, BASE);
  const { verdict, written } = each;
  if (!parsed.ok) return { verdict, written, why: parsed.problem, about: "any" };
  // A rule that restricts may restrict more here than there: then it loses those of its examples that deny it.
  const isNot = (example: string) =>
    checkExamples(parsed.rule, { ...each, not_match: [example] }, verdict, BASE).length === 0;
  const { match = [], not_match = [] } = each;
  if (verdict !== "allow" && not_match.some((example) => !isNot(example)))
    return { verdict, written, rule: each.rule, match, not_match: not_match.filter(isNot) };
  const [problem] = checkExamples(parsed.rule, each, verdict, BASE);
  return problem === undefined ? each : { verdict, written, why: problem, about: parsed.rule.kind };
}

function kindOf(rule: string): Kind {
  const parsed = parseRule(rule, BASE);
  return parsed.ok ? parsed.rule.kind : "any";
}

/** A rule for commands that begin with these words; `undefined` if a word means something else in a rule. */
function beginningWith(words: readonly string[]): string | undefined {
  const isPlain = words.length > 0 && words.every((word) => /^[^\s*()'"\\;&|<>`$]+$/.test(word));
  return isPlain ? `Bash(${words.join(" ")}:*)` : undefined;
}

type Fields = { readonly [name: string]: unknown };
const fieldsOf = (value: unknown): Fields =>
  typeof value === "object" && value !== null && !Array.isArray(value) ? (value as Fields) : {};
const textsOf = (value: unknown): readonly string[] =>
  [value].flat().filter((each): each is string => typeof each === "string");

/**
 * Reads `permissions` of Claude Code's settings: https://code.claude.com/docs/en/permissions.
 *
 * @param isProject whether the file is a project's: a path with one slash at the beginning is relative to the project
 */
export function claudeRules(settings: unknown, isProject: boolean): readonly ForeignRule[] {
  const permissions = fieldsOf(fieldsOf(settings)["permissions"]);
  const mode = permissions["defaultMode"];
  const folders = textsOf(permissions["additionalDirectories"]);
  return [
    ...(["deny", "ask", "allow"] as const).flatMap((verdict) =>
      textsOf(permissions[verdict]).map((written): ForeignRule => {
        const tool = /^(\w+)/.exec(written)?.[1] ?? "";
        const path = /^(?:Read|Edit|Write)\((\/[^/].*)\)$/.exec(written)?.[1];
        if (path !== undefined && !isProject)
          return { verdict, written, why: "the folder it is relative to is not known", about: "path" };
        if (path !== undefined) return { verdict, written, rule: `${tool}(.${path})` };
        if (/^Bash\(.*\*.*\S.*\)$/.test(written) && verdict !== "allow")
          return { verdict, written, why: "a * in the middle is any text there, and one word here", about: "command" };
        const other = toolKinds[tool];
        if (other !== undefined) return { verdict, written, ...other };
        return { verdict, written, rule: written };
      }),
    ),
    ...(typeof mode === "string" && mode !== "default"
      ? [withoutRule("allow", `defaultMode: ${mode}`, SET_AUTONOMY)]
      : []),
    ...folders.map((each) => withoutRule("allow", `additionalDirectories: ${each}`, "add it to policy.allowed_roots")),
  ];
}

const SET_AUTONOMY = "policy.autonomy decides what runs unasked";
const toolKinds: { readonly [tool: string]: { readonly why: string; readonly about: Kind } } = {
  WebSearch: { why: "searches have no rules; tools.disable removes web_search", about: "fetch" },
  ...Object.fromEntries(
    ["Glob", "Grep", "NotebookEdit"].map((name) => [
      name,
      { why: "use Read or Edit: rules are about paths", about: "path" },
    ]),
  ),
  ...Object.fromEntries(
    ["Task", "Agent", "Skill", "SlashCommand"].map((name) => [
      name,
      { why: "there are no rules for it; its own calls are judged", about: "foreign" },
    ]),
  ),
};

function withoutRule(verdict: Verdict, written: string, why: string, about: Kind = "any"): ForeignRule {
  return { verdict, written, why, about };
}

const CODEX_VERDICTS: { readonly [decision: string]: Verdict } = { allow: "allow", prompt: "ask", forbidden: "deny" };

/** Reads `prefix_rule` of codex's `*.rules`: https://developers.openai.com/codex/exec-policy. */
export function codexRules(text: string): readonly ForeignRule[] {
  const rules: ForeignRule[] = [];
  for (const { name, fields, written } of callsIn(text)) {
    const verdict = CODEX_VERDICTS[typeof fields["decision"] === "string" ? fields["decision"] : "allow"] ?? "deny";
    const parts = Array.isArray(fields["pattern"]) ? (fields["pattern"] as unknown[]) : [];
    if (name !== "prefix_rule" || parts.length === 0) {
      rules.push(
        withoutRule(name === "network_rule" ? "deny" : verdict, written, `there is no counterpart of ${name}`, "fetch"),
      );
      continue;
    }
    const all = parts.reduce<readonly (readonly string[])[]>(
      (before, part) => before.flatMap((words) => textsOf(part).map((word) => [...words, word])),
      [[]],
    );
    const examples = (key: string) =>
      (Array.isArray(fields[key]) ? (fields[key] as unknown[]) : []).map((each) =>
        typeof each === "string" ? each : textsOf(each).join(" "),
      );
    for (const words of all) {
      const rule = beginningWith(words);
      const own = examples("match").filter((each) => startsWith(each, words));
      const not = examples("not_match");
      rules.push(
        rule === undefined
          ? withoutRule(verdict, written, "a word has characters that mean something else in a rule", "command")
          : {
              verdict,
              written,
              rule,
              ...(own.length > 0 && { match: own }),
              ...(not.length > 0 && { not_match: not }),
            },
      );
    }
  }
  return rules;
}

function startsWith(example: string, words: readonly string[]): boolean {
  const parsed = wordsOf(example);
  return parsed.ok && words.every((word, index) => parsed.words[index] === word);
}

const GEMINI_VERDICTS: { readonly [decision: string]: Verdict } = { allow: "allow", ask_user: "ask", deny: "deny" };

/** Reads `[[rule]]` of gemini's policies: docs/reference/policy-engine.md in its package. */
export function geminiRules(text: string): readonly ForeignRule[] {
  return tablesIn(text).flatMap(({ name, fields, written }): readonly ForeignRule[] => {
    if (name !== "rule") return [withoutRule("deny", written, `there is no counterpart of [[${name}]]`)];
    const verdict = GEMINI_VERDICTS[String(fields["decision"])] ?? "deny";
    const bounds = ["commandRegex", "argsPattern", "toolAnnotations", "interactive", "subagent"].filter(
      (each) => each in fields,
    );
    const modes = textsOf(fields["modes"]);
    if (modes.length > 0 && verdict === "allow")
      return [withoutRule(verdict, written, `it counts only in the modes ${modes.join(", ")}`)];
    const server = fields["mcpName"];
    const tools = "toolName" in fields ? textsOf(fields["toolName"]) : ["*"];
    return tools.flatMap((tool): readonly ForeignRule[] => {
      const about: Kind = tool === "*" || server !== undefined ? "any" : (GEMINI_TOOLS[tool]?.[0] ?? "foreign");
      // A rule that restricts is imported without its bounds only where that is narrower for what it allows.
      if (bounds.length > 0)
        return [withoutRule(verdict, written, `there is no counterpart of ${bounds.join(", ")}`, about)];
      if (typeof server === "string")
        return [{ verdict, written, rule: tool === "*" ? `mcp__${server}` : `mcp__${server}__${tool}` }];
      const prefixes = textsOf(fields["commandPrefix"]);
      if (prefixes.length > 0) return prefixes.map((prefix) => prefixed(verdict, written, prefix));
      return [ofTool(verdict, written, tool)];
    });
  });
}

/** Reads `tools` of gemini's settings: `core`, `allowed` and `exclude`, with `run_shell_command(PREFIX)`. */
export function geminiSettings(settings: unknown): readonly ForeignRule[] {
  const tools = fieldsOf(fieldsOf(settings)["tools"]);
  const each = (name: string, verdict: Verdict) =>
    textsOf(tools[name]).map((entry): ForeignRule => {
      const written = `tools.${name}: ${entry}`;
      const prefix = /^(?:run_shell_command|ShellTool)\((.*)\)$/.exec(entry)?.[1];
      return prefix === undefined ? ofTool(verdict, written, entry) : prefixed(verdict, written, prefix);
    });
  const core = textsOf(tools["core"]).map((entry) =>
    withoutRule("deny", `tools.core: ${entry}`, "a list of all that exists is toolsets or policy.commands.only here"),
  );
  return [...each("exclude", "deny"), ...each("allowed", "allow"), ...core];
}

function prefixed(verdict: Verdict, written: string, prefix: string): ForeignRule {
  const rule = beginningWith(prefix.trim().split(/\s+/));
  const why = "the prefix has characters that mean something else in a rule";
  return rule === undefined ? withoutRule(verdict, written, why, "command") : { verdict, written, rule };
}

/** Tools of gemini and opencode with the rule that is about all their calls. */
const GEMINI_TOOLS: { readonly [tool: string]: readonly [Kind, rule: string] } = {
  ...{ run_shell_command: ["command", "Bash"], bash: ["command", "Bash"] },
  ...Object.fromEntries(["read_file", "read_many_files", "read"].map((name) => [name, ["path", "Read"] as const])),
  ...Object.fromEntries(["write_file", "replace", "edit"].map((name) => [name, ["path", "Edit"] as const])),
  ...{ web_fetch: ["fetch", "WebFetch"], webfetch: ["fetch", "WebFetch"] },
};

/**
 * A rule about all calls of a tool. What allows all of them would also allow what the tool's own program keeps back.
 */
function ofTool(verdict: Verdict, written: string, tool: string): ForeignRule {
  const known = Object.hasOwn(GEMINI_TOOLS, tool) ? GEMINI_TOOLS[tool] : undefined;
  if (known === undefined)
    return withoutRule(verdict, written, `there is no rule for the tool ${tool}`, tool === "*" ? "any" : "foreign");
  if (verdict === "allow")
    return withoutRule(verdict, written, `all of ${known[1]} would be allowed: more than there`, known[0]);
  return { verdict, written, rule: known[1] };
}

/**
 * Reads `permission` of opencode: https://opencode.ai/docs/permissions. Its last rule that matches counts, ours by
 * strictness.
 */
export function opencodeRules(settings: unknown): readonly ForeignRule[] {
  const permission = fieldsOf(settings)["permission"];
  const given = typeof permission === "string" ? { "*": permission } : fieldsOf(permission);
  return Object.entries(given).flatMap(([tool, value]) => {
    const patterns = Object.entries(typeof value === "string" ? { "*": value } : fieldsOf(value));
    return patterns.map(([pattern, decision]): ForeignRule => {
      const verdict = (["allow", "ask", "deny"] as const).find((each) => each === decision) ?? "deny";
      const written = `${tool} ${pattern}: ${String(decision)}`;
      if (pattern === "*") return ofTool(verdict, written, tool);
      const known = Object.hasOwn(GEMINI_TOOLS, tool) ? GEMINI_TOOLS[tool] : undefined;
      const covering = patterns.some(([each, other]) => each === "*" && other !== "allow");
      if (verdict === "allow" && covering)
        return withoutRule(
          verdict,
          written,
          `the rule "*" would win here: the strictest counts`,
          known?.[0] ?? "foreign",
        );
      if (known?.[0] === "command") return commandOf(verdict, written, pattern);
      if (known?.[0] === "path") {
        // There * is also any folders.
        const wide = verdict === "allow" ? pattern : pattern.replaceAll(/(^|\/)\*(?!\*)/g, "$1**/*");
        return { verdict, written, rule: `${known[1]}(${wide})` };
      }
      return withoutRule(verdict, written, `there is no rule for the tool ${tool}`, known?.[0] ?? "foreign");
    });
  });
}

/** A wildcard of opencode for commands: `*` is any text. `git *` is also `git` alone. */
function commandOf(verdict: Verdict, written: string, pattern: string): ForeignRule {
  const [, words = "", star] = /^([^*]*?)(\s?\*)?$/.exec(pattern) ?? [];
  const rule = words === "" ? undefined : beginningWith(words.trim().split(/\s+/));
  if (rule === undefined)
    return withoutRule(verdict, written, "a * in the middle is any text there, and one word here", "command");
  if (star === "*") return { verdict, written, rule: `Bash(${words.trim()}*)` };
  return { verdict, written, rule: star === undefined ? `Bash(${words.trim()})` : rule };
}

interface Entry {
  readonly name: string;
  readonly fields: Fields;
  readonly written: string;
}

/** The calls in a text of Starlark: `name(key = value, …)`. Values are texts, names and lists of them. */
function callsIn(text: string): readonly Entry[] {
  const read = createReader(text);
  const calls: Entry[] = [];
  for (read.blanks(); !read.isOver(); read.blanks()) {
    const from = read.at();
    const name = read.name();
    if (name === undefined || !read.takes("(")) throw read.fault("a call such as prefix_rule(…)");
    const fields: { [name: string]: unknown } = {};
    while (!read.takes(")")) {
      const key = read.name();
      if (key === undefined || !read.takes("=")) throw read.fault("name = value");
      fields[key] = read.value();
      if (!read.takes(",") && !read.is(")")) throw read.fault('"," or ")"');
    }
    calls.push({ name, fields, written: text.slice(from, read.at()).replaceAll(/\s+/g, " ") });
  }
  return calls;
}

/** The tables in a text of TOML that `[[name]]` begins. Values are texts, words, numbers and lists of them. */
function tablesIn(text: string): readonly Entry[] {
  const read = createReader(text);
  const tables: { name: string; fields: { [name: string]: unknown }; from: number }[] = [];
  for (read.blanks(); !read.isOver(); read.blanks()) {
    const from = read.at();
    if (read.takes("[")) {
      const isList = read.takes("[");
      const name = read.name();
      if (name === undefined || !read.takes("]") || (isList && !read.takes("]"))) throw read.fault("[[rule]]");
      tables.push({ name, fields: {}, from });
      continue;
    }
    const key = read.name();
    const table = tables.at(-1);
    if (key === undefined || !read.takes("=") || table === undefined) throw read.fault("[[rule]], then name = value");
    table.fields[key] = read.value();
  }
  return tables.map(({ name, fields }) => ({ name, fields, written: describe(fields) }));
}

function describe(fields: Fields): string {
  return Object.entries(fields)
    .map(([key, value]) => `${key} = ${JSON.stringify(value)}`)
    .join(", ");
}

/** Reads a text from its beginning. Blanks and comments are skipped. */
function createReader(text: string) {
  let at = 0;
  const match = (pattern: RegExp): string | undefined => {
    pattern.lastIndex = at;
    const found = pattern.exec(text)?.[0];
    if (found !== undefined) at += found.length;
    return found;
  };
  const blanks = () => void match(/(?:\s|#[^\n]*)*/y);
  const fault = (expected: string): Error => {
    const line = text.slice(0, at).split("\n").length;
    return new Error(`line ${line}: expected ${expected}, got ${JSON.stringify(text.slice(at, at + 30))}`);
  };
  const takes = (mark: string) => {
    blanks();
    if (!text.startsWith(mark, at)) return false;
    at += mark.length;
    return true;
  };
  const value = (): unknown => {
    blanks();
    if (takes("[")) {
      const items: unknown[] = [];
      while (!takes("]")) {
        items.push(value());
        if (!takes(",") && !text.startsWith("]", at)) throw fault('"," or "]"');
      }
      return items;
    }
    const long = match(/"""[^]*?"""|'''[^]*?'''/y);
    if (long !== undefined) return long.slice(3, -3);
    const quoted = match(/"(?:[^"\\\n]|\\.)*"/y);
    if (quoted !== undefined)
      return quoted.slice(1, -1).replaceAll(/\\(.)/g, (_, each: string) => ({ n: "\n", t: "\t" })[each] ?? each);
    const single = match(/'[^'\n]*'/y);
    if (single !== undefined) return single.slice(1, -1);
    const word = match(/[\w.+-]+/y);
    if (word === undefined) throw fault("a value");
    return word;
  };
  return {
    at: () => at,
    isOver: () => at >= text.length,
    is: (mark: string) => text.startsWith(mark, at),
    name: () => {
      blanks();
      return match(/[A-Za-z_][\w.-]*/y);
    },
    ...{ blanks, fault, takes, value },
  };
}
