import type { Verdict } from "../../core/contract/decision.ts";
import { isServerName } from "../../tools/mcp/names.ts";
import { hostRule } from "../../machine/network/hosts.ts";
import type { CommandRule } from "../../policy/policy-settings.ts";
import { checkExamples } from "../../policy/rules/examples.ts";
import { parseRule } from "../../policy/rules/rule.ts";
import { BUILT_IN } from "../../tools/presets/built-in.ts";
import { isOfSource } from "../../tools/presets/choose.ts";
import { PRESETS } from "../../tools/presets/presets.ts";
import { didYouMean } from "../../core/util/nearest.ts";
import type { Complaint } from "./project-rules.ts";
import { modelFault, parkMode } from "./values.ts";

const TOOL_NAMES = Object.keys(BUILT_IN);

/** Used to validate rules about paths, for which any base will do. */
const ANY_BASE = { workDir: "/", home: "/" };

/**
 * The checks of texts that a schema names as `format`. Each returns `undefined` for a valid text, and advice otherwise:
 * a sentence, or "".
 */
export const FORMATS: { readonly [format: string]: (value: string) => string | undefined } = {
  path: (value) => (value.trim() === "" ? 'For the folder of this file write ".".' : undefined),
  "policy-path": (value) =>
    // a pattern would be taken as the name of a missing file and forbid nothing
    value.includes("*") ? "Patterns are not supported: name the folder." : FORMATS["path"]?.(value),
  host: (value) => (typeof hostRule(value) === "string" ? "" : undefined),
  rule(value) {
    const parsed = parseRule(value, ANY_BASE);
    return parsed.ok ? undefined : parsed.problem;
  },
  model: modelFault,
  park: (value) => (parkMode(value) === undefined ? "" : undefined),
  "web-url": (value) => (URL.canParse(value) && /^https?:/i.test(value) ? undefined : ""),
  "server-name": (value) => (isServerName(value) ? undefined : ""),
  tool: (value) => (/^[a-zA-Z_*][a-zA-Z0-9_*-]{0,127}$/.test(value) ? undefined : toolAdvice(value)),
  "toolset-name": (value) =>
    Object.hasOwn(PRESETS, value) ? "There is a preset of this name; choose another." : undefined,
};

/** Returns the complaints about rules that do not satisfy their own examples. */
export function complaintsOfExamples(verdict: Verdict) {
  return (rules: readonly (string | CommandRule)[]): readonly Complaint[] =>
    rules.flatMap((given, index) => {
      const parsed = typeof given === "string" ? undefined : parseRule(given.rule, ANY_BASE);
      if (typeof given === "string" || parsed?.ok !== true) return [];
      return checkExamples(parsed.rule, given, verdict, ANY_BASE).map((problem) => ({
        at: [`${index}`],
        message: `${JSON.stringify(given.rule)}: ${problem}`,
      }));
    });
}

/** Returns advice on a name that is not one of a built-in tool; `undefined` for one that is, and for patterns. */
export function toolAdvice(name: string): string | undefined {
  if (TOOL_NAMES.includes(name) || isOfSource(name)) return undefined;
  return didYouMean(name, TOOL_NAMES) || `Tools: ${TOOL_NAMES.join(", ")}.`;
}
