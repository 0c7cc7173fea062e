import { isUtf8 } from "node:buffer";
import { posix } from "node:path";
import type { Files } from "../../contract/backend.ts";
import { ToolFailure } from "../../contract/failure.ts";
import { randomName } from "../../util/identifier.ts";
import { type Base, absolutePath } from "../../util/paths.ts";
import { quoteWord } from "../../util/shell.ts";
import type { Facts } from "./facts.ts";
import { described, infoOf } from "./file-info.ts";
import { lister } from "./file-list.ts";
import { opener } from "./file-read.ts";
import { type FileRequests, type PathWords, failureOf, fileRequests } from "./file-requests.ts";
import type { Shells } from "./shells.ts";

/** The longest name of a file, in bytes (NAME_MAX), and the longest path (PATH_MAX less its end), as Linux has them. */
const LONGEST_NAME = 255;
const LONGEST_PATH = 4_095;

/** A disk that has to be spun up or mounted first takes seconds. */
const OPEN_MS = 10_000;

/** Text up to so many bytes stands in the script itself: one round trip less. Not more, for bash reads a script byte by byte. */
const IN_SCRIPT = 8_192;

/** What is longer goes over a shell of its own, so that what is quick need not wait behind it. */
const QUICK = 65_536;

/** Files of another system, through its shell alone: the functions of files-script.ts do the work, each in one round trip. */
export function remoteFiles({
  shells,
  facts,
  base,
  openMs = OPEN_MS,
}: {
  shells: Pick<Shells, "ask" | "askAside">;
  facts: Facts;
  base: Base;
  /** Opening a file may take so long there. Milliseconds, default 10,000. */
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
      return found === undefined ? undefined : infoOf(answer.real, found); // it was removed while it was looked at
    },
    open: opener(requests, words),
    write: writer(requests, words),
    list: lister(requests, words),
    async remove(path, { real = false } = {}) {
      const there = absolute(path);
      if (there === "/") throw new ToolFailure("The root folder cannot be removed");
      // A link is removed itself, so only the folder it lies in is followed.
      const call = `hr_file_remove ${words(posix.dirname(there), { real })} ${quoteWord(posix.basename(there))}`;
      const answer = await requests.ask(call, { aside: true, again: false, doing: `removing ${path}` });
      if (answer.word === "ok") return;
      throw failureOf(answer.word.startsWith("kind ") ? { ...answer, word: "not-a-folder" } : answer, path);
    },
  };
}

/** What cannot be the name of anything is refused before it is asked for. */
function requireName(absolute: string, written: string): string {
  if (absolute.includes("\0")) throw new ToolFailure(`A path cannot have null bytes in it: ${JSON.stringify(written)}`);
  const isTooLong =
    Buffer.byteLength(absolute) > LONGEST_PATH ||
    absolute.split("/").some((name) => Buffer.byteLength(name) > LONGEST_NAME);
  if (isTooLong) throw new ToolFailure(`The name is too long: ${written}`);
  return absolute;
}

/**
 * `Files.write`: one round trip, two for what is long or no text. The content goes into a new file beside the old one, which takes its name only when all of it has arrived, so
 * a connection that is lost in the middle leaves the old one, and it may be written again.
 */
function writer(requests: FileRequests, words: PathWords): Files["write"] {
  return async (path, bytes, options) => {
    const write = `hr_file_write ${words(path, options)} ${bytes.length} .handrail-${randomName(12)}.tmp`;
    const fits = bytes.length <= IN_SCRIPT && !bytes.includes(0) && isUtf8(bytes); // no variable and no word of a shell holds a NUL
    let answer = fits ? await requests.ask(`${given(bytes)}\n${write}`) : undefined;
    // Not every shell says why its own printf could not print; cat does.
    if (answer === undefined || answer.word === "short") {
      const input = { input: bytes, aside: bytes.length > QUICK };
      answer = await requests.ask(`${taken(bytes.length)}\n${write}`, input);
    }
    if (answer.word !== "ok") throw failureOf(answer, path);
    const written = described(answer.rest.toString("utf8", 0, answer.rest.indexOf(0)), requests.form);
    if (written === undefined) throw failureOf({ ...answer, word: "failed" }, path);
    return infoOf(answer.real, written);
  };
}

/** The content as a word of the script. */
function given(bytes: Uint8Array): string {
  return `hr_file_give() { printf %s ${quoteWord(Buffer.from(bytes).toString("utf8"))}; }\nhr_file_drain() { :; }`;
}

/** The content from stdin. All of it is taken whatever happens: what was left there would be read as commands. */
function taken(length: number): string {
  return `hr_file_give() { hr_file_take ${length} | hr_file_copy; }\nhr_file_drain() { hr_file_take ${length} >/dev/null; }`;
}
