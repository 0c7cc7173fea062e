import type { Expression } from "./expression.ts";
import { caseVariants, withCaseVariants } from "./letter-case.ts";
import { type Lines, classSource } from "./to-check.ts";

/** An extended regular expression of POSIX, for the locale C, where every byte is a character. */
export interface GrepExpression {
  /** It matches every line that the expression matches. */
  readonly source: string;
  /** And no other. */
  readonly isExact: boolean;
}

/** Counts up to this are given to grep: POSIX knows 255 (RE_DUP_MAX), and each may stand for four bytes. */
const MOST_REPEATS = 60;

/** A byte of a character beyond ASCII. */
const BEYOND = "[^\x01-\x7f]";

const EXACT_NOTHING: GrepExpression = { source: "", isExact: true };

/** As much of the expression as grep can tell. "" matches every line. */
export function toGrep(expression: Expression, lines: Lines): GrepExpression {
  switch (expression.kind) {
    case "character":
      return character(expression.code, expression.ignoreCase);
    case "class":
      return characterClass(expression, lines);
    case "place":
      return place(expression.at, lines);
    case "sequence":
      return joined(expression.parts.map((part) => toGrep(part, lines)));
    case "choice":
      return chosen(expression.branches.map((branch) => toGrep(branch, lines)));
    case "repeat":
      return repeated(expression, lines);
  }
}

