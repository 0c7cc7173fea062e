/** Quotes a word so that a POSIX shell reads exactly this text. */
export function quoteWord(word: string): string {
  if (/^[\w@%+=:,./-]+$/.test(word)) return word;
  return `'${word.replaceAll("'", `'\\''`)}'`;
}

/** Returns a command line that a POSIX shell reads as exactly these words. */
export function quoteWords(words: readonly string[]): string {
  return words.map(quoteWord).join(" ");
}
