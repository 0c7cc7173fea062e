import { quoteWord } from "../../../util/shell.ts";

/** A command line has so many bytes of file names at most: Linux takes 128 KiB of arguments and environment for sure (execve(2)), others more. */
const MOST_BYTES = 48 * 1024;

/** So many files are looked at by one command at most. */
const MOST_FILES = 2_000;

/** The first command looks at so many, each next one at four times as many: where there is much to find, the first ones find it. */
const FIRST_FILES = 50;

/** Names of files in a script. They are made of bytes (latin1), for they need not be UTF-8, which alone can be sent. */
export interface Words {
  /** What has to stand before the command. */
  readonly before: string;
  readonly words: string;
}

export function wordsOf(names: readonly string[]): Words {
  const before: string[] = [];
  const words = names.map((name) => {
    const text = Buffer.from(name, "latin1").toString("utf8");
    if (Buffer.from(text, "utf8").toString("latin1") === name) return quoteWord(text);
    const variable = `name_${before.length}`;
    const octal = Array.from(name, (byte) => `\\${byte.charCodeAt(0).toString(8).padStart(3, "0")}`).join("");
    before.push(`${variable}=$(printf '${octal}.'); ${variable}=\${${variable}%.}`);
    return `"$${variable}"`;
  });
  return { before: before.join("\n"), words: words.join(" ") };
}

/** The names in parts that one command takes. */
export function batches(names: readonly string[]): readonly (readonly string[])[] {
  const all: string[][] = [];
  let batch: string[] = [];
  let bytes = 0;
  for (const name of names) {
    if (batch.length === Math.min(FIRST_FILES * 4 ** all.length, MOST_FILES) || bytes + name.length > MOST_BYTES) {
      all.push(batch);
      batch = [];
      bytes = 0;
    }
    batch.push(name);
    bytes += name.length + 1;
  }
  return batch.length === 0 ? all : [...all, batch];
}
