import type { Exit, Process } from "../contract/backend.ts";
import { describeSourceRefusals } from "./describe-refusals.ts";
import { oneLine } from "./terminal-text.ts";

/** Describes an exit status: "Exit code 0", "Killed by SIGKILL", … */
export function describeExit(exit: Exit): string {
  switch (exit.how) {
    case "exited":
      return `Exit code ${exit.code}`;
    case "signaled":
      return `Killed by ${exit.signal}`;
    case "timed-out":
      return "Stopped at its timeout";
    case "aborted":
      return "Stopped";
    case "lost":
      return `Exit status unknown (${exit.reason})`;
  }
}

/** How many bytes of the end of stderr are read, and how many characters of its last line are shown. */
const LOOKED_AT = 8_192;
const SHOWN = 200;

/** What is read of a program that a source of tools started. */
export type SourceProcess = Pick<Process, "errors" | "refusals">;

/**
 * Describes how a source's program ended, with the last line of its stderr and what the sandbox refused it:
 * `Exit code 3, after "no licence"`. Never rejects.
 */
export async function describeEnd(exit: Exit, program: SourceProcess, mask: (text: string) => string): Promise<string> {
  return `${describeExit(exit)}${await describeTraces(program, mask)}`;
}

/**
 * The end of a sentence about a source's program: the last line of its stderr, and what the sandbox refused it. "" if
 * there is neither. Call it when the program has ended or is being ended: the refusals are known then. Never rejects.
 */
export async function describeTraces({ errors, refusals }: SourceProcess, mask: (text: string) => string) {
  const stderr = Buffer.from((await errors?.tail(LOOKED_AT).catch(() => undefined)) ?? []).toString();
  const lines = stderr
    .trim()
    .split("\n")
    .filter((line) => !POINTS_TO_LOG.test(line));
  // Node prints a stack trace and its version after the error.
  const last = lines.findLast((line) => /^(\w*Error|\w*Exception|panic): /.test(line)) ?? lines.at(-1) ?? "";
  const refused = describeSourceRefusals((await refusals) ?? []);
  return `${last === "" ? "" : `, after "${oneLine(mask(last), SHOWN)}"`}${refused === "" ? "" : `. ${refused}`}`;
}

/** The last line of npm, which does not name the cause. */
const POINTS_TO_LOG = /A complete log of this run can be found in/;
