import { posix } from "node:path";
import type { Backend } from "../../contract/backend.ts";
import type { Decision } from "../../contract/decision.ts";
import type { Effect } from "../../contract/effect.ts";
import { absolutePath } from "../../util/paths.ts";
import type { LookUps } from "../look-ups.ts";
import type { PathJudge } from "../paths.ts";
import type { Rules } from "../rules/rules.ts";
import type { PolicySettings } from "../settings.ts";
import { type Judged, conclude } from "./conclude.ts";
import { lookUp } from "./look-up.ts";
import { type Part, partOf, raiseUnclear } from "./part.ts";
import { commandPathJudge } from "./paths.ts";
import { createProgramFinder } from "./programs.ts";
import { type RepositoryReader, createRepositoryReader } from "./repository.ts";
import { judgeVariable } from "./variables.ts";
import { walkScript } from "./walk.ts";
import { type Weigher, shorten, weigher } from "./weigh.ts";

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
    const { parts, complete } = walkScript(command.trim(), { cwd: folder, home, lookUp });
    const judgeUse = commandPathJudge({ workDir, open, judgePath, look });
    const runs = readRepositories(look);
    // All that is looked up for the script is begun here, for every part at once; then each is judged by what was seen.
    const seen = await Promise.all(
      parts.map(async (part): Promise<SeenOfPart> => {
        const [paths, isOfWorkspace, gitRuns] = await Promise.all([
          Promise.all(part.paths.map(judgeUse)),
          part.program !== undefined && part.risk === "low" && inWorkspace(part.program, look),
          part.program === "git" && part.risk === "low" ? gitRunsIn(repositoryFolders(part), runs) : [],
        ]);
        return { part, paths, isOfWorkspace, gitRuns };
      }),
    );
    const judged = [
      ...judgeSurroundings(effect, folder, weigh),
      ...seen.map((each) => judgePart(each, { weigh, contained, networked })),
    ];
    const { autonomy = "supervised" } = settings;
    return conclude(judged, { folder, env, background: background ?? "", autonomy, complete });
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
  readonly weigh: Weigher;
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
  const asked = against.find(({ rule }) => rule !== "not_understood");
  const unclear = [...part.unclear, ...notUnderstood, ...(isOfWorkspace ? [] : gitRuns)];
  const circumstances = { unclear, asked, contained, networked };
  if (!isOfWorkspace) return { part, decision: weigh(part, circumstances) };
  const why = `${part.program ?? ""} is a program of the workspace`;
  return { part, decision: weigh({ ...part, risk: "medium", why, ordinary: false }, circumstances) };
}

function denied(part: Part, decision: Decision): Judged {
  return { part, decision: { ...decision, reason: `${decision.reason ?? ""} (in \`${shorten(part.text)}\`)` } };
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

/**
 * What the call adds to the script: variables, which count like those in front of a command; and that it goes on when everyone has gone, which
 * is a person's to decide, whatever it is.
 */
function judgeSurroundings({ command, env = {}, background }: Exec, folder: string, weigh: Weigher): readonly Judged[] {
  const found = Object.keys(env).flatMap((name) => {
    const against = judgeVariable(name, true);
    return against === undefined ? [] : [{ text: `${name}=${env[name] ?? ""}`, ...against }];
  });
  if (background === "detached") found.push({ text: command, risk: "medium", why: OUTLIVES });
  return found.map(({ text, risk, why }) => {
    const part = partOf("other", text, [], { cwds: [folder], ordinary: false });
    raiseUnclear(part, risk, why);
    return { part, decision: weigh(part, { unclear: part.unclear }) };
  });
}

const OUTLIVES = "it goes on in the background after this session";
