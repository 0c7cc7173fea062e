import type { Backend } from "../core/contract/backend.ts";
import { type Effect, isAct } from "../core/contract/effect.ts";
import type { Autonomy, Policy } from "../core/contract/policy.ts";
import { type Decision, stricter } from "../core/contract/decision.ts";
import type { CheckedCall } from "../core/contract/call.ts";
import { absolutePath, isInside } from "../core/util/paths.ts";
import type { GivenToJudge } from "./exec.ts";
import type { CommandJudges } from "./command-judges.ts";
import { judgeSeen, nothingSeen } from "./provenance/seen.ts";
import { type NetworkFacts, fetchJudge } from "./fetch.ts";
import { KEY_FOLDERS } from "../machine/places/keys.ts";
import { describeEffect } from "./describe.ts";
import { createLookUps } from "./look-ups.ts";
import { type PathJudge, pathJudge } from "./paths.ts";
import { type Rules, type Ruling, createRules } from "./rules/rules.ts";
import { scopeOf, withScopes } from "./scopes.ts";
import { DEFAULT_FORBIDDEN_PATHS, type PolicySettings, askingOutside } from "./policy-settings.ts";
import type { Lifetime } from "../core/contract/lifetime.ts";

/**
 * Creates the standard policy: a call gets the strictest decision on any of its effects. `own` are Handrail's folders,
 * which no tool reaches.
 *
 * @throws TypeError for invalid rules and hosts.
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
  const pathJudgeInSandbox =
    settings.forbiddenInSandbox === true
      ? pathJudge(askingOutside(settings), backend, own)
      : pathJudge(inSandbox(settings), backend, own, "commands");
  let judges: Promise<CommandJudges> | undefined;
  /** Loaded for the first command: the shell grammar is a third of what a start would load. */
  const commandJudges = () =>
    (judges ??= import("./command-judges.ts").then(({ createCommandJudges }) =>
      createCommandJudges(settings, backend, own, rules.command),
    ));

  return async (call) => {
    if (call.effects.length === 0) return undefined;
    const { outside } = backend;
    const lookAtFiles = createLookUps(backend.files, outside === undefined ? foldersOf(call) : new Set(), call.found);
    const look = outside === undefined ? lookAtFiles : createLookUps(outside, foldersOf(call));
    /** The user's rules about reading and writing also apply to paths that a command names. */
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
    const isMissingHere = async (real: string | undefined) =>
      real !== undefined && isInside(real, backend.workDir) && (await lookAtFiles.infoAt(real)) === undefined;
    const judgeEffect = async (effect: Effect): Promise<Decision> => {
      // Commands have their own judge, which handles readonly.
      if (autonomy === "readonly" && isAct(effect) && effect.kind !== "exec") {
        const reason = `Read-only mode: cannot perform '${verb(effect)}'`;
        return { verdict: "deny", risk: "medium", rule: "autonomy", reason };
      }
      switch (effect.kind) {
        case "read": {
          const decision = await judgePath("read", effect.path, effect.real);
          // A missing file of the project holds no secret: a question would protect nobody.
          const isSecret = decision.verdict === "ask" && decision.rule === "sensitive_files";
          const isMissing = isSecret && (await isMissingHere(effect.real));
          return isMissing ? { verdict: "allow", risk: "low", rule: "workspace" } : decision;
        }
        case "write":
          return judgePath("write", effect.path, effect.real);
        case "exec":
          return (await commandJudges()).judgeExec(effect, given);
        case "terminal":
          return (await commandJudges()).judgeTerminal(effect, given);
        case "fetch":
        case "request":
        case "search":
          return judgeFetch(effect, call.request);
        case "state":
          if (effect.afterForeignText) return CORE_MEMORY;
          if (effect.store === "schedule" && effect.change) return judgeSchedule(autonomy, effect.asks === true);
          return { verdict: "allow", risk: "low", rule: effect.kind };
        case "output": // only the toolkit that made the output can open it
          return { verdict: "allow", risk: "low", rule: effect.kind };
        case "delegate":
          return judgeAct(autonomy, `Delegating to agent ${effect.agent} requires approval`);
        case "page":
          if (effect.act === "person") return asked("The agent");
          if (effect.act === "use" || effect.act === "look") return { verdict: "allow", risk: "low", rule: "page" };
          return judgeAct(autonomy, `${describeEffect(effect)} requires approval`);
        case "foreign":
          if (effect.asks !== undefined) return asked(effect.from);
          return {
            ...judgeAct(autonomy, `A tool of ${effect.from} requires approval: it does not declare what it touches`),
            ...(effect.destructive === true && { risk: "high" }),
          };
      }
    };
    const decisions = await Promise.all(
      call.effects.map(async (effect): Promise<Decision> => {
        const judged = await judgeEffect(effect);
        const byRules = withExceptions(ruled(judged, rules.effect(effect, call)), effect, rules);
        const decision = effect.kind === "exec" ? inBackground(byRules, effect.lifetime) : byRules;
        // The question is about this effect, not the other effects of the call.
        const isWhole = decision.verdict === "ask" && decision.scopes === undefined;
        return isWhole ? { ...decision, scopes: [scopeOf(effect, call)] } : decision;
      }),
    );
    let strictest: Decision | undefined;
    for (const decision of decisions) strictest = stricter(strictest, decision);
    return strictest;
  };
}

