import type { Verdict } from "../../core/contract/decision.ts";
import type { Effect } from "../../core/contract/effect.ts";
import { type Base, absolutePath } from "../../core/util/paths.ts";
import { matchesWildcard } from "../../core/util/wildcard.ts";
import { type CommandWords, matchesLeniently, matchesStrictly } from "./command.ts";
import type { Rule } from "./rule.ts";

/** Whether a rule matches a command: strictly for allow rules, leniently for ask and deny rules. */
export function isAboutCommand(rule: Rule, command: CommandWords, verdict: Verdict): boolean {
  if (rule.kind !== "command") return false;
  return verdict === "allow" ? matchesStrictly(rule.pattern, command) : matchesLeniently(rule.pattern, command);
}

/**
 * Whether a rule matches an effect that is not a command. An allow rule must match the path as written and the real
 * path; other rules match either path.
 */
export function isAboutEffect(rule: Rule, effect: Effect, tool: string, verdict: Verdict, base: Base): boolean {
  switch (effect.kind) {
    case "read":
    case "write": {
      if (rule.kind !== "path" || rule.operation !== effect.kind) return false;
      const written = rule.pattern.matches(absolutePath(effect.path, base));
      const real = effect.real === undefined ? verdict !== "allow" && written : rule.pattern.matches(effect.real);
      return verdict === "allow" ? written && real : written || real;
    }
    case "fetch":
      return rule.kind === "fetch" && isHost(rule.host, hostOf(effect.url), verdict);
    case "request": // an allow rule is about reading
      return rule.kind === "fetch" && verdict !== "allow" && isHost(rule.host, hostOf(effect.url), verdict);
    case "search":
      return rule.kind === "fetch" && verdict !== "allow" && isHost(rule.host, hostOf(effect.engine), verdict);
    case "foreign": {
      if (rule.kind !== "foreign") return false;
      // Another source may have a tool with a similar name: for allow rules, only the full name with its source counts.
      const names = verdict === "allow" ? [foreignName(effect)] : [foreignName(effect), tool];
      return names.some((name) => [rule.pattern, `${rule.pattern}__*`].some((each) => matchesWildcard(each, name)));
    }
    default:
      return false;
  }
}

/** The name "mcp__github__list_issues" for that tool of "mcp:github". */
function foreignName({ from, tool }: Extract<Effect, { kind: "foreign" }>): string {
  const source = from.replace(":", "__");
  return tool === undefined ? source : `${source}__${tool}`;
}

function hostOf(url: string): string {
  return URL.canParse(url) ? new URL(url).hostname.replace(/\.$/, "") : "";
}

function isHost(rule: string | undefined, host: string, verdict: Verdict): boolean {
  if (rule === undefined) return true;
  const domain = rule.replace(/^\*\./, "");
  if (rule !== domain) return host.endsWith(`.${domain}`);
  return host === domain || (verdict !== "allow" && host.endsWith(`.${domain}`));
}
