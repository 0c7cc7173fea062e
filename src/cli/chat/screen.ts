import { widthOf } from "./wrap.ts";

/**
 * A terminal with finished lines and, below them, one live part. Finished lines are printed once and belong to the
 * terminal's scrollback. The live part is redrawn in place: only its changed lines are written, at most 15 times a
 * second, and nothing when it did not change.
 */
export interface Screen {
  /**
   * Prints finished lines above the live part, with the next drawing. They must be safe for a terminal. A line that is
   * wider than the terminal is wrapped by it, and is copied whole.
   */
  print(lines: readonly string[]): void;
  /** Draws soon, together with all changes until then. */
  update(): void;
  /** Draws now, as after a key. */
  draw(): void;
  /** Draws once, after all keys that arrived together. */
  drawSoon(): void;
  /** Removes the live part, and prints nothing until `enter`: another program uses the terminal. */
  leave(): void;
  /** Draws again after `leave`. */
  enter(): void;
  /** Prints the remaining lines, and removes the live part for good. */
  close(): void;
}

/** What is drawn below the finished lines. */
export interface Live {
  /** Each line takes one row: it is at most as wide as the terminal, and safe for it. */
  readonly lines: readonly string[];
  /** Where the cursor is, counted from 0. Absent: the cursor is hidden. */
  readonly cursor?: { readonly row: number; readonly column: number };
}

/** The minimum time between two drawings that no key asked for, in milliseconds. */
const BETWEEN_DRAWINGS_MS = 67;

/**
 * A terminal that knows mode 2026 shows all of a drawing at once
 * (https://gist.github.com/christianparpart/d8a62cc1ab659194337d73e399004036); others ignore it.
 */
const [TOGETHER, SHOWN] = ["\x1b[?2026h", "\x1b[?2026l"];
/**
 * The terminal cuts long lines while live lines are drawn (DECAWM, https://vt100.net/docs/vt510-rm/DECAWM.html), so
 * that each line takes one row, even if the terminal measures a character's width differently.
 */
const [CUT, WRAP] = ["\x1b[?7l", "\x1b[?7h"];
const [HIDE_CURSOR, SHOW_CURSOR] = ["\x1b[?25l", "\x1b[?25h"];
/** Erases to the end of the row, and to the end of the screen. */
const [ERASE_LINE, ERASE_BELOW] = ["\x1b[K", "\x1b[J"];

/** Before the first drawing, the cursor is visible and at the beginning of a row. */
const NOTHING: Live = { lines: [], cursor: { row: 0, column: 0 } };

/** A terminal to draw on: its size now, and what writes to it. */
export interface Terminal {
  readonly columns: number;
  readonly rows: number;
  write(text: string): void;
}

/**
 * @param terminal where to draw; its size is read at each drawing
 * @param live returns the live part
 */
