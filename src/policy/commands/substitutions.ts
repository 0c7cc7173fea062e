/**
 * Keeps account of the substitutions in a text: for each `$(`, backquote, `<(` and `>(` the parse must have found a
 * substitution, or a quote, comment or here-document around it. Otherwise it may run a command that was not checked.
 */
export interface SubstitutionAccount {
  /** A substitution from `pos` to `end` that the walk visits. */
  visited(pos: number, end: number): void;
  /** Text in which nothing is expanded: single quotes, quoted here-documents. */
  literal(pos: number, end: number): void;
  /** Text in double quotes or a here-document: `<(` and `>(` mean nothing there. */
  quoted(pos: number, end: number): void;
  /** Text that is not a comment, whatever is in it. */
  word(pos: number, end: number): void;
  /** The first substitution that nothing explains, with what follows it; `undefined`: there is none. */
  unexplained(): string | undefined;
}

const LITERAL = 1;
const QUOTED = 2;
const WORD = 4;

export function accountOf(text: string): SubstitutionAccount {
  const marks = new Uint8Array(text.length);
  const mark = (pos: number, end: number, kind: number): void => {
    for (let at = Math.max(pos, 0); at < Math.min(end, text.length); at++) marks[at] = (marks[at] ?? 0) | kind;
  };
  const is = (at: number, kind: number): boolean => ((marks[at] ?? 0) & kind) !== 0;

  return {
    visited(pos, end) {
      mark(pos, pos + 1, LITERAL);
      if (text[pos] === "`") mark(end - 1, end, LITERAL);
    },
    literal: (pos, end) => mark(pos, end, LITERAL),
    quoted: (pos, end) => mark(pos, end, QUOTED),
    word: (pos, end) => mark(pos, end, WORD),
    unexplained() {
      for (const { index } of text.matchAll(/(?<![^\s;&|()])#[^\n]*/g)) {
        const end = text.indexOf("\n", index);
        if (!is(index, WORD)) mark(index, end === -1 ? text.length : end, LITERAL);
      }
      for (const { 0: opening, index } of text.matchAll(/\$(?:(?:\\\n)*\(|\\\n)|[<>](?:\\\n)*\(|`/g)) {
        const explained = is(index, LITERAL) || isEscaped(text, index) || (/^[<>]/.test(opening) && is(index, QUOTED));
        if (!explained) return text.slice(index, index + 40);
      }
      return undefined;
    },
  };
}

function isEscaped(text: string, at: number): boolean {
  let first = at;
  while (text[first - 1] === "\\") first--;
  return (at - first) % 2 === 1;
}
