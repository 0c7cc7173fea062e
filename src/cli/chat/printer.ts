import { terminalSafe } from "../../core/output/terminal-text.ts";
import { type Look, paint } from "./draw/paint.ts";
import { wrapped } from "./wrap.ts";

/** What a part of the scrollback is. Parts of different kinds are separated by an empty line. */
type Kind = "person" | "text" | "call" | "notice";

/** Prints the parts of a conversation, and remembers the folded texts. */
export interface Printer {
  /**
   * @param whole the whole text, if `lines` show it folded
   */
  print(kind: Kind, lines: readonly string[], whole?: string): void;
  /** Prints a text from anywhere as a notice. */
  say(text: string, look?: Look): void;
  /** Returns a text from anywhere as rows: safe for the terminal, and wrapped between words. */
  rows(text: string): readonly string[];
  /** Begins a turn: `turn` returns what is printed from now on. */
  begin(): void;
  /** Returns the whole text of what was folded last in this turn, or before it. */
  lastFold(): string | undefined;
  /** Returns all of the turn, with nothing folded. */
  turn(): string;
}

/**
 * @param print prints lines at a terminal
 * @param columns returns the columns of the terminal
 */
export function createPrinter(print: (lines: readonly string[]) => void, columns: () => number): Printer {
  let before: Kind | undefined;
  let fold: string | undefined;
  let turn: string[] = [];

  const printer: Printer = {
    print(kind, lines, whole) {
      if (lines.length === 0) return;
      const gap = before === undefined || (before === kind && kind !== "person") ? [] : [""];
      before = kind;
      if (whole !== undefined) fold = whole;
      turn.push([...gap, ...(whole === undefined ? lines : whole.split("\n"))].join("\n"));
      print([...gap, ...lines]);
    },
    say(text, look) {
      const rows = printer.rows(text);
      printer.print("notice", look === undefined ? rows : rows.map((row) => paint(look, row)));
    },
    rows: (text) =>
      terminalSafe(text)
        .split("\n")
        .flatMap((line) => wrapped(line, columns())),
    begin: () => void (turn = []),
    lastFold: () => fold,
    turn: () => turn.join("\n"),
  };
  return printer;
}
