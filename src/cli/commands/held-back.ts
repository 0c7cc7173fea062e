import { relative, resolve } from "node:path";
import {
  type HeldBack,
  type HeldBackContent,
  contentOf,
  heldBackAt,
  heldBackIn,
  putBack,
  removeHeldBack,
} from "../../machine/sandbox/held-back.ts";
import { oneLine, terminalSafe } from "../../core/output/terminal-text.ts";
import { readablePath } from "../../core/util/byte-paths.ts";
import { messageOf } from "../../core/util/errors.ts";
import { EXIT } from "../exit.ts";
import type { GlobalOptions } from "../options.ts";
import { say, warn } from "../say.ts";
import { settingsFrom } from "../settings.ts";
import { hasTerminal, isAgreed } from "../terminal.ts";

/**
 * Lists the files that commands made in the workspace and that the sandbox put aside, since other programs obey them.
 * With a path, or all of them without one, shows the content and asks at the terminal whether it goes back; no option
 * answers that. `remove` deletes instead. Exit code 1 when something was not put back.
 */
export async function run(
  paths: readonly string[],
  { list, remove, ...options }: GlobalOptions & { list?: true; remove?: true },
): Promise<number | void> {
  const { io } = options;
  const settings = await settingsFrom(options);
  const workDir = resolve(io.cwd, options.workDir ?? settings.tools.workDir ?? ".");
  const all = paths.length === 0 ? heldBackIn(workDir) : paths.map((path) => heldBackAt(resolve(io.cwd, path)));
  if (all.length === 0) return say(io, NONE);
  if (list === true) return say(io, all.map((each) => lineOf(each, workDir)).join("\n"));
  const isShown = async (text: string) => {
    say(io, text);
    if (hasTerminal(io)) return true;
    warn(io, ["only a person can answer this: run handrail held-back in a terminal (--yes does not count)"]);
    return false;
  };
  const { said, wrong, isDone } = await answered(all, workDir, {
    remove: remove === true,
    agrees: async (text, question) => (await isShown(text)) && (await isAgreed(io, `${question} [y/N] `)),
  });
  say(io, said.join("\n"));
  if (wrong.length > 0) warn(io, wrong);
  return isDone ? EXIT.ok : EXIT.notSucceeded;
}

/** Shows the person of a chat what was put aside in the workspace, or one file of it, and asks once. */
export async function heldBackInChat(
  workDir: string,
  path: string,
  confirm: ((question: string) => Promise<boolean>) | undefined,
): Promise<string> {
  const all = path === "" ? heldBackIn(workDir) : [heldBackAt(resolve(workDir, path))];
  if (all.length === 0) return NONE;
  const agrees = async (text: string, question: string) => (await confirm?.(`${text}\n\n${question}`)) === true;
  if (confirm === undefined) return all.map((each) => lineOf(each, workDir)).join("\n");
  const { said, wrong } = await answered(all, workDir, { remove: false, agrees });
  return [...said, ...wrong].join("\n");
}

const NONE = "Nothing was put aside here.";

interface Answering {
  readonly remove: boolean;
  /** Shows the person a text, and asks. */
  agrees(text: string, question: string): Promise<boolean>;
}

/** Asks once about all, and does it. What is put back is what was shown. */
async function answered(all: readonly HeldBack[], workDir: string, { remove, agrees }: Answering) {
  const seen = all.map((each) => ({ each, content: remove ? undefined : contentOf(each) }));
  const text = seen.map(({ each, content }) =>
    content === undefined ? lineOf(each, workDir) : textOf(each, content, workDir),
  );
  const what = all.length === 1 ? "it" : `these ${all.length}`;
  if (!(await agrees(text.join(remove ? "\n" : "\n\n"), remove ? `Remove ${what}?` : `Put ${what} back?`)))
    return { said: [remove ? "Nothing was removed." : "Nothing was put back."], wrong: [], isDone: false };
  const [said, wrong]: [string[], string[]] = [[], []];
  for (const { each, content } of seen) {
    try {
      if (content === undefined) removeHeldBack(each);
      else putBack(each, content.digest);
      said.push(`${remove ? "Removed" : "Put back"} ${nameOf(each.original, workDir)}`);
    } catch (error) {
      wrong.push(messageOf(error));
    }
  }
  return { said, wrong, isDone: wrong.length === 0 };
}

function lineOf({ path, what }: HeldBack, workDir: string): string {
  return `${nameOf(path, workDir)}  ${what}`;
}

function nameOf(path: string, workDir: string): string {
  const name = relative(workDir, path);
  return oneLine(readablePath(name.startsWith("..") ? path : name), 500);
}

/** The whole content, as the person approves it. */
function textOf(each: HeldBack, { files }: HeldBackContent, workDir: string): string {
  return files
    .map(({ path, content }) => {
      const head =
        path === "" ? lineOf(each, workDir) : `${lineOf(each, workDir)}: ${oneLine(readablePath(path), 500)}`;
      const text = terminalSafe(content.toString("utf8")).replace(/^/gm, "  | ");
      return `${head}\n${text}`;
    })
    .join("\n");
}
