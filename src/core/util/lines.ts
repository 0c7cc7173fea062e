import { setImmediate as nextTurn } from "node:timers/promises";

/** How many lines are yielded in one turn of the event loop: many lines must not block everything else. */
const A_TURN = 100;

/**
 * Splits chunks into lines, without their ends (LF or CR LF). Text after the last end is a line too, unless it is
 * empty.
 *
 * @throws RangeError when a line has more than `mostBytes`: it is held in memory.
 */
export async function* linesOf(chunks: AsyncIterable<Uint8Array>, mostBytes: number): AsyncGenerator<string> {
  let unfinished: Uint8Array[] = [];
  let bytes = 0;
  let lines = 0;
  const add = (part: Uint8Array) => {
    bytes += part.length;
    if (bytes > mostBytes) throw new RangeError(`a line has more than ${mostBytes} bytes`);
    unfinished.push(part);
  };
  const take = () => {
    const [first = EMPTY, ...more] = unfinished;
    const whole =
      more.length === 0 ? Buffer.from(first.buffer, first.byteOffset, first.length) : Buffer.concat(unfinished);
    const line = whole.toString();
    unfinished = [];
    bytes = 0;
    return line.endsWith("\r") ? line.slice(0, -1) : line;
  };
  for await (const chunk of chunks) {
    let start = 0;
    for (let end = chunk.indexOf(LF); end !== -1; end = chunk.indexOf(LF, start)) {
      add(chunk.subarray(start, end));
      start = end + 1;
      yield take();
      if (++lines % A_TURN === 0) await nextTurn();
    }
    if (start < chunk.length) add(chunk.subarray(start));
  }
  if (bytes > 0) yield take();
}

const LF = 10;
const EMPTY = new Uint8Array();
