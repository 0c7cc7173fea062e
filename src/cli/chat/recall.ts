import type { Message } from "../../core/contract/message.ts";
import { oneLine, terminalSafe } from "../../core/output/terminal-text.ts";
import { plural } from "../../core/util/text.ts";
import { wrapped } from "./wrap.ts";

/**
 * Returns the conversation of a thread as lines for people: its title, and the last rows of its messages and calls.
 *
 * @param size of the terminal
 */
export function recalled(
  { title = "", messages }: { readonly title?: string | undefined; readonly messages: readonly Message[] },
  { rows, columns }: { readonly rows: number; readonly columns: number },
): string {
  const all = messages.flatMap(linesOf).flatMap((line) => wrapped(line, columns));
  const shown = all.slice(-Math.max(5, rows - LEFT_ROWS));
  const left = all.length - shown.length;
  const above = left > 0 ? [`… ${plural(left, "line")} above`] : [];
  return [`Continued: ${oneLine(title, columns - 12)}`, ...above, ...shown].join("\n");
}

/** Rows that are left for the greeting, the title and the prompt. */
const LEFT_ROWS = 6;

function linesOf(message: Message): readonly string[] {
  switch (message.role) {
    case "tool":
      return message.status === "ok" ? [] : [`  ${message.status}`];
    case "user":
      return message.content.flatMap((part) =>
        part.type === "text" ? textLines(message.from === "person" ? `> ${part.text}` : part.text) : [],
      );
    case "assistant":
      return message.content.flatMap((part) => {
        if (part.type === "call") return [oneLine(`● ${part.name} ${part.input}`, 300)];
        return part.type === "text" ? textLines(part.text) : [];
      });
  }
}

function textLines(text: string): readonly string[] {
  return terminalSafe(text).trimEnd().split("\n");
}
