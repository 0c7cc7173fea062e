import { distance } from "fastest-levenshtein";

/** 'Did you mean "autonomy"?', or nothing when no known word is near. */
export function didYouMean(written: string, known: readonly string[]): string {
  const word = nearest(written, known);
  return word === undefined ? "" : `Did you mean ${JSON.stringify(word)}?`;
}

/** The known word that is closest to what was written, if any is close enough to be meant. */
function nearest(written: string, known: readonly string[]): string | undefined {
  const asked = written.slice(0, 64).toLowerCase();
  const [best] = known
    .map((word) => ({ word, away: distance(asked, word.toLowerCase()) }))
    .filter(({ word, away }) => away <= Math.max(2, word.length / 3) && away < word.length)
    .sort((a, b) => a.away - b.away);
  return best?.word;
}
