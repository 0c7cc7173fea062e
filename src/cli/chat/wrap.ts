import { stripVTControlCharacters } from "node:util";

/**
 * Wraps a line between words, so that each row is narrower than `columns`. A longer word stays whole.
 *
 * @param first the beginning of the line; further rows begin below its end. By default the spaces, or the first column
 *   of a table
 */
export function wrapped(line: string, columns: number, first = beginningOf(line)): readonly string[] {
  const width = columns - 1;
  if (widthOf(line) <= width) return [line];
  const indent = " ".repeat(first.length <= (2 * width) / 3 ? first.length : 2);
  const rows: string[] = [];
  let row = first;
  for (const word of line.slice(first.length).split(" ")) {
    if (row !== first && row !== indent && widthOf(row) + widthOf(word) > width) {
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

/** Characters that are two columns wide: Chinese, Japanese, Korean. */
const WIDE = /[\u2e80-\u9fff\uac00-\ud7af\uf900-\ufaff\uff01-\uff60]/;

const CHARACTERS = new Intl.Segmenter();

/** Characters besides `WIDE` that are two columns wide: pictures, and symbols that VS16 turns into pictures. */
const PICTURE = /^\p{Emoji_Presentation}|\ufe0f/u;

/** The widths of texts that were measured last: a drawing measures the same rules and the same status again. */
const measured = new Map<string, number>();
const MOST_MEASURED = 256;

/**
 * The columns of a text in a terminal, without its escape sequences. Joining characters (ZWNJ, ZWJ, accents) take no
 * column.
 */
export function widthOf(text: string): number {
  if (/^[\x20-\x7e]*$/.test(text)) return text.length;
  const known = measured.get(text);
  if (known !== undefined) return known;
  let width = 0;
  for (const { segment } of CHARACTERS.segment(stripVTControlCharacters(text)))
    width += segment.search(WIDE) === 0 || PICTURE.test(segment) ? 2 : /^[\p{Mn}\p{Me}\p{Cf}]+$/u.test(segment) ? 0 : 1;
  if (measured.size >= MOST_MEASURED) measured.clear();
  measured.set(text, width);
  return width;
}
