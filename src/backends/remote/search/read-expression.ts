import { type Expression, ExpressionError, type Place, characterOf } from "./expression.ts";
import { type Reader, readClass, readClassEscape } from "./read-class.ts";

/** Deeper groups are not read. ripgrep's own limit is 250. */
const DEEPEST = 250;

const ALL_BUT_LINE_BREAK = String.raw`[^\n]`;

/**
 * Reads a regular expression of Rust's regex crate, as ripgrep does for one line at a time.
 *
 * @throws ExpressionError when it is none, and where it asks for what cannot be told of one line.
 */
export function readExpression(pattern: string, ignoreCase: boolean): Expression {
  const reader = readerOf(pattern);
  const expression = choice(reader, { ignoreCase }, 0);
  if (reader.peek() !== "") throw new ExpressionError("unopened group");
  return expression;
}

/** They hold from where they are set to the end of their group. */
interface Flags {
  readonly ignoreCase: boolean;
}

function choice(reader: Reader, before: Flags, depth: number): Expression {
  if (depth > DEEPEST) throw new ExpressionError(`groups are nested more than ${DEEPEST} deep`);
  let flags = before;
  let parts: Expression[] = [];
  const branches: Expression[] = [];
  const endBranch = () => {
    branches.push({ kind: "sequence", parts });
    parts = [];
  };
  while (reader.peek() !== "" && reader.peek() !== ")") {
    if (reader.eat("|")) {
      endBranch();
      continue;
    }
    const set = reader.match(/\(\?([a-zA-Z]*)(?:-([a-zA-Z]+))?\)/y);
    if (set !== undefined) {
      flags = flagsOf(flags, set[1] ?? "", set[2] ?? "");
      continue;
    }
    parts.push(repeated(reader, single(reader, flags, depth)));
  }
  endBranch();
  return branches.length === 1 && branches[0] !== undefined ? branches[0] : { kind: "choice", branches };
}

