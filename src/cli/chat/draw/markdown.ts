import { Marked } from "@earendil-works/pi-tui";
import { type Line, painted } from "./paint.ts";
import {
  type Drawing,
  type Highlight,
  type Table,
  type Token,
  blockLines,
  codeLines,
  fence,
  headLines,
  rowLines,
  tableOf,
  widthsOf,
} from "./render.ts";
import { cut, safe } from "./text.ts";

/** Draws Markdown while it streams. */
export interface MarkdownStream {
  /** Adds a piece of the text, however it was cut. */
  add(text: string): Drawn;
  /** Ends the text, and returns its last lines. The next text begins anew. */
  end(): readonly string[];
}

export interface Drawn {
  /**
   * Final lines: they do not depend on how the text was cut into pieces. A line of code, or a long word, may be longer
   * than the columns: the terminal breaks it, so that it is copied whole.
   */
  readonly finished: readonly string[];
  /** The unfinished end, in rows that fit. Drawn when it is read; valid until the next call. */
  readonly live: readonly string[];
}

/** How many rows of a long block are held back before they are printed. */
const HELD = 8;
/** How many earlier lines of code are read again to colour the next ones. */
const CODE_CONTEXT = 16;
/** A line without an end is looked at after so many characters, as if it ended there. */
const STEP = 400;
/** A block with more lines is ended, so that reading it again and again does not take long. */
const LONGEST_BLOCK = 200;

const marked = new Marked();
const read = (text: string) => marked.lexer(text) as readonly Token[];

let highlight: Highlight = () => undefined;
let loading: Promise<void> | undefined;

/** Loads what colours code. Until then code is drawn without colours. Never rejects. */
export function loadHighlighter(): Promise<void> {
  loading ??= import("./highlight.ts").then(
    (loaded) => void (highlight = loaded.highlight),
    () => undefined,
  );
  return loading;
}

/** Code between fences that has not ended. */
interface Fence {
  readonly language: string;
  /** The indentation of its fence, which its lines may have too. */
  readonly indent: RegExp;
  readonly end: RegExp;
  /** The last lines that are printed. */
  context: readonly string[];
  held: string[];
}

/** A table whose widths no longer change, because its first rows are printed. */
interface LongTable {
  readonly table: Table;
  readonly source: readonly string[];
  readonly widths: readonly number[] | undefined;
  readonly columns: number;
}

/** Lines that are final, and what comes between them. */
function printer() {
  let isBegun = false;
  let out: string[] = [];
  const self = {
    /** Whether an empty line comes before the next line, unless it is the first of the text. */
    isApart: false,
    gap: (): readonly Line[] => (self.isApart && isBegun ? [[]] : []),
    print(lines: readonly Line[]) {
      if (lines.length === 0) return;
      out.push(...[...self.gap(), ...lines].map(painted));
      [self.isApart, isBegun] = [false, true];
    },
    take(): readonly string[] {
      const lines = out;
      out = [];
      return lines;
    },
    restart: () => void ([self.isApart, isBegun] = [false, false]),
  };
  return self;
}

/**
 * Cuts pieces of text into lines.
 *
 * @param step is called with the beginnings of a long line, at fixed places, so that it does not matter how it was cut
 */
function lineCutter(step: (begun: string) => void, completeLine: (line: string) => void) {
  let partial = "";
  /** How much of `partial` was looked at as if it had ended. */
  let seen = 0;
  const steps = (line: string) => {
    while (line.length >= seen + STEP) {
      seen += STEP;
      step(line.slice(0, seen));
    }
  };
  return {
    partial: () => partial,
    take(given: string) {
      partial += given;
      for (let end = partial.indexOf("\n"); end >= 0; end = partial.indexOf("\n")) {
        const line = partial.slice(0, end).replace(/\r$/, "");
        steps(line);
        completeLine(safe(line));
        partial = partial.slice(end + 1);
        seen = 0;
      }
      steps(partial);
    },
  };
}

