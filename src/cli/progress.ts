import type { ActivityEvent, CallUpdate } from "../core/contract/activity.ts";
import { oneLine } from "../core/output/terminal-text.ts";
import type { Io } from "./io.ts";

/** Shows the progress of a running call on one line of the terminal. Prints nothing if stderr is not a terminal. */
export function progressLine({ stderr, env }: Pick<Io, "stderr" | "env">): {
  show(event: ActivityEvent): void;
  showUpdate(update: CallUpdate): void;
  clear(): void;
} {
  let shown = false;
  const showLine = (line: string | undefined) => {
    if (!stderr.isTTY || line === undefined) return;
    stderr.write(`\r\x1b[2K${dim(oneLine(line, Math.max(20, (stderr.columns ?? 80) - 1)), env)}`);
    shown = true;
  };
  return {
    show: (event) => showLine(lineOf(event)),
    showUpdate: (update) => showLine(updateLine(update)),
    clear() {
      if (shown) stderr.write("\r\x1b[2K");
      shown = false;
    },
  };
}

function lineOf(event: ActivityEvent): string | undefined {
  if (event.type === "approval.requested") return "";
  return event.type === "call.updated" ? updateLine(event.update) : undefined;
}

/** Returns the line of a call that an update shows, if any. */
export function updateLine({ displayMessage, output }: CallUpdate): string | undefined {
  return displayMessage ?? output?.trimEnd().split("\n").at(-1);
}

function dim(text: string, env: NodeJS.ProcessEnv): string {
  const plain = (env["NO_COLOR"] ?? "") !== "";
  return plain ? text : `\x1b[2m${text}\x1b[22m`;
}

/** How much of the live output of a call is kept, in characters. */
const KEPT_OUTPUT = 4_000;

/** Appends to the live output of a call, of which only the end is kept. */
export function withOutput(output: string, more: string): string {
  return (output + more).slice(-KEPT_OUTPUT);
}
