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

/** Wraps a text between words while it arrives. */
export interface StreamWrap {
  /** Returns what is to be written now. Holds back the last word, which may continue. */
  add(text: string): string;
  /** Returns what was held back. The next text begins a line. */
  end(): string;
}

/** Characters between which lines may break, and which are two columns wide: Chinese, Japanese, Korean. */
const WIDE = /[\u2e80-\u9fff\uac00-\ud7af\uf900-\ufaff\uff01-\uff60]/;

/**
 * @param columns returns the width of the terminal. Code between lines of three backticks is not wrapped, so that
 *   commands can be copied.
 */
export function streamWrap(columns: () => number): StreamWrap {
  let [word, column, isCode] = ["", 0, false];
  /** The beginning of the line. */
  let head = "";

  const flush = () => {
    if (word === "") return "";
    const width = widthOf(word);
    const breaks = !isCode && column > 0 && column + width >= columns();
    const text = breaks ? `\n${word}` : word;
    column = (breaks ? 0 : column) + width;
    word = "";
    return text;
  };
  return {
    add(text) {
      let shown = "";
      for (const character of text) {
        if (head.length < 3) head += character;
        if (character === "\n") {
          shown += flush() + character;
          if (head === "```") isCode = !isCode;
          [column, head] = [0, ""];
        } else if (character === " ") {
          shown += flush();
          if (isCode || column < columns() - 1) shown += character; // none at the beginning of a row
          column += 1;
        } else {
          word += character;
          if (character.search(WIDE) === 0 || word.length >= columns()) shown += flush();
        }
      }
      return shown;
    },
    end() {
      const shown = flush();
      [column, head, isCode] = [0, "", false];
      return shown;
    },
  };
}

const CHARACTERS = new Intl.Segmenter();

/** What is two columns wide besides `WIDE`: pictures, and symbols that VS16 makes to pictures. */
const PICTURE = /^\p{Emoji_Presentation}|\ufe0f/u;

/**
 * The columns of a text in a terminal, without its escape sequences. What joins characters (ZWNJ, ZWJ, accents) takes
 * none.
 */
export function widthOf(text: string): number {
  if (/^[\x20-\x7e]*$/.test(text)) return text.length;
  let width = 0;
  for (const { segment } of CHARACTERS.segment(stripVTControlCharacters(text)))
    width += segment.search(WIDE) === 0 || PICTURE.test(segment) ? 2 : /^[\p{Mn}\p{Me}\p{Cf}]+$/u.test(segment) ? 0 : 1;
  return width;
}
