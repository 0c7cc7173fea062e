import type { Backend } from "../core/contract/backend.ts";
import type { Decision } from "../core/contract/decision.ts";
import { type Effect, isAct } from "../core/contract/effect.ts";
import type { Autonomy } from "../core/contract/policy.ts";
import { clip } from "../core/util/text.ts";
import { findCommands } from "./commands/find-commands.ts";
import { type Piece, createUnfinishedLines } from "./unfinished-lines.ts";
import { counts, wholeLines } from "./typed-line.ts";
import {
  MOVE,
  asksForLeave,
  asksForSecret,
  escapedToShell,
  isHarmless,
  lastLine,
  movesAbout,
  recallsLine,
  scriptOf,
  strokesOf,
} from "./keystrokes.ts";

type Typing = Extract<Effect, { kind: "terminal" }>;
type Exec = Extract<Effect, { kind: "exec" }>;

/** Judges typing into the live terminal or a job, and looking at a pane. */
export type TerminalJudge = (effect: Typing, judge: JudgeCommand) => Promise<Decision>;

/** Judges a command. "lenient": does not refuse high risk, for text that is not a script. */
export type JudgeCommand = (effect: Exec, strictness: "strict" | "lenient") => Promise<Decision>;

interface TerminalJudgeOptions {
  readonly autonomy: Autonomy;
  readonly backend: Pick<Backend, "workDir" | "home" | "terminal" | "sandbox">;
  /** The user's deny rules for commands, as written. Default: none. */
  readonly denied?: readonly string[];
}

/**
 * What is typed is judged like the command it would be: what is refused as a command is not typed either, even in
 * pieces. Other text is asked about each time in supervised autonomy. In panes for commands, keys that start and
 * confirm nothing are allowed. A password prompt is always asked about. Read-only autonomy types nothing.
 */
export function terminalJudge({ autonomy, backend, denied = [] }: TerminalJudgeOptions): TerminalJudge {
  const { terminal, home } = backend;
  const isWhole = (script: string) => findCommands(script, { home }).unclear.length === 0;
  const pieces = createUnfinishedLines(isWhole);
  /** A second Escape makes another key. A person may type in between. */
  let endedInEscape = false;

  const viewOf = async (pane: string | undefined) =>
    terminal?.capture(pane === undefined ? {} : { target: pane }).catch(() => undefined);
  const isOwn = async (pane: string | undefined): Promise<boolean> => {
    if (pane === undefined) return true;
    if (terminal === undefined) return false;
    if (terminal.isOwn !== undefined) return terminal.isOwn(pane).catch(() => false);
    const both = await Promise.all([terminal.capture({ target: pane }), terminal.capture()]).catch(() => undefined);
    return both !== undefined && both[0].pane === both[1].pane;
  };
  const askedOutsideFull = (reason: string): Decision => {
    if (autonomy === "full") return { verdict: "allow", risk: "medium", rule: "autonomy" };
    return { verdict: "ask", risk: "medium", rule: "pane", reason };
  };
  const elsewhere = (pane: string, what: string): Decision =>
    askedOutsideFull(`${what} pane ${pane} requires approval: ${FOREIGN}`);

  /** Typed text runs without a sandbox, except text for a job. */
  const asCommand = (command: string, { job }: Typing): Exec => ({
    kind: "exec",
    command,
    real: backend.workDir,
    ...(job === undefined && backend.sandbox !== undefined && { within: "none" }),
  });
  const judgeScript = async (script: string, effect: Typing, judge: JudgeCommand): Promise<Decision | undefined> => {
    if (script.trim() === "") return undefined;
    return judge(asCommand(script, effect), isWhole(script) ? "strict" : "lenient");
  };
  /** Resolves to a refusal of the whole line, together with what is already on it. */
  const refusedAsPart = async (
    script: string,
    piece: Piece,
    screen: string,
    effect: Typing,
    judge: JudgeCommand,
  ): Promise<Decision | undefined> => {
    const refusals = await Promise.all(
      wholeLines(script, piece, screen, denied).map(async (line) => {
        const decision = await judgeScript(line, effect, judge);
        return decision?.verdict === "deny" && counts(decision, line) ? decision : undefined;
      }),
    );
    return refusals.find((refusal) => refusal !== undefined);
  };

  const judgeHarmless = async (pane: string | undefined, strokes: readonly string[]): Promise<Decision> => {
    const interrupts = strokes.includes("C-c");
    if (interrupts || movesAbout(strokes)) {
      const place = (await viewOf(pane))?.pane ?? "";
      if (interrupts) pieces.forget(place);
      if (movesAbout(strokes.slice(strokes.lastIndexOf("C-c") + 1))) pieces.add(place, "", true);
    }
    if (!(await isOwn(pane))) return elsewhere(pane ?? "", "Typing into");
    if (terminal?.isPersons === true && !strokes.every((stroke) => MOVE.test(stroke)))
      return askedOutsideFull(INHABITED);
    return { verdict: "allow", risk: interrupts || strokes.includes("C-z") ? "medium" : "low", rule: "harmless_keys" };
  };

  /** Resolves to a refusal, or a question at every autonomy; otherwise to the decision on the text as a command. */
  const judgeTyped = async (effect: Typing, strokes: readonly string[], judge: JudgeCommand): Promise<Typed> => {
    const { job, real: pane = effect.pane } = effect;
    const view = job === undefined ? await viewOf(pane) : undefined;
    const screen = view?.text ?? "";
    const script = scriptOf(strokes);
    const place = job === undefined ? (view?.pane ?? "") : `job ${job}`;
    // Before any other await: of two simultaneous calls, the second must see the first.
    const piece = pieces.add(place, script, movesAbout(strokes));
    const interrupted = strokes.lastIndexOf("C-c");
    if (interrupted >= 0) {
      const after = strokes.slice(interrupted + 1);
      pieces.forget(place);
      pieces.add(place, scriptOf(after), movesAbout(after));
    }
    const [command, escaped, whole] = await Promise.all([
      judgeScript(script, effect, judge),
      judgeScript(escapedToShell(script) ?? "", effect, judge),
      refusedAsPart(script, piece, screen, effect, judge),
    ]);
    const isOurs = job !== undefined || (await isOwn(pane));
    const refusal = [command, escaped].find((each) => each?.verdict === "deny");
    if (refusal !== undefined || whole !== undefined) piece.takeBack();
    if (refusal !== undefined) return { decided: refused(refusal) };
    // The text in a person's pane is not revealed to a caller that may not read the pane.
    if (whole !== undefined) return { decided: refused(isOurs ? whole : { ...whole, reason: AS_COMMAND }, TOGETHER) };
    if (asksForLeave(screen)) return { decided: QUESTION };
    if (asksForSecret(screen) && script.trim() !== "") return { decided: SECRET };
    if (job === undefined && recallsLine(script)) return { decided: RECALLS };
    return { command, where: isOurs ? standsAt(lastLine(screen)) : `; pane ${pane ?? ""}: ${FOREIGN}` };
  };

  return async (effect, judge) => {
    const { job, real: pane = effect.pane } = effect;
    if (!isAct(effect)) return (await isOwn(pane)) ? LOOKS : elsewhere(pane ?? "", "Looking at");
    const strokes = strokesOf(effect);
    const isEscapeAgain = endedInEscape && strokes[0] === "Escape";
    endedInEscape = strokes.at(-1) === "Escape";
    if (job === undefined && isHarmless(effect, strokes) && !isEscapeAgain) return judgeHarmless(pane, strokes);
    const typed = await judgeTyped(effect, strokes, judge);
    if ("decided" in typed) return typed.decided;
    const { command, where } = typed;
    if (autonomy === "full") return plain(command ?? { verdict: "allow", risk: "medium", rule: "autonomy" });
    const { reason = TYPING, rule = "typing" } = command?.verdict === "ask" ? command : {};
    const risk = command?.risk === "high" ? "high" : "medium";
    const scopes = (command?.scopes ?? []).filter(({ onlyPerson }) => onlyPerson === true);
    return {
      ...{ verdict: "ask", risk, rule, reason: `${reason}${where}` },
      scopes: scopes.map((scope) => ({ ...scope, upTo: "once" as const })),
    };
  };
}

