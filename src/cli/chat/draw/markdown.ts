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
/** A text is looked at after so many characters, as if it ended there: what is settled is printed and forgotten. */
const STEP = 400;
/** In a paragraph, marks of Markdown that nothing closes are text after so many characters. */
const LONGEST_OPEN = 1_000;
/** A longer quote, or row of a table, is ended: it is read again and again until then. */
const LONGEST_PART = 4_000;
/** A longer word is broken. */
const LONGEST_WORD = 65_536;
/** Stands for the forgotten beginning of a paragraph while the rest is read. */
const MARK = "\ue000";
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
 * @param step is called with the beginning of a long line and returns what is left of it to be drawn. It is called at
 *   fixed places, so that it does not matter how the text was cut
 */
function lineCutter(step: (begun: string) => string, completeLine: (line: string) => void) {
  let partial = "";
  /** The length of `partial` at which it is looked at. */
  let next = STEP;
  const steps = () => {
    while (partial.length - (partial.endsWith("\r") ? 1 : 0) >= next) {
      const taken = partial.slice(0, next);
      const whole = withoutHalf(taken);
      const begun = safe(whole);
      const left = step(begun);
      if (left === begun) next += Math.max(STEP, next >> 2);
      else {
        const kept = left + taken.slice(whole.length);
        partial = kept + partial.slice(next);
        next = kept.length + STEP;
      }
    }
  };
  return {
    partial: () => partial,
    take(given: string) {
      for (const [piece] of given.matchAll(/[^\n]{1,400}|\n/g)) {
        if (piece !== "\n") {
          partial += piece;
          steps();
          continue;
        }
        const line = partial.replace(/\r$/, "");
        [partial, next] = ["", STEP];
        completeLine(safe(line));
      }
    },
  };
}