/** @param columns returns the width of the terminal */
export function markdownStream(columns: () => number): MarkdownStream {
  const page = printer();
  const { print } = page;
  /** The complete lines of the block that has not ended. */
  let block: string[] = [];
  /** How many rows of the block are printed, and how wide they were. */
  let printed = 0;
  let blockColumns: number | undefined;
  /** The number of the next item, if the block is one, and where the text of the item begins. */
  let item: { readonly number: number | undefined; readonly text: number; readonly kind: string } | undefined;
  let code: Fence | undefined;
  let table: LongTable | undefined;
  void loadHighlighter();

  const drawing = (): Drawing => ({ columns: Math.max(20, blockColumns ?? columns()), highlight });
  const linesOf = (text: string) => blockLines(read(text), drawing(), item?.number);

  /** Prints what is not printed yet of these lines of the block, which are final. */
  const finish = (source: readonly string[]) => {
    print(linesOf(source.join("\n")).slice(printed));
    page.isApart = (source.at(-1) ?? "").trim() === "" || (source.length === 0 && page.isApart);
    [printed, blockColumns] = [0, undefined];
  };
  const finishBlock = () => {
    if (block.length > 0) finish(block);
    [block, item] = [[], undefined];
  };

  const printCode = (fenced: Fence) => {
    print(codeRows(fenced, fenced.held));
    fenced.context = [...fenced.context, ...fenced.held].slice(-CODE_CONTEXT);
    fenced.held = [];
  };
  const codeLine = (fenced: Fence, line: string) => {
    if (fenced.end.test(line)) {
      printCode(fenced);
      print([fence()]);
      code = undefined;
      return;
    }
    fenced.held.push(line.replace(fenced.indent, ""));
    if (fenced.held.length >= HELD) printCode(fenced);
  };

  const completeLine = (line: string) => {
    if (code !== undefined) return codeLine(code, line);
    const row = rowIn(table, line);
    if (row !== undefined) return print(row);
    table = undefined;
    if (line.trim() === "") {
      if (item !== undefined) return void block.push("");
      if (block.length > 0) finishBlock();
      page.isApart = true;
      return;
    }
    const next = itemOf(line, item?.text ?? 4);
    if (next !== undefined && item !== undefined) {
      const { number, kind } = item;
      finish(block);
      const follows = kind === next.kind && number !== undefined;
      [block, item] = [[line], { ...next, number: follows ? number + 1 : next.number }];
    } else {
      block.push(line);
    }
    const text = block.join("\n");
    const tokens = read(text);
    const blocks = tokens.filter(({ type }) => type !== "space");
    const last = blocks.at(-1);
    if (last === undefined) return;
    if (blocks.length > 1) {
      const before = tokens.slice(0, tokens.lastIndexOf(last)).reduce((sum, { raw }) => sum + raw.length, 0);
      const source = text.slice(0, before);
      finish(source.replace(/\n$/, "").split("\n"));
      [block, item] = [text.slice(before).split("\n"), undefined];
    }
    if (last.type === "list") item ??= itemOf(block[0] ?? "", 4);
    else item = undefined;
    if (last.type === "code" && block.length === 1) code = fenceOf(line);
    if (code !== undefined) {
      block = [];
      print([fence(code.language)]);
    } else if (last.type === "heading" || last.type === "hr" || block.length >= LONGEST_BLOCK) finishBlock();
    else if (last.type === "table" && (last.rows?.length ?? 0) >= HELD) printTable(last);
    else if (last.type !== "table") printSettled(block.join("\n"));
  };
  const printTable = (token: Token) => {
    const { columns: wide } = drawing();
    const whole = tableOf(token);
    const widths = widthsOf(whole, wide);
    table = { table: whole, source: block.slice(0, 2), widths, columns: wide };
    print(headLines(whole, widths, wide));
    for (const row of whole.rows) print(rowLines(whole, row, widths, wide));
    block = [];
  };
  /** Prints the first rows of a long block that what follows does not change. */
  const printSettled = (text: string) => {
    if (text.length < STEP && text.split("\n").length < HELD) return;
    if (/[*_~`[<]/.test(unsettled(read(text)))) return;
    const drawn = linesOf(text);
    const most = drawn.length - 2;
    if (most - printed < HELD) return;
    blockColumns ??= columns();
    print(drawn.slice(printed, most));
    printed = most;
  };

  const live = (): readonly string[] => {
    const { columns: wide } = drawing();
    const line = shownPart(lines.partial());
    const rows = (drawn: readonly Line[]) => drawn.flatMap((each) => cut(each, wide)).map(painted);
    if (code !== undefined) {
      const isEnd = line !== "" && /^ *[`~]+$/.test(line);
      const held = [...code.held, ...(line === "" || isEnd ? [] : [line.replace(code.indent, "")])];
      return rows([...codeRows(code, held), fence()]);
    }
    const row = line.includes("|") ? rowIn(table, line) : undefined;
    if (row !== undefined) return rows(row);
    const source = [...block, ...(line === "" ? [] : [line])];
    if (source.join("").trim() === "") return [];
    return rows([...page.gap(), ...linesOf(asItWillBe(source)).slice(printed)]);
  };

  const lines = lineCutter((begun) => {
    if (code === undefined && table === undefined && block.length < LONGEST_BLOCK)
      printSettled([...block, safe(begun)].join("\n"));
  }, completeLine);

  return {
    add(text) {
      lines.take(text);
      return {
        finished: page.take(),
        get live() {
          return live();
        },
      };
    },
    end() {
      if (lines.partial() !== "") lines.take("\n");
      if (code !== undefined) printCode(code);
      finishBlock();
      [code, table] = [undefined, undefined];
      page.restart();
      return page.take();
    },
  };
}

