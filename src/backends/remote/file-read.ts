import type { Files, OpenFile } from "../../contract/backend.ts";
import { ToolFailure } from "../../contract/failure.ts";
import { quoteWord } from "../../util/shell.ts";
import { failureOf } from "./file-answers.ts";
import { type FileReach, askFiles } from "./file-asks.ts";
import { type Described, infoOf } from "./file-info.ts";

/** So many bytes come along when a file is opened: most files are small, and of the others the beginning is looked at first. */
const BROUGHT = 65_536;

/** dd(1) reads blocks: small ones for what is short, so that little is read in vain. */
const SMALL_BLOCK = 4_096;
const BIG_BLOCK = 65_536;

/** What is longer goes over a shell of its own, so that what is quick need not wait behind it. */
const QUICK = 262_144;

/** Of long reads so much is asked for at once, and so many are on their way side by side. */
const PIECE = 8 * 1_024 * 1_024;
const SIDE_BY_SIDE = 2;

/** `Files.open`: one round trip for the real path, what it is, and the beginning of its content; later reads one each. */
export function opener(reach: FileReach): Files["open"] {
  return async (path, options) => {
    const answer = await askFiles(reach, `hr_file_open ${reach.words(path, options)} ${BROUGHT}`);
    if (answer.word !== "ok") throw failureOf(answer, path);
    const { described: found, content } = twoParts(answer.rest);
    const [judged, held] = found.map((line) => reach.describe(line));
    if (judged === undefined || held === undefined) throw failureOf({ ...answer, word: "failed" }, path);
    // What was opened is what stands there without a link; it may be another than a moment ago, but then nobody knows which was judged.
    if (judged.kind !== "file" || !isSame(judged, held)) throw failureOf({ ...answer, word: "changed" }, path);
    return openFile(reach, { real: answer.real, written: path, opened: held, content });
  };
}

interface Opened {
  readonly real: string;
  readonly written: string;
  readonly opened: Described;
  /** The beginning. */
  readonly content: Buffer;
}

function openFile(reach: FileReach, { real, written, opened, content }: Opened): OpenFile {
  const isWhole = content.length < BROUGHT && content.length >= opened.size;
  let isClosed = false;

  /** Fewer bytes than asked for: the file ends there. */
  const piece = async (offset: number, length: number): Promise<Buffer> => {
    const block = length <= BIG_BLOCK ? SMALL_BLOCK : BIG_BLOCK;
    const first = Math.floor(offset / block);
    const count = Math.ceil((offset + length) / block) - first;
    const script = `hr_file_read ${quoteWord(real)} ${block} ${first} ${count}`;
    const answer = await askFiles(reach, script, { aside: length > QUICK });
    if (answer.word === "failed") throw failureOf(answer, written);
    const { described: found, content: bytes } = twoParts(answer.rest);
    const held = reach.describe(found[0] ?? "");
    if (answer.word !== "ok" || held === undefined || !isSame(opened, held)) throw replaced(written);
    const from = offset - first * block;
    const got = bytes.subarray(from, from + length);
    if (got.length < length && offset + got.length < held.size) {
      if (got.length === 0) throw new ToolFailure(`${written} cannot be read beyond byte ${offset}`);
      return Buffer.concat([got, await piece(offset + got.length, length - got.length)]);
    }
    return got;
  };

  const long = async (offset: number, length: number): Promise<Buffer> => {
    const parts: Buffer[] = [];
    const onTheWay: Promise<Buffer>[] = [];
    let asked = 0;
    for (;;) {
      while (onTheWay.length < SIDE_BY_SIDE && asked < length) {
        const next = piece(offset + asked, Math.min(PIECE, length - asked));
        next.catch(() => undefined); // told when it is its turn
        onTheWay.push(next);
        asked += PIECE;
      }
      const part = await onTheWay.shift();
      if (part === undefined) return Buffer.concat(parts);
      parts.push(part);
      if (part.length < PIECE) return Buffer.concat(parts);
    }
  };

  return {
    info: infoOf(real, opened),
    async read(offset, length) {
      if (isClosed) throw new ToolFailure(`${written} has been closed`);
      const known = content.subarray(offset, offset + length);
      if (isWhole || known.length === length) return known;
      const rest = await long(offset + known.length, length - known.length);
      return known.length === 0 ? rest : Buffer.concat([known, rest]);
    },
    async close() {
      isClosed = true; // nothing is held there
    },
  };
}

/**
 * True when it is the same file, though it may have grown or shrunk. A number is given again to a new file when its own is gone; where nobody knows when a file came to be,
 * one that is not as it was and has not grown is taken for another: it may be one.
 */
function isSame(one: Described, other: Described): boolean {
  if (one.inode !== other.inode || one.born !== other.born) return false;
  return one.born !== "" || one.version === other.version || other.size > one.size;
}

function replaced(written: string): ToolFailure {
  return new ToolFailure(`${written} was replaced or removed while it was being read`, {
    hint: "Read it again, from the beginning.",
  });
}

/** Lines about the file up to a NUL, and what stands behind it. */
function twoParts(rest: Buffer): { readonly described: readonly string[]; readonly content: Buffer } {
  const end = rest.indexOf(0);
  if (end === -1) return { described: [], content: Buffer.alloc(0) };
  return { described: rest.toString("utf8", 0, end).split("\n"), content: rest.subarray(end + 1) };
}
