import type { Backend } from "../contract/backend.ts";
import { type Effect, isAct } from "../contract/effect.ts";
import type { Autonomy, Policy } from "../contract/policy.ts";
import { type Decision, stricter } from "../contract/decision.ts";
import { type PathJudge, pathJudge } from "./paths.ts";
import type { PolicySettings } from "./settings.ts";

/**
 * The standard policy: judges every effect of a call by autonomy and path rules. The strictest decision is the call's.
 * `own` are Handrail's own folders, which no tool reaches.
 */
export function createPolicy(settings: PolicySettings, backend: Backend, own: readonly string[] = []): Policy {
  const judgePath = pathJudge(settings, backend, own);
  const autonomy = settings.autonomy ?? "supervised";
  return async ({ effects }) => {
    let strictest: Decision | undefined;
    for (const effect of effects) {
      strictest = stricter(strictest, await judgeEffect(effect, autonomy, judgePath));
    }
    return strictest;
  };
}

async function judgeEffect(effect: Effect, autonomy: Autonomy, judgePath: PathJudge): Promise<Decision> {
  if (autonomy === "readonly" && isAct(effect)) {
    return {
      verdict: "deny",
      risk: "medium",
      rule: "autonomy",
      reason: `Read-only mode: cannot perform '${verb(effect)}'`,
    };
  }
  switch (effect.kind) {
    case "read":
    case "write":
      return judgePath(effect.kind, effect.path, effect.real);
    case "exec": {
      const there = await judgePath("cwd", effect.cwd ?? ".", effect.real);
      return there.verdict === "allow"
        ? judgeAct(autonomy, "Command requires approval: supervised autonomy asks before every command")
        : there;
    }
    case "output":
      return { verdict: "allow", risk: "low", rule: "output" }; // only the toolkit that made it can open it
    case "terminal":
      return isAct(effect)
        ? judgeAct(autonomy, "Typing into a terminal requires approval")
        : { verdict: "allow", risk: "low", rule: "autonomy" };
    case "fetch":
      return judgeAct(autonomy, `Fetching ${effect.url} requires approval`);
    case "state":
      return { verdict: "allow", risk: "low", rule: "state" };
    case "delegate":
      return judgeAct(autonomy, `Handing work to agent ${effect.agent} requires approval`);
    case "foreign":
      return judgeAct(autonomy, `A tool of ${effect.from} requires approval: it does not say what it touches`);
  }
}

function judgeAct(autonomy: Autonomy, reason: string): Decision {
  if (autonomy === "full") return { verdict: "allow", risk: "medium", rule: "autonomy" };
  return { verdict: "ask", risk: "medium", rule: "autonomy", reason };
}

function verb(effect: Effect): string {
  switch (effect.kind) {
    case "exec":
      return "run a command";
    case "write":
      return "write files";
    case "terminal":
      return "type into a terminal";
    case "fetch":
      return `${effect.method} a URL`;
    case "state":
      return `change ${effect.store}`;
    case "delegate":
      return "delegate";
    default:
      return effect.kind;
  }
}
