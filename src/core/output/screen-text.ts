/** What moves or erases on a screen, and what it does not show: one of these parts at a time, or plain text between. */
const PARTS = new RegExp(
  [
    String.raw`(?:\x1b\[|\x9b)(?<parameters>[0-?]{0,256})[ -/]{0,8}(?<final>[@-~])`, // control sequences of ECMA-48
    String.raw`(?:\x1b[\]PX^_]|[\x90\x98\x9d-\x9f])[^\x07\x1b\x9c]{0,65536}(?:\x07|\x1b\\|\x9c)`, // strings
    String.raw`\x1b[ -/]{0,8}(?<short>[0-~])`,
    String.raw`(?<move>[\b\r\n])`,
    String.raw`[\x01-\x06\x07\x0e-\x1f\x7f-\x9f]`,
  ].join("|"),
  "gu",
);

const SHOWS_OTHER = /[\x01-\x08\r\x0e-\x1f\x7f-\x9f]/;

/** How far a sequence can move beyond what was written: the size of a large terminal. */
const MOST = 500;

interface Position {
  row: number;
  column: number;
  /** The first row of the screen, once a program has cleared it or moved to an absolute position. */
  top: number | undefined;
}

/**
 * Returns what a terminal would show at the end of an output: frames of a progress bar that overwrite each other are
 * one line, also with cursor movements over several lines, and escape sequences are removed. What scrolled off stays. A
 * character takes one column, and lines are not wrapped. Pure.
 */
export function screenText(text: string): string {
  if (!SHOWS_OTHER.test(text)) return text;
  const rows: string[][] = [[]];
  const overwritten = new Set<string[]>();
  let at: Position = { row: 0, column: 0, top: undefined };
  let saved: Position = { ...at };
  let before: (Position & { first: number }) | undefined;

  const cells = () => rows[at.row] ?? [];
  const goTo = (row: number, column: number) => {
    at = { ...at, row: Math.max(row, at.top ?? 0, 0), column: Math.max(column, 0) };
    while (rows.length <= at.row) rows.push([]);
  };
  const write = (plain: string) => {
    const row = cells();
    if (at.column !== row.length) overwritten.add(row);
    while (row.length < at.column) row.push(" ");
    for (const character of plain) row[at.column++] = character;
  };
  /** Where the screen begins: below what has been written so far, the first time. */
  const topOf = () =>
    at.top ?? (rows.length === 1 && cells().length === 0 ? 0 : rows.length - (rows.at(-1)?.length === 0 ? 1 : 0));
  const erase = (part: number) => {
    if (part === 1) return;
    if (part !== 0) {
      at = { ...at, top: topOf() };
      rows.length = at.top ?? 0;
      return goTo(at.row, at.column);
    }
    cells().length = Math.min(cells().length, at.column);
    rows.length = at.row + 1;
  };
  const eraseInLine = (part: number) => {
    const row = cells();
    if (part === 0) row.length = Math.min(row.length, at.column);
    else row.fill(" ", 0, part === 1 ? at.column + 1 : row.length);
    overwritten.add(row);
  };
  /** The other screen of full-screen programs, of which nothing remains. */
  const otherScreen = (isOn: boolean) => {
    if (isOn && before === undefined) {
      before = { ...at, first: topOf() };
      at = { ...at, top: before.first };
      goTo(before.first, 0);
    } else if (!isOn && before !== undefined) {
      rows.length = before.first;
      at = before;
      before = undefined;
      goTo(at.row, at.column);
    }
  };
  const control = (final: string, parameters: string) => {
    const [first = 0, second = 0] = parameters.split(";").map((each) => Math.min(Number(each) || 0, MOST));
    const count = Math.max(first, 1);
    const column = Math.min(at.column + count, Math.max(MOST, cells().length));
    if (/^\?(1049|1047|47)$/.test(parameters) && /[hl]/.test(final)) return otherScreen(final === "h");
    if (/[^\d;]/.test(parameters)) return;
    if (final === "A" || final === "F") goTo(at.row - count, final === "F" ? 0 : at.column);
    else if (final === "B" || final === "E")
      goTo(Math.min(at.row + count, rows.length - 1), final === "E" ? 0 : at.column);
    else if (final === "C") goTo(at.row, column);
    else if (final === "D") goTo(at.row, at.column - count);
    else if (final === "G") goTo(at.row, count - 1);
    else if (final === "H" || final === "f") {
      at = { ...at, top: topOf() };
      goTo((at.top ?? 0) + count - 1, Math.max(second, 1) - 1);
    } else if (final === "J") erase(first);
    else if (final === "K") eraseInLine(first);
    else if (final === "s") saved = { ...at };
    else if (final === "u") goTo(saved.row, saved.column);
  };

  let end = 0;
  for (const { index, 0: found, groups } of text.matchAll(PARTS)) {
    if (index > end) write(text.slice(end, index));
    end = index + found.length;
    const { parameters = "", final, short, move } = groups ?? {};
    if (move === "\n") goTo(at.row + 1, 0);
    else if (move !== undefined) goTo(at.row, move === "\r" ? 0 : at.column - 1);
    else if (final !== undefined) control(final, parameters);
    else if (short === "7") saved = { ...at };
    else if (short === "8") goTo(saved.row, saved.column);
  }
  // What is left of a sequence that the output, or its shown part, ends within.
  write(text.slice(end));
  return rows.map((row) => (overwritten.has(row) ? row.join("").trimEnd() : row.join(""))).join("\n");
}
