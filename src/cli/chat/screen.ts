import type { WriteStream } from "node:tty";
import { streamWrap, widthOf } from "./wrap.ts";

/**
 * A terminal with permanent lines and, below them, live lines that are redrawn. Text must be safe for a terminal, and
 * live lines must be narrower than the terminal.
 */
export interface Screen {
  /** Prints lines above the live lines. */
  print(lines: readonly string[]): void;
  /** Prints text as it arrives, wrapped between words. No live lines are shown while a line is unfinished. */
  stream(text: string): void;
  /** Ends the streamed line, if it is unfinished. */
  endLine(): void;
  /** Replaces the live lines. */
  live(lines: readonly string[]): void;
  /**
   * Removes the live lines and holds printed text back until `release`, so that other code can write to the terminal.
   */
  hold(): void;
  release(): void;
}

/**
 * The terminal cuts long lines while live lines are drawn (DECAWM, https://vt100.net/docs/vt510-rm/DECAWM.html), so
 * that each takes one row.
 */
const [CUT, WRAP] = ["\x1b[?7l", "\x1b[?7h"];

export function createScreen(terminal: WriteStream): Screen {
  let shown: readonly string[] = [];
  let isInLine = false;
  let isStreamed = false;
  let held: string[] | undefined;

  const erased = () => {
    const columns = Math.max(1, terminal.columns);
    // A terminal that became narrower has wrapped them.
    const rows = shown.reduce((sum, line) => sum + Math.max(1, Math.ceil(widthOf(line) / columns)), 0);
    if (rows === 0) return "";
    return `${rows > 1 ? `\x1b[${rows - 1}A` : ""}\r\x1b[J`;
  };
  const drawn = () => (shown.length === 0 ? "" : CUT + shown.join("\n") + WRAP);
  const write = (text: string) => {
    if (held === undefined) terminal.write(text);
    else held.push(text);
  };
  const wrap = streamWrap(() => terminal.columns);
  const endOfLine = () => {
    const rest = wrap.end();
    const end = `${rest}${isStreamed ? "\x1b[0m" : ""}${isInLine ? "\n" : ""}`; // a colour may still be on
    [isInLine, isStreamed] = [false, false];
    return end;
  };

  return {
    print(lines) {
      const text = endOfLine() + lines.map((line) => `${line}\n`).join("");
      write(held === undefined ? erased() + text + drawn() : text);
    },
    stream(text) {
      const before = erased();
      shown = [];
      [isInLine, isStreamed] = [!text.endsWith("\n"), true];
      write(before + wrap.add(text));
    },
    endLine() {
      write(endOfLine());
    },
    live(lines) {
      if (isInLine || held !== undefined || lines.join("\n") === shown.join("\n")) return;
      const before = erased();
      shown = lines;
      terminal.write(before + drawn());
    },
    hold() {
      terminal.write(endOfLine() + erased());
      shown = [];
      held ??= [];
    },
    release() {
      const kept = held ?? [];
      held = undefined;
      if (kept.length > 0) terminal.write(kept.join(""));
    },
  };
}