type Typed =
  | { readonly decided: Decision }
  /** `where` ends the question's sentence: the place into which the text is typed. */
  | { readonly command: Decision | undefined; readonly where: string };

function standsAt(line: string): string {
  return line === "" ? "" : `. The last line there is "${clip(line, 200)}"`;
}

const LOOKS: Decision = { verdict: "allow", risk: "low", rule: "autonomy" };

const TYPING = "Typing into a terminal requires approval";
const FOREIGN = "it was not opened for commands";
const INHABITED =
  "Typing this requires approval: the pane belongs to a person, and the keys may stop what runs in it, even this agent";
const TOGETHER = " together with the text already on the line; C-c clears it";
const AS_COMMAND = "It is refused as a command";

const SECRET = askedEachTime(
  "password_prompt",
  "Typing here requires approval: the terminal asks for a password or the like, and the typed text is not shown",
);
const RECALLS = askedEachTime(
  "recalled_line",
  "Typing this requires approval: in a shell it repeats an earlier line, which is not visible. " +
    "Type that line instead",
);

function askedEachTime(rule: string, reason: string): Decision {
  return { verdict: "ask", risk: "high", rule, reason, scopes: [] };
}

const QUESTION: Decision = {
  verdict: "deny",
  risk: "high",
  rule: "approval_question",
  reason: "The pane shows an approval question, which only a person answers. Nothing was typed",
};

function refused({ reason = AS_COMMAND, ...decision }: Decision, how = ""): Decision {
  return plain({ ...decision, reason: `${reason} (typed text is judged like a command${how})` });
}

/** Omits what applies only to a command that is run: its environment, its sandbox, its parts. */
function plain({ verdict, risk, rule, reason, scopes }: Decision): Decision {
  const isForPerson = scopes?.some(({ onlyPerson }) => onlyPerson === true) === true;
  return {
    ...{ verdict, risk },
    ...(rule !== undefined && { rule }),
    ...(reason !== undefined && { reason }),
    ...(isForPerson && { scopes: scopes.map((scope) => ({ ...scope, upTo: "once" as const })) }),
  };
}
