import type { ActivityEvent } from "../contract/activity.ts";
import { oneLine } from "../output/terminal-text.ts";

/** Shows on one line of the terminal what a running call does. Silent where stderr is no terminal. */
export function progressLine(stream: NodeJS.WriteStream = process.stderr): {
  show(event: ActivityEvent): void;
  clear(): void;
} {
  let shown = false;
  return {
    show(event) {
      if (!stream.isTTY) return;
      const line = lineOf(event);
      if (line === undefined) return;
      stream.write(`\r\x1b[2K${dim(oneLine(line, Math.max(20, (stream.columns ?? 80) - 1)))}`);
      shown = true;
    },
    clear() {
      if (shown) stream.write("\r\x1b[2K");
      shown = false;
    },
  };
}

function lineOf(event: ActivityEvent): string | undefined {
  if (event.type === "approval.requested") return "";
  if (event.type !== "call.updated") return undefined;
  const { displayMessage, output } = event.update;
  return displayMessage ?? output?.trimEnd().split("\n").at(-1);
}

function dim(text: string): string {
  const plain = (process.env["NO_COLOR"] ?? "") !== "";
  return plain ? text : `\x1b[2m${text}\x1b[22m`;
}
