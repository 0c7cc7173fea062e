import { isUtf8 } from "node:buffer";
import { posix } from "node:path";
import type { Files } from "../../core/contract/backend.ts";
import { ToolFailure } from "../../core/contract/failure.ts";
import { randomName } from "../../core/util/identifier.ts";
import { type Base, absolutePath } from "../../core/util/paths.ts";
import { quoteWord } from "../../core/util/quote.ts";
import type { Facts } from "./facts.ts";
import { described, infoOf } from "./file-info.ts";
import { lister } from "./file-list.ts";
import { opener } from "./file-read.ts";
import { type FileRequests, type PathWords, failureOf, fileRequests } from "./file-requests.ts";
import type { Shells } from "./shells.ts";

/** The longest file name (NAME_MAX) and the longest path (PATH_MAX without its final NUL) on Linux, in bytes. */
const LONGEST_NAME = 255;
const LONGEST_PATH = 4_095;

/** How long opening a file may take: a disk that must spin up or be mounted first takes seconds. Milliseconds. */
const OPEN_MS = 10_000;

/** Text up to this many bytes is part of the script: no round trip. Not more: bash reads it byte by byte. */
const IN_SCRIPT = 8_192;

/** Longer content uses another shell, so that quick requests need not wait. Bytes. */
const QUICK = 65_536;

/** Creates the files of a remote system, which need only its shell: each function of files.sh takes one round trip. */
export function remoteFiles({
  shells,
  facts,
  base,
  openMs = OPEN_MS,
}: {
  shells: Pick<Shells, "ask" | "askAside">;
  facts: Facts;
  base: Base;
  /** How long opening a file may take, in milliseconds. Default: 10,000. */
  openMs?: number;
}): Files {
  const requests = fileRequests({ shells, form: facts.stat, openMs });
  const absolute = (path: string) => requireName(absolutePath(path, base), path);
  const words: PathWords = (path, { real = false } = {}) => `${quoteWord(absolute(path))} ${real ? "real" : "any"}`;

  return {
    async realPath(path) {
      const there = absolute(path);
      const answer = await requests.askTogether(`hr_file_path ${quoteWord(there)}`);
      if (answer.word !== "ok") throw failureOf(answer, there);
      return answer.real;
    },
    async stat(path, options) {
      const answer = await requests.askTogether(`hr_file_stat ${words(path, options)}`);
      if (answer.word === "missing" || answer.word === "not-a-folder") return undefined;
      if (answer.word !== "ok") throw failureOf(answer, path);
      const found = described(answer.rest.toString("utf8"), facts.stat);
      return found === undefined ? undefined : infoOf(answer.real, found); // the file was removed in the meantime
    },
    open: opener(requests, words),
    write: writer(requests, words),
    list: lister(requests, words),
    async remove(path, { real = false } = {}) {
      const there = absolute(path);
      if (there === "/") throw new ToolFailure("The root folder cannot be removed");
      // `remove` deletes a link itself, so only links in its folder's path are followed.
      const call = `hr_file_remove ${words(posix.dirname(there), { real })} ${quoteWord(posix.basename(there))}`;
      const answer = await requests.ask(call, { aside: true, again: false, doing: `removing ${path}` });
      if (answer.word === "ok") return;
      throw failureOf(answer.word.startsWith("kind ") ? { ...answer, word: "not-a-folder" } : answer, path);
    },
  };
}

/** Returns the path. @throws ToolFailure for a path that no file can have. */
function requireName(absolute: string, written: string): string {
  if (absolute.includes("\0")) throw new ToolFailure(`A path cannot contain null bytes: ${JSON.stringify(written)}`);
  const isTooLong =
    Buffer.byteLength(absolute) > LONGEST_PATH ||
    absolute.split("/").some((name) => Buffer.byteLength(name) > LONGEST_NAME);
  if (isTooLong) throw new ToolFailure(`The name is too long: ${written}`);
  return absolute;
}

/**
 * Creates `Files.write`: one round trip, or two for long or binary content. The content is written to a new file beside
 * the old one, and replaces it only when it is complete. So the old file survives a lost connection, and the write can
 * be repeated.
 */
function writer(requests: FileRequests, words: PathWords): Files["write"] {
  return async (path, bytes, options) => {
    const { replaces = "" } = options ?? {};
    const temporary = `.handrail-${randomName(12)}.tmp`;
    const write = `hr_file_write ${words(path, options)} ${bytes.length} ${temporary} ${quoteWord(replaces)}`;
    // A second attempt would find its own first one.
    const once = replaces === "" ? {} : { again: false, doing: `writing ${path}` };
    // variables and words of a shell cannot contain a NUL
    const fits = bytes.length <= IN_SCRIPT && !bytes.includes(0) && isUtf8(bytes);
    let answer = fits ? await requests.ask(`${given(bytes)}\n${write}`, once) : undefined;
    // Some shells do not report why their printf failed; cat does.
    if (answer === undefined || answer.word === "short") {
      const input = { ...once, input: bytes, aside: bytes.length > QUICK };
      answer = await requests.ask(`${taken(bytes.length)}\n${write}`, input);
    }
    if (answer.word !== "ok") throw failureOf(answer, path);
    const written = described(answer.rest.toString("utf8", 0, answer.rest.indexOf(0)), requests.form);
    if (written === undefined) throw failureOf({ ...answer, word: "failed" }, path);
    return infoOf(answer.real, written);
  };
}

/** Defines the functions that read the content from a word of the script. */
function given(bytes: Uint8Array): string {
  return `hr_file_give() { printf %s ${quoteWord(Buffer.from(bytes).toString("utf8"))}; }\nhr_file_drain() { :; }`;
}

/** Defines the functions that read the content from stdin. They always read all of it: the shell would run the rest. */
function taken(length: number): string {
  const take = `hr_file_take ${length}`;
  return `hr_file_give() { ${take} | hr_file_copy; }\nhr_file_drain() { ${take} >/dev/null; }`;
}
