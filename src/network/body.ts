import { once } from "node:events";
import type { Readable, Transform } from "node:stream";
import { constants, createBrotliDecompress, createGunzip, createInflate, createInflateRaw } from "node:zlib";
import { ToolFailure } from "../contract/failure.ts";
import { messageOf } from "../util/errors.ts";

/** The encodings that are decoded, in the form of Accept-Encoding. */
export const ACCEPT_ENCODING = "gzip, deflate, br, zstd";

/** A body, or its beginning. */
export interface BodyRead {
  readonly bytes: Uint8Array;
  /** Whether the body is longer than the limit. */
  readonly truncated: boolean;
}

/**
 * Reads a body through its content encoding. No more than `most` decoded bytes are ever held; the stream is destroyed
 * behind them.
 *
 * @throws ToolFailure for an encoding that is not decoded, and for a body that is not in it; the stream's own error.
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
  let fault: unknown;
  body.on("error", (error) => {
    fault = error;
    decoder.destroy(error);
  });
  try {
    yield* body.pipe(decoder) as AsyncIterable<Uint8Array>;
  } catch (error) {
    throw fault === undefined ? notIn(encoding, error) : error;
  }
}

/** Creates a decoder. Truncated streams are decoded as far as possible: servers end streams carelessly. */
async function decoderOf(body: Readable, encoding: string): Promise<Transform | undefined> {
  const options = { finishFlush: constants.Z_SYNC_FLUSH };
  switch (encoding) {
    case "gzip":
    case "x-gzip":
      return createGunzip(options);
    case "br":
      return createBrotliDecompress({ finishFlush: constants.BROTLI_OPERATION_FLUSH });
    case "deflate":
      return (await startsAsZlib(body)) ? createInflate(options) : createInflateRaw(options);
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
  for await (const chunk of body as AsyncIterable<Uint8Array>) {
    // A small piece may decode to many bytes: the reader may stop between two chunks.
    for (let at = 0; at < chunk.length; at += ZSTD_PIECE) {
      try {
        decoder.push(chunk.subarray(at, at + ZSTD_PIECE));
      } catch (error) {
        throw notIn("zstd", error);
      }
      yield* found.splice(0);
    }
  }
}

/** Bytes of the wire; the smallest block has 4, so this is at most 2 MiB decoded. */
const ZSTD_PIECE = 64;

function notIn(encoding: string, error: unknown): ToolFailure {
  return new ToolFailure(`the body is not valid ${encoding}, its content encoding: ${messageOf(error)}`, {
    cause: error,
  });
}
