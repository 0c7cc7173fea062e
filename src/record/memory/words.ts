/** Letters of scripts without spaces, or (Hangul) with particles attached to words. */
const UNSPACED =
  "\\p{scx=Han}\\p{scx=Hiragana}\\p{scx=Katakana}\\p{scx=Hangul}" +
  "\\p{scx=Thai}\\p{scx=Lao}\\p{scx=Khmer}\\p{scx=Myanmar}";
const LETTER = "[\\p{L}\\p{M}\\p{N}]";
/** A word or identifier: `deploy`, `deploy_key`, `node:sqlite`, `10.0.0.7`, `C++`. */
const RUN = new RegExp(`${LETTER}+(?:[_.:-]{1,2}${LETTER}+)*(?:(?:\\+\\+|#)(?!${LETTER}))?`, "gu");
const SEGMENT = new RegExp(`[${UNSPACED}]+|[^${UNSPACED}]+`, "gu");
const IS_UNSPACED = new RegExp(`[${UNSPACED}]`, "u");
/** The boundaries between the words of `parseUserInput` and of `HTTPServer`. */
const HUMP = /(?<=[\p{Ll}\p{N}])(?=\p{Lu})|(?<=\p{Lu})(?=\p{Lu}\p{Ll})/u;
/** Accents of Latin, Greek and Cyrillic letters. Vowel signs of other scripts are also marks, but are kept. */
const ACCENTS = /[\u0300-\u036f]/g;
/** Longer words are truncated, in memories and in queries. */
const LONGEST = 64;

/**
 * The indexed words of a text: lower case, without accents. An identifier gives its parts and itself, so that
 * `deployKey`, `deploy-key` and `deploy_key` are the same. In text without spaces each character is a word, and so is
 * each pair of characters. A query uses the most specific words: pairs, and single characters only where there is no
 * pair.
 */
export function wordsOf(text: string, use: "index" | "query"): string[] {
  const words: string[] = [];
  const plain = text.normalize("NFKD").replace(ACCENTS, "").normalize("NFC");
  for (const [run] of plain.matchAll(RUN)) {
    for (const [segment] of run.matchAll(SEGMENT)) {
      if (IS_UNSPACED.test(segment)) words.push(...pairs(segment, use));
      else words.push(...partsOf(segment));
    }
  }
  return words.map((word) => word.slice(0, LONGEST).toLowerCase());
}

/** Whether a word can be a correction: only letters, in a script that has spaces. */
export function isSpelled(word: string): boolean {
  return /^\p{L}{3,32}$/u.test(word) && !IS_UNSPACED.test(word);
}

function pairs(segment: string, use: "index" | "query"): string[] {
  const characters = Array.from(segment).filter((character) => /[\p{L}\p{M}\p{N}]/u.test(character));
  const two = characters.slice(1).map((character, index) => `${characters[index]}${character}`);
  return use === "query" && two.length > 0 ? two : [...characters, ...two];
}

function partsOf(identifier: string): string[] {
  const parts = identifier.split(/[_.:-]+/).filter((part) => part !== "");
  const humps = parts.map((part) => part.split(HUMP));
  const pieces = humps.flat();
  const joined = parts.filter((_, index) => (humps[index]?.length ?? 1) > 1);
  return pieces.length > 1 ? [...pieces, ...joined, pieces.join("_")] : pieces;
}
