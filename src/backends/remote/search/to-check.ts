import { type Expression, type Place, inClass } from "./expression.ts";
import { caseVariants, withCaseVariants } from "./letter-case.ts";
import { WORD } from "./read-class.ts";

/** What an expression is to be looked for in. */
export interface Lines {
  /** "\r\n" ends a line too. */
  readonly crlf: boolean;
}

/** The same expression for JavaScript, for one line without its line break. Bytes that are no UTF-8 stand in it as surrogates, which nothing matches. */
export function toCheck(expression: Expression, lines: Lines): RegExp {
  return new RegExp(sourceOf(expression, lines), "v");
}

function sourceOf(expression: Expression, lines: Lines): string {
  switch (expression.kind) {
    case "character":
      return expression.ignoreCase
        ? `[${caseVariants(expression.code).map(inClass).join("")}]`
        : inClass(expression.code);
    case "class":
      return classSource(expression, lines);
    case "place":
      return `(?:${(lines.crlf ? AT_CRLF : {})[expression.at] ?? AT[expression.at]})`;
    case "sequence":
      return expression.parts.map((part) => sourceOf(part, lines)).join("");
    case "choice":
      return `(?:${expression.branches.map((branch) => sourceOf(branch, lines)).join("|")})`;
    case "repeat": {
      const { part, least, most } = expression;
      return `(?:${sourceOf(part, lines)}){${least},${most === Infinity ? "" : most}}`;
    }
  }
}

/** What is in a class, as a class of JavaScript: never a line break. */
export function classSource({ set, ignoreCase }: Expression & { readonly kind: "class" }, { crlf }: Lines): string {
  const { source } = ignoreCase ? withCaseVariants(set) : set;
  return `[${source}--[\\n${crlf ? "\\r" : ""}\\p{Cs}]]`;
}

const AT: { readonly [at in Place]: string } = {
  "line start": "^",
  "line end": "$",
  boundary: `(?<=${WORD})(?!${WORD})|(?<!${WORD})(?=${WORD})`,
  "no boundary": `(?<=${WORD})(?=${WORD})|(?<!${WORD})(?!${WORD})`,
  "word start": `(?<!${WORD})(?=${WORD})`,
  "word end": `(?<=${WORD})(?!${WORD})`,
  "word start half": `(?<!${WORD})`,
  "word end half": `(?!${WORD})`,
};

/** Then "\r" ends a line as well, but there is nothing between it and a line break. */
const AT_CRLF: { readonly [at in Place]?: string } = {
  "line start": String.raw`^|(?<=\r)(?!$)`,
  "line end": String.raw`(?=\r)|(?<!\r)$`,
};
