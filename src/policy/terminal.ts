import type { Backend } from "../contract/backend.ts";
import type { Decision } from "../contract/decision.ts";
import { type Effect, isAct } from "../contract/effect.ts";
import type { Autonomy } from "../contract/policy.ts";
import { lookUp } from "./commands/look-up.ts";
import { parseShell } from "./commands/parse.ts";
import { asksForSecret, halfTyped, isHarmless, scriptTyped } from "./typed.ts";

type Typing = Extract<Effect, { kind: "terminal" }>;
type Exec = Extract<Effect, { kind: "exec" }>;

/** Judges what is typed into the live terminal or into a job, and who looks at a pane. */
export type TerminalJudge = (effect: Typing, judge: JudgeCommand) => Promise<Decision>;

/** Judges a command; `lenient`: without refusing high risk, which is how a text counts that is no script. */
export type JudgeCommand = (effect: Exec, strictness: "strict" | "lenient") => Promise<Decision>;

interface TerminalJudgeOptions {
  readonly autonomy: Autonomy;
  readonly backend: Pick<Backend, "workDir" | "home" | "terminal" | "sandbox">;
}

/**
 * What is typed is judged like the command it would be (DESIGN.md 6): what is refused as a command is not typed either, be it in pieces. What is
 * not refused is asked about in supervised autonomy, whatever its risk: nobody can tell what reads it, a shell or a program that asks something. Keys
 * that start and confirm nothing pass, in panes that are there for commands. A password prompt is asked about always. Read-only autonomy is not judged
 * here: it types nothing.
 */
export function terminalJudge({ autonomy, backend }: TerminalJudgeOptions): TerminalJudge {
  const { terminal, home } = backend;

  const screenOf = async (pane: string | undefined): Promise<string> => {
    const captured = await terminal?.capture(pane === undefined ? {} : { target: pane }).catch(() => undefined);
    return captured?.text ?? "";
  };
  const isOwn = async (pane: string | undefined): Promise<boolean> => {
    if (pane === undefined) return true;
    if (terminal === undefined) return false;
    if (terminal.isOwn !== undefined) return terminal.isOwn(pane).catch(() => false);
    const both = await Promise.all([terminal.capture({ target: pane }), terminal.capture()]).catch(() => undefined);
    return both !== undefined && both[0].pane === both[1].pane;
  };
  const elsewhere = (pane: string, what: string): Decision => {
    if (autonomy === "full") return { verdict: "allow", risk: "medium", rule: "autonomy" };
    const reason = `${what} pane ${pane} requires approval: it is not one that was opened for commands`;
    return { verdict: "ask", risk: "medium", rule: "pane", reason };
  };

  /** What is typed runs in no sandbox, but for what goes to a job. */
  const asCommand = (command: string, { job }: Typing): Exec => ({
    kind: "exec",
    command,
    real: backend.workDir,
    ...(job === undefined && backend.sandbox !== undefined && { within: "none" }),
  });
  const judgeScript = async (script: string, effect: Typing, judge: JudgeCommand): Promise<Decision | undefined> => {
    if (script.trim() === "") return undefined;
    const isScript = parseShell(script, { home, cwd: backend.workDir }).errors.length === 0;
    return judge(asCommand(script, effect), isScript ? "strict" : "lenient");
  };
  /**
   * The refusal of what the line would be with what stands on it already. Nobody can tell what of that is the prompt, which may look like a path and is
   * on no list: where a thing is counts only for a line that begins with a program that is known.
   */
  const refusedAsPart = async (script: string, screen: string, effect: Typing, judge: JudgeCommand) => {
    const lines = halfTyped(screen).flatMap((before) => [
      `${before}${script}`,
      `${before} ${script}`,
      `${script.trimEnd()} ${before}`, // somebody moved to its beginning
    ]);
    const refusals = await Promise.all(
      lines.map(async (line) => {
        const decision = await judgeScript(line, effect, judge);
        if (decision?.verdict !== "deny") return undefined;
        return OF_PLACES.has(decision.rule) && !beginsWithProgram(line) ? undefined : decision;
      }),
    );
    return refusals.find((refusal) => refusal !== undefined && refusal.rule !== "allowlist");
  };

  return async (effect, judge) => {
    const { job, pane } = effect;
    if (!isAct(effect)) return (await isOwn(pane)) ? LOOKS : elsewhere(pane ?? "", "Looking at");
    if (job === undefined && isHarmless(effect)) {
      const interrupts = effect.keys?.some((key) => key === "C-c" || key === "C-z") === true;
      return (await isOwn(pane))
        ? { verdict: "allow", risk: interrupts ? "medium" : "low", rule: "harmless_keys" }
        : elsewhere(pane ?? "", "Typing into");
    }
    const script = scriptTyped(effect);
    const command = await judgeScript(script, effect, judge);
    if (command?.verdict === "deny") return refused(command);
    const screen = job === undefined ? await screenOf(pane) : "";
    const whole = await refusedAsPart(script, screen, effect, judge);
    if (whole !== undefined) return refused(whole, " together with what stands in the pane already");
    if (asksForSecret(screen) && script.trim() !== "") return SECRET;
    if (autonomy === "full") return plain(command ?? { verdict: "allow", risk: "medium", rule: "autonomy" });
    const { reason = TYPING, rule = "autonomy" } = command?.verdict === "ask" ? command : {};
    return { verdict: "ask", risk: command?.risk === "high" ? "high" : "medium", rule, reason };
  };
}

/** Rules by which something is refused for where it is. */
const OF_PLACES: ReadonlySet<string | undefined> = new Set(["workspace_only", "forbidden_paths", "path_text", "state"]);

function beginsWithProgram(line: string): boolean {
  return lookUp(/^\S*/.exec(line)?.[0] ?? "") !== undefined;
}

const LOOKS: Decision = { verdict: "allow", risk: "low", rule: "autonomy" };

const TYPING = "Typing into a terminal requires approval";

/** Asked about each time. */
const SECRET: Decision = {
  verdict: "ask",
  risk: "high",
  rule: "password_prompt",
  reason:
    "Typing here requires approval: the terminal asks for a password or the like, and what is typed is shown to nobody",
  scopes: [],
};

function refused({ reason = "It is refused as a command", ...decision }: Decision, how = ""): Decision {
  return plain({ ...decision, reason: `${reason} (what is typed is judged like a command${how})` });
}

/** What holds for a command that is run holds for none that is typed: its environment, its sandbox, its parts. */
function plain({ verdict, risk, rule, reason }: Decision): Decision {
  return { verdict, risk, ...(rule !== undefined && { rule }), ...(reason !== undefined && { reason }) };
}
