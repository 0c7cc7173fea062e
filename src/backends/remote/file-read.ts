import type { Files, OpenFile } from "../../contract/backend.ts";
import { ToolFailure } from "../../contract/failure.ts";
import { type FileAnswer, failureOf, longAnswer } from "./file-answers.ts";
import { type FileReach, askOpening, noAnswer } from "./file-asks.ts";
import { infoOf } from "./file-info.ts";
import { type Opened, type Piece, askPiece, isSame } from "./file-piece.ts";

/** So many bytes come along when a file is opened: most files are small, and of the others the beginning is looked at first. */
const BROUGHT = 65_536;

/** What is longer is not read ahead: it would take memory, and saves next to nothing. */
const MOST_AHEAD = 8 * 1_024 * 1_024;

/** `Files.open`: one round trip for the real path, what it is, and the beginning of its content; later reads one each. */
export function opener(reach: FileReach): Files["open"] {
  return async (path, options) => {
    let answer: FileAnswer | undefined;
    let chunks: Buffer[] = [];
    const begin = () => {
      chunks = [];
      return longAnswer((fields) => {
        answer = fields;
        return (chunk) => void chunks.push(chunk);
      });
    };
    const script = `hr_file_open ${reach.words(path, options)} ${BROUGHT}`;
    await askOpening(reach, script, { begin, written: path, aside: false });
    if (answer === undefined) throw noAnswer();
    const { real, word, rest }: FileAnswer = answer;
    if (word !== "ok") throw failureOf(answer, path);
    const [judged, held] = rest
      .toString("utf8")
      .split("\n")
      .map((line) => reach.describe(line));
    if (judged === undefined || held === undefined) throw failureOf({ ...answer, word: "failed" }, path);
    // What was opened is what stands there without a link; it may be another than a moment ago, but then nobody knows which was judged.
    if (judged.kind !== "file" || !isSame(judged, held)) throw failureOf({ ...answer, word: "changed" }, path);
    return openFile(reach, { real, written: path, opened: held }, Buffer.concat(chunks));
  };
}

/** `content` is the beginning of the file. */
function openFile(reach: FileReach, file: Opened, content: Buffer): OpenFile {
  const { real, written, opened } = file;
  const isWhole = content.length < BROUGHT && content.length >= opened.size;
  let isClosed = false;
  let ahead: Piece | undefined;
  let endOfLast = 0;

  /** Reads on where fewer bytes came than there are. */
  const onward = async (piece: Piece, wanted: number): Promise<Buffer> => {
    const { held, bytes } = await piece.whole;
    const missing = wanted - bytes.length;
    const end = piece.offset - (piece.before?.length ?? 0) + bytes.length;
    if (missing <= 0 || end >= held.size) return bytes;
    const next = askPiece(reach, file, { offset: end, length: missing, before: bytes });
    if ((await next.whole).bytes.length === bytes.length)
      throw new ToolFailure(`${written} cannot be read beyond byte ${end}`);
    return onward(next, wanted);
  };

  /** What was read ahead, if that file is still as it was then: what is asked now says so. */
  const proven = async (piece: Piece, now: Piece, length: number): Promise<Buffer | undefined> => {
    const known = await Promise.all([piece.whole, now.held]).catch(() => undefined);
    if (known === undefined) return undefined; // who asks again is told why
    const [{ held, bytes }, { version }] = known;
    const isComplete = bytes.length === piece.length || piece.offset + bytes.length >= held.size;
    return held.version === version && isComplete ? bytes.subarray(0, length) : undefined;
  };

  /** The beginning was brought at the opening; it counts only while nothing has been changed since. */
  const direct = async (offset: number, length: number): Promise<Buffer> => {
    const before = content.subarray(offset, offset + length);
    const piece = askPiece(reach, file, { offset: offset + before.length, length: length - before.length, before });
    if (before.length > 0 && (await piece.held).version !== opened.version)
      return onward(askPiece(reach, file, { offset, length }), length);
    return onward(piece, length);
  };

  return {
    info: infoOf(real, opened),
    async read(offset, length) {
      if (isClosed) throw new ToolFailure(`${written} has been closed`);
      if (isWhole || offset + length <= content.length) return content.subarray(offset, offset + length);
      const stock = ahead?.offset === offset && ahead.length >= length ? ahead : undefined;
      const isOn = offset === endOfLast && offset > 0 && length <= MOST_AHEAD && reach.form !== "none";
      endOfLast = offset + length;
      const rest = stock === undefined ? direct(offset, length) : undefined;
      // Behind the end there is only to be asked whether it still is the end.
      const isWanted = isOn && (stock !== undefined || endOfLast < opened.size);
      ahead = isWanted ? askPiece(reach, file, { offset: endOfLast, length }) : undefined;
      const known = stock !== undefined && ahead !== undefined ? await proven(stock, ahead, length) : undefined;
      return known ?? rest ?? direct(offset, length);
    },
    async close() {
      isClosed = true; // nothing is held there
      ahead = undefined;
    },
  };
}
