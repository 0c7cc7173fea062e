import type { Files, OpenFile } from "../../core/contract/backend.ts";
import { ToolFailure } from "../../core/contract/failure.ts";
import { quoteWord } from "../../core/util/quote.ts";
import { type Described, described, infoOf } from "./file-info.ts";
import { type FileRequests, type PathWords, failureOf } from "./file-requests.ts";

/** Bytes that are read when a file is opened: most files are small, or read from the beginning. */
const BROUGHT = 65_536;

/** dd(1) reads blocks: small ones for short ranges, so that little is read needlessly. */
const SMALL_BLOCK = 4_096;
const BIG_BLOCK = 65_536;

/** Longer reads use another shell, so that quick requests need not wait. Bytes. */
const QUICK = 262_144;

/** A file that was opened. */
interface Opened {
  readonly real: string;
  readonly written: string;
  readonly info: Described;
}

interface Range {
  readonly offset: number;
  readonly length: number;
}

/** The bytes, and the file's state when they were read. Fewer bytes than requested at the end of the file. */
interface Read {
  readonly held: Described;
  readonly bytes: Buffer;
}

/** Creates `Files.open`: one round trip for the real path, the info and the beginning. Each later read takes one. */
export function opener(requests: FileRequests, words: PathWords): Files["open"] {
  return async (path, options) => {
    const chunks: Buffer[] = [];
    const answer = await requests.askOpening(
      `hr_file_open ${words(path, options)} ${BROUGHT}`,
      { written: path },
      () => {
        chunks.length = 0;
        return (chunk) => void chunks.push(chunk);
      },
    );
    if (answer.word !== "ok") throw failureOf(answer, path);
    const lines = answer.rest.toString("utf8").split("\n");
    const [judged, info] = lines.map((line) => described(line, requests.form));
    if (judged === undefined || info === undefined) throw failureOf({ ...answer, word: "failed" }, path);
    // `judged` is the path's own state, `info` that of the open file. If they differ, the file was replaced in between.
    if (judged.kind !== "file" || !isSame(judged, info)) throw failureOf({ ...answer, word: "changed" }, path);
    return openFile(requests, { real: answer.real, written: path, info }, Buffer.concat(chunks));
  };
}

/** `content` is the beginning of the file. */
function openFile(requests: FileRequests, file: Opened, content: Buffer): OpenFile {
  const { real, written, info } = file;
  const isWhole = content.length < BROUGHT && content.length >= info.size;
  let isClosed = false;

  /** Reads a range. Reads again if fewer bytes arrived than the file has there. */
  const complete = async (offset: number, length: number): Promise<Buffer> => {
    const { held, bytes } = await readRange(requests, file, { offset, length });
    const end = offset + bytes.length;
    if (bytes.length >= length || end >= held.size) return bytes;
    if (bytes.length === 0) throw new ToolFailure(`${written} cannot be read beyond byte ${end}`);
    return Buffer.concat([bytes, await complete(end, length - bytes.length)]);
  };

  return {
    info: infoOf(real, info),
    async read(offset, length) {
      if (isClosed) throw new ToolFailure(`${written} has been closed`);
      if (isWhole || offset + length <= content.length) return content.subarray(offset, offset + length);
      return complete(offset, length);
    },
    async close() {
      isClosed = true; // nothing is open on the remote host
    },
  };
}

/** Reads a range: one round trip. @throws ToolFailure */
async function readRange(
  requests: FileRequests,
  { real, written, info }: Opened,
  { offset, length }: Range,
): Promise<Read> {
  const block = length <= BIG_BLOCK ? SMALL_BLOCK : BIG_BLOCK;
  const first = Math.floor(offset / block);
  const count = Math.ceil((offset + length) / block) - first;
  const how = info.size === 0 ? "made" : "blocks";
  let held: Described | undefined;
  let bytes: Buffer = NOTHING;
  let filled = 0;
  const call = `hr_file_read ${quoteWord(real)} ${block} ${first} ${count} ${how}`;
  const answer = await requests.askOpening(call, { written, aside: length > QUICK }, ({ word, rest }) => {
    const found = word === "ok" ? described(rest.toString("utf8"), requests.form) : undefined;
    held = found !== undefined && isSame(info, found) ? found : undefined;
    if (held === undefined) return () => undefined;
    let skip = offset - first * block;
    filled = 0;
    // Files of /proc and /sys have size 0.
    bytes = Buffer.allocUnsafeSlow(how === "made" ? length : Math.min(length, Math.max(0, held.size - offset)));
    return (chunk) => {
      const skipped = Math.min(skip, chunk.length);
      filled += chunk.copy(bytes, filled, skipped);
      skip -= skipped;
    };
  });
  if (answer.word === "failed") throw failureOf(answer, written);
  if (held !== undefined) return { held, bytes: bytes.subarray(0, filled) };
  throw new ToolFailure(`${written} was replaced or removed while it was read`, {
    hint: "Read it again, from the beginning.",
  });
}

const NOTHING = Buffer.alloc(0);

/**
 * True for the same file, even if it has grown or shrunk. Inode numbers are reused: without a birth time, a file that
 * changed and did not grow counts as another file.
 */
function isSame(one: Described, other: Described): boolean {
  if (one.inode !== other.inode || one.born !== other.born) return false;
  return one.born !== "" || one.version === other.version || other.size > one.size;
}
