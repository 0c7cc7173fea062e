/** One word, quoted so that a POSIX shell reads it as exactly this text. */
export function quoteWord(word: string): string {
  if (/^[\w@%+=:,./-]+$/.test(word)) return word;
  return `'${word.replaceAll("'", `'\\''`)}'`;
}

/** A command line that a POSIX shell reads as exactly these words. */
export function quoteWords(words: readonly string[]): string {
  return words.map(quoteWord).join(" ");
}