/** The item that a line begins, if it does: not further in than the text of the item before. */
function itemOf(line: string, within: number) {
  const [, indent = "", marker = "", space = ""] = /^( *)([-+*]|\d{1,9}[.)])( +|$)/.exec(line) ?? [];
  if (marker === "" || indent.length >= within || /^ *([-*_])(?: *\1){2,} *$/.test(line)) return undefined;
  const text = indent.length + marker.length + (space.length > 4 ? 1 : Math.max(1, space.length));
  return { number: /\d/.test(marker) ? Number.parseInt(marker, 10) : undefined, text, kind: marker.slice(-1) };
}

function fenceOf(line: string): Fence | undefined {
  const [, indent = "", mark = "", language = ""] = /^( *)(`{3,}|~{3,}) *(.*)$/.exec(line) ?? [];
  if (mark === "") return undefined;
  const end = new RegExp(`^ {0,3}${mark.charAt(0)}{${mark.length},} *$`);
  return { language, end, indent: new RegExp(`^ {0,${indent.length}}`), context: [], held: [] };
}

/** These lines, which follow the printed ones, in colours. */
const codeRows = ({ context, language }: Fence, lines: readonly string[]) =>
  lines.length === 0 ? [] : codeLines([...context, ...lines].join("\n"), language, highlight).slice(-lines.length);

/** A line as a row of the table; `undefined` if it is none. */
function rowIn(long: LongTable | undefined, line: string): readonly Line[] | undefined {
  if (long === undefined) return undefined;
  const [token, ...more] = read([...long.source, line].join("\n"));
  const row = token?.type === "table" && more.length === 0 ? tableOf(token).rows[0] : undefined;
  return row && rowLines(long.table, row, long.widths, long.columns);
}

/** The plain text of a block in which a mark of Markdown may still begin something. */
function unsettled(tokens: readonly Token[]): string {
  return tokens
    .map((token) => {
      if (token.type === "list") return unsettled(token.items ?? []);
      if (token.type === "text" && token.tokens === undefined)
        return (token.text ?? "").replaceAll(/(?<=\s|^)[*_~<]+(?=\s)|(?<=[\p{L}\p{N}])_+(?=[\p{L}\p{N}])/gu, "");
      return unsettled(token.tokens ?? []);
    })
    .join("\n");
}

/**
 * The part of an unfinished line that is drawn: without an escape sequence or a cluster that may continue, such as a
 * joiner, a selector or half a character, and without half of a fence.
 */
function shownPart(partial: string): string {
  const whole = partial.replace(/(?:[\u200c\u200d\ufe0f\r]|[\ud800-\udbff]|\x1b[^\x07]{0,20})+$/, "");
  return /^ *(?:`{1,2}|~{1,2})$/.test(whole) ? "" : safe(whole);
}

/** Completes what is half written at the end, so that it is drawn as what it will be. */
function asItWillBe(lines: readonly string[]): string {
  const last = lines.at(-1) ?? "";
  const before = lines.slice(0, -1);
  if (/^ *\|/.test(last) && (before.length === 0 || (before.length === 1 && /^[ |:-]+$/.test(last)))) {
    const [head = last] = before;
    const cells = head.replace(/^ *\||\| *$/g, "").split("|").length;
    return [head, `|${" - |".repeat(cells)}`].join("\n");
  }
  const text = last.replace(/\[([^\]]*)\]\([^)\s]*$/, "$1");
  const ticks = text.match(/`+/g) ?? [];
  if (ticks.length % 2 === 1 && ticks.at(-1) === "`") return [...before, `${text}\``].join("\n");
  const bare = text.replaceAll(/`[^`]*`/g, "");
  const isBold = (bare.match(/\*\*/g) ?? []).length % 2 === 1 && /\*\*\S/.test(bare);
  return [...before, isBold ? `${text.replace(/\*$/, "")}**` : text].join("\n");
}
