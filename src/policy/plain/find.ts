import type { Reading } from "./reading.ts";
import type { PlainWord } from "./script.ts";

const WITH_VALUE: ReadonlySet<string> = new Set(
  "-name -iname -path -type -maxdepth -mindepth -size -mtime -mmin".split(" "),
);
const ALONE: ReadonlySet<string> = new Set("-empty -prune -not ! -o -a -print -print0".split(" "));

/** Reads find(1): folders, then tests that only look. A string says why it is not on the list. */
export function readFind(words: readonly [PlainWord, ...PlainWord[]]): Reading | string {
  const paths: number[] = [];
  let isExpression = false;
  for (let index = 1; index < words.length; index++) {
    const { value, wildcards } = words[index] as PlainWord;
    isExpression ||= /^(-|!$|[(),]$)/.test(value);
    if (wildcards !== undefined) return `find takes no bare "*" or "?": quote ${JSON.stringify(value)}`;
    if (!isExpression) paths.push(index);
    else if (WITH_VALUE.has(value) && index + 1 < words.length) {
      index += 1;
      if (words[index]?.wildcards !== undefined) return `find takes no bare "*" or "?": quote the value of ${value}`;
    } else if (!ALONE.has(value)) return `${JSON.stringify(value)} is not one of the tests of find that only look`;
  }
  return { paths, isRecursive: true, looksBelow: paths.length === 0, end: words.length };
}
