import type { Command, Terminal } from "../contract/backend.ts";
import type { ApprovedCall } from "../contract/call.ts";
import type { Effect } from "../contract/effect.ts";
import { ToolFailure } from "../contract/failure.ts";
import type { Keys } from "../contract/terminal.ts";

/** The limits of a call. */
interface TerminalBounds {
  readonly allowed: readonly Effect[];
  /** @throws ToolFailure when the call is over. */
  alive(): void;
  /** The command in its real folder. Rejects when the call did not declare it. */
  runs(command: Command): Promise<Command>;
  /** Returns whether the pane runs a command of this call and so shows its output. */
  shows(pane: string): boolean;
}

type Typing = Extract<Effect, { kind: "terminal" }>;

/**
 * Limits the live terminal to one call: it can look at the panes it declared and those of its own commands, type
 * exactly what it declared, and dispatch the command it declared.
 */
export function confinedTerminal(
  terminal: Terminal,
  { tool }: ApprovedCall,
  { allowed, alive, runs, shows }: TerminalBounds,
): Terminal {
  /** The pane that the policy judged for this target. */
  const declared = (what: string, target: string | undefined, declares: (effect: Typing) => boolean) => {
    alive();
    const found = allowed.find(
      (effect): effect is Typing =>
        effect.kind === "terminal" && effect.job === undefined && effect.pane === target && declares(effect),
    );
    const where = target === undefined ? "the terminal" : `pane ${target}`;
    if (found === undefined)
      throw new ToolFailure(`tool "${tool.name}" tried to ${what} ${where}, which this call did not declare`);
    if (target === undefined) return {};
    if (found.real !== undefined) return { target: found.real };
    throw new ToolFailure(`there is no tmux pane ${JSON.stringify(target)}`, {
      hint: "Omit target to use the pane where commands run, or name a pane such as %3.",
    });
  };
  return {
    attach: terminal.attach,
    ...(terminal.isPersons !== undefined && { isPersons: terminal.isPersons }),
    ...(terminal.isOwn !== undefined && { isOwn: terminal.isOwn }),
    async capture(options = {}) {
      const isShown = options.target !== undefined && shows(options.target);
      const where = isShown ? {} : declared("look at", options.target, () => true);
      alive();
      return terminal.capture({ ...options, ...where });
    },
    async sendKeys(keys) {
      const where = declared("type into", keys.target, (effect) => isTyped(effect, keys));
      return terminal.sendKeys({ ...keys, ...where });
    },
    // Declared as detached, because the command stays in its pane after the toolkit is closed.
    dispatch: async (command) => terminal.dispatch(await runs({ ...command, lifetime: "detached" })),
  };
}

/** Whether exactly this text and these keys were declared, with Enter as the last key. */
function isTyped({ types, keys: declared = [] }: Typing, { text, keys = [], enter = false }: Keys): boolean {
  const all = enter ? [...keys, "Enter"] : keys;
  return types === text && declared.length === all.length && declared.every((key, index) => key === all[index]);
}
