import { posix } from "node:path";
import type { Files } from "../../contract/backend.ts";
import { ToolFailure } from "../../contract/failure.ts";
import { type Base, absolutePath } from "../../util/paths.ts";
import { quoteWord } from "../../util/shell.ts";
import type { Facts } from "./facts.ts";
import { failureOf } from "./file-answers.ts";
import { type FileReach, askFiles, inOneAsk } from "./file-asks.ts";
import { described, infoOf } from "./file-info.ts";
import { lister } from "./file-list.ts";
import { opener } from "./file-read.ts";
import { writer } from "./file-write.ts";
import { fileSettings } from "./files-script.ts";
import type { Shells } from "./shells.ts";

/** The longest name of a file, in bytes (NAME_MAX), and the longest path (PATH_MAX less its end), as Linux has them. */
const LONGEST_NAME = 255;
const LONGEST_PATH = 4_095;

/** A disk that has to be spun up or mounted first takes seconds. */
const OPEN_MS = 10_000;

/**
 * Files of another system, through its shell alone: the functions of files-script.ts do the work, each in one round trip. Paths and what is known of them are asked together
 * where they are asked in the same turn.
 */
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
  const absolute = (path: string) => requireName(absolutePath(path, base), path);
  const reach: FileReach = {
    shells,
    form: facts.stat,
    settings: fileSettings(facts.stat),
    openMs,
    describe: (line) => described(line, facts.stat),
    words: (path, { real = false } = {}) => `${quoteWord(absolute(path))} ${real ? "real" : "any"}`,
  };
  const ask = inOneAsk(reach);

  return {
    async realPath(path) {
      const there = absolute(path);
      const answer = await ask(`hr_file_path ${quoteWord(there)}`);
      if (answer.word !== "ok") throw failureOf(answer, there);
      return answer.real;
    },
    async stat(path, options) {
      const answer = await ask(`hr_file_stat ${reach.words(path, options)}`);
      if (answer.word === "missing" || answer.word === "not-a-folder") return undefined;
      if (answer.word !== "ok") throw failureOf(answer, path);
      const found = reach.describe(answer.rest.toString("utf8"));
      return found === undefined ? undefined : infoOf(answer.real, found); // it was removed while it was looked at
    },
    open: opener(reach),
    write: writer(reach),
    list: lister(reach),
    async remove(path, { real = false } = {}) {
      const there = absolute(path);
      if (there === "/") throw new ToolFailure("The root folder cannot be removed");
      // A link is removed itself, so only the folder it lies in is followed.
      const words = `${quoteWord(posix.dirname(there))} ${real ? "real" : "any"} ${quoteWord(posix.basename(there))}`;
      const answer = await askFiles(reach, `hr_file_remove ${words}`, {
        aside: true,
        again: false,
        doing: `removing ${path}`,
      });
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
