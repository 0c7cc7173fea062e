import type { Command } from "../../core/contract/backend.ts";
import { terminalSafe } from "../../core/output/terminal-text.ts";
import { quoteWords } from "../../core/util/quote.ts";
import { clip } from "../../core/util/text.ts";

type Shown = Pick<Command, "argv" | "label">;

/** Lines of a script that are shown, and characters of each. */
const MOST_LINES = 20;
const MOST_CHARACTERS = 400;

/** A command as people see it: its label, a shell's script, or its words as a person would type them; clipped. */
export function shownCommand({ argv, label = scriptOf(argv) ?? quoteWords(argv) }: Shown): string {
  const lines = terminalSafe(label).trimEnd().split("\n");
  const shown = lines.slice(0, MOST_LINES).map((line) => clip(line, MOST_CHARACTERS));
  if (lines.length > MOST_LINES) shown.push(`… (${lines.length - MOST_LINES} more lines)`);
  return shown.join("\n");
}

/** The script, if the command is a shell that only runs one. */
function scriptOf(argv: readonly string[]): string | undefined {
  const [program = "", ...options] = argv;
  const [option, script] = options.slice(-2);
  const isShell = /(?:^|\/)(?:ba|da|z|k)?sh$/.test(program);
  const isPlain = options.slice(0, -2).every((each) => /^(--noprofile|--norc|-p)$/.test(each));
  return isShell && isPlain && option === "-c" ? script : undefined;
}
