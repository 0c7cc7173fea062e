/** Scripts in which a joiner between two letters changes the word, not only how it looks. */
const JOINED =
  String.raw`\p{Script=Arabic}\p{Script=Bengali}\p{Script=Devanagari}\p{Script=Gujarati}\p{Script=Gurmukhi}` +
  String.raw`\p{Script=Kannada}\p{Script=Khmer}\p{Script=Malayalam}\p{Script=Mongolian}\p{Script=Myanmar}` +
  String.raw`\p{Script=Oriya}\p{Script=Sinhala}\p{Script=Syriac}\p{Script=Tamil}\p{Script=Telugu}`;

const LETTER = String.raw`(?!\p{Default_Ignorable_Code_Point})[${JOINED}]`;
const MARK = String.raw`(?:(?!\p{Default_Ignorable_Code_Point})\p{M})`;

/**
 * Matches a character that is not seen, or not as what it is, as the source of a regular expression with the flag `u`:
 * controls but tab and newline, and Unicode's default ignorable code points with the line separators and interlinear
 * annotations. https://www.unicode.org/reports/tr44/#Default_Ignorable_Code_Point Not matched are a joiner between
 * emoji, a selector behind a base, and joiners between letters of a script that needs them, such as in Persian words.
 */
export const UNSEEN_CHARACTER = [
  // The character first and what precedes it second: a look back at every place would be slow.
  String.raw`\u200d(?!(?<=\p{Extended_Pictographic}\ufe0f?\p{Emoji_Modifier}?\u200d)\p{Extended_Pictographic})` +
    String.raw`(?!(?<=${LETTER}${MARK}?\u200d)${LETTER})`,
  String.raw`\u200c(?!(?<=${LETTER}${MARK}?\u200c)${LETTER})`,
  String.raw`[\ufe00-\ufe0f](?<![\p{Emoji}\p{Symbol}\p{Script=Han}][\ufe00-\ufe0f])`,
  String.raw`[\x00-\x08\x0b-\x1f\x7f-\x9f\xad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f]`,
  String.raw`[\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\u3164\ufeff\uffa0\ufff0-\ufffb]`,
  String.raw`[\u{1bca0}-\u{1bca3}\u{1d173}-\u{1d17a}\u{e0000}-\u{e0fff}]`,
].join("|");

const UNSEEN = new RegExp(String.raw`(?![\x00-\x1f\x7f-\x9f])(?:${UNSEEN_CHARACTER})`, "gu");

/**
 * Removes characters that nobody sees: Unicode tags, zero-width characters, direction controls. Controls stay, since
 * they are shown to people as what they are, and joiners and selectors that belong to an emoji or a word of a script
 * that needs them.
 */
export function withoutUnseen(text: string): { readonly text: string; readonly removed: number } {
  let removed = 0;
  const seen = text.replaceAll(UNSEEN, (found) => {
    removed += 1;
    return found === "\u2028" || found === "\u2029" ? "\n" : "";
  });
  return { text: seen, removed };
}
