/** What a part of the scrollback is. Parts of different kinds are separated by an empty line. */
type Kind = "person" | "text" | "call" | "notice";

/** Prints the parts of a conversation, and remembers the folded texts. */
export interface Printer {
  /**
   * @param whole the whole text, if `lines` show it folded
   */
  print(kind: Kind, lines: readonly string[], whole?: string): void;
  /** Begins a turn: `turn` returns what is printed from now on. */
  begin(): void;
  /** Returns the whole text of what was folded last in this turn, or before it. */
  lastFold(): string | undefined;
  /** Returns all of the turn, with nothing folded. */
  turn(): string;
}

/** @param print prints lines at a terminal */
export function createPrinter(print: (lines: readonly string[]) => void): Printer {
  let before: Kind | undefined;
  let fold: string | undefined;
  let turn: string[] = [];

  return {
    print(kind, lines, whole) {
      if (lines.length === 0) return;
      const gap = before === undefined || (before === kind && kind !== "person") ? [] : [""];
      before = kind;
      if (whole !== undefined) fold = whole;
      turn.push([...gap, ...(whole === undefined ? lines : whole.split("\n"))].join("\n"));
      print([...gap, ...lines]);
    },
    begin: () => void (turn = []),
    lastFold: () => fold,
    turn: () => turn.join("\n"),
  };
}
