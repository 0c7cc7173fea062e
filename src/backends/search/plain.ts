import type { SearchQuery } from "../../contract/search.ts";
import { quoteWord, quoteWords } from "../../util/shell.ts";
import { below } from "./programs.ts";

/**
 * A script for `startIn` that searches with find and grep. A colon ends each path, so names with a colon are left out, and those with a line break. Lines of context are, too:
 * grep does not tell where their path ends.
 */
export function plainSearch({ path, except, git = false, pattern, literal, caseSensitive }: SearchQuery): string {
  const how = `-n ${caseSensitive === true ? "" : "-i"} ${literal === true ? "-F" : "-E"}`;
  const grep = `grep ${how} -e ${quoteWord(pattern)} /dev/null`;
  const prunes = below(path, except).flatMap((each) => [
    ...["-path", `./${each.replace(/[\\*?[\]]/g, String.raw`\$&`)}`],
    ...["-prune", "-o"],
  ]);
  const words = [...(git ? [] : ["-name", ".git", "-prune", "-o"]), ...prunes];
  return `[ "$n" = . ] || exec ${grep} "$n"
exec find . ${quoteWords([...words, "-type", "f", "!", "-path", "*:*", "!", "-path", "*\n*"])} -exec ${grep} {} +`;
}

/** What a search for lines without ripgrep does not do. */
export function plainSearchNote(place: string): string {
  return (
    `There is no ripgrep on ${place}, so its grep searched: what .gitignore ignores is included, the pattern is a POSIX extended regular ` +
    "expression, text in UTF-16 is not read, and neither are names with a colon. No lines of context are shown, and of too many matches the first that were found."
  );
}
