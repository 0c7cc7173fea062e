import type { FileEntry, FileKind, Files } from "../../contract/backend.ts";
import { ToolFailure } from "../../contract/failure.ts";
import { notAFolder } from "../local/failures.ts";
import { failureOf } from "./file-answers.ts";
import { type FileReach, askFiles } from "./file-asks.ts";
import { LETTERS, entryOf } from "./file-info.ts";

/**
 * How a folder is listed: `find` with -printf, which only GNU has; `glob`, the shell's own names and one stat(1) for many; `each`, a program for every entry, where
 * nothing better is there or entries are removed all the time.
 */
type Way = "find" | "glob" | "each";

/** `Files.list`: one round trip, and no program per entry but for links where find cannot tell them. */
export function lister(reach: FileReach): Files["list"] {
  let best: Way = reach.form === "none" ? "each" : "find";

  return async (path, options) => {
    const words = reach.words(path, options);
    for (const way of new Set<Way>([best, "each"])) {
      const answer = await askFiles(reach, `hr_file_list ${words} ${way}`);
      if (answer.word.startsWith("kind ")) throw notAFolder(answer.word.slice(5) as FileKind, path);
      if (answer.word !== "ok") throw failureOf(answer, path);
      const fields = fieldsOf(answer.rest);
      const found = way === "find" ? foundEntries(fields) : undefined;
      if (found !== undefined) return sorted(found);
      if (way === "find") best = "glob"; // it went on with that
      const entries = way === "each" ? eachEntry(fields, reach) : globEntries(fields, reach);
      if (entries !== undefined) return sorted(entries);
    }
    throw new ToolFailure(`The folder cannot be listed: ${path}`);
  };
}

/** What is left of the answer's fields. */
interface Fields {
  /** The next one; `undefined` behind the last. */
  next(): string | undefined;
}

function fieldsOf(rest: Buffer): Fields {
  const fields = rest.toString("utf8").split("\0");
  let at = 0;
  return { next: () => fields[at++] };
}

/** `undefined` when there is no find that tells this; what follows are names. */
function foundEntries(fields: Fields): readonly FileEntry[] | undefined {
  const entries: FileEntry[] = [];
  for (;;) {
    const name = fields.next();
    if (name === "/" || name === undefined) return entries;
    if (name === "/other") return entries.length === 0 ? undefined : entries; // an entry went while it was listed
    const [letter = "", size, modified, target = ""] = [fields.next(), fields.next(), fields.next(), fields.next()];
    const kind = LETTERS[letter] ?? "device";
    entries.push({
      name,
      kind,
      size: Number(size),
      modifiedMs: Number(modified) * 1_000,
      ...(kind === "link" && { target }),
    });
  }
}

/** `undefined` when it cannot be told which line is about which name: an entry was removed meanwhile, or a link is called strangely or leads somewhere strange. */
function globEntries(fields: Fields, reach: FileReach): readonly FileEntry[] | undefined {
  const names = namesOf(fields);
  const lines = linesOf(fields);
  const links = namesOf(fields);
  const led = linesOf(fields);
  if (lines.length !== names.length || led.length !== links.length) return undefined;
  const targets = new Map<string, string>();
  for (const [index, link] of links.entries()) {
    const target = targetIn(led[index] ?? "", link);
    if (target === undefined) return undefined;
    targets.set(link, target);
  }
  return entriesOf(
    names.map((name, index) => [name, lines[index] ?? ""]),
    targets,
    reach,
  );
}

/** From `'NAME' -> 'TARGET'`, as stat(1) writes it; `undefined` where anything could have been quoted. */
function targetIn(line: string, name: string): string | undefined {
  const start = `'${name}' -> '`;
  const target = line.slice(start.length, -1);
  return line.startsWith(start) && line.endsWith("'") && !/['\\\p{C}\ufffd]/u.test(target) ? target : undefined;
}

function eachEntry(fields: Fields, reach: FileReach): readonly FileEntry[] {
  const described = pairsOf(fields);
  return entriesOf(described, new Map(pairsOf(fields)), reach);
}

function entriesOf(
  named: readonly (readonly [string, string])[],
  targets: ReadonlyMap<string, string>,
  reach: FileReach,
): readonly FileEntry[] {
  return named.flatMap(([path, line]) => {
    const found = reach.describe(line);
    return found === undefined ? [] : [entryOf(path.slice(2), found, targets.get(path))]; // without "./"
  });
}

function namesOf(fields: Fields): readonly string[] {
  const names: string[] = [];
  for (let name = fields.next(); name !== undefined && name !== "/"; name = fields.next()) names.push(name);
  return names;
}

function pairsOf(fields: Fields): readonly [string, string][] {
  const pairs: [string, string][] = [];
  for (let name = fields.next(); name !== undefined && name !== "/"; name = fields.next())
    pairs.push([name, fields.next() ?? ""]);
  return pairs;
}

function linesOf(fields: Fields): readonly string[] {
  return (fields.next() ?? "").split("\n").slice(0, -1);
}

function sorted(entries: readonly FileEntry[]): readonly FileEntry[] {
  return [...entries].sort((one, other) => (one.name < other.name ? -1 : one.name > other.name ? 1 : 0));
}
