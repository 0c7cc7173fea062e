import { visibleWidth } from "@earendil-works/pi-tui";
import { oneLine } from "../../../core/output/terminal-text.ts";
import type { Line, Look, Span } from "./paint.ts";

/** Returns a line of text from elsewhere, safe for a terminal: without colours, tabs as four columns. */
export function safe(line: string): string {
  return oneLine(line.replaceAll("\t", TAB), Infinity);
}

const TAB = "    ";

/** The columns of a text that is safe for a terminal. */
export function widthOf(text: string): number {
  return visibleWidth(text);
}

export function widthOfLine(line: Line): number {
  return line.reduce((sum, { text }) => sum + widthOf(text), 0);
}

/** Makes a span. */
export function span(text: string, ...looks: readonly Look[]): Span {
  return looks.length === 0 ? { text } : { text, looks };
}

const CLUSTERS = new Intl.Segmenter(undefined, { granularity: "grapheme" });

/** The grapheme clusters of a text. */
function* clusters(text: string): Generator<string> {
  if (/^[\x20-\x7e]*$/.test(text)) yield* text;
  else for (const { segment } of CLUSTERS.segment(text)) yield segment;
}

/** Cuts a line into rows of at most `columns` columns, between clusters, as a terminal does. At least one row. */
export function cut(line: Line, columns: number, laterColumns = columns): readonly Line[] {
  const rows: Span[][] = [[]];
  let room = columns;
  for (const { text, ...how } of line) {
    let part = "";
    for (const cluster of clusters(text)) {
      const width = widthOf(cluster);
      if (width > room && width <= laterColumns) {
        if (part !== "") rows.at(-1)?.push({ text: part, ...how });
        rows.push([]);
        [part, room] = ["", laterColumns];
      }
      part += cluster;
      room -= width;
    }
    if (part !== "") rows.at(-1)?.push({ text: part, ...how });
  }
  return rows;
}

/** Returns the beginning of a line, with `…` if something is left out. */
export function clipped(line: Line, columns: number): Line {
  if (widthOfLine(line) <= columns) return line;
  const [first = []] = cut(line, Math.max(1, columns - 1));
  return [...first, span("…")];
}

/** Fills a line with spaces. */
export function padded(line: Line, columns: number, align: "left" | "right" | "center" = "left"): Line {
  const missing = Math.max(0, columns - widthOfLine(line));
  const before = align === "left" ? 0 : align === "right" ? missing : Math.floor(missing / 2);
  return [span(" ".repeat(before)), ...line, span(" ".repeat(missing - before))];
}

/** Puts `first` before the first line and `rest`, which is as wide, before the others. */
export function hanging(lines: readonly Line[], first: Line, rest: Line): readonly Line[] {
  return lines.map((line, at) => [...(at === 0 ? first : rest), ...line]);
}

/** Text without a place for a line break, and the space before it. */
interface Word {
  readonly gap: Line;
  readonly word: Span[];
}

/**
 * Wraps a line between words, and between Chinese, Japanese and Korean characters. A longer word keeps its row, whole:
 * the terminal breaks it, and it is copied without a break.
 */
export function wrap(line: Line, columns: number): readonly Line[] {
  if (widthOfLine(line) <= columns) return [line];
  const rows: Span[][] = [[]];
  let width = 0;
  for (const { gap, word } of wordsOf(line)) {
    const [before, wide] = [widthOfLine(gap), widthOfLine(word)];
    const row = rows.at(-1) ?? [];
    if (width > 0 && width + before + wide > columns) {
      rows.push([...word]);
      width = wide;
    } else {
      row.push(...gap, ...word);
      width += before + wide;
    }
  }
  return rows;
}

/** Characters between which a line may break. */
const IDEOGRAPH = /[\u2e80-\u2fff\u3040-\u9fff\uac00-\ud7af\uf900-\ufaff]/;
/** Punctuation that does not begin a row. */
const CLOSING = /^[\u3001\u3002\u3009\u300b\u300d\u300f\u3011\uff01\uff09\uff0c\uff0e\uff1a\uff1b\uff1f]/;

function wordsOf(line: Line): readonly Word[] {
  const words: Word[] = [];
  let gap: Span[] = [];
  let mayJoin = false;
  for (const { text, ...how } of line) {
    for (const [piece] of text.matchAll(/ +|[^ ]+/g)) {
      if (piece.startsWith(" ")) {
        gap.push({ text: piece, ...how });
        mayJoin = false;
        continue;
      }
      for (const part of IDEOGRAPH.test(piece) ? broken(piece) : [piece]) {
        const last = words.at(-1);
        const joins = mayJoin && !IDEOGRAPH.test(part.charAt(0));
        if (last !== undefined && (joins || (gap.length === 0 && CLOSING.test(part))))
          last.word.push({ text: part, ...how });
        else words.push({ gap, word: [{ text: part, ...how }] });
        gap = [];
        mayJoin = !IDEOGRAPH.test(part.at(-1) ?? "");
      }
    }
  }
  if (gap.length > 0) words.push({ gap, word: [] });
  return words;
}

function* broken(piece: string): Generator<string> {
  let run = "";
  for (const cluster of clusters(piece)) {
    if (!IDEOGRAPH.test(cluster)) {
      run += cluster;
      continue;
    }
    if (run !== "") yield run;
    run = "";
    yield cluster;
  }
  if (run !== "") yield run;
}
