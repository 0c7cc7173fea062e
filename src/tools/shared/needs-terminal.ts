import { ToolFailure } from "../../core/contract/failure.ts";
import type { ToolContext, ToolNames } from "../../core/contract/tool.ts";
import { findCommands } from "../../policy/commands/find-commands.ts";
import { nameOf } from "../../policy/commands/search.ts";

/** Options with which an editor still waits for a person. With any other it may be a script: `vim -es -c …`. */
const STILL_WAITS = /^(-[RndpoO]|--|\+\d*)$/;

/** Programs that draw a screen and wait for keys, with what a command uses instead. */
const EDITORS = new Set(["vim", "vi", "nvim", "view", "vimdiff", "rvim", "nano", "pico", "micro", "joe", "mcedit"]);
const SCREENS: { readonly [name: string]: { readonly unless: RegExp; readonly instead: string } } = {
  top: { unless: /^-[a-zA-Z]*[bhv]|^--(batch|help|version)/, instead: "top -b -n 1 | head -40, or ps aux" },
  htop: { unless: /^-[hV]$|^--(help|version)$/, instead: "ps aux" },
  btop: { unless: /^-[hv]$|^--(help|version)$/, instead: "ps aux" },
  watch: {
    unless: /^-[hv]$|^--(help|version)$/,
    instead: "the command itself, in a loop with sleep if it must repeat",
  },
};

const NAMED = new RegExp(`\\b(${[...EDITORS, ...Object.keys(SCREENS)].join("|")})\\b`);

/**
 * Refuses a script that opens an editor or another full-screen program where there is no terminal: it would wait for
 * keys until its timeout. Programs that get something to read (`| vim -`) run.
 *
 * @throws ToolFailure with what to use instead.
 */
export function requireNoTerminal(script: string, { backend }: Pick<ToolContext, "backend">, names: ToolNames): void {
  if (backend.terminal !== undefined || !NAMED.test(script) || /[|<]/.test(script)) return;
  for (const command of findCommands(script, backend).commands) {
    const name = nameOf(command);
    const words = command.words.slice(1).map(({ value = "" }) => value);
    if (command.inFunction !== undefined || new RegExp(`\\b${name}\\s*\\(\\)|\\balias\\s+${name}=`).test(script))
      continue;
    const screen = Object.hasOwn(SCREENS, name) ? SCREENS[name] : undefined;
    if (screen !== undefined && !words.some((word) => screen.unless.test(word)))
      throw refusal(name, `Use ${screen.instead}.`);
    if (EDITORS.has(name) && words.every((word) => !/^[-+]/.test(word) || STILL_WAITS.test(word)))
      throw refusal(name, withoutEditor(names));
  }
}

function withoutEditor(names: ToolNames): string {
  const [edit, write, read] = [names("edit"), names("write"), names("read")];
  const changes = [...(edit === undefined ? [] : [edit]), ...(write === undefined ? [] : [write]), "sed -i"];
  return `Change a file with ${changes.join(", ")}; look at it with ${read ?? "cat"}.`;
}

function refusal(name: string, hint: string): ToolFailure {
  return new ToolFailure(`${name} needs a terminal, and there is none here: it would wait for keys. Nothing was run`, {
    hint,
  });
}
