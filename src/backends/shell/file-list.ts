import type { FileEntry, FileKind, Files } from "../../contract/backend.ts";
import { ToolFailure } from "../../contract/failure.ts";
import { notAFolder } from "../local/failures.ts";
import { LETTERS, described, entryOf } from "./file-info.ts";
import { type FileRequests, type PathWords, failureOf } from "./file-requests.ts";

/**
 * How a folder is listed. "find": with -printf, which only GNU find has. "names": with the shell's patterns, and one
 * stat(1) for all names. "each": one stat(1) for each name, if entries are removed at that moment.
 */
type Way = "find" | "names" | "each";

/** Creates `Files.list`: one round trip. */
export function lister(requests: FileRequests, words: PathWords): Files["list"] {
  let best: Way = "find";

  return async (path, options) => {
    for (const way of new Set<Way>([best, "each"])) {
      const answer = await requests.ask(`hr_file_list ${words(path, options)} ${way}`);
      if (answer.word.startsWith("kind ")) throw notAFolder(answer.word.slice(5) as FileKind, path);
      if (answer.word !== "ok") throw failureOf(answer, path);
      const fields = answer.rest.toString("utf8").split("\0");
      const isNamed = fields[0] === NAMES;
      if (isNamed && best === "find") best = "names"; // this find lacks -printf
      const entries = isNamed ? namedEntries(fields, requests.form) : foundEntries(fields);
      if (entries !== undefined)
        return entries.sort((one, other) => (one.name < other.name ? -1 : one.name > other.name ? 1 : 0));
    }
    throw new ToolFailure(`The folder cannot be listed: ${path}`);
  };
}

/** Precedes the names; no file can have this name. */
const NAMES = "/names";

/** Parses the output of find, up to its end, or up to the names if an entry disappeared meanwhile. */
function foundEntries(fields: readonly string[]): FileEntry[] {
  const entries: FileEntry[] = [];
  for (let at = 0; ; at += 5) {
    const [name = "/", letter = "", size, modified, target = ""] = fields.slice(at, at + 5);
    if (name.startsWith("/")) return entries;
    const kind = LETTERS[letter] ?? "device";
    const isLink = kind === "link";
    entries.push({
      name,
      kind,
      size: Number(size),
      modifiedMs: Number(modified) * 1_000,
      ...(isLink && { target }),
    });
  }
}

/** Parses names, a line about each, and link targets. `undefined` if lines and names do not match. */
function namedEntries(fields: readonly string[], form: FileRequests["form"]): FileEntry[] | undefined {
  const end = fields.indexOf("/");
  const names = fields.slice(1, end);
  const lines = (fields[end + 1] ?? "").split("\n").slice(0, -1);
  if (lines.length !== names.length) return undefined;
  const targets = new Map<string, string>();
  for (let at = end + 2; at + 1 < fields.length; at += 2) targets.set(fields[at] ?? "", fields[at + 1] ?? "");
  return names.flatMap((name, index) => {
    const found = described(lines[index] ?? "", form);
    return found === undefined ? [] : [entryOf(name.slice(2), found, targets.get(name))]; // without "./"
  });
}
