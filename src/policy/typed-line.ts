import { basename } from "node:path";
import type { Decision } from "../core/contract/decision.ts";
import { MAX_SCRIPT_BYTES } from "./commands/search.ts";
import { isKnownProgram } from "./commands/risk.ts";
import type { Piece } from "./unfinished-lines.ts";
import { halfTyped } from "./keystrokes.ts";

/**
 * Returns what the whole line may be: the typed text together with what is already on the line, as far as it is known
 * or may be on the screen. `denied`: the user's deny rules for commands, as written.
 */
export function wholeLines(
  script: string,
  { before, moved }: Pick<Piece, "before" | "moved">,
  screen: string,
  denied: readonly string[] = [],
): readonly string[] {
  const start = script.trimEnd();
  const linesWith = (standing: string) => [
    `${standing}${script}`,
    `${standing} ${script}`,
    ...(moved ? [`${start}${standing}`, `${start} ${standing}`] : []), // somebody moved to its beginning
  ];
  const [longest = "", ...shorter] = halfTyped(screen);
  const lines = [
    ...[before, longest].filter((standing) => standing !== "").flatMap(linesWith),
    // What stands anywhere in these is seen in the longest: only their first word is another.
    ...shorter.flatMap(linesWith).filter((line) => mayBeCommand(line, denied)),
  ];
  // A longer one would be refused for its length alone.
  return [...new Set(lines)].filter((line) => Buffer.byteLength(line) <= MAX_SCRIPT_BYTES);
}

/**
 * Whether the refusal of such a line concerns the typed text. The rest may be a prompt, which can look like a path. So
 * a refusal because of a location counts only if the line begins with a known program.
 */
export function counts({ rule }: Decision, line: string): boolean {
  if (rule === "only") return false;
  return !OF_PLACES.has(rule) || beginsWithProgram(line);
}

/** Rules that refuse something because of its location. */
const OF_PLACES: ReadonlySet<string | undefined> = new Set(["workspace_only", "forbidden_paths", "path_text", "state"]);

/** Whether the line begins with the name of a known program, or with a word that a shell may expand to one. */
function mayBeCommand(line: string, denied: readonly string[]): boolean {
  const word = firstWord(line);
  if (/[^\w./@:~+-]/.test(word) || beginsWithProgram(line)) return true;
  const name = basename(word);
  return name !== "" && denied.some((rule) => rule.includes(name) || /^\S*\*/.test(rule));
}

function beginsWithProgram(line: string): boolean {
  return isKnownProgram(basename(firstWord(line)));
}

function firstWord(line: string): string {
  return /^\s*(\S*)/.exec(line)?.[1] ?? "";
}
