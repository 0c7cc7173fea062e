import type { SearchQuery, SearchResult } from "../../core/contract/search.ts";
import { truncateHead } from "../../core/output/truncate.ts";
import { type SearchPrograms, startIn } from "./programs.ts";
import { RIPGREP_ARGUMENTS, blocks, matchArguments } from "./ripgrep.ts";

/** How many characters are shown before a match, and at least behind it. */
const AROUND = 150;

/** How many files with long lines are looked at again, and how many matches in them. */
const MOST_FILES = 200;
const MOST_RECORDS = 20_000;

/**
 * Replaces the beginning of a long line with the surroundings of its first match, where the beginning does not show it.
 * Asks ripgrep again, since only it knows where the match is. `lines`: of ripgrep; a line that was cut ends with "…".
 */
export async function withExcerpts<Found extends Pick<SearchResult, "lines" | "cut">>(
  found: Found,
  query: SearchQuery,
  ripgrep: string,
  programs: SearchPrograms,
): Promise<Found> {
  const { path, pattern, literal = false, maxCharacters, signal = new AbortController().signal } = query;
  const isCut = ({ match, text }: SearchResult["lines"][number]) => match && text.endsWith("…");
  const files = new Set(found.lines.filter(isCut).map((line) => line.path));
  if (found.cut === 0 || files.size === 0 || files.size > MOST_FILES) return found;
  const meant = literal ? pattern.replaceAll(/[\\^$.|?*+()[\]{}#&~-]/g, String.raw`\$&`) : pattern;
  const before = Math.min(AROUND, Math.floor(maxCharacters / 4));
  const around = `.{0,${before}}(?:${meant}).{0,${maxCharacters}}`;
  const names = [...files].map((file) =>
    file === path ? undefined : `./${file.slice(path.length).replace(/^\/+/, "")}`,
  );
  const isFile = names.includes(undefined);
  const words = [
    ...[ripgrep, ...RIPGREP_ARGUMENTS, "--no-ignore", "--with-filename", "--line-number", "--no-heading"],
    ...["--only-matching", "--column", ...matchArguments({ ...query, literal: false, pattern: around }), "--"],
    ...names.flatMap((name) => name ?? []),
  ];
  const searching = await startIn(programs, path, isFile ? 'exec "$@" "$n"' : 'exec "$@"', { words, signal });
  const excerpts = new Map<string, string>();
  let records = 0;
  reading: for await (const block of blocks(searching.process, 10, signal)) {
    for (const record of block.toString("utf8").split("\n")) {
      if (++records > MOST_RECORDS) break reading;
      const [, name = "", line = "", column = "", text = ""] = /^(.*?)\0(\d+):(\d+):(.*)$/s.exec(record) ?? [];
      const key = `${line} ${searching.absolute(name)}`;
      if (excerpts.has(key) || name === "") continue;
      // The beginning of the line shows a match that is near.
      const isNear = Number(column) + before < maxCharacters / 2;
      excerpts.set(
        key,
        isNear ? "" : `…${truncateHead(text, { characters: maxCharacters - 1 }).text.replace(/\r$/, "")}…`,
      );
    }
  }
  const excerptOf = (each: SearchResult["lines"][number]) =>
    (isCut(each) && excerpts.get(`${each.line} ${each.path}`)) || each.text;
  return { ...found, lines: found.lines.map((each) => ({ ...each, text: excerptOf(each) })) };
}
