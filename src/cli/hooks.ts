import { isAbsolute, join } from "node:path";
import { homeOf } from "../app/config/state.ts";
import type { OpenedProgram, ProgramTrust } from "../app/config/program-trust.ts";
import type { Settings } from "../app/config/settings.ts";
import type { Hooks } from "../core/contract/hooks.ts";
import { HOOK_EVENTS, type HookEvent, type HookHandler, type HookSettings } from "../connect/guard/hook-settings.ts";
import { createHooks } from "../connect/guard/own-hooks.ts";
import { findCommands } from "../policy/commands/find-commands.ts";
import { quoteWords } from "../core/util/quote.ts";
import { clip } from "../core/util/text.ts";
import type { GlobalOptions } from "./options.ts";
import { type HookCommand, onlyCodeOf } from "./hook-proof.ts";
import { trustFor } from "./sources.ts";
import type { Io } from "./io.ts";

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
      for (const program of await programsOf(options.io, handler, event, folder, trust)) {
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
 * Returns the programs that a command starts, as far as its text names them. Hooks start in the workspace: what is not
 * proven to take no code from there must be trusted by name, and the files that it names by their bytes.
 */
export async function programsOf(
  io: Io,
  handler: HookHandler,
  event: HookEvent,
  folder: string,
  trust: ProgramTrust,
): Promise<readonly HookProgram[]> {
  if (handler.type !== "command") return [];
  return Promise.all(
    commandsIn(io, handler, folder).map(async (command): Promise<HookProgram> => {
      const { argv } = command;
      const isOpen = !(await isProven(io, command, trust));
      const source = `hook:${event} ${clip(quoteWords(argv), 80)}`;
      return { source, argv, opened: isOpen ? { source } : undefined };
    }),
  );
}

/**
 * Whether all code of a command is known: it runs no file, one of the person with no modules of a model beside it, or
 * one where a model can write, which is trusted by its bytes.
 */
async function isProven({ env }: Io, command: HookCommand, trust: ProgramTrust): Promise<boolean> {
  const code = onlyCodeOf(command, env["PATH"]);
  if (code === undefined) return false;
  if (code === "" || (await trust.files(["/", code])).length > 0) return true;
  return isAbsolute(code.replace(/^~/, "")) && !(await trust.hasModules(["/", code]));
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
 * folder and the home replace their variables. A path is resolved against the folder in which its command runs. A
 * script that cannot be read whole is one command, as it is written.
 */
function commandsIn(io: Io, { command, args }: HookHandler, folder: string): readonly HookCommand[] {
  const home = homeOf(io.env);
  const marked = (text: string) => text.replaceAll(/\$\{?(?:CLAUDE_PROJECT_DIR|PWD)\b\}?/g, FOLDER);
  if (args !== undefined) {
    const argv = [command, ...args].map((word) => marked(word).replaceAll(FOLDER, folder));
    return [{ argv, assigns: [], isRead: false }];
  }
  const found = findCommands(marked(command), { home });
  const read = found.commands.flatMap(({ words, own, assigns, folder: at = "" }): readonly HookCommand[] => {
    const argv = words
      .slice(0, own)
      .map(({ value, text }) => value ?? text)
      .map((word) => (at !== "" && /^[^/-].*\//.test(word) ? join(at, word) : word).replaceAll(FOLDER, folder));
    // The text of `sh -c` is one of its own words: its commands are found if it is known.
    const isKnown = words.slice(0, own).every(({ value }) => value !== undefined);
    const isRead = own < words.length || (isKnown && argv.some((word) => /^-[a-z]*c$/.test(word)));
    const names = assigns.map(({ name }) => `${name}=`);
    return argv.length === 0 ? [] : [{ argv, assigns: names, isRead }];
  });
  const isWhole =
    found.tooLong === undefined && found.unread.length === 0 && !found.unclear.some((why) => BROKEN.test(why));
  return isWhole ? read : [...read, { argv: [command], assigns: [], isRead: false }];
}

const BROKEN = /^it is not a valid script/;
