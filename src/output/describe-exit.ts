import type { Exit, Process } from "../contract/backend.ts";
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

/**
 * Describes how a program ended, with the last line of its stderr: `Exit code 3, after "no licence"`. Never rejects.
 */
export async function describeEnd(
  exit: Exit,
  { errors }: Pick<Process, "errors">,
  mask: (text: string) => string,
): Promise<string> {
  const stderr = Buffer.from((await errors?.tail(LOOKED_AT)) ?? []).toString();
  const lines = stderr.trim().split("\n");
  // Node prints a stack trace and its version after the error.
  const last = lines.findLast((line) => /^(\w*Error|\w*Exception|panic): /.test(line)) ?? lines.at(-1) ?? "";
  return `${describeExit(exit)}${last === "" ? "" : `, after "${oneLine(mask(last), SHOWN)}"`}`;
}
