import { basename } from "node:path";
import type { OpenedProgram, ProgramTrust } from "../config/program-trust.ts";
import type { Settings } from "../config/settings.ts";
import type { Hooks } from "../contract/hooks.ts";
import { HOOK_EVENTS, type HookEvent, type HookHandler, type HookSettings } from "../guard/hook-settings.ts";
import { createHooks } from "../guard/own-hooks.ts";
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

/** Texts in quotes, redirections, ends of commands, other words, and blanks. */
const TOKEN =
  /"((?:[^"\\]|\\.)*)"|'([^']*)'|(\d*(?:>>?|<)(?:&[\d-]+)?|&>>?)|(&&|\|\||[;&|\n(){}`]|\$\()|((?:[^\s;&|(){}`"'<>$]|\$(?!\())(?:[^\s;&|()`"'<>$]|\$(?!\())*)|(\s+)|./gs;

const KEYWORDS: ReadonlySet<string> = new Set([
  "if",
  "then",
  "else",
  "elif",
  "fi",
  "do",
  "done",
  "while",
  "!",
  "time",
  "exec",
]);

/** The commands in a script, each as words. Quotes are removed; the folder and the home replace their variables. */
function commandsIn({ command = "", args }: HookHandler, folder: string): readonly (readonly string[])[] {
  const placed = (word: string) =>
    word
      .replaceAll(/\$\{?(?:CLAUDE_PROJECT_DIR|PWD)\b\}?/g, folder)
      .replaceAll(/\$\{?HOME\b\}?|^~(?=\/)/g, process.env["HOME"] ?? "~");
  if (args !== undefined) return [[command, ...args].map(placed)];
  const commands: string[][] = [];
  let words: string[] = [];
  let word: string | undefined;
  let isRedirected = false;
  const endWord = () => {
    const isNone = isRedirected || (words.length === 0 && (KEYWORDS.has(word ?? "") || /^\w+=/.test(word ?? "")));
    if (word !== undefined && !isNone) words.push(placed(word));
    if (word !== undefined) isRedirected = false;
    word = undefined;
  };
  const endCommand = () => {
    endWord();
    if (words.length > 0) commands.push(words);
    words = [];
  };
  for (const [, double, single, redirection, mark, bare] of command.matchAll(TOKEN)) {
    const piece = double ?? single ?? bare;
    if (redirection !== undefined) {
      endWord();
      isRedirected = !redirection.includes("&") || redirection.startsWith("&"); // what is written or read is no program
    } else if (mark !== undefined) endCommand();
    else if (piece === undefined) endWord();
    else word = (word ?? "") + piece;
  }
  endCommand();
  return commands;
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
