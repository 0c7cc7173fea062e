import { relative, resolve } from "node:path";
import {
  type HeldBack,
  type HeldBackContent,
  contentOf,
  heldBackAt,
  heldBackIn,
  putBack,
  removeHeldBack,
} from "../../backends/sandbox/held-back.ts";
import { oneLine, terminalSafe } from "../../output/terminal-text.ts";
import { readablePath } from "../../util/byte-paths.ts";
import { messageOf } from "../../util/errors.ts";
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
  if (all.length === 0) return say(io, "Nothing was put aside here.");
  if (list === true) return say(io, all.map((each) => lineOf(each, workDir)).join("\n"));
  const seen = all.map((each) => ({ each, content: contentOf(each) }));
  if (remove !== true) say(io, seen.map(({ each, content }) => textOf(each, content, workDir)).join("\n\n"));
  if (!hasTerminal(io)) {
    warn(io, ["only a person can answer this: run handrail held-back in a terminal (--yes does not count)"]);
    return EXIT.notSucceeded;
  }
  const what = all.length === 1 ? "it" : `these ${all.length}`;
  const question =
    remove === true ? `${all.map((each) => lineOf(each, workDir)).join("\n")}\nRemove ${what}?` : `Put ${what} back?`;
  if (!(await isAgreed(io, `${question} [y/N] `))) {
    say(io, remove === true ? "Nothing was removed." : "Nothing was put back.");
    return EXIT.notSucceeded;
  }
  let code: number = EXIT.ok;
  for (const { each, content } of seen) {
    try {
      if (remove === true) removeHeldBack(each);
      else putBack(each, content.digest);
      say(io, `${remove === true ? "Removed" : "Put back"} ${nameOf(each.original, workDir)}`);
    } catch (error) {
      warn(io, [messageOf(error)]);
      code = EXIT.notSucceeded;
    }
  }
  return code;
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
