import type { Verdict } from "../../contract/decision.ts";
import type { Effect } from "../../contract/effect.ts";
import { type Base, absolutePath } from "../../util/paths.ts";
import { type CommandWords, matchesLeniently, matchesStrictly } from "./command.ts";
import type { Rule } from "./rule.ts";

/** Strict to allow, lenient to ask and deny. */
export function isAboutCommand(rule: Rule, command: CommandWords, verdict: Verdict): boolean {
  if (rule.kind !== "command") return false;
  return verdict === "allow" ? matchesStrictly(rule.pattern, command) : matchesLeniently(rule.pattern, command);
}

/** The same of other effects. To allow a path it must match as written and as it really is, else one of both. */
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
      const name = rule.tool === undefined ? undefined : `mcp__${rule.from}__${rule.tool}`;
      if (name === undefined) return effect.from === rule.from || tool.startsWith(`mcp__${rule.from}__`);
      return tool === name || (effect.from === rule.from && tool === rule.tool);
    }
    default:
      return false;
  }
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
