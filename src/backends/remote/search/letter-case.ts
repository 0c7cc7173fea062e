import { type CharacterSet, inClass } from "./expression.ts";

let cased: string | undefined;

/** The characters that are the same as this one where case is ignored, itself among them. By Unicode's simple case folding, as Rust's regex crate has it. */
export function caseVariants(code: number): readonly number[] {
  const same = casedCharacters().match(new RegExp(`[${inClass(code)}]`, "giv")) ?? [];
  return [...new Set([code, ...same.map((each) => each.codePointAt(0) ?? code)])];
}

/** The class that has every character too of which a variant is in it. */
export function withCaseVariants({ source, isWide }: CharacterSet): CharacterSet {
  const all = Array.from(casedCharacters());
  const one = new RegExp(`^${source}$`, "v");
  const any = new RegExp(`^${source}$`, "iv");
  const listed = (characters: readonly string[]) =>
    characters.map((each) => inClass(each.codePointAt(0) ?? 0)).join("");
  const added = all.filter((each) => any.test(each) && !one.test(each));
  const removed = all.filter((each) => one.test(each) && !any.test(each));
  if (added.length === 0 && removed.length === 0) return { source, isWide };
  return { source: `[[${source}--[${listed(removed)}]]${listed(added)}]`, isWide };
}

/** All characters that have case: none lies beyond U+1FFFF. */
function casedCharacters(): string {
  if (cased !== undefined) return cased;
  const hasCase = new RegExp(
    String.raw`[\p{Changes_When_Casefolded}\p{Changes_When_Lowercased}\p{Changes_When_Uppercased}\p{Changes_When_Titlecased}]`,
    "v",
  );
  const codes = Array.from({ length: 0x2_0000 }, (_, code) => code).filter((code) => code < 0xd800 || code > 0xdfff);
  cased = codes
    .map((code) => String.fromCodePoint(code))
    .filter((each) => hasCase.test(each))
    .join("");
  return cased;
}
