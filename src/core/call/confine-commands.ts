import type { Backend, Command } from "../contract/backend.ts";
import type { ApprovedCall } from "../contract/call.ts";
import type { Decision } from "../contract/decision.ts";
import type { Effect, Env } from "../contract/effect.ts";
import { ToolFailure } from "../contract/failure.ts";
import { absolutePath } from "../util/paths.ts";
import { quoteWords } from "../util/quote.ts";

/** What the commands of a call are compared with. */
interface ApprovedCommands {
  readonly inner: Backend;
  readonly call: ApprovedCall;
  readonly allowed: readonly Effect[];
  /** The policy's decisions on effects that were permitted while the call ran. */
  readonly later: ReadonlyMap<Effect, Decision>;
  /** Throws when the call has ended. */
  readonly alive: () => void;
}

/** Returns the command as it may run: the approved script and folder, contained as the policy decided. */
export type ApprovedCommand = <C extends Command>(command: C) => Promise<C>;

/** Compares commands with the effects of a call. Rejects for a command that the call did not declare. */
export function approvedCommands({ inner, call, allowed, later, alive }: ApprovedCommands): ApprovedCommand {
  const { outside = inner.files } = inner;
  return async (command) => {
    alive();
    const pane =
      command.inPane === true ? allowed.find((each) => each.kind === "exec" && each.inPane === true) : undefined;
    const { cwd: written = pane?.kind === "exec" ? pane.cwd : undefined } = command;
    const cwd = written === undefined ? inner.workDir : absolutePath(written, inner);
    const judged = allowed.find(
      (each) =>
        each.kind === "exec" && (each.cwd === undefined ? inner.workDir : absolutePath(each.cwd, inner)) === cwd,
    );
    const real = judged?.kind === "exec" && judged.real !== undefined ? judged.real : await outside.realPath(cwd);
    alive();
    const effect = allowed.find((each): each is Exec => isThisCommand(each, command, real));
    if (effect === undefined) {
      throw new ToolFailure(
        `tool "${call.tool.name}" tried to run a command that this call did not declare: ${scriptOf(command.argv)}`,
      );
    }
    // The policy decides how a command is contained, and what runs in place of a plain command.
    const { within = {}, runs: anew = [] } = later.get(effect) ?? call.decision;
    const run = anew.find((each) => each.command === effect.command && each.folder === real);
    if (run === undefined) return { ...command, cwd: real, isRealCwd: true, within };
    const anewRun =
      "argv" in run
        ? {
            argv: run.argv,
            env: { ...command.env, ...run.env },
            // No variable has an effect on a plain command, as without a terminal.
            ...(command.inPane === true && { inPane: "folder" as const }),
          }
        : { argv: withScript(command.argv, run.script) };
    const label = command.label ?? scriptOf(command.argv); // people see what the model wrote
    return { ...command, ...anewRun, label, cwd: run.cwd, isRealCwd: true, within };
  };
}

type Exec = Extract<Effect, { kind: "exec" }>;

function isThisCommand(effect: Effect, command: Command, cwd: string): effect is Exec {
  if (effect.kind !== "exec") return false;
  if ((effect.lifetime ?? "call") !== (command.lifetime ?? "call")) return false;
  if (effect.command !== scriptOf(command.argv) || effect.real !== cwd) return false;
  return isSameEnv(effect.env ?? {}, command.env ?? {});
}

/** Both environments must have the same variables: a missing variable changes a script as much as an added one. */
function isSameEnv(one: Env, other: Env): boolean {
  const names = Object.keys(one);
  return (
    names.length === Object.keys(other).length &&
    names.every((name) => Object.hasOwn(other, name) && one[name] === other[name])
  );
}

const SHELL = /^((\/usr)?\/bin\/)?(ba|da|z|k)?sh$/;

/** The only flags allowed before `-c`: with others (a second `-c`, `--rcfile`) a shell runs more than the script. */
const SHELL_FLAGS: ReadonlySet<string> = new Set(["--noprofile", "--norc"]);

/** The script that an argument vector runs: the word after a shell's `-c`, otherwise the quoted words. */
function scriptOf(argv: Command["argv"]): string {
  return (isShell(argv) ? argv.at(-1) : undefined) ?? quoteWords(argv);
}

/** The same shell with another script. */
function withScript(argv: Command["argv"], script: string): Command["argv"] {
  if (!isShell(argv)) throw new ToolFailure(`${quoteWords(argv)} cannot be replaced by a script; nothing was run`);
  const [program, ...args] = argv;
  return [program, ...args.slice(0, -1), script];
}

function isShell([program, ...args]: Command["argv"]): boolean {
  const isFlagged = args.length > 1 && /^-l?c$/.test(args.at(-2) ?? "");
  return SHELL.test(program) && isFlagged && args.slice(0, -2).every((arg) => SHELL_FLAGS.has(arg));
}