function single(reader: Reader, flags: Flags, depth: number): Expression {
  const character = reader.next();
  if (character === "(") return group(reader, flags, depth);
  if (character === "\\") return escaped(reader, flags);
  if (character === ".") return { kind: "class", set: { source: ALL_BUT_LINE_BREAK, isWide: true }, ignoreCase: false };
  if (character === "^") return place("line start");
  if (character === "$") return place("line end");
  if (character === "[")
    return {
      kind: "class",
      set: readClass(reader, () => code(reader, { inClass: true })),
      ignoreCase: flags.ignoreCase,
    };
  if (/[*+?{]/.test(character))
    throw new ExpressionError(`there is nothing before "${character}" that it could repeat`);
  return characterOf(character, flags.ignoreCase);
}

function group(reader: Reader, before: Flags, depth: number): Expression {
  if (reader.match(/\?(?:<?[=!])/y) !== undefined) throw new ExpressionError("look-around is not supported");
  let flags = before;
  if (reader.match(/\?P?<[A-Za-z_][\w.[\]]*>/y) === undefined && reader.eat("?")) {
    const set = reader.match(/([a-zA-Z]*)(?:-([a-zA-Z]+))?:/y);
    if (set === undefined) throw new ExpressionError("unrecognized flag or group name");
    flags = flagsOf(before, set[1] ?? "", set[2] ?? "");
  }
  const inner = choice(reader, flags, depth + 1);
  if (!reader.eat(")")) throw new ExpressionError("unclosed group");
  return inner;
}

/** Greediness (U) makes no difference to whether a line matches; line breaks (m, s, R) are in none. */
function flagsOf(before: Flags, on: string, off: string): Flags {
  const unknown = /[^imsRuU]/.exec(on)?.[0] ?? /[^isRU]/.exec(off)?.[0];
  if (unknown !== undefined) throw new ExpressionError(`the flag "${unknown}" cannot be used with grep`);
  return { ignoreCase: (before.ignoreCase || on.includes("i")) && !off.includes("i") };
}

/** Lazy ones are as good as greedy ones: whole lines are shown. */
function repeated(reader: Reader, one: Expression): Expression {
  let part = one;
  for (;;) {
    const found = reader.match(/([*+?])\??|\{\s*(\d{1,9})\s*(?:(,)\s*(\d{1,9})?\s*)?\}\??/y);
    if (found === undefined) break;
    const [, sign, from, comma, to] = found;
    const least = sign === undefined ? Number(from) : sign === "+" ? 1 : 0;
    const open = sign === undefined ? comma !== undefined && to === undefined : sign !== "?";
    const most = open ? Infinity : sign === "?" ? 1 : Number(to ?? from);
    if (least > most) throw new ExpressionError("invalid repetition count: its end is before its start");
    part = { kind: "repeat", part, least, most };
  }
  if (reader.peek() === "{") throw new ExpressionError("unclosed or invalid counted repetition");
  return part;
}

const PLACES: { readonly [escape: string]: Place } = {
  "b{start}": "word start",
  "b{end}": "word end",
  "b{start-half}": "word start half",
  "b{end-half}": "word end half",
  b: "boundary",
  B: "no boundary",
  "<": "word start",
  ">": "word end",
};

function escaped(reader: Reader, { ignoreCase }: Flags): Expression {
  const set = readClassEscape(reader);
  if (set !== undefined) return { kind: "class", set, ignoreCase };
  const at = PLACES[reader.match(/b\{(?:start|end)(?:-half)?\}|[bB<>]/y)?.[0] ?? ""];
  if (at !== undefined) return place(at);
  return { kind: "character", code: code(reader, { inClass: false }), ignoreCase };
}

const CONTROLS: { readonly [letter: string]: number } = { t: 9, n: 10, v: 11, f: 12, r: 13, a: 7 };

/** What stands behind a backslash, where it means one character. */
function code(reader: Reader, { inClass }: { readonly inClass: boolean }): number {
  const hex = reader.match(/x([0-9a-fA-F]{2})|u([0-9a-fA-F]{4})|U([0-9a-fA-F]{8})|[xuU]\{([0-9a-fA-F]{1,8})\}/y);
  if (hex !== undefined) {
    const value = Number.parseInt(hex.slice(1).find((digits) => digits !== undefined) ?? "", 16);
    if (value > 0x10ffff || (value >= 0xd800 && value <= 0xdfff))
      throw new ExpressionError("an escape of no character");
    if (value === 0 && !inClass) throw new ExpressionError("a NUL cannot be searched for with grep");
    return known(value);
  }
  const letter = reader.next();
  if (letter === "") throw new ExpressionError("incomplete escape sequence: nothing stands behind the backslash");
  const control = CONTROLS[letter];
  if (control !== undefined) return known(control);
  if (/[0-9]/.test(letter)) throw new ExpressionError("backreferences are not supported");
  if (letter === "A" || letter === "z")
    throw new ExpressionError(`"\\${letter}" cannot be searched for line by line (use ^ or $)`);
  if (/[A-Za-z<>]|[^\0-\x7f]/.test(letter)) throw new ExpressionError(`unrecognized escape sequence "\\${letter}"`);
  return letter.charCodeAt(0);
}

function known(value: number): number {
  if (value === 10) throw new ExpressionError("a line break is in no line");
  return value;
}

function place(at: Place): Expression {
  return { kind: "place", at };
}

function readerOf(text: string): Reader {
  let at = 0;
  return {
    peek: () => String.fromCodePoint(...codes(text, at)),
    next() {
      const character = String.fromCodePoint(...codes(text, at));
      at += character.length;
      return character;
    },
    eat(expected) {
      if (!text.startsWith(expected, at)) return false;
      at += expected.length;
      return true;
    },
    match(expression) {
      expression.lastIndex = at;
      const found = expression.exec(text) ?? undefined;
      at += found?.[0].length ?? 0;
      return found;
    },
  };
}

function codes(text: string, at: number): readonly number[] {
  const next = text.codePointAt(at);
  return next === undefined ? [] : [next];
}
