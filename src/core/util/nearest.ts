import { distance } from "fastest-levenshtein";

/** Returns 'Did you mean "autonomy"?', or "" if no known word is similar. */
export function didYouMean(written: string, known: readonly string[]): string {
  const word = nearest(written, known);
  return word === undefined ? "" : `Did you mean ${JSON.stringify(word)}?`;
}

/** Returns the most similar known word, if any is similar enough. Of two, the one with the same letters. */
function nearest(written: string, known: readonly string[]): string | undefined {
  const asked = written.slice(0, 64).toLowerCase();
  const [best] = known
    .map((word) => ({ word, away: distance(asked, word.toLowerCase()), isMixed: lettersOf(word) === lettersOf(asked) }))
    .filter(({ word, away }) => away <= Math.max(2, word.length / 3) && away < word.length)
    .sort((a, b) => a.away - b.away || Number(b.isMixed) - Number(a.isMixed));
  return best?.word;
}

function lettersOf(word: string): string {
  return word.toLowerCase().split("").toSorted().join("");
}
