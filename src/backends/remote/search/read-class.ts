import { type CharacterSet, ExpressionError, inClass } from "./expression.ts";

/** A text that is read from its beginning. */
export interface Reader {
  /** The next character; "" at the end. */
  peek(): string;
  next(): string;
  /** Whether it goes on with this; if so, it is read. */
  eat(text: string): boolean;
  /** What a sticky expression matches here, read. */
  match(expression: RegExp): RegExpExecArray | undefined;
}

export const WORD = String.raw`[\p{Alphabetic}\p{M}\p{Nd}\p{Pc}\p{Join_Control}]`;

/** As Rust's regex crate understands them: Unicode's. */
const PERL: { readonly [letter: string]: string } = { d: String.raw`\p{Nd}`, s: String.raw`\p{White_Space}`, w: WORD };

const POSIX: { readonly [name: string]: string } = {
  alnum: "0-9A-Za-z",
  alpha: "A-Za-z",
  ascii: String.raw`\x00-\x7f`,
  blank: String.raw`\t\x20`,
  cntrl: String.raw`\x00-\x1f\x7f`,
  digit: "0-9",
  graph: String.raw`\x21-\x7e`,
  lower: "a-z",
  print: String.raw`\x20-\x7e`,
  punct: String.raw`\x21-\x2f\x3a-\x40\x5b-\x60\x7b-\x7e`,
  space: String.raw`\t\n\v\f\r\x20`,
  upper: "A-Z",
  word: "0-9A-Za-z_",
  xdigit: "0-9A-Fa-f",
};

/** "\d", "\P{Greek}": the backslash is read already. `undefined` where it is no class. */
export function readClassEscape(reader: Reader): CharacterSet | undefined {
  const perl = reader.match(/[dswDSW]/y)?.[0];
  if (perl !== undefined) {
    const source = PERL[perl.toLowerCase()] ?? "";
    return { source: perl === perl.toLowerCase() ? `[${source}]` : `[^${source}]`, isWide: true };
  }
  const property = reader.match(/([pP])(?:\{(\^?)([^{}]*)\}|(\w))/y);
  if (property === undefined) return undefined;
  const [, letter, negation = "", name = "", short] = property;
  const isNegated = (letter === "P") !== (negation === "^");
  return { source: `[${isNegated ? "^" : ""}${propertyOf(short ?? name)}]`, isWide: true };
}

function propertyOf(name: string): string {
  const [, key, value] = /^(\w+)(?:=|:)(\w+)$/.exec(name) ?? [];
  const sources =
    key === undefined
      ? [name, `Script_Extensions=${name}`].flatMap((each) => [each, titled(each)])
      : [`${key}=${value}`];
  const source = sources.map((each) => `\\p{${each}}`).find(isSource);
  if (source === undefined) throw new ExpressionError(`the Unicode property ${name} is not known here`);
  return source;
}

/** "greek" becomes "Greek": Rust's crate pays no heed to case. */
function titled(name: string): string {
  return name.replace(/(^|[_=])([a-z])/g, (_, before: string, letter: string) => before + letter.toUpperCase());
}

function isSource(source: string): boolean {
  try {
    return new RegExp(source, "v").source !== "";
  } catch {
    return false;
  }
}

/** A class in brackets: the first one is read already. `escape` reads what stands behind a backslash, as a code. */
export function readClass(reader: Reader, escape: () => number): CharacterSet {
  const isNegated = reader.eat("^");
  let isWide = isNegated;
  let items: string[] = [];
  let before: { source: string; operator: string } | undefined;
  const united = () => {
    const union = `[${items.join("")}]`;
    items = [];
    if (before === undefined) return union;
    const { source, operator } = before;
    return operator === "~~" ? `[[${source}--${union}][${union}--${source}]]` : `[${source}${operator}${union}]`;
  };
  const add = (set: CharacterSet) => {
    items.push(set.source);
    isWide ||= set.isWide;
  };

  for (let isFirst = true; isFirst || !reader.eat("]"); isFirst = false) {
    if (reader.peek() === "") throw new ExpressionError("unclosed character class");
    const operator = reader.match(/&&|--|~~/y)?.[0];
    if (operator !== undefined) {
      before = { source: united(), operator };
      continue;
    }
    const posix = reader.match(/\[:(\^?)(\w+):\]/y);
    if (posix !== undefined) {
      const [, negation = "", name = ""] = posix;
      const source = POSIX[name];
      if (source === undefined) throw new ExpressionError(`unrecognized class [:${name}:]`);
      add({ source: `[${negation}${source}]`, isWide: negation !== "" });
      continue;
    }
    if (reader.eat("[")) {
      add(readClass(reader, escape));
      continue;
    }
    const [from, set] = readItem(reader, escape);
    if (set !== undefined) {
      add(set);
      continue;
    }
    const to = reader.match(/-(?![-\]])/y) === undefined ? from : readEnd(reader, escape);
    if (to < from) throw new ExpressionError("invalid character class range: its end is before its start");
    if (to > 0x7f && to !== from) isWide = true;
    items.push(from === to ? inClass(from) : `${inClass(from)}-${inClass(to)}`);
  }
  const source = united();
  return { source: isNegated ? `[^${source}]` : source, isWide };
}

function readItem(reader: Reader, escape: () => number): readonly [code: number, set?: CharacterSet] {
  if (!reader.eat("\\")) return [reader.next().codePointAt(0) ?? 0];
  const set = readClassEscape(reader);
  return set === undefined ? [escape()] : [0, set];
}

function readEnd(reader: Reader, escape: () => number): number {
  const [code, set] = readItem(reader, escape);
  if (set !== undefined) throw new ExpressionError("invalid character class range: it ends with a class");
  return code;
}
