import type { Backend } from "../contract/backend.ts";
import { type Effect, isAct } from "../contract/effect.ts";
import type { Autonomy, Policy } from "../contract/policy.ts";
import { type Decision, stricter } from "../contract/decision.ts";
import type { CheckedCall } from "../contract/call.ts";
import { absolutePath, isInside } from "../util/paths.ts";
import { type GivenToJudge, execJudge } from "./exec.ts";
import { type NetworkFacts, fetchJudge } from "./fetch.ts";
import { createLookUps } from "./look-ups.ts";
import { type PathJudge, pathJudge } from "./paths.ts";
import { type Rules, type Ruling, createRules } from "./rules/rules.ts";
import { scopeOf, withScopes } from "./scopes.ts";
import { DEFAULT_FORBIDDEN_PATHS, type PolicySettings } from "./settings.ts";
import { terminalJudge } from "./terminal.ts";
import type { Lifetime } from "../contract/lifetime.ts";

/**
 * The standard policy: the strictest decision on any effect of a call. `own` are Handrail's folders, which no tool
 * reaches.
 *
 * @throws TypeError for rules and hosts that cannot be read.
 */
export function createPolicy(
  settings: PolicySettings,
  backend: Backend,
  own: readonly string[] = [],
  rules: Rules = createRules(settings.commands, backend),
  facts: NetworkFacts = NO_FACTS,
): Policy {
  const pathJudgeBy = pathJudge(settings, backend, own);
  const pathJudgeOfCommands = pathJudge(settings, backend, own, "commands");
  const autonomy = settings.autonomy ?? "supervised";
  const judgeFetch = fetchJudge(settings.network, autonomy, facts);
  const pathJudgeInSandbox = pathJudge(inSandbox(settings), backend, own, "commands");
  const execJudgeBy = (some: PolicySettings) => execJudge(some, backend, own, rules.command);
  const judgeExec = execJudgeBy(settings);
  const judgeLeniently = execJudgeBy({ ...settings, blockHighRiskCommands: false });
  const denied = (settings.commands?.deny ?? []).map((rule) => (typeof rule === "string" ? rule : rule.rule));
  const judgeTerminal = terminalJudge({ autonomy, backend, denied });

  return async (call) => {
    const { outside } = backend;
    const lookAtFiles = createLookUps(backend.files, outside === undefined ? foldersOf(call) : new Set(), call.found);
    const look = outside === undefined ? lookAtFiles : createLookUps(outside, foldersOf(call));
    /** Paths that a command names fall under people's rules about reading and writing, like those of any other tool. */
    const withRules = (judgePath: PathJudge): PathJudge => {
      return async (operation, written, real) => {
        const decision = await judgePath(operation, written, real);
        if (operation === "cwd" || decision.verdict === "deny") return decision;
        const target = real ?? (await look.realPath(absolutePath(written, backend)));
        const effect: Effect = { kind: operation, path: written, ...(typeof target === "string" && { real: target }) };
        return withExceptions(ruled(decision, rules.effect(effect, call)), effect, rules);
      };
    };
    const given: GivenToJudge = {
      judgePath: withRules(pathJudgeOfCommands(look)),
      judgeContained: withRules(pathJudgeInSandbox(look)),
      look,
    };
    const judgePath = pathJudgeBy(lookAtFiles);
    const judgeEffect = async (effect: Effect): Promise<Decision> => {
      // What a command may do is known to its judge.
      if (autonomy === "readonly" && isAct(effect) && effect.kind !== "exec") {
        const reason = `Read-only mode: cannot perform '${verb(effect)}'`;
        return { verdict: "deny", risk: "medium", rule: "autonomy", reason };
      }
      switch (effect.kind) {
        case "read":
        case "write":
          return judgePath(effect.kind, effect.path, effect.real);
        case "exec":
          return judgeExec(effect, given);
        case "terminal":
          return judgeTerminal(effect, (command, strictness) =>
            (strictness === "strict" ? judgeExec : judgeLeniently)(command, { ...given, typed: true }),
          );
        case "fetch":
        case "request":
        case "search":
          return judgeFetch(effect, call.request.thread);
        case "output": // only the toolkit that made it can open it
        case "state":
          return { verdict: "allow", risk: "low", rule: effect.kind };
        case "delegate":
          return judgeAct(autonomy, `Handing work to agent ${effect.agent} requires approval`);
        case "foreign":
          return judgeAct(autonomy, `A tool of ${effect.from} requires approval: it does not say what it touches`);
      }
    };
    const decisions = await Promise.all(
      call.effects.map(async (effect): Promise<Decision> => {
        const judged = await judgeEffect(effect);
        const byRules = withExceptions(ruled(judged, rules.effect(effect, call)), effect, rules);
        const decision = effect.kind === "exec" ? inBackground(byRules, effect.lifetime) : byRules;
        // What is asked about is this effect, and not the others of the call.
        const isWhole = decision.verdict === "ask" && decision.scopes === undefined;
        return isWhole ? { ...decision, scopes: [scopeOf(effect, call)] } : decision;
      }),
    );
    let strictest: Decision | undefined;
    for (const decision of decisions) strictest = stricter(strictest, decision);
    return strictest;
  };
}

