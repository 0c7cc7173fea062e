import { posix } from "node:path";
import type { Backend } from "../../contract/backend.ts";
import type { Decision, DecisionPart, Risk, Scope } from "../../contract/decision.ts";
import type { Effect } from "../../contract/effect.ts";
import type { Autonomy } from "../../contract/policy.ts";
import { absolutePath } from "../../util/paths.ts";
import type { LookUps } from "../look-ups.ts";
import type { PathJudge } from "../paths.ts";
import type { Rules } from "../rules/rules.ts";
import type { PolicySettings } from "../settings.ts";
import { LOOKING_ENVIRONMENT } from "./environment.ts";
import { lookUp } from "./look-up.ts";
import { commandPathJudge } from "./paths.ts";
import { createProgramFinder } from "./programs.ts";
import { type RepositoryReader, createRepositoryReader } from "./repository.ts";
import { judgeVariable } from "./variables.ts";
import { type Part, type Seen, walkScript } from "./walk.ts";

interface CommandJudgeOptions {
  readonly settings: PolicySettings;
  readonly backend: Backend;
  /** What people's own rules say of one command of a script. Default: there are none. */
  readonly rules?: Rules["command"];
  /** Where programs are found, as in PATH. Default: on this machine our own PATH, elsewhere what of a login's may lie in the workspace. */
  readonly programFolders?: readonly string[];
}

/** Judges a script. */
export type CommandJudge = (effect: Exec, given: GivenToJudge) => Promise<Decision>;

interface GivenToJudge {
  /** What is said of the paths in it. */
  readonly judgePath: PathJudge;
  readonly look: LookUps;
  /** It would run in a sandbox that works. Default false. */
  readonly contained?: boolean;
}

type Exec = Extract<Effect, { kind: "exec" }>;

/**
 * Judges a shell script (DESIGN.md 6): every command in it by people's rules (deny, ask, allow), then by what it touches and its risk, under
 * the autonomy. The strictest part decides; a script that is not understood as a whole does not run unasked in supervised autonomy.
 */
export function createCommandJudge({
  settings,
  backend,
  rules = () => undefined,
  programFolders,
}: CommandJudgeOptions): CommandJudge {
  const { workDir, home } = backend;
  const open = [workDir, ...(settings.allowedRoots ?? []).map((path) => absolutePath(path, backend))];
  const readRepositories = createRepositoryReader(backend);
  const inWorkspace = createProgramFinder(backend, programFolders);
  const weigh = weigher(settings, rules);

  return async (effect, { judgePath, look, contained = false }) => {
    const { command, cwd = ".", env = {}, background } = effect;
    const networked = effect.within !== "none" && (effect.within?.network ?? []).length > 0;
    const folder = effect.real ?? absolutePath(cwd, backend);
    const script = walkScript(command.trim(), { cwd: folder, home, lookUp });
    const judgeUse = commandPathJudge({ workDir, open, judgePath, look });
    const runs = readRepositories(look);
    // All that is looked up for the script is begun here, for every part at once; then each is judged by what was seen.
    const seen = await Promise.all(
      script.parts.map(async (part): Promise<SeenOfPart> => {
        const [paths, isOfWorkspace, gitRuns] = await Promise.all([
          Promise.all(part.paths.map(judgeUse)),
          part.program !== undefined && part.risk === "low" && inWorkspace(part.program, look),
          part.program === "git" && part.risk === "low" ? gitRunsIn(repositoryFolders(part), runs) : [],
        ]);
        return { part, paths, isOfWorkspace, gitRuns };
      }),
    );
    const judged: Judged[] = [];
    for (const name of Object.keys(env)) judged.push(...judgeEnvironment(name, env, folder, weigh));
    if (background === "detached") judged.push(judgeDetached(command, folder, weigh));
    for (const each of seen) judged.push(judgePart(each, { weigh, contained, networked }));
    return decisionOf(judged, script, {
      folder,
      env,
      background: background ?? "",
      autonomy: settings.autonomy ?? "supervised",
    });
  };
}

/** A part of the script with what was seen of what it touches. */
interface SeenOfPart {
  readonly part: Part;
  /** What the path rules say, path by path; `undefined`: nothing against it. */
  readonly paths: readonly (Decision | undefined)[];
  /** Its program, which goes by the name of a tool that only looks, is one of the workspace's. */
  readonly isOfWorkspace: boolean;
  /** What git would run although it only looks. */
  readonly gitRuns: readonly string[];
}

interface PartContext {
  readonly weigh: ReturnType<typeof weigher>;
  readonly contained: boolean;
  readonly networked: boolean;
}

