/** A part of a regular expression as ripgrep reads it. */
export type Expression =
  | { readonly kind: "character"; readonly code: number; readonly ignoreCase: boolean }
  | { readonly kind: "class"; readonly set: CharacterSet; readonly ignoreCase: boolean }
  | { readonly kind: "place"; readonly at: Place }
  | { readonly kind: "sequence"; readonly parts: readonly Expression[] }
  | { readonly kind: "choice"; readonly branches: readonly Expression[] }
  | { readonly kind: "repeat"; readonly part: Expression; readonly least: number; readonly most: number };

/** Where something is, without a character of its own. */
export type Place =
  | "line start"
  | "line end"
  | "boundary"
  | "no boundary"
  | "word start"
  | "word end"
  | "word start half"
  | "word end half";

/** Characters, as JavaScript writes a class with the flag v. */
export interface CharacterSet {
  readonly source: string;
  /** It may have any characters beyond ASCII in it; false: those of `source` that are written there. */
  readonly isWide: boolean;
}

/** Why an expression cannot be read. */
export class ExpressionError extends Error {}

/** A text as an expression that matches exactly it. */
export function literalExpression(text: string, ignoreCase: boolean): Expression {
  return { kind: "sequence", parts: Array.from(text, (character) => characterOf(character, ignoreCase)) };
}

export function characterOf(character: string, ignoreCase: boolean): Expression {
  return { kind: "character", code: character.codePointAt(0) ?? 0, ignoreCase };
}

/** A character in a class of JavaScript. */
export function inClass(code: number): string {
  return `\\u{${code.toString(16)}}`;
}
