import { asText } from "../../engine/result.ts";
import { terminalSafe } from "../../output/terminal-text.ts";
import { createToolkit } from "../../toolkit.ts";
import { messageOf } from "../../util/errors.ts";
import { approveAll, terminalApprover } from "../approver.ts";
import type { GlobalOptions } from "../options.ts";
import { toolkitOptions } from "../settings.ts";
import { EXIT } from "../exit.ts";
import { progressLine } from "../progress.ts";
import { untilStopped } from "../signals.ts";
import { readStdin } from "../stdin.ts";

/** Makes one call and prints its text, or with `json` the whole result. Exit code 1 when it did not succeed. */
export async function call(
  name: string,
  input: string | undefined,
  options: GlobalOptions & { json?: true },
): Promise<void> {
  const given = input === "-" ? await readStdin() : (input ?? "");
  const approver = options.yes ? approveAll : terminalApprover();
  const toolkit = await createToolkit({
    ...(await toolkitOptions(options)),
    ...(approver !== undefined && { approver }),
    lifetime: "call",
  });
  const progress = progressLine();
  const stopped = untilStopped();
  try {
    const result = await toolkit.call({ name, input: given }, { signal: stopped.signal, onEvent: progress.show });
    progress.clear();
    process.exitCode = result.status === "ok" ? EXIT.ok : EXIT.notSucceeded;
    process.stdout.write(options.json ? `${JSON.stringify(result)}\n` : printable(asText(result)));
  } finally {
    // What was done is done; that it could not be recorded is said, and changes nothing about how it ended.
    await toolkit.close().catch((error: unknown) => process.stderr.write(`handrail: ${messageOf(error)}\n`));
    stopped.release();
  }
}

/** A terminal is shown nothing that could take it over; a file or a pipe gets the text as it is. */
function printable(text: string): string {
  const shown = process.stdout.isTTY ? terminalSafe(text) : text;
  return shown.endsWith("\n") || shown === "" ? shown : `${shown}\n`;
}
