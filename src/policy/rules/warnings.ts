import { isWrapper } from "../commands/wrapped.ts";
import { wrapperOf } from "../commands/programs.ts";
import type { CommandRules } from "../policy-settings.ts";
import { type CommandPattern, matchesLeniently, spellingOf } from "./command.ts";
import type { Rule } from "./rule.ts";
import { parseRules } from "./rules.ts";
import { unknownOptions } from "./spelling.ts";

/** Programs that can run any other program, besides the ones that the search for commands knows. */
const MULTI_PURPOSE = new RegExp(
  "^(docker|podman|kubectl|perl|ruby|php|lua|Rscript|osascript|node(js)?|deno|bun|tsx|ts-node|python2|ninja|pipx|" +
    "p?npm|yarn|uv|cargo|go|[gm]?awk|ed|emacs)$",
);

/**
 * Warnings about rules that can never match, or that allow more than they seem to: one sentence for each rule. Throws
 * like `parseRules`.
 */
export function ruleWarnings(settings: CommandRules | undefined): readonly string[] {
  const rules = parseRules(settings, { workDir: "/", home: "/" });
  const all = (["deny", "ask", "allow", "only"] as const).flatMap((list) =>
    rules[list].flatMap((rule) => {
      const about = neverMatches(rule, list, rules) ?? (list === "allow" ? allowsMore(rule) : finds(rule, list));
      return about === undefined ? [] : [`policy.commands.${list} ${JSON.stringify(rule.text)} ${about}`];
    }),
  );
  return [...new Set(all)];
}

function neverMatches(
  rule: Rule,
  list: keyof CommandRules,
  { deny, ask }: { readonly deny: readonly Rule[]; readonly ask: readonly Rule[] },
): string | undefined {
  if (rule.kind !== "command") return undefined;
  if (rule.pattern.isList)
    return (
      "can never match: a rule is compared with one command at a time, and this has several, a redirection or a " +
      "substitution; write a rule for each command"
    );
  const stronger = list === "deny" ? [] : list === "ask" ? deny : [...deny, ...ask];
  const before = stronger.find((other) => other.kind === "command" && holdsAll(other.pattern, rule.pattern));
  return before && `can never match: the rule ${JSON.stringify(before.text)} is applied before it`;
}

/** Whether the first pattern matches everything that the second does, as far as that is easy to determine. */
function holdsAll(one: CommandPattern, other: CommandPattern): boolean {
  const words = other.words.map((word) =>
    word.is === "any" ? "\0any" : word.is === "word" ? word.text : `${word.text}\0`,
  );
  return matchesLeniently(one, { words, text: "" });
}

/** What a rule that asks or denies does not find. */
function finds(rule: Rule, list: keyof CommandRules): string | undefined {
  if (rule.kind !== "command" || list === "only") return undefined;
  const spelling = spellingOf(rule.pattern);
  const unknown = spelling === undefined ? [] : unknownOptions(spelling);
  if (spelling === undefined || unknown.length === 0) return undefined;
  return (
    `finds ${unknown.join(", ")} only as it is written: other ways to write it for ${spelling.program} are not known ` +
    "here; add a rule for each, or leave the option out"
  );
}

function allowsMore(rule: Rule): string | undefined {
  if (rule.kind === "path") return rule.pattern.root === "/" ? "allows every path that is not forbidden" : undefined;
  if (rule.kind === "fetch") return rule.host === undefined ? "allows every host that is not forbidden" : undefined;
  if (rule.kind !== "command" || rule.pattern.isList) return undefined;
  const [first, second] = rule.pattern.words;
  if (first === undefined || first.is === "any") return "allows every command";
  if (first.is === "beginning") return `allows every program whose name begins with ${JSON.stringify(first.text)}`;
  if (!MULTI_PURPOSE.test(first.text) && !isWrapper(first.text)) return undefined;
  const isOpen = rule.pattern.open || rule.pattern.words.some(({ is }) => is !== "word");
  const isNarrow = second?.is === "word" && !second.text.startsWith("-") && !runsWhateverFollows(first.text);
  if (!isOpen || isNarrow) return undefined;
  return `allows more than it seems: ${first.text} can run any program; name the arguments to allow`;
}

/** Whether a program runs another program that an operand names: a script, a command, the start of a search. */
function runsWhateverFollows(name: string): boolean {
  const leads = /^(find|fd|[gm]?awk|sed|ed|vim?|emacs|tar|rsync|eval|source|\.)$/;
  return wrapperOf(name).wrapper !== undefined || leads.test(name);
}