/** For when nothing is known about conversations and secrets. */
const NO_FACTS: NetworkFacts = {
  conversations: {
    isKnown: async () => false,
    judge: async (_, request) => judgeSeen(nothingSeen(), request),
  },
  hasSecret: () => false,
};

/**
 * A contained command may name the system folders of the default list, which are read-only for it, and is asked about
 * its key folders. What the user forbids stays forbidden. That includes a key folder, unless all key folders are on the
 * list, as by default.
 */
function inSandbox({ forbiddenPaths = [], ...settings }: PolicySettings): PolicySettings {
  const isBuiltIn = KEY_FOLDERS.every((path) => forbiddenPaths.includes(path));
  const left = new Set(DEFAULT_FORBIDDEN_PATHS.filter((path) => isBuiltIn || !KEY_FOLDERS.includes(path)));
  return askingOutside({ ...settings, forbiddenPaths: forbiddenPaths.filter((path) => !left.has(path)) });
}

/**
 * The folders where commands of the call run: real paths, checked again before the start. Not those of typed commands.
 */
function foldersOf({ effects }: CheckedCall): ReadonlySet<string> {
  const folders = new Set<string>();
  for (const effect of effects) {
    if (effect.kind === "terminal") return new Set();
    if (effect.kind === "exec" && effect.real !== undefined) folders.add(effect.real);
  }
  return folders;
}

/** Separates grants: an approval of a command that ends with its call does not cover one that outlives it. */
function inBackground(decision: Decision, lifetime: Lifetime = "call"): Decision {
  if (lifetime === "call") return decision;
  const how = lifetime === "toolkit" ? "in the background" : "in the background, also after this session";
  return withScopes(decision, (scope) => {
    return { ...scope, label: `${scope.label} (${how})`, key: `${lifetime} ${scope.key}` };
  });
}

/** Adds what rules keep closed below a folder that may be read or written. */
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

/** Judges work that starts by itself later: people see nothing of it between this question and its start. */
function judgeSchedule(autonomy: Autonomy, asks: boolean): Decision {
  if (!asks) return judgeAct(autonomy, "Changing the schedules requires approval");
  const reason = "An agent that starts again and again by itself requires approval";
  return { verdict: "ask", risk: "medium", rule: "schedule", reason };
}

const CORE_MEMORY: Decision = {
  verdict: "ask",
  risk: "medium",
  rule: "core_memory",
  reason:
    "Storing a core memory requires approval: it is part of every later conversation, and this one has read text " +
    "that others wrote (a page, search results, a tool of another program, a memory)",
  scopes: [],
};

/** A program asks people something: no autonomy, rule or grant answers for them. */
function asked(from: string): Decision {
  return { verdict: "ask", risk: "medium", rule: "asks", reason: `${from} asks a person a question`, scopes: [] };
}

function verb(effect: Effect): string {
  if (effect.kind === "request") return `${effect.method} a URL`;
  if (effect.kind === "state") return `change ${effect.store}`;
  if (effect.kind === "terminal") return "type into a terminal";
  if (effect.kind === "page") return "act on a page";
  if (effect.kind === "foreign") return `call a tool of ${effect.from}`;
  return effect.kind === "write" ? "write files" : effect.kind;
}

/**
 * Reasons for questions that a rule may answer with "allow". Questions for other reasons (protected files, hard links)
 * stay.
 */
const LEFT_TO_PEOPLE: ReadonlySet<string | undefined> = new Set(["autonomy", "outside"]);

/**
 * Applies a rule: the rule can tighten any decision, and can allow what the policy leaves to people. To allow a
 * sensitive file (`.env`), the rule must name it without wildcards.
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
