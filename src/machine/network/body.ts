import { once } from "node:events";
import type { Readable, Transform } from "node:stream";
import { type Zlib, createBrotliDecompress, createGunzip, createInflate, createInflateRaw } from "node:zlib";
import { ToolFailure } from "../../core/contract/failure.ts";
import { codeOf, messageOf } from "../../core/util/errors.ts";

/** The encodings that are decoded, in the form of Accept-Encoding. */
export const ACCEPT_ENCODING = "gzip, deflate, br, zstd";

/** A body, or its beginning. */
export interface BodyRead {
  readonly bytes: Uint8Array;
  /** Whether the body is longer than the limit. */
  readonly truncated: boolean;
  /** Why the body ended early, if it did. */
  readonly fault?: unknown;
}

/**
 * Reads a body through its content encoding. No more than `most` decoded bytes are ever held; the stream is destroyed
 * behind them. Of a body that ends early, the bytes before that are kept.
 *
 * @throws ToolFailure for an encoding that is not decoded, and for a body that is not in it; the stream's own error. No
 *   bytes could be read then.
 */
export async function readBody(body: Readable, encoding: string, most: number): Promise<BodyRead> {
  const pieces: Uint8Array[] = [];
  let length = 0;
  try {
    for await (const piece of decoded(body, encoding.trim().toLowerCase())) {
      const kept = piece.subarray(0, most - length);
      pieces.push(kept);
      length += kept.length;
      if (kept.length < piece.length) return { bytes: Buffer.concat(pieces), truncated: true };
    }
    return { bytes: Buffer.concat(pieces), truncated: false };
  } catch (fault) {
    if (length === 0) throw fault;
    return { bytes: Buffer.concat(pieces), truncated: false, fault };
  } finally {
    body.on("error", () => undefined).destroy();
  }
}

async function* decoded(body: Readable, encoding: string): AsyncIterable<Uint8Array> {
  if (encoding === "" || encoding === "identity") return yield* body as AsyncIterable<Uint8Array>;
  if (encoding === "zstd") return yield* fromZstd(body);
  const decoder = await decoderOf(body, encoding);
  if (decoder === undefined) {
    throw new ToolFailure(`the body has the content encoding ${JSON.stringify(encoding)}; expected ${ACCEPT_ENCODING}`);
  }
  let fault: Error | undefined;
  body.on("error", (error) => {
    fault = error;
    decoder.flush(() => decoder.destroy(error));
  });
  // An end that comes too early is an error, which drops what was not read yet: everything is decoded before it.
  const end = () => decoder.flush(() => decoder.end());
  if (body.readableEnded) end();
  else body.once("end", end);
  try {
    yield* body.pipe(decoder, { end: false }) as AsyncIterable<Uint8Array>;
  } catch (error) {
    if (fault === undefined && codeOf(error) === "Z_BUF_ERROR" && decoder.bytesWritten === 0) return; // no body at all
    throw fault ?? notIn(encoding, error);
  }
}

type Decoder = Transform & Pick<Zlib, "flush" | "bytesWritten">;

async function decoderOf(body: Readable, encoding: string): Promise<Decoder | undefined> {
  switch (encoding) {
    case "gzip":
    case "x-gzip":
      return createGunzip();
    case "br":
      return createBrotliDecompress();
    case "deflate":
      return (await startsAsZlib(body)) ? createInflate() : createInflateRaw();
    default:
      return undefined;
  }
}

/** Whether a "deflate" body has the zlib format (RFC 9110, 8.4.1.2). Some servers send it without this format. */
async function startsAsZlib(body: Readable): Promise<boolean> {
  if (body.readableLength === 0 && !body.readableEnded) await Promise.race([once(body, "readable"), once(body, "end")]);
  const first = body.read() as Uint8Array | null;
  if (first !== null) body.unshift(first);
  return ((first?.[0] ?? 0x78) & 0x0f) === 8;
}

/**
 * Node has no zstd before 22.15. Decodes in pieces of the wire, of which a block holds at most 128 KiB (RFC 8878,
 * 3.1.1.2.4).
 */
async function* fromZstd(body: Readable): AsyncIterable<Uint8Array> {
  const { Decompress } = await import("fzstd");
  const found: Uint8Array[] = [];
  const decoder = new Decompress((piece) => found.push(piece));
  function* decode(piece: Uint8Array, isLast: boolean): Iterable<Uint8Array> {
    let fault: ToolFailure | undefined;
    try {
      decoder.push(piece, isLast);
    } catch (error) {
      fault = notIn("zstd", error);
    }
    yield* found.splice(0);
    if (fault !== undefined) throw fault;
  }
  for await (const chunk of body as AsyncIterable<Uint8Array>) {
    // A small piece may decode to many bytes: the reader may stop between two chunks.
    for (let at = 0; at < chunk.length; at += ZSTD_PIECE) yield* decode(chunk.subarray(at, at + ZSTD_PIECE), false);
  }
  yield* decode(new Uint8Array(0), true);
}

/** Bytes of the wire; the smallest block has 4, so this is at most 2 MiB decoded. */
const ZSTD_PIECE = 64;

function notIn(encoding: string, error: unknown): ToolFailure {
  if (/unexpected (?:end of file|EOF)/.test(messageOf(error)))
    return new ToolFailure(`the body ends in the middle of its ${encoding}, its content encoding`, { cause: error });
  return new ToolFailure(`the body is not valid ${encoding}, its content encoding: ${messageOf(error)}`, {
    cause: error,
  });
}
