import { basename } from "node:path";
import type { CheckedCall } from "../../core/contract/call.ts";
import type { Verdict } from "../../core/contract/decision.ts";
import type { Effect } from "../../core/contract/effect.ts";
import type { Base } from "../../core/util/paths.ts";
import type { CommandRule, CommandRules } from "../policy-settings.ts";
import { type CommandWords, mayHide } from "./command.ts";
import { checkExamples } from "./examples.ts";
import { isAboutCommand, isAboutEffect } from "./matching.ts";
import { type Rule, parseRule } from "./rule.ts";

/** The verdict of the user's rules, with the rule as written and a sentence. */
export interface Ruling {
  readonly verdict: Verdict;
  readonly rule: string;
  readonly reason: string;
  /** Whether the rule names the file or command without wildcards. */
  readonly isExact?: true;
}

/** The user's rules, parsed. Deny comes before ask, and ask before allow; `undefined` where no rule matches. */
export interface Rules {
  /** The ruling on one command of a script. If there is an `only` list, commands that are not on it are denied. */
  command(command: CommandWords): Ruling | undefined;
  /** The ruling on any other effect. */
  effect(effect: Effect, call: Pick<CheckedCall, "tool">): Ruling | undefined;
  /** Real paths below an open folder that rules deny or ask about, each with everything below. */
  readonly excluded: { readonly [operation in "read" | "write"]: readonly string[] };
  /** The rule that excludes this path from an open folder. */
  withheld(operation: "read" | "write", path: string): string | undefined;
}

type List = keyof CommandRules;
export type ParsedRules = { readonly [list in List]-?: readonly Rule[] };

const LISTS: readonly Verdict[] = ["deny", "ask", "allow"];

/**
 * Parses people's rules.
 *
 * @throws TypeError that names the rule and what is wrong with it: it cannot be read, or one of its own examples fails.
 */
export function parseRules(settings: CommandRules | undefined, base: Base): ParsedRules {
  const problems: string[] = [];
  const parsed = (list: List) =>
    (settings?.[list] ?? []).flatMap((entry, index): readonly Rule[] => {
      const given: CommandRule = typeof entry === "string" ? { rule: entry } : entry;
      const where = `policy.commands.${list}[${index}] ${JSON.stringify(given.rule)}`;
      const result = parseRule(given.rule, base);
      const found = result.ok ? [...checkExamples(result.rule, given, verdictOf(list), base)] : [result.problem];
      if (list === "only" && result.ok && result.rule.kind !== "command") found.push("expected a command");
      problems.push(...found.map((problem) => `${where}: ${problem}`));
      return result.ok ? [result.rule] : [];
    });
  const rules = { deny: parsed("deny"), ask: parsed("ask"), allow: parsed("allow"), only: parsed("only") };
  if (problems.length > 0) throw new TypeError(problems.join("\n"));
  return rules;
}

/** Parses people's rules, once. Throws like `parseRules`. */
export function createRules(settings: CommandRules | undefined, base: Base): Rules {
  const rules = parseRules(settings, base);
  const { only } = rules;
  const restricting = [...rules.deny, ...rules.ask].filter((rule) => rule.kind === "path");

  return {
    command(command) {
      for (const verdict of LISTS) {
        const rule = rules[verdict].find((each) => isAboutCommand(each, command, verdict));
        if (rule !== undefined) return ruling(verdict, rule, command.text);
      }
      const hidden = [...rules.deny, ...rules.ask].find(
        (rule) => rule.kind === "command" && mayHide(rule.pattern, command),
      );
      if (hidden !== undefined)
        return {
          verdict: "ask",
          rule: hidden.text,
          reason: `${command.text}: git ${command.words.find((word, at) => at > 0 && !word.startsWith("-")) ?? ""} may be an alias of what the rule ${hidden.text} is about`,
        };
      if (only.length === 0 || only.some((each) => isAboutCommand(each, command, "allow"))) return undefined;
      const name = basename(command.words[0] ?? command.text);
      const listed = only.map(({ text }) => text).join(", ");
      return {
        verdict: "deny",
        rule: "only",
        reason: `Command not in allowlist: ${name}. policy.commands.only lists: ${listed}`,
      };
    },
    effect(effect, { tool }) {
      for (const verdict of LISTS) {
        const rule = rules[verdict].find((each) => isAboutEffect(each, effect, tool.name, verdict, base));
        if (rule !== undefined) return ruling(verdict, rule, whatOf(effect, tool.name));
      }
      return undefined;
    },
    excluded: { read: rootsOf(restricting, "read"), write: rootsOf(restricting, "write") },
    withheld: (operation, path) =>
      restricting.find((rule) => rule.operation === operation && rule.pattern.matches(path))?.text,
  };
}

/** Whether examples are compared strictly or leniently: `only` is as strict as `allow`. */
function verdictOf(list: List): Verdict {
  return list === "only" ? "allow" : list;
}

const SAYS: { readonly [verdict in Verdict]: string } = { deny: "denied", ask: "to be asked about", allow: "allowed" };

function ruling(verdict: Verdict, rule: Rule, what: string): Ruling {
  const isExact = rule.kind === "path" && rule.pattern.isLiteral;
  return {
    verdict,
    rule: rule.text,
    reason: `${what}: ${SAYS[verdict]} by the rule ${rule.text}`,
    ...(isExact && { isExact }),
  };
}

function whatOf(effect: Effect, tool: string): string {
  if (effect.kind === "read" || effect.kind === "write") return effect.path;
  if (effect.kind === "search") return effect.engine;
  return effect.kind === "fetch" || effect.kind === "request" ? effect.url : tool;
}

function rootsOf(rules: readonly Rule[], operation: "read" | "write"): readonly string[] {
  return rules.flatMap((rule) =>
    rule.kind === "path" && rule.operation === operation && rule.pattern.root !== undefined ? [rule.pattern.root] : [],
  );
}
