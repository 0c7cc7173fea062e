import type { SearchQuery } from "../../core/contract/search.ts";
import { quoteWord, quoteWords } from "../../core/util/quote.ts";
import { leavingOut } from "./programs.ts";

/**
 * Returns a script for `startIn` that searches with find and grep. A colon ends each path, so names with a colon or a
 * line break are skipped. There are no context lines: grep does not mark where their path ends.
 */
export function plainSearch(query: SearchQuery): string {
  const { pattern, literal = false, caseSensitive = false } = query;
  const how = `-n ${caseSensitive ? "" : "-i"} ${literal ? "-F" : "-E"}`;
  const grep = `grep ${how} -e ${quoteWord(pattern)} /dev/null`;
  const words = [...leavingOut(query), "-type", "f", "!", "-path", "*:*", "!", "-path", "*\n*"];
  return `[ "$n" = . ] || exec ${grep} "$n"
exec find . ${quoteWords(words)} -exec ${grep} {} +`;
}

/** Describes the limits of a line search without ripgrep. */
export function plainSearchNote(place: string): string {
  return (
    `There is no ripgrep on ${place}, so grep was used: files in .gitignore are included, the pattern is a POSIX ` +
    "extended regular expression, and UTF-16 files, letters in older encodings and names with a colon are left out. " +
    "No context lines are shown. Of too many matches, those found first are shown."
  );
}
