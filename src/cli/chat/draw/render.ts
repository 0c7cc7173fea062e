import { type Line, type Look, type Span, isColoured } from "./paint.ts";
import { cut, hanging, padded, span, widthOfLine, wrap } from "./text.ts";

/** A part of a Markdown document, as Marked reads it (https://marked.js.org/using_pro#lexer). */
export interface Token {
  readonly type: string;
  readonly raw: string;
  readonly text?: string;
  readonly tokens?: readonly Token[];
  readonly depth?: number;
  readonly href?: string;
  readonly lang?: string;
  readonly checked?: boolean;
  readonly ordered?: boolean;
  readonly start?: number | "";
  readonly items?: readonly Token[];
  readonly header?: readonly Token[];
  readonly align?: readonly (Align | null)[];
  readonly rows?: readonly (readonly Token[])[];
  /**
   * Of the type "carried", which Marked does not have: a row that is drawn already, and that what follows continues.
   */
  readonly line?: Line;
}

type Align = "left" | "right" | "center";

/** Colours the lines of code; `undefined` if the language is unknown. */
export type Highlight = (code: string, language: string) => readonly Line[] | undefined;

/** How blocks are drawn. */
export interface Drawing {
  readonly columns: number;
  readonly highlight: Highlight;
}

/** Draws blocks, with an empty line where the source has some. Lines of code, and long words, may be too long. */
export function blockLines(tokens: readonly Token[], drawing: Drawing, start?: number): readonly Line[] {
  const lines: Line[] = [];
  let isApart = false;
  for (const token of tokens) {
    if (token.type === "space") {
      isApart = lines.length > 0;
      continue;
    }
    if (isApart) lines.push([]);
    lines.push(...linesOf(token, drawing, start));
    isApart = /\n[ ]*\n$/.test(token.raw);
  }
  return lines;
}

function linesOf(token: Token, drawing: Drawing, start?: number): readonly Line[] {
  const { columns, highlight } = drawing;
  switch (token.type) {
    case "heading": {
      const marks = isColoured() ? [] : [span(`${"#".repeat(token.depth ?? 1)} `)];
      return wrapped(
        [...marks, ...inline(token.tokens, token.depth === 1 ? ["bold", "underline"] : ["bold"])],
        columns,
      );
    }
    case "code": {
      const { lang = "", text = "" } = token;
      const code = codeLines(text, lang, highlight);
      return /^ *[`~]{3}/.test(token.raw) ? [fence(lang), ...code, fence()] : hanging(code, INDENT, INDENT);
    }
    case "list":
      return listLines(token, drawing, start);
    case "blockquote": {
      const bar = [span("│ ", "dim")];
      const lines = blockLines(token.tokens ?? [], { ...drawing, columns: columns - 2 });
      return hanging(
        lines.flatMap((line) => cut(line, Math.max(1, columns - 2))),
        bar,
        bar,
      );
    }
    case "table":
      return tableLines(tableOf(token), columns);
    case "hr":
      return [[span("─".repeat(columns), "dim")]];
    case "html":
    case "def":
      return wrapped([span(token.raw.trimEnd())], columns);
    default:
      return wrapped(inline(token.tokens ?? [token]), columns);
  }
}

const INDENT: Line = [span("    ")];

/** The line above code, or below it. Drawn as in Markdown: it is known, and copies. */
export function fence(language = ""): Line {
  return [span(`\`\`\`${language}`, "dim")];
}

export function codeLines(code: string, language: string, highlight: Highlight): readonly Line[] {
  return highlight(code, language.split(/\s/)[0] ?? "") ?? code.split("\n").map((line) => [span(line)]);
}

/** @param start the number of the first item, if it continues a list */
function listLines({ items = [], ordered, start: written, raw }: Token, drawing: Drawing, start?: number): Line[] {
  const lines: Line[] = [];
  const first = start ?? (written === "" || written === undefined ? 1 : written);
  const end = /^ *\d+(\))/.test(raw) ? ")" : ".";
  for (const [at, item] of items.entries()) {
    const [box, ...others] = item.tokens ?? [];
    const isTask = box?.type === "checkbox"; // in a list without empty lines, else in the first paragraph
    const marker = `${ordered === true ? `${first + at}${end} ` : "- "}${isTask ? checkbox(box) : ""}`;
    const columns = Math.max(10, drawing.columns - marker.length);
    const content = blockLines(isTask ? others : (item.tokens ?? []), { ...drawing, columns });
    lines.push(...hanging(content.length === 0 ? [[]] : content, [span(marker)], [span(" ".repeat(marker.length))]));
    if (at < items.length - 1 && /\n[ ]*\n$/.test(item.raw)) lines.push([]);
  }
  return lines;
}

