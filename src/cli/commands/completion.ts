import { TARGETS } from "../../machine/targets.ts";
import type { CommandRow, CommandTable, Flag } from "../command-row.ts";
import type { GlobalOptions } from "../options.ts";
import { say } from "../say.ts";

/**
 * Returns the command that prints a script for bash or zsh, which completes commands, options and their fixed values.
 *
 * @param global the flags of every command, without those of targets
 */
export function completion(commands: CommandTable, global: readonly Flag[]) {
  return async (shell: "bash" | "zsh", { io, targets = [] }: GlobalOptions): Promise<void> => {
    const ofTargets = [...TARGETS, ...targets].flatMap(({ commandLine }) => commandLine?.flag ?? []);
    const flags = [...global.map(([spec]) => spec), ...ofTargets, "--help"].map(longName);
    say(io, `${shell === "zsh" ? ZSH : ""}${script(rowsOf({ summary: "", commands }, flags))}`);
  };
}

/** The words that may follow a command, by the words with which the command is called. */
type Rows = readonly (readonly [called: string, words: readonly string[]])[];

function rowsOf({ args = [], flags = [], commands = {} }: CommandRow, inherited: readonly string[], called = ""): Rows {
  const own = flags.map(([spec]) => longName(spec));
  const values = args.flatMap(([, , choices = []]) => choices);
  const below = Object.entries<CommandTable[string]>(commands).flatMap(([name, row]) =>
    rowsOf(row, inherited, `${called} ${name}`),
  );
  return [[called, [...Object.keys(commands), ...values, ...own, ...inherited]], ...below];
}

/** Returns the name in "-x, --name <value>". */
function longName(spec: string): string {
  return /--[\w-]+/.exec(spec)?.[0] ?? spec;
}

/** Makes bash's `complete` known to zsh. */
const ZSH = "autoload -Uz compinit bashcompinit && compinit -u && bashcompinit\n";

function script(rows: Rows): string {
  const called = rows.flatMap(([path]) => (path === "" ? [] : [`"${path}"`]));
  return `_handrail() {
  local word called="" words=""
  for word in "\${COMP_WORDS[@]:1:$((COMP_CWORD - 1))}"; do
    case "$called $word" in
      ${called.join(" | ")}) called="$called $word" ;;
    esac
  done
  case "$called" in
${rows.map(([path, words]) => `    "${path}") words="${words.join(" ")}" ;;`).join("\n")}
  esac
  COMPREPLY=($(compgen -W "$words" -- "\${COMP_WORDS[COMP_CWORD]}"))
}
complete -o default -F _handrail handrail`;
}
