import { isUtf8 } from "node:buffer";
import type { Files } from "../../contract/backend.ts";
import { randomName } from "../../util/identifier.ts";
import { quoteWord } from "../../util/shell.ts";
import { failureOf } from "./file-answers.ts";
import { type FileReach, askFiles } from "./file-asks.ts";
import { infoOf } from "./file-info.ts";

/** Text up to so many bytes stands in the script itself: one round trip less. Not more, for bash reads a script byte by byte. */
const IN_SCRIPT = 8_192;

/** What is longer goes over a shell of its own, so that what is quick need not wait behind it. */
const QUICK = 65_536;

/**
 * `Files.write`: one round trip, two for what is long or no text. The content goes into a new file beside the old one, which takes its name only when all of it has arrived, so
 * a connection that is lost in the middle leaves the old one, and it may be written again.
 */
export function writer(reach: FileReach): Files["write"] {
  return async (path, bytes, options) => {
    const words = reach.words(path, options);
    const temporary = `.handrail-${randomName(12)}.tmp`;
    const write = `hr_file_write ${words} ${bytes.length} ${temporary}`;
    let answer =
      bytes.length <= IN_SCRIPT && isText(bytes) ? await askFiles(reach, `${given(bytes)}\n${write}`) : undefined;
    // Not every shell says why its own printf could not print; cat does.
    if (answer === undefined || answer.word === "short") {
      answer = await askFiles(reach, `${taken(bytes.length)}\n${write}`, { input: bytes, aside: bytes.length > QUICK });
    }
    if (answer.word !== "ok") throw failureOf(answer, path);
    const written = reach.describe(answer.rest.toString("utf8", 0, answer.rest.indexOf(0)));
    if (written === undefined) throw failureOf({ ...answer, word: "failed" }, path);
    return infoOf(answer.real, written);
  };
}

/** Neither a shell's variables nor its words can have a NUL in them. */
function isText(bytes: Uint8Array): boolean {
  return !bytes.includes(0) && isUtf8(bytes);
}

/** The content as a word of the script. */
function given(bytes: Uint8Array): string {
  return `hr_file_give() { printf %s ${quoteWord(Buffer.from(bytes).toString("utf8"))}; }\nhr_file_drain() { :; }`;
}

/** The content from stdin. All of it is taken whatever happens: what was left there would be read as commands. */
function taken(length: number): string {
  return `hr_file_give() { hr_file_take ${length} | hr_file_copy; }\nhr_file_drain() { hr_file_take ${length} >/dev/null; }`;
}
