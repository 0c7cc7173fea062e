import { countCharacters } from "../../output/measure.ts";

/**
 * Wraps a line between words, so that each row is narrower than `columns`. A longer word stays whole.
 *
 * @param first the beginning of the line; further rows begin below its end. By default the spaces, or the first column
 *   of a table
 */
export function wrapped(line: string, columns: number, first = beginningOf(line)): readonly string[] {
  const width = columns - 1;
  if (countCharacters(line) <= width) return [line];
  const indent = " ".repeat(first.length <= (2 * width) / 3 ? first.length : 2);
  const rows: string[] = [];
  let row = first;
  for (const word of line.slice(first.length).split(" ")) {
    if (row !== first && row !== indent && countCharacters(row) + countCharacters(word) > width) {
      rows.push(row.trimEnd());
      row = indent;
    }
    row += `${word} `;
  }
  return [...rows, row.trimEnd()];
}

function beginningOf(line: string): string {
  return /^ *(?:\S+(?: \S+)* {2,})?/.exec(line)?.[0] ?? "";
}