/** @param columns returns the width of the terminal */
export function markdownStream(columns: () => number): MarkdownStream {
  const page = printer();
  const { print } = page;
  /** The complete lines of the block that has not ended, without its forgotten beginning. */
  let block: string[] = [];
  /** The last row of the forgotten beginning of the block, which is not printed: the rest of the block follows it. */
  let carried: Line | undefined;
  /** How many rows of the block are printed, and how wide they were. */
  let printed = 0;
  let blockColumns: number | undefined;
  /** The number of the next item, if the block is one, and where the text of the item begins. */
  let item: { readonly number: number | undefined; readonly text: number; readonly kind: string } | undefined;
  let code: Fence | undefined;
  let table: LongTable | undefined;
  void loadHighlighter();

  const drawing = (): Drawing => ({ columns: Math.max(20, blockColumns ?? columns()), highlight });
  const readBlock = (text: string) => (carried === undefined ? read(text) : continued(read(MARK + text), carried));
  const linesOf = (tokens: readonly Token[]) => blockLines(tokens, drawing(), item?.number);

  /** Prints what is not printed yet of these lines of the block, which are final. */
  const finish = (source: readonly string[]) => {
    const text = source.join("\n");
    const isNothing = carried?.length === 0 && text.trim() === "";
    if (!isNothing) print(linesOf(readBlock(text)).slice(printed));
    const isBlank = (source.at(-1) ?? "").trim() === "" && (carried === undefined || source.length > 1);
    page.isApart = isBlank || (source.length === 0 && page.isApart);
    [printed, blockColumns, carried] = [0, undefined, undefined];
  };
  const finishBlock = () => {
    if (block.length > 0 || carried !== undefined) finish(block);
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
    const continues = carried !== undefined && block.length === 0;
    if (line.trim() === "" && !continues) {
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
    const tokens = readBlock(text);
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
    else if (last.type === "blockquote" && text.length >= LONGEST_PART) finishBlock();
    else if (last.type === "table" && (last.rows?.length ?? 0) >= HELD) printTable(last);
    else if (last.type !== "table") block = printSettled(block.join("\n")).split("\n");
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
  /**
   * Prints the first rows of a long block that what follows does not change. Those of a paragraph are forgotten, so
   * that they are not read and drawn again.
   *
   * @returns what is left of the text of the block
   */
  const printSettled = (text: string): string => {
    if (text.length < STEP && text.split("\n").length < HELD) return text;
    const tokens = readBlock(text);
    const [first] = tokens;
    const isParagraph = first?.type === "paragraph" && tokens.length === 1;
    const settled = isParagraph && !/(?:^|\n) *\|[^\n]*$/.test(text) ? settledEnd(first.tokens ?? [], text) : 0;
    if (settled > 0) return forget(text, settled);
    if (text.length >= (isParagraph ? LONGEST_OPEN : 4 * LONGEST_PART)) {
      const end = lastGap(text, text.length, 0);
      if (end > 0) return forget(text, end);
      if (text.length >= LONGEST_WORD) return forget(text, text.length);
    }
    if (isParagraph || /[*_~`[<]/.test(unsettled(tokens))) return text;
    const drawn = linesOf(tokens);
    const most = drawn.length - 2;
    if (most - printed < HELD) return text;
    blockColumns ??= columns();
    print(drawn.slice(printed, most));
    printed = most;
    return text;
  };
  /** Prints the rows of the beginning of a block except the last one, which the rest continues. Returns the rest. */
  const forget = (text: string, end: number): string => {
    const drawn = linesOf(readBlock(text.slice(0, end))).slice(printed);
    const isBroken = end === text.length;
    if (drawn.length < 2 && !isBroken) return text;
    print(isBroken ? drawn : drawn.slice(0, -1));
    carried = isBroken ? [] : drawn.at(-1);
    [printed, blockColumns, item] = [0, undefined, undefined];
    return text.slice(end);
  };

  const live = (): readonly string[] => {
    const { columns: wide } = drawing();
    // Of a very long line of code, only the end is on the screen.
    const line = shownPart(code === undefined ? lines.partial() : lines.partial().slice(-LONGEST_PART));
    const rows = (drawn: readonly Line[]) => drawn.flatMap((each) => cut(each, wide)).map(painted);
    if (code !== undefined) {
      const isEnd = line !== "" && /^ *[`~]+$/.test(line);
      const held = [...code.held, ...(line === "" || isEnd ? [] : [line.replace(code.indent, "")])];
      return rows([...codeRows(code, held), fence()]);
    }
    const row = line.includes("|") ? rowIn(table, line) : undefined;
    if (row !== undefined) return rows(row);
    const source = [...block, ...(line === "" ? [] : [line])];
    if (source.join("").trim() === "" && (carried ?? []).length === 0) return [];
    if (carried === undefined) return rows([...page.gap(), ...linesOf(read(asItWillBe(source))).slice(printed)]);
    const [first = "", ...others] = source;
    return rows([...page.gap(), ...linesOf(continued(read(asItWillBe([MARK + first, ...others])), carried))]);
  };

  const lines = lineCutter((begun) => {
    if (code !== undefined || (table !== undefined && begun.length < LONGEST_PART)) return begun;
    table = undefined;
    const left = printSettled([...block, begun].join("\n")).split("\n");
    block = left.slice(0, -1);
    return left.at(-1) ?? "";
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

/** The same tokens, the first of which continues a row: it was read with `MARK` before it. */
function continued(tokens: readonly Token[], row: Line): readonly Token[] {
  const [first, ...others] = tokens;
  if (first === undefined) return [];
  const raw = first.raw.slice(MARK.length);
  const [begin, ...more] = ["paragraph", "heading"].includes(first.type) ? (first.tokens ?? []) : [];
  const rest =
    begin?.type === "text" && begin.raw.startsWith(MARK)
      ? [{ ...begin, raw: begin.raw.slice(MARK.length), text: (begin.text ?? "").slice(MARK.length) }, ...more]
      : [{ type: "text", raw, text: raw }];
  return [{ type: "paragraph", raw, tokens: [{ type: "carried", raw: "", line: row }, ...rest] }, ...others];
}

/**
 * Where the text of a paragraph may be cut, so that nothing that follows changes how its beginning is drawn: before a
 * space or a line break, and before a mark that may still begin something. 0 if nowhere.
 */
function settledEnd(tokens: readonly Token[], text: string): number {
  if (tokens.map(({ raw }) => raw).join("") !== text) return 0;
  let [at, end] = [0, 0];
  for (const token of tokens) {
    const isPlain = token.type === "text" && token.tokens === undefined;
    const open = isPlain ? withoutLoneMarks(token.raw).search(OPEN_MARK) : unsettled([token]).search(/[*_~`[<]/);
    if (open >= 0 && !isPlain) break;
    if (isPlain) end = Math.max(end, lastGap(text, at + (open < 0 ? token.raw.length : open), at));
    if (open >= 0) break;
    at += token.raw.length;
  }
  return end;
}

/** A mark that may begin something: not a bracket that is closed without an address, not a "less than". */
const OPEN_MARK = /[*_~`]|\[(?![^[\]]*\](?![([]|$))|<(?=[a-z/!?][^<>]*$)/i;

/** The last space or line break before `to` that follows a word, not before `from`; 0 if there is none. */
function lastGap(text: string, to: number, from: number): number {
  for (let at = to - 1; at >= Math.max(1, from); at--)
    if (/[ \n]/.test(text.charAt(at)) && /[^\s\\]/.test(text.charAt(at - 1))) return at;
  return 0;
}

/** Replaces marks that begin nothing, because spaces are around them or they are inside a word. */
function withoutLoneMarks(text: string): string {
  const lone = /(?<=\s|^)[*_~<]+(?=\s)|(?<=[\p{L}\p{N}])_+(?=[\p{L}\p{N}])/gu;
  return text.replaceAll(lone, (marks) => "x".repeat(marks.length));
}

/** The plain text of a block in which a mark of Markdown may still begin something. */
function unsettled(tokens: readonly Token[]): string {
  return tokens
    .map((token) => {
      if (token.type === "list") return unsettled(token.items ?? []);
      if (token.type === "text" && token.tokens === undefined) return withoutLoneMarks(token.text ?? "");
      return unsettled(token.tokens ?? []);
    })
    .join("\n");
}

/**
 * The part of an unfinished line that is drawn: without an escape sequence or a cluster that may continue, such as a
 * joiner, a selector or half a character, and without half of a fence.
 */
function shownPart(partial: string): string {
  const whole = withoutHalf(partial);
  return /^ *(?:`{1,2}|~{1,2})$/.test(whole) ? "" : safe(whole);
}

function withoutHalf(partial: string): string {
  const half = /(?:[\u200c\u200d\ufe0f\r]|[\ud800-\udbff]|\x1b[^\x07]{0,20})+$/.exec(partial.slice(-100));
  return half === null ? partial : partial.slice(0, partial.length - half[0].length);
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
