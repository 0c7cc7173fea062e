import { posix } from "node:path";
import type { Backend } from "../../core/contract/backend.ts";
import type { SandboxAccess } from "../../core/contract/containment.ts";
import type { Decision } from "../../core/contract/decision.ts";
import type { Effect } from "../../core/contract/effect.ts";
import { absolutePath } from "../../core/util/paths.ts";
import type { LookUps } from "../look-ups.ts";
import type { PathJudge } from "../paths.ts";
import { programsOf } from "../plain/finder.ts";
import { createPlainJudge } from "../plain/judge.ts";
import { type PlainScript, readPlainScript } from "../plain/script.ts";
import type { Rules } from "../rules/rules.ts";
import type { PolicySettings } from "../policy-settings.ts";
import { type Part, decideScript } from "./script-decision.ts";
import { fixedBy } from "./always.ts";
import { type FoundScript, findCommands } from "./find-commands.ts";
import { judgeNames } from "./names.ts";
import { neverRun } from "./never-run.ts";
import { type Need, accessFor, openable } from "./opening.ts";
import type { FoundCommand } from "./search.ts";
import { decideCommand, shorten } from "./command-decision.ts";

export type CommandJudge = (effect: Exec, given: GivenToJudge) => Promise<JudgedScript>;

export interface GivenToJudge {
  readonly judgePath: PathJudge;
  readonly look: LookUps;
  readonly contained: boolean;
  /** Whether the script is typed into a terminal, so that it cannot be rewritten and is never plain. */
  readonly typed: boolean;
}

export interface JudgedScript {
  readonly decision: Decision;
  /** What the sandbox opens for the named files if the script is allowed. Paths are real. */
  readonly needs: SandboxAccess;
}

type Exec = Extract<Effect, { kind: "exec" }>;

/**
 * Judges a script. A contained script runs unless a rule, a file name or lost work forbids it or asks. Outside the
 * sandbox, only a plain script runs unasked, and it is rewritten. Both refuse what is never run.
 */
export function createCommandJudge(settings: PolicySettings, backend: Backend, rules: Rules["command"]): CommandJudge {
  const { workDir, home } = backend;
  const open = [workDir, ...(settings.allowedRoots ?? []).map((path) => absolutePath(path, backend))];
  const programs = programsOf(backend, open);
  const judgePlain = createPlainJudge({ backend, programs, wholeMachine: settings.wholeMachine === true });
  const allows = (words: readonly string[]) => rules({ words, text: words.join(" ") })?.verdict === "allow";

  return async (effect, { judgePath, look, contained, typed }) => {
    const command = withoutBlanks(effect.command);
    const folder = effect.real ?? absolutePath(effect.cwd ?? ".", backend);
    const found = findCommands(command, { home });
    const find = async (name: string) => programs.find(name, look);
    const script = typed ? NOT_TYPED : plainScriptOf(command, effect, found);
    const [plain, names] = await Promise.all([
      contained || typeof script === "string"
        ? undefined
        : judgePlain(script, { cwd: folder, judgePath, look, allows }),
      judgeNames(found, { judgePath, look, contained, folder, backend }),
    ]);
    // The sandbox has its own temporary folders.
    const removable = contained ? [...open, "/tmp", "/var/tmp"] : open;
    const refusals = neverRun(found, { workDir, home, cwd: folder, open: removable });
    const own = typeof script === "string" ? [] : ownCommands(found, script);

    const runsIn = ({ folder: at }: FoundCommand) => (at === undefined ? undefined : posix.resolve(folder, at));
    const isBound = contained || Object.keys(effect.env ?? {}).length > 0; // a variable may name a program
    const fixed = isBound
      ? []
      : await Promise.all(
          found.commands.map((each) =>
            fixedBy(each, {
              find,
              isPathTrusted: async () => programs.isPathTrusted(look),
              folder: runsIn(each),
              writable: open,
              backend,
            }),
          ),
        );
    const parts = found.commands.map((each, index): Part => {
      const at = own.indexOf(each);
      const problem = plain === undefined || plain.plain ? undefined : plain.problems[at];
      const isPlain = plain !== undefined && at >= 0 && problem === undefined;
      const refusal = refusals.find((one) => one.command === each);
      // A bare assignment is not a command.
      const ruling = each.words.length === 0 ? undefined : rules({ words: wordsOf(each), text: each.text });
      // For a listed command, each path was judged by itself. A command that a rule allows is plain whatever it names.
      const named = isPlain && ruling?.verdict !== "allow" ? undefined : names.of(each);
      const facts = { ruling, refusal, named: problem?.decision ?? named, problem: problem?.why, isPlain, contained };
      return {
        text: each.text,
        words: wordsOf(each),
        folder: runsIn(each),
        isOwn: at >= 0,
        fixedBy: isPlain ? "" : fixed[index],
        decision: decideCommand(each, facts, settings),
      };
    });
    const tooLong = found.tooLong ?? names.tooLong;
    const openedNeeds = contained ? await openable(found.commands, names.needs, find) : names.needs;
    const beside =
      openedNeeds !== undefined ? undefined : names.needs.find(({ holds, isSure }) => isSure && holds !== undefined);
    const decision = decideScript(parts, {
      ...found,
      effect,
      command,
      folder,
      contained,
      typed,
      settings,
      unclear: tooLong === undefined ? found.unclear : [tooLong, ...found.unclear],
      tooLong,
      problem: typeof script === "string" ? script : undefined,
      refusal: refusals.find(({ command: of }) => of === undefined),
      redirected: beside === undefined ? names.ofScript : onlyAlone(beside),
      plain,
    });
    const opened = accessFor(openedNeeds ?? []);
    return { decision, needs: { ...opened, ...(names.git !== undefined && { git: names.git }) } };
  };
}

/** What the sandbox opens for one command would be open to all other commands of its script. */
function onlyAlone({ command, path, holds }: Need): Decision {
  const what = command === undefined ? "A redirection" : `\`${shorten(command.text)}\``;
  const why = `${what} needs ${path} (${holds ?? ""}), which would be open to the whole script`;
  const advice = "Run that command alone, without settings for it (git -c, variables)";
  return { verdict: "deny", risk: "high", rule: "alone", reason: `${why}. ${advice}` };
}

/** The text without spaces, tabs and line ends around it, in one pass. Blanks of other kinds are letters to a shell. */
function withoutBlanks(text: string): string {
  return /^[ \t\n]*([^]*[^ \t\n])?/.exec(text)?.[1] ?? "";
}

const NOT_TYPED = "it is typed into a terminal";

function plainScriptOf(command: string, { env = {} }: Exec, found: FoundScript): PlainScript | string {
  const [variable] = Object.keys(env);
  if (variable !== undefined) return `the call sets the variable ${variable}`;
  const script = readPlainScript(command);
  // If the two parsers disagree about a text, its meaning is unknown.
  return typeof script !== "string" && ownCommands(found, script).length !== script.commands.length
    ? "two parsers read it differently"
    : script;
}

/** The commands of a plain script as the parser found them, in order, without a leading `cd`. */
function ownCommands({ commands }: FoundScript, { cd }: PlainScript): readonly FoundCommand[] {
  const own = commands.filter(({ nested }) => !nested);
  return cd === undefined ? own : own.slice(1);
}

/** A word that is known only at run time stays as written. */
function wordsOf({ words }: FoundCommand): readonly string[] {
  return words.map(({ value, text }) => value ?? text);
}
