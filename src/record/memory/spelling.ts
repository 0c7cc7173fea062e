import { distance } from "fastest-levenshtein";
import { type Work, all, run } from "../db/work.ts";
import { isSpelled } from "./words.ts";

/** The most words of one length with the same beginning or end that are compared. */
const MOST_ALIKE = 1_000;
/** The maximum number of corrections of one word. */
const MOST_NEAREST = 3;

/**
 * The indexed words with the most similar spelling: one letter more, less or different, in words of six letters or more
 * also two. With one mistake (a letter, or two swapped letters) the first or last half is still right, so only words
 * with the same half are compared.
 */
export function* nearestWords(scope: number, word: string): Work<readonly string[]> {
  const { length } = word;
  if (length < 4 || !isSpelled(word)) return [];
  const most = length < 6 ? 1 : 2;
  const half = Math.floor((length - 1) / 2);
  const found = new Map<string, number>();
  for (let each = length - most; each <= length + most; each++) {
    for (const [column, start] of [
      ["word", word.slice(0, half)],
      ["reversed", reversed(word).slice(0, half)],
    ] as const) {
      const alike = yield* all<{ word: string }>(
        `SELECT word FROM spellings WHERE scope = ? AND length = ? AND ${column} >= ? AND ${column} < ? LIMIT ` +
          `${MOST_ALIKE}`,
        [scope, each, start, `${start}\u{10ffff}`],
      );
      for (const other of alike) found.set(other.word, distance(word, other.word));
    }
  }
  const least = Math.min(...found.values());
  if (least > most) return [];
  return [...found].flatMap(([other, away]) => (away === least ? [other] : [])).slice(0, MOST_NEAREST);
}

/** Stores the spellings of words. */
export function* addSpellings(scope: number, words: Iterable<string>): Work<void> {
  for (const word of words) {
    if (!isSpelled(word)) continue;
    yield* run("INSERT INTO spellings (scope, length, word, reversed) VALUES (?, ?, ?, ?) ON CONFLICT DO NOTHING", [
      scope,
      word.length,
      word,
      reversed(word),
    ]);
  }
}

export function* removeSpelling(scope: number, word: string): Work<void> {
  yield* run("DELETE FROM spellings WHERE scope = ? AND length = ? AND word = ?", [scope, word.length, word]);
}

function reversed(word: string): string {
  return Array.from(word).toReversed().join("");
}
