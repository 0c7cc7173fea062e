import type { Io } from "./io.ts";

/** Reads all of stdin as text. */
export async function readStdin({ stdin }: Pick<Io, "stdin">): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of stdin) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks).toString("utf8");
}

/** The maximum length of a line, in bytes. */
const MAX_LINE_BYTES = 1_048_576;

/**
 * Yields the lines of stdin, split only at line feeds (JSON may contain U+2028).
 *
 * @throws Error when a line is longer than `MAX_LINE_BYTES`.
 */
export async function* inputLines({ stdin }: Pick<Io, "stdin">): AsyncGenerator<string, void> {
  let rest = Buffer.alloc(0);
  for await (const chunk of stdin) {
    rest = Buffer.concat([rest, chunk as Buffer]);
    let start = 0;
    for (let end = rest.indexOf(10); end !== -1; end = rest.indexOf(10, start)) {
      yield rest.toString("utf8", start, end);
      start = end + 1;
    }
    rest = rest.subarray(start);
    if (rest.length > MAX_LINE_BYTES) throw new Error(`a line of stdin is longer than ${MAX_LINE_BYTES} bytes`);
  }
  if (rest.length > 0) yield rest.toString("utf8");
}