function character(code: number, ignoreCase: boolean): GrepExpression {
  const codes = ignoreCase ? caseVariants(code) : [code];
  const ascii = codes.filter((each) => each < 0x80);
  const other = codes.filter((each) => each >= 0x80).map((each) => String.fromCodePoint(each));
  const one =
    ascii.length > 1
      ? [bracket(ascii)]
      : ascii.map((each) => String.fromCharCode(each).replace(/[\\^$.*+?()[{|]/, "\\$&"));
  return { source: either([...one, ...other]), isExact: true };
}

function characterClass(expression: Expression & { readonly kind: "class" }, lines: Lines): GrepExpression {
  const set = expression.ignoreCase ? withCaseVariants(expression.set) : expression.set;
  const source = classSource({ ...expression, set, ignoreCase: false }, lines);
  const has = new RegExp(`^${source}$`, "v");
  const ascii = ASCII.filter((code) => has.test(String.fromCharCode(code)));
  if (set.isWide)
    return { source: either([...(ascii.length === 0 ? [] : [bracket(ascii)]), `${BEYOND}{1,4}`]), isExact: false };
  // What is written in the class beyond ASCII is single characters.
  const beyond = [
    ...new Set(Array.from(set.source.matchAll(/\\u\{([0-9a-f]+)\}/g), ([, hex = ""]) => Number.parseInt(hex, 16))),
  ]
    .filter((code) => code >= 0x80 && has.test(String.fromCodePoint(code)))
    .map((code) => String.fromCodePoint(code));
  if (ascii.length === 0 && beyond.length === 0) return { source: BEYOND, isExact: false };
  return { source: either([...(ascii.length === 0 ? [] : [bracket(ascii)]), ...beyond]), isExact: true };
}

const ASCII: readonly number[] = Array.from({ length: 0x7f }, (_, index) => index + 1);

function place(at: (Expression & { readonly kind: "place" })["at"], { crlf }: Lines): GrepExpression {
  // A byte order mark before the first line is no part of it.
  if (at === "line start") return { source: crlf ? "(^(\ufeff)?|\r)" : "^(\ufeff)?", isExact: false };
  if (at === "line end") return crlf ? { source: "(\r|$)", isExact: false } : { source: "$", isExact: true };
  return { source: "", isExact: false };
}

function joined(parts: readonly GrepExpression[]): GrepExpression {
  return { source: parts.map(({ source }) => source).join(""), isExact: parts.every(({ isExact }) => isExact) };
}

/** An empty branch means nothing to POSIX. */
function chosen(branches: readonly GrepExpression[]): GrepExpression {
  const isExact = branches.every((branch) => branch.isExact);
  const written = [...new Set(branches.map(({ source }) => source).filter((source) => source !== ""))];
  if (written.length === 0) return { source: "", isExact };
  const source = `(${written.join("|")})`;
  return { source: branches.some((branch) => branch.source === "") ? `${source}?` : source, isExact };
}

function repeated({ part, least, most }: Expression & { readonly kind: "repeat" }, lines: Lines): GrepExpression {
  const { source, isExact } = anyByte(part, least, most, lines) ?? toGrep(withoutPlaces(part), lines);
  if (most === 0) return EXACT_NOTHING;
  if (source === "") return { source: "", isExact: isExact || least === 0 };
  const isTooMany = least > MOST_REPEATS || (most !== Infinity && most > MOST_REPEATS);
  const counted = isTooMany
    ? least === 0
      ? "*"
      : "+"
    : (SIGNS[`${least},${most}`] ?? `{${least},${most === Infinity ? "" : most}}`);
  return { source: `${isAtom(source) ? source : `(${source})`}${counted}`, isExact: isExact && !isTooMany };
}

/** What is repeated with a line's start or end in it the GNU library's regex(3) gets wrong, so that there the place is left to us. */
function withoutPlaces(expression: Expression): Expression {
  switch (expression.kind) {
    case "place":
      return { kind: "place", at: "boundary" };
    case "sequence":
      return { ...expression, parts: expression.parts.map(withoutPlaces) };
    case "choice":
      return { ...expression, branches: expression.branches.map(withoutPlaces) };
    case "repeat":
      return { ...expression, part: withoutPlaces(expression.part) };
    default:
      return expression;
  }
}

const SIGNS: { readonly [counts: string]: string } = { "0,Infinity": "*", "1,Infinity": "+", "0,1": "?", "1,1": "{1}" };

/** Of a class that is repeated without end the bytes may be counted alone, which is far quicker. */
function anyByte(part: Expression, least: number, most: number, lines: Lines): GrepExpression | undefined {
  if (part.kind !== "class" || !part.set.isWide || least > 1 || most !== Infinity) return undefined;
  const has = new RegExp(`^${classSource(part, lines)}$`, "v");
  const not = ASCII.filter((code) => code !== 10 && !has.test(String.fromCharCode(code)));
  return { source: not.length === 0 ? "." : bracket(not, "^"), isExact: false };
}

function either(choices: readonly string[]): string {
  return choices.length === 1 && choices[0] !== undefined ? choices[0] : `(${choices.join("|")})`;
}

/** One character, an escaped one, or a bracket expression: what a count behind it is about. */
function isAtom(source: string): boolean {
  return /^(?:[^\\[(^$]|\\.|\[(?:\^?\]?[^\]]*)\])$/.test(source) && source.length === Buffer.byteLength(source);
}

/** A bracket expression of ASCII characters: "]" first, "[" and "-" last, "^" not first. */
function bracket(codes: readonly number[], negation: "" | "^" = ""): string {
  const special = new Set(Array.from("]^[-", (each) => each.charCodeAt(0)));
  const plain = codes.filter((code) => !special.has(code));
  let text = "";
  for (let index = 0; index < plain.length;) {
    const from = plain[index] ?? 0;
    let to = from;
    while (plain[index + to - from + 1] === to + 1) to++;
    const isRun = to - from >= 3;
    text += String.fromCharCode(from) + (isRun ? `-${String.fromCharCode(to)}` : "");
    index += isRun ? to - from + 1 : 1;
  }
  const has = (one: string) => (codes.includes(one.charCodeAt(0)) ? one : "");
  const rest = `${text}${has("[")}`;
  const caret = has("^");
  if (negation === "" && rest === "" && has("]") === "" && caret !== "") return has("-") === "" ? "\\^" : "[-^]";
  return `[${negation}${has("]")}${rest}${caret}${has("-")}]`;
}
