import { isAscii } from "node:buffer";
import { posix } from "node:path";
import type { Files } from "../../core/contract/backend.ts";
import type { SearchQuery, SearchResult } from "../../core/contract/search.ts";
import { decodeText, detectEncoding, encodeText } from "../../core/files/encoding.ts";
import { byKey, pathOrderKey } from "../../core/util/path-order.ts";
import { plural } from "../../core/util/text.ts";

/** How many files in other encodings are searched, and up to which size. Bytes. */
const MOST_FILES = 40;
const MOST_BYTES = 4 * 1024 * 1024;

/** Encodings in which a word of the pattern is looked for. Those that are not here are close to one of these. */
const OLDER = ["gb18030", "big5", "shift_jis", "euc-jp", "euc-kr", "windows-1252", "windows-1251", "koi8-r"];

/** Text in UTF-16 without a mark: a file that begins with ASCII characters, each with a zero byte. */
const WIDE = String.raw`\A(?s-u:[^\xfe\xff].{0,62})??(?:(?-u:[\t\n\r -~]\x00){3}|(?-u:\x00[\t\n\r -~]){3})`;

/**
 * Returns ripgrep's arguments that list files in which `read` finds a text and ripgrep does not: UTF-16 without a mark,
 * and, for a pattern with characters beyond ASCII, files with these characters in an older encoding. Larger files than
 * `MOST_BYTES` are not among them.
 */
export async function foreignArguments(pattern: string): Promise<readonly string[]> {
  const words = await inOlder(pattern);
  return [
    // Mapping each file takes four times as long as reading it; what is read whole has a limit.
    ...[
      "--files-with-matches",
      "--text",
      "--encoding=none",
      "--multiline",
      "--no-mmap",
      `--max-filesize=${MOST_BYTES}`,
    ],
    ...[WIDE, ...words].map((each) => `--regexp=${each}`),
  ];
}

/** The longest word beyond ASCII, or each character of a class, as bytes in each encoding that has it. */
async function inOlder(pattern: string): Promise<readonly string[]> {
  const words = pattern.match(/[^\x00-\x7f]+/g)?.toSorted((one, other) => other.length - one.length) ?? [];
  const isInClass = /\[[^\]]*[^\x00-\x7f]/.test(pattern);
  const meant = isInClass ? Array.from(words.join("")) : words.slice(0, 1);
  const spelled = meant.flatMap((word) => [word, word.toLowerCase(), word.toUpperCase()]);
  const found = new Set<string>();
  for (const name of OLDER) {
    for (const word of spelled) {
      const bytes = await encodeText(word, { name, mark: 0 });
      if (bytes !== undefined) found.add(`(?-u:${Array.from(bytes, escaped).join("")})`);
    }
  }
  return [...found];
}

function escaped(byte: number): string {
  return `\\x${byte.toString(16).padStart(2, "0")}`;
}

export interface ForeignOptions {
  readonly files: Pick<Files, "open">;
  /** Real paths of files that may have another encoding. */
  readonly paths: Iterable<string>;
  /** Searches a text, whose lines then have this path. */
  search(path: string, text: string): Promise<Omit<SearchResult, "hasMore" | "notes">>;
}

type Found = Omit<SearchResult, "notes">;

/**
 * Searches files in other encodings as `read` decodes them, and adds what was found, in place of what ripgrep has found
 * in their bytes. Resolves also to sentences about files that were not searched.
 */
export async function withForeign(
  found: Found,
  { maxMatches, path: root, judge, signal }: SearchQuery,
  { files, paths, search }: ForeignOptions,
): Promise<Found & { readonly notes: readonly string[] }> {
  const shown = [...new Set(paths)].filter((path) => judge === undefined || judge(path) === "shown").toSorted();
  const results = new Map<string, Awaited<ReturnType<ForeignOptions["search"]>>>();
  let unsearched = Math.max(0, shown.length - MOST_FILES);
  for (const path of shown.slice(0, MOST_FILES)) {
    signal?.throwIfAborted();
    const text = await foreignText(path, files).catch(() => undefined);
    if (text === "too large") unsearched++;
    if (typeof text !== "object") continue;
    const result = await search(path, text.text);
    if (result.matches > 0) results.set(path, result);
  }
  const notes =
    unsearched === 0
      ? []
      : [`${plural(unsearched, "file")} in other encodings than UTF-8 not searched; name one as path.`];
  if (results.size === 0) return { ...found, notes };
  const others = [...results.values()];
  const lines = [...found.lines.filter(({ path }) => !results.has(path)), ...others.flatMap((each) => each.lines)];
  const sorted = lines.map((line) => ({ line, key: pathOrderKey(posix.relative(root, line.path)) })).toSorted(byKey);
  let matches = 0;
  const first = sorted
    .map(({ line }) => line)
    .filter(({ match }) => matches < maxMatches && (match ? ++matches : true));
  const all = lines.filter(({ match }) => match).length;
  return {
    ...found,
    lines: first,
    matches,
    hasMore: found.hasMore || all > maxMatches,
    cut: first.filter(({ text }) => text.endsWith("…")).length,
    notes,
  };
}

/** The text of a file in another encoding than ripgrep knows; `undefined` for other files. */
async function foreignText(
  path: string,
  files: Pick<Files, "open">,
): Promise<{ text: string } | "too large" | undefined> {
  const file = await files.open(path, { real: true });
  try {
    const bytes = await file.read(0, Math.min(file.info.size, MOST_BYTES));
    if (isAscii(bytes) && !bytes.includes(0)) return undefined;
    const encoding = await detectEncoding(bytes, bytes.length === file.info.size);
    const isKnown = encoding?.name === "utf-8" || (encoding?.mark ?? 0) > 0;
    if (encoding === undefined || isKnown) return undefined;
    return bytes.length < file.info.size ? "too large" : { text: await decodeText(bytes, encoding) };
  } finally {
    await file.close();
  }
}
