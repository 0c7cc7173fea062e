import type { Effect } from "../../core/contract/effect.ts";
import type { Verdict } from "../../core/contract/decision.ts";
import { type Base, absolutePath } from "../../core/util/paths.ts";
import type { CommandRule } from "../policy-settings.ts";
import { isAboutCommand, isAboutEffect } from "./matching.ts";
import type { Rule } from "./rule.ts";
import { wordsOf } from "./words.ts";

/** What is wrong with a rule by its own examples, a sentence each. */
export function checkExamples(
  rule: Rule,
  { match = [], not_match: notMatch = [] }: CommandRule,
  verdict: Verdict,
  base: Base,
): readonly string[] {
  const isAbout = (example: string) => fits(rule, example, verdict, base);
  const [missed, found] = [match.filter((example) => !isAbout(example)), notMatch.filter(isAbout)];
  return [
    ...missed.map((example) => `it does not match its own example ${JSON.stringify(example)}`),
    ...found.map((example) => `it matches ${JSON.stringify(example)}, which is in its not_match`),
  ];
}

function fits(rule: Rule, example: string, verdict: Verdict, base: Base): boolean {
  if (rule.kind === "command") {
    const parsed = wordsOf(example);
    return parsed.ok && isAboutCommand(rule, { words: parsed.words, text: example }, verdict);
  }
  return isAboutEffect(rule, effectOf(rule, example, base), example, verdict, base);
}

function effectOf(rule: Rule, example: string, base: Base): Effect {
  if (rule.kind === "path") return { kind: rule.operation, path: example, real: absolutePath(example, base) };
  return rule.kind === "fetch" ? { kind: "fetch", url: example, method: "GET" } : { kind: "foreign", from: example };
}