function judgePart(
  { part, paths, isOfWorkspace, gitRuns }: SeenOfPart,
  { weigh, contained, networked }: PartContext,
): Judged {
  const against = paths.filter((decision) => decision !== undefined);
  const blocked = against.find(({ verdict }) => verdict === "deny");
  if (blocked !== undefined) return denied(part, blocked);
  if (part.forbidden[0] !== undefined) {
    return denied(part, {
      verdict: "deny",
      risk: "high",
      rule: "network",
      reason: `Path blocked by security policy: ${part.forbidden[0]}`,
    });
  }
  const notUnderstood = against.filter(({ rule }) => rule === "not_understood").map(({ reason = "" }) => reason);
  const asks = against.filter(({ rule }) => rule !== "not_understood");
  const unclear = [...part.unclear, ...notUnderstood, ...(isOfWorkspace ? [] : gitRuns)];
  const weighed = { ...part, unclear, contained, networked };
  if (!isOfWorkspace) return { part, decision: weigh(weighed, asks) };
  const why = `${part.program ?? ""} is a program of the workspace`;
  return { part, decision: weigh({ ...weighed, risk: "medium", why, ordinary: false }, asks) };
}

async function gitRunsIn(folders: readonly string[] | undefined, runs: RepositoryReader): Promise<readonly string[]> {
  if (folders === undefined) return ["which repository it looks at is known only when it runs"];
  return (await Promise.all(folders.map(runs))).flat();
}

/** Where git may look for its repository: where it is started, or where `-C` sends it. */
function repositoryFolders({ cwds, paths }: Part): readonly string[] | undefined {
  const sent = paths.filter(({ use }) => use === "cwd").map(({ from, path }) => posix.resolve(from, path));
  return sent.length > 0 ? sent : cwds;
}

interface Judged {
  readonly part: Part;
  readonly decision: Decision;
}

/** A part as it is weighed. */
interface Weighed extends Pick<Part, "kind" | "text" | "words" | "risk" | "why" | "unclear" | "ordinary"> {
  readonly contained?: boolean;
  /** It has a way to the network, in the sandbox. */
  readonly networked?: boolean;
}

/** Rules before risk before autonomy; nothing but a rule overrides what the paths ask. */
function weigher(
  {
    autonomy = "supervised",
    blockHighRiskCommands = true,
    requireApprovalForMediumRisk = true,
    shellConfirm = false,
    askInSandbox = "unusual",
  }: PolicySettings,
  rules: Rules["command"],
): (part: Weighed, asks: readonly Decision[]) => Decision {
  /** The sandbox holds it, so nobody is asked. */
  const isLeft = ({ contained = false, networked = false, ordinary, unclear }: Weighed): boolean => {
    if (!contained || askInSandbox === "all") return false;
    if (askInSandbox === "nothing") return true;
    return unclear.length === 0 && (ordinary === true || (ordinary === "offline" && !networked));
  };
  return (weighed, [asked]) => {
    const { kind, text, words, risk, why, unclear } = weighed;
    const ruling = kind === "command" ? rules({ words, text }) : undefined;
    const shown = shorten(text);
    if (ruling?.verdict === "deny") return { ...ruling, risk };
    if (asked !== undefined) return { ...asked, reason: `${asked.reason ?? ""} (\`${shown}\`)` };
    if (ruling?.verdict === "ask") return { ...ruling, risk };
    if (ruling?.verdict === "allow" && !shellConfirm) return { ...ruling, risk };
    if (risk === "high" && blockHighRiskCommands) {
      return {
        verdict: "deny",
        risk,
        rule: "block_high_risk_commands",
        reason: `High-risk commands are blocked: \`${shown}\` (${why ?? "it may harm beyond the workspace"}). Leave it out, or have the user allow it with a rule`,
      };
    }
    if (shellConfirm) {
      return {
        verdict: "ask",
        risk,
        rule: "shell_confirm",
        reason: `Command requires approval: every command is asked about (\`${shown}\`)`,
      };
    }
    if (autonomy === "full") return { verdict: "allow", risk, rule: "autonomy" };
    const because = why ?? unclear[0];
    if (risk === "high") {
      return {
        verdict: "ask",
        risk,
        rule: "high_risk",
        reason: `High-risk command requires approval: \`${shown}\` (${because ?? ""})`,
      };
    }
    if (risk === "medium" && isLeft(weighed)) return { verdict: "allow", risk, rule: "sandbox" };
    if (risk === "medium" && requireApprovalForMediumRisk) {
      return {
        verdict: "ask",
        risk,
        rule: "require_approval_for_medium_risk",
        reason: `Medium-risk command requires approval: \`${shown}\` (${because ?? ""})`,
      };
    }
    if (unclear[0] !== undefined) {
      if (isLeft(weighed)) return { verdict: "allow", risk: "medium", rule: "sandbox" };
      return {
        verdict: "ask",
        risk: "medium",
        rule: "not_understood",
        reason: `Command requires approval: \`${shown}\` is not understood as a whole: ${unclear[0]}`,
      };
    }
    return { verdict: "allow", risk, rule: risk === "low" ? "low_risk" : "require_approval_for_medium_risk" };
  };
}

