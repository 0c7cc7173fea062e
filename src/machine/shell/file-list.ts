import type { FileEntry, FileKind, Files } from "../../core/contract/backend.ts";
import { ToolFailure } from "../../core/contract/failure.ts";
import { notAFolder } from "../local/failures.ts";
import { described, entryOf } from "./file-info.ts";
import { type FileRequests, type PathWords, failureOf } from "./file-requests.ts";

/** Creates `Files.list`: one round trip, or two if an entry was removed meanwhile. */
export function lister(requests: FileRequests, words: PathWords): Files["list"] {
  return async (path, options) => {
    // One stat(1) for all names, or one stat(1) for each name.
    for (const way of ["all", "each"]) {
      const answer = await requests.ask(`hr_file_list ${words(path, options)} ${way}`);
      if (answer.word.startsWith("kind ")) throw notAFolder(answer.word.slice(5) as FileKind, path);
      if (answer.word !== "ok") throw failureOf(answer, path);
      const entries = entriesIn(answer.rest.toString("utf8").split("\0"), requests.form);
      if (entries !== undefined)
        return entries.sort((one, other) => (one.name < other.name ? -1 : one.name > other.name ? 1 : 0));
    }
    throw new ToolFailure(`The folder cannot be listed: ${path}`);
  };
}

/** Parses names, a line about each, and link targets. `undefined` if lines and names do not match. */
function entriesIn(fields: readonly string[], form: FileRequests["form"]): FileEntry[] | undefined {
  const end = fields.indexOf("/");
  const names = fields.slice(0, end);
  const lines = (fields[end + 1] ?? "").split("\n").slice(0, -1);
  if (lines.length !== names.length) return undefined;
  const targets = new Map<string, string>();
  for (let at = end + 2; at + 1 < fields.length; at += 2) targets.set(fields[at] ?? "", fields[at + 1] ?? "");
  return names.flatMap((name, index) => {
    const found = described(lines[index] ?? "", form);
    return found === undefined ? [] : [entryOf(name.slice(2), found, targets.get(name))]; // without "./"
  });
}
