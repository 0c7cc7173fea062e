import { join } from "node:path";
import { pathFrom } from "../../core/util/byte-paths.ts";
import { type Reader, settingAt } from "./reader.ts";

/** The mode of an index entry that is a commit of another repository (a submodule). */
const GITLINK = 0o160_000;

export interface IndexEntry {
  readonly mode: number;
  /** Relative to the work tree, as `pathFrom`. */
  name(): string;
  /** Times, inode and size of the file when git last saw it with the entry's content, in hexadecimal. */
  stat(): string;
}

/** The files in a `.git` folder that are its index. A split index has more entries in files beside it. */
export function indexesIn(reader: Reader, gitFolder: string): readonly string[] {
  const names = reader.namesIn(gitFolder).filter((name) => name === "index" || name.startsWith("sharedindex."));
  return names.map((name) => join(gitFolder, name));
}

/** How many bytes an object's name has in the index of a `.git` folder. */
export function hashBytes(reader: Reader, gitFolder: string): 20 | 32 {
  const format = settingAt(reader, join(gitFolder, "config"), "extensions", "objectformat");
  return format?.toLowerCase() === "sha256" ? 32 : 20;
}

/** The submodule paths of an index, relative to the work tree. If it is damaged, the paths before the damage. Pure. */
export function gitlinksOf(index: Buffer, hash: 20 | 32 = 20): readonly string[] {
  return Array.from(entriesOf(index, hash)).flatMap((entry) => (entry.mode === GITLINK ? entry.name() : []));
}

/** The entries of an index (gitformat-index(5), versions 2 to 4). If it is damaged, the entries before the damage. */
export function* entriesOf(index: Buffer, hash: 20 | 32): Generator<IndexEntry> {
  if (index.length < 12 || index.toString("latin1", 0, 4) !== "DIRC") return;
  const version = index.readUInt32BE(4);
  let name = Buffer.alloc(0);
  let at = 12;
  for (let left = index.readUInt32BE(8); left > 0; left--) {
    const flagsAt = at + 40 + hash;
    if (flagsAt + 2 > index.length) break;
    const isExtended = version >= 3 && (index.readUInt16BE(flagsAt) & 0x4000) !== 0;
    let nameAt = flagsAt + (isExtended ? 4 : 2);
    let kept = Buffer.alloc(0);
    if (version === 4) {
      const strip = variableNumber(index, nameAt);
      nameAt = strip.next;
      kept = name.subarray(0, Math.max(0, name.length - strip.value));
    }
    const end = index.indexOf(0, nameAt);
    if (end < 0) break;
    name = Buffer.concat([kept, index.subarray(nameAt, end)]);
    const start = at;
    const full = name;
    yield {
      mode: index.readUInt32BE(start + 24),
      name: () => pathFrom(full),
      stat: () =>
        index.toString("hex", start, start + 16) +
        index.toString("hex", start + 20, start + 24) +
        index.toString("hex", start + 36, start + 40),
    };
    at = version === 4 ? end + 1 : at + Math.ceil((end - at + 1) / 8) * 8;
  }
}

/** The data of a file for `IndexEntry.stat`. Times in nanoseconds. */
export function statText(info: { readonly [field in "ctimeNs" | "mtimeNs" | "ino" | "size"]: bigint }): string {
  const { ctimeNs, mtimeNs, ino, size } = info;
  const times = [ctimeNs, mtimeNs].flatMap((time) => [time / 1_000_000_000n, time % 1_000_000_000n]);
  return [...times, ino, size].map((each) => BigInt.asUintN(32, each).toString(16).padStart(8, "0")).join("");
}

/** Decodes a number as in the offsets of a pack: seven bits per byte; each further byte adds one first. */
function variableNumber(bytes: Buffer, start: number): { readonly value: number; readonly next: number } {
  let at = start;
  let byte = bytes[at++] ?? 0;
  let value = byte & 127;
  while ((byte & 128) !== 0) {
    byte = bytes[at++] ?? 0;
    value = (value + 1) * 128 + (byte & 127);
  }
  return { value, next: at };
}