function denied(part: Part, decision: Decision): Judged {
  return { part, decision: { ...decision, reason: `${decision.reason ?? ""} (in \`${shorten(part.text)}\`)` } };
}

/** Variables that a call adds to the environment count like those in front of a command. */
function judgeEnvironment(
  name: string,
  env: NonNullable<Exec["env"]>,
  folder: string,
  weigh: ReturnType<typeof weigher>,
): readonly Judged[] {
  const found = judgeVariable(name, true);
  if (found === undefined) return [];
  const part = partOf(`${name}=${env[name] ?? ""}`, folder, found);
  return [{ part, decision: weigh(part, []) }];
}

/** What goes on when everyone has gone is a person's to decide, whatever it is. */
function judgeDetached(command: string, folder: string, weigh: ReturnType<typeof weigher>): Judged {
  const part = partOf(command, folder, { risk: "medium", why: "it goes on in the background after this session" });
  return { part, decision: weigh(part, []) };
}

function partOf(text: string, folder: string, { risk, why }: { readonly risk: Risk; readonly why: string }): Part {
  return {
    kind: "other",
    text,
    words: [],
    program: undefined,
    risk,
    why,
    unclear: [why],
    paths: [],
    forbidden: [],
    cwds: [folder],
    writes: false,
    ordinary: false,
  };
}

interface Where {
  readonly folder: string;
  readonly env: NonNullable<Exec["env"]>;
  readonly background: string;
  readonly autonomy: Autonomy;
}

const VERDICTS = { allow: 0, ask: 1, deny: 2 } as const;
const RISKS: readonly Risk[] = ["low", "medium", "high"];

/** The strictest part's word, of equals the riskiest; and what each part said, for those who ask why. */
function decisionOf(judged: readonly Judged[], { complete }: Seen, where: Where): Decision {
  const parts = judged.map(({ part, decision }): DecisionPart => ({ text: part.text, ...decision }));
  const looks =
    complete &&
    judged.every(
      ({ part, decision }) =>
        decision.verdict === "allow" && decision.risk === "low" && part.unclear.length === 0 && !part.writes,
    );
  if (where.autonomy === "readonly" && !looks) {
    return {
      verdict: "deny",
      risk: "medium",
      rule: "autonomy",
      reason: "Read-only mode: cannot perform 'run a command'",
    };
  }
  const [strictest] = [...judged].sort((one, other) => weight(other.decision) - weight(one.decision));
  const decision: Decision = strictest?.decision ?? { verdict: "allow", risk: "low", rule: "low_risk" };
  const risk = judged.reduce<Risk>(
    (most, { decision: { risk: each } }) => (RISKS.indexOf(each) > RISKS.indexOf(most) ? each : most),
    decision.risk,
  );
  const asked = judged.filter(({ decision: { verdict } }) => verdict === "ask");
  return {
    ...decision,
    risk,
    ...(parts.length > 0 && { parts }),
    ...(asked.length > 0 && { scopes: asked.map(({ part }) => scopeOf(part, where)) }),
    ...(looks && { env: LOOKING_ENVIRONMENT }),
  };
}

function weight({ verdict, risk }: Decision): number {
  return VERDICTS[verdict] * 10 + RISKS.indexOf(risk);
}

/** Bound to the exact words, every folder it may run in, the variables it gets, and whether it outlives the call. */
function scopeOf({ text, words, cwds }: Part, { folder, env, background }: Where): Scope {
  const variables = Object.entries(env).toSorted(([one], [other]) => (one < other ? -1 : 1));
  const folders = cwds ?? ["?", folder];
  return {
    label: text,
    key: JSON.stringify(["exec", words.length === 0 ? [text] : words, text, folders, variables, background]),
  };
}

/** A long command is shown with its beginning and its end. */
function shorten(text: string): string {
  return text.length <= 120 ? text : `${text.slice(0, 80)} … ${text.slice(-35)}`;
}