function checkbox({ checked }: Token): string {
  return checked === true ? "[x] " : "[ ] ";
}

/** Wraps text, whose own line breaks are kept. */
function wrapped(line: Line, columns: number): readonly Line[] {
  return lineBreaks(line).flatMap((part) => wrap(part, columns));
}

function lineBreaks(line: Line): readonly Line[] {
  const lines: Span[][] = [[]];
  for (const { text, ...how } of line) {
    for (const [at, part] of text.split("\n").entries()) {
      if (at > 0) lines.push([]);
      if (part !== "") lines.at(-1)?.push({ text: part, ...how });
    }
  }
  return lines;
}

const STYLES: { readonly [type: string]: Look } = { strong: "bold", em: "italic", del: "strikethrough" };

/** Draws text with emphasis, code and links. Line breaks are in the text. */
function inline(tokens: readonly Token[] = [], looks: readonly Look[] = [], link?: string): Span[] {
  return tokens.flatMap((token): Span[] => {
    const { type, text = "", raw, href = "" } = token;
    const how = (...more: readonly Look[]) => ({ looks: [...looks, ...more], ...(link !== undefined && { link }) });
    switch (type) {
      case "strong":
      case "em":
      case "del":
        return inline(token.tokens, [...looks, STYLES[type] ?? "bold"], link);
      case "codespan":
        return [{ text: isColoured() ? text : `\`${text}\``, ...how("cyan") }];
      case "link":
      case "image":
        return linked(token, href, looks);
      case "br":
        return [{ text: "\n" }];
      case "carried":
        return [...(token.line ?? [])];
      case "checkbox":
        return [{ text: checkbox(token), ...how() }];
      case "html":
        return [{ text: /^<br\s*\/?>$/i.test(raw) ? "\n" : raw, ...how() }];
      default:
        return token.tokens === undefined ? [{ text: unescaped(text), ...how() }] : inline(token.tokens, looks, link);
    }
  });
}

/** A link, and where it leads unless its text says so. Other than web and mail addresses are only text. */
function linked(token: Token, href: string, looks: readonly Look[]): Span[] {
  const url = linkTarget(href);
  const shown = token.type === "image" ? [span(token.text === "" ? "image" : (token.text ?? ""), ...looks)] : undefined;
  const text = shown ?? inline(token.tokens, [...looks, "underline"], url);
  const isSaid = text.map((part) => part.text).join("") === href || `mailto:${token.text}` === href;
  return isSaid || href === "" ? text : [...text, span(` (${href})`, ...looks, "dim")];
}

/** Returns a URL as the terminal is given it: ASCII, without characters that could end the escape sequence. */
function linkTarget(href: string): string | undefined {
  if (!URL.canParse(href)) return undefined;
  const url = new URL(href);
  const isPlain = /^[\x21-\x7e]{1,2000}$/.test(url.href);
  return isPlain && ["http:", "https:", "mailto:"].includes(url.protocol) ? url.href : undefined;
}

const ENTITIES: { readonly [entity: string]: string } = {
  ...{ "&amp;": "&", "&lt;": "<", "&gt;": ">", "&quot;": '"', "&#39;": "'", "&nbsp;": " " },
};