/** Where nothing is known of threads and secrets. */
const NO_FACTS: NetworkFacts = { isKnown: () => false, hasSecret: () => false };

/** A contained command may name the system folders of the default list: they are read-only for it. */
function inSandbox({ forbiddenPaths = [], ...settings }: PolicySettings): PolicySettings {
  const isDefault = new Set(DEFAULT_FORBIDDEN_PATHS);
  return { ...settings, workspaceOnly: false, forbiddenPaths: forbiddenPaths.filter((path) => !isDefault.has(path)) };
}

/** Where its commands run: real, and checked again before they do. Not where something is typed. */
function foldersOf({ effects }: CheckedCall): ReadonlySet<string> {
  const folders = new Set<string>();
  for (const effect of effects) {
    if (effect.kind === "terminal") return new Set();
    if (effect.kind === "exec" && effect.real !== undefined) folders.add(effect.real);
  }
  return folders;
}

/** The approval of a command that ends with its call does not hold for one that outlives it. */
function inBackground(decision: Decision, lifetime: Lifetime = "call"): Decision {
  if (lifetime === "call") return decision;
  const how = lifetime === "toolkit" ? "in the background" : "in the background, also after this session";
  return withScopes(decision, (scope) => {
    return { ...scope, label: `${scope.label} (${how})`, key: `${lifetime} ${scope.key}` };
  });
}

/** What a rule keeps closed below a folder that may be read or written. */
function withExceptions(decision: Decision, effect: Effect, { excluded }: Rules): Decision {
  if (decision.verdict === "deny" || (effect.kind !== "read" && effect.kind !== "write")) return decision;
  const { real } = effect;
  const inside =
    real === undefined ? [] : excluded[effect.kind].filter((path) => path !== real && isInside(path, real));
  return inside.length === 0 ? decision : { ...decision, except: [...(decision.except ?? []), ...inside] };
}

function judgeAct(autonomy: Autonomy, reason: string): Decision {
  if (autonomy === "full") return { verdict: "allow", risk: "medium", rule: "autonomy" };
  return { verdict: "ask", risk: "medium", rule: "autonomy", reason };
}

function verb(effect: Effect): string {
  if (effect.kind === "request") return `${effect.method} a URL`;
  if (effect.kind === "state") return `change ${effect.store}`;
  if (effect.kind === "terminal") return "type into a terminal";
  return effect.kind === "write" ? "write files" : effect.kind;
}

/** What a rule may allow. What is asked about for other reasons (protected files, hard links) stays asked about. */
const LEFT_TO_PEOPLE: ReadonlySet<string | undefined> = new Set(["autonomy", "outside"]);

/**
 * A rule tightens whatever the policy says, and allows what the policy leaves to people. A file that is asked about for
 * what it holds (`.env`) must be named without wildcards to be allowed.
 */
function ruled(decision: Decision, ruling: Ruling | undefined): Decision {
  if (ruling === undefined || decision.verdict === "deny") return decision;
  const { verdict, rule, reason, isExact } = ruling;
  if (verdict !== "allow") return { ...decision, verdict, rule, reason };
  const mayLift = LEFT_TO_PEOPLE.has(decision.rule) || (decision.rule === "sensitive_files" && isExact === true);
  if (decision.verdict === "allow" || !mayLift) return decision;
  const { reason: _, ...rest } = decision;
  return { ...rest, verdict, rule };
}