export function createScreen(terminal: Terminal, live: () => Live): Screen {
  let shown: Live = NOTHING;
  /** The row of the live part in which the cursor is. */
  let at = 0;
  let columns = terminal.columns;
  let printed: string[] = [];
  let isAway = false;
  let timer: NodeJS.Timeout | undefined;
  let drawnMs = 0;

  /** Moves to a row of the live part. Missing rows at its end are created. */
  const toRow = (row: number, last: number) => {
    const existing = Math.min(row, last);
    const moved = existing < at ? `\x1b[${at - existing}A` : existing > at ? `\x1b[${existing - at}B` : "";
    at = row;
    return `${moved}\r${"\n".repeat(row - existing)}`;
  };
  const row = (line: string) => (widthOf(line) < columns ? line + ERASE_LINE : line);
  const changedLines = (lines: readonly string[]) => {
    let last = Math.max(0, shown.lines.length - 1);
    let text = "";
    for (const [index, line] of lines.entries()) {
      if (line === shown.lines[index]) continue;
      text += toRow(index, last) + row(line);
      last = Math.max(last, index);
    }
    if (lines.length < shown.lines.length) text += toRow(lines.length, last) + ERASE_BELOW;
    return text === "" ? "" : CUT + text + WRAP;
  };
  /**
   * Draws the whole live part, from the cursor on. Old rows are erased only below the last row: tmux keeps in its
   * history what is erased from the top of the window.
   */
  const allLines = (lines: readonly string[]) => {
    at = Math.max(0, lines.length - 1);
    const before = lines.slice(0, -1).map((line) => `${row(line)}\n`);
    return `${CUT}${before.join("")}${ERASE_LINE}${ERASE_BELOW}${lines.at(-1) ?? ""}${WRAP}`;
  };
  const cursorOf = ({ lines, cursor }: Live) => {
    if (cursor === undefined) return shown.cursor === undefined ? "" : HIDE_CURSOR;
    const right = cursor.column > 0 ? `\x1b[${cursor.column}C` : "";
    const show = shown.cursor === undefined ? SHOW_CURSOR : "";
    return toRow(cursor.row, Math.max(0, lines.length - 1)) + right + show;
  };
  const fitting = ({ lines, cursor }: Live): Live => {
    const hidden = Math.max(0, lines.length - Math.max(1, terminal.rows));
    if (hidden === 0) return cursor === undefined ? { lines } : { lines, cursor };
    const rest = lines.slice(hidden);
    return cursor === undefined || cursor.row < hidden
      ? { lines: rest }
      : { lines: rest, cursor: { ...cursor, row: cursor.row - hidden } };
  };
  /** Moves to the first row of the live part. A terminal that became narrower has wrapped its lines. */
  const toTop = () => {
    const now = Math.max(1, terminal.columns);
    const above = shown.lines.slice(0, at).reduce((sum, line) => sum + Math.max(1, Math.ceil(widthOf(line) / now)), 0);
    const rows = above + Math.floor((shown.cursor?.column ?? 0) / now);
    at = 0;
    return `${rows > 0 ? `\x1b[${rows}A` : ""}\r`;
  };
  const draw = () => {
    clearTimeout(timer);
    timer = undefined;
    if (isAway) return;
    drawnMs = performance.now();
    const next = fitting(live());
    const isResized = columns !== terminal.columns;
    let text = "";
    if (printed.length > 0 || isResized) {
      text = toTop();
      columns = terminal.columns;
      for (const line of printed)
        text += `${widthOf(line) % columns === 0 && line !== "" ? line : line + ERASE_LINE}\n`;
      printed = [];
      text += allLines(next.lines);
    } else {
      text = changedLines(next.lines);
    }
    const cursorMoved =
      text !== "" || next.cursor?.row !== shown.cursor?.row || next.cursor?.column !== shown.cursor?.column;
    if (cursorMoved) text += cursorOf(next);
    shown = next;
    if (text !== "") terminal.write(TOGETHER + text + SHOWN);
  };
  const update = () => {
    timer ??= setTimeout(draw, Math.max(0, drawnMs + BETWEEN_DRAWINGS_MS - performance.now()));
  };
  let isSoon = false;
  const drawSoon = () => {
    if (isSoon) return;
    isSoon = true;
    queueMicrotask(() => {
      isSoon = false;
      draw();
    });
  };
  const erase = () => {
    const show = shown.cursor === undefined ? SHOW_CURSOR : "";
    const below = shown.lines.length > 1 ? `\x1b[B${ERASE_BELOW}\x1b[A` : "";
    terminal.write(toTop() + ERASE_LINE + below + show);
    shown = NOTHING;
  };

  return {
    print(lines) {
      for (const line of lines) printed.push(line);
      if (!isAway) update();
    },
    ...{ update, draw, drawSoon },
    leave() {
      draw();
      erase();
      isAway = true;
    },
    enter() {
      isAway = false;
      [shown, at] = [NOTHING, 0];
      columns = terminal.columns;
      draw();
    },
    close() {
      draw();
      clearTimeout(timer);
      if (!isAway) erase();
      isAway = true;
    },
  };
}