function unescaped(text: string): string {
  return text.replaceAll(/&(?:amp|lt|gt|quot|#39|nbsp);/g, (entity) => ENTITIES[entity] ?? entity);
}

/** The cells of a table, drawn without their widths. */
export interface Table {
  readonly header: readonly Line[];
  readonly rows: readonly (readonly Line[])[];
  readonly align: readonly Align[];
}

export function tableOf({ header = [], rows = [], align = [] }: Token): Table {
  const cell = ({ tokens }: Token) => inline(tokens);
  return {
    header: header.map(({ tokens }) => inline(tokens, ["bold"])),
    rows: rows.map((row) => row.map(cell)),
    align: align.map((each) => each ?? "left"),
  };
}

const GAP = 3;
/** A column of a table whose text is wrapped is not narrower, unless its text is. */
const NARROWEST = 8;

/** The widths of the columns; `undefined` if the table is drawn as a list, because words would be cut. */
export function widthsOf({ header, rows }: Table, columns: number): readonly number[] | undefined {
  const cellsOf = (at: number) => [header, ...rows].map((row) => row[at] ?? []);
  const wide = header.map((_, at) => Math.max(1, ...cellsOf(at).flatMap(lineBreaks).map(widthOfLine)));
  const room = columns - GAP * (header.length - 1);
  const total = (widths: readonly number[]) => widths.reduce((sum, width) => sum + width, 0);
  if (total(wide) <= room) return wide;
  const least = header.map((_, at) => {
    const longest = Math.max(1, ...cellsOf(at).flatMap((cell) => wrapped(cell, 1).map(widthOfLine)));
    return Math.max(longest, Math.min(NARROWEST, wide[at] ?? 1));
  });
  if (total(least) > room) return undefined;
  // What is left goes to the columns that need it, so that the narrower ones are whole.
  const widths = [...least];
  for (let left = room - total(least); left > 0;) {
    const needy = widths.flatMap((width, at) => (width < (wide[at] ?? 0) ? [at] : []));
    const share = Math.max(1, Math.floor(left / Math.max(1, needy.length)));
    if (needy.length === 0) break;
    for (const at of needy.slice(0, left)) {
      const more = Math.min(share, (wide[at] ?? 0) - (widths[at] ?? 0), left);
      widths[at] = (widths[at] ?? 0) + more;
      left -= more;
    }
  }
  return widths;
}

function tableLines(table: Table, columns: number): readonly Line[] {
  const widths = widthsOf(table, columns);
  const rows = table.rows.map((row) => rowLines(table, row, widths, columns));
  const isTall = rows.some((row) => row.length > 1);
  const apart = widths !== undefined && isTall ? [rule(widths)] : [];
  return [...headLines(table, widths, columns), ...rows.flatMap((row, at) => (at === 0 ? row : [...apart, ...row]))];
}

/** The header of a table, and the rule below it. A table that is drawn as a list has none. */
export function headLines(table: Table, widths: readonly number[] | undefined, columns: number): readonly Line[] {
  return widths === undefined ? [] : [...rowLines(table, table.header, widths, columns), rule(widths)];
}

function rule(widths: readonly number[]): Line {
  return [span(widths.map((width) => "─".repeat(width)).join("─┼─"), "dim")];
}

/** A row. Without widths, a line for each cell: its column's name and its text. */
export function rowLines(
  { header, align }: Table,
  row: readonly Line[],
  widths: readonly number[] | undefined,
  columns: number,
): readonly Line[] {
  if (widths === undefined) {
    const cells = row.flatMap((cell, at) =>
      widthOfLine(cell) === 0 ? [] : wrapped([...(header[at] ?? []), span(": "), ...cell], columns - 2),
    );
    return hanging(cells, [span("- ")], [span("  ")]);
  }
  const cells = widths.map((width, at) => wrapped(row[at] ?? [], width).flatMap((line) => cut(line, width)));
  const height = Math.max(1, ...cells.map((lines) => lines.length));
  return Array.from({ length: height }, (_, line) =>
    widths.flatMap((width, at): Line => {
      const isLast = at === widths.length - 1;
      const text = cells[at]?.[line] ?? [];
      const cell = isLast && align[at] === "left" ? text : padded(text, width, align[at]);
      return isLast ? cell : [...cell, span(" │ ", "dim")];
    }),
  );
}
