import { homedir } from "node:os";
import { basename, join } from "node:path";
import type { OpenedProgram, ProgramTrust } from "../config/program-trust.ts";
import type { Settings } from "../config/settings.ts";
import type { Hooks } from "../contract/hooks.ts";
import { HOOK_EVENTS, type HookEvent, type HookHandler, type HookSettings } from "../guard/hook-settings.ts";
import { createHooks } from "../guard/own-hooks.ts";
import { findCommands } from "../policy/commands/find-commands.ts";
import { quoteWords } from "../util/quote.ts";
import { clip } from "../util/text.ts";
import type { GlobalOptions } from "./options.ts";
import { trustFor } from "./sources.ts";

const MODES = { readonly: "plan", supervised: "default", full: "bypassPermissions" } as const;

/** Returns the hooks of the settings. `tell` is called with what they have to say to people. */
export function hooksOf(settings: Settings, options: GlobalOptions, tell: (words: string) => void): Hooks {
  const trust = trustFor(settings, options);
  const { autonomy, commands } = settings.policy;
  return createHooks({
    settings: settings.hooks,
    isLocal: options.target === undefined,
    mode: MODES[autonomy],
    except: commands.ask.map((rule) => (typeof rule === "string" ? rule : rule.rule)),
    async mayStart(handler, event, folder) {
      for (const program of await programsOf(handler, event, folder, trust)) {
        const why = await trust.mayStart(program.argv, program.opened);
        if (why !== undefined) return why;
      }
      return undefined;
    },
    tell,
  });
}

/** A program that a hook starts, and its source if it must be trusted by name. */
export interface HookProgram {
  readonly source: string;
  readonly argv: readonly string[];
  readonly opened: OpenedProgram | undefined;
}

/**
 * Returns the programs that a command starts, as far as its text names them. A program that takes code from the folder
 * in which it starts, or from modules beside it that a model could have written, must be trusted by name.
 */
export async function programsOf(
  handler: HookHandler,
  event: HookEvent,
  folder: string,
  trust: ProgramTrust,
): Promise<readonly HookProgram[]> {
  if (handler.type !== "command") return [];
  return Promise.all(
    commandsIn(handler, folder).map(async (argv): Promise<HookProgram> => {
      const [files, isWritten] = await Promise.all([trust.files(argv), trust.isWritten(argv)]);
      const isOpen = takesCodeOf(argv) || (isWritten && files.length === 0);
      const source = `hook:${event} ${clip(quoteWords(argv), 80)}`;
      return { source, argv, opened: isOpen ? { source } : undefined };
    }),
  );
}

/** All command handlers of the settings, each with its event. */
export function handlersIn(settings: HookSettings): readonly (readonly [HookEvent, HookHandler])[] {
  return HOOK_EVENTS.flatMap((event) =>
    (settings[event] ?? []).flatMap(({ hooks }) => hooks.map((each) => [event, each] as const)),
  );
}

/** Stands for the folder in a script that is read: the folder's own name may have blanks and quotes. */
const FOLDER = "/.CLAUDE_PROJECT_DIR";

/**
 * The commands in a script at any depth, each as words: also those of `env`, `timeout`, `sh -c` and the like. The
 * folder and the home replace their variables. A path is resolved against the folder in which its command runs.
 */
function commandsIn({ command = "", args }: HookHandler, folder: string): readonly (readonly string[])[] {
  const home = homedir();
  const marked = (text: string) => text.replaceAll(/\$\{?(?:CLAUDE_PROJECT_DIR|PWD)\b\}?/g, FOLDER);
  if (args !== undefined) return [[command, ...args].map((word) => marked(word).replaceAll(FOLDER, folder))];
  return findCommands(marked(command), { home }).commands.flatMap(({ words, own, folder: at = "" }) => {
    const placed = words
      .slice(0, own)
      .map(({ value, text }) => value ?? text)
      .map((word) => (at !== "" && /^[^/-].*\//.test(word) ? join(at, word) : word).replaceAll(FOLDER, folder));
    return placed.length === 0 ? [] : [placed];
  });
}

/** Programs that run code of the folder in which they start: scripts of packages, recipes, configuration, modules. */
const OF_FOLDER =
  /^(?:p?np[mx]|pnpx|yarn|bunx?|deno|g?make|just|task|cargo|go|gradlew?|mvnw?|rake|bundle|poetry|uvx?|pipenv|tox|nox|pre-commit|pytest|eslint|prettier|tsc|jest|vitest|mocha)$/;

function takesCodeOf([program = "", ...args]: readonly string[]): boolean {
  const name = basename(program);
  return (
    OF_FOLDER.test(name) || (/^(?:python[\d.]*|node|ruby|perl)$/.test(name) && /^-(?:m|c|e|p|r)/.test(args[0] ?? ""))
  );
}
