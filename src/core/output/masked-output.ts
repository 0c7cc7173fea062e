import type { OpenFile, OutputLog } from "../contract/backend.ts";
import type { Mask } from "./mask.ts";

/** How many bytes of a log are masked at a time: 8 MiB. */
const PIECE = 8_388_608;

/** The longest block of lines that is masked as one, in bytes: a private key. */
const LONGEST_BLOCK = 65_536;

/** What is saved. Pieces are bytes, in order. */
export type MaskedOutput = string | Uint8Array | OutputLog | AsyncIterable<Uint8Array>;

/**
 * Masks what is saved, so that secrets are not on disk for as long as saved outputs are kept. Returns a log without
 * secrets itself, which is saved without copying. Bytes are kept: they are pictures.
 */
export async function maskedOutput(
  content: string | Uint8Array | OutputLog,
  mask: Pick<Mask, "text">,
): Promise<MaskedOutput> {
  if (typeof content === "string") return mask.text(content);
  if (content instanceof Uint8Array) return content;
  const end = content.kept;
  for await (const { before, after } of pieces(content, end, mask))
    if (before !== after) return bytes(content, end, mask);
  return content;
}

/**
 * Returns the file with each secret replaced by as many bytes, so that offsets stay what they are. What is read has no
 * part of a secret either: bytes around it are masked with it. Closing it closes the file.
 */
export function maskedFile({ info, read, close }: OpenFile, mask: Pick<Mask, "sized">): OpenFile {
  return {
    info,
    async read(offset, length) {
      const from = Math.max(0, offset - LONGEST_BLOCK);
      const around = Buffer.from(await read(from, offset - from + length + LONGEST_BLOCK)).toString("latin1");
      return Buffer.from(mask.sized(around).slice(offset - from, offset - from + length), "latin1");
    },
    close,
  };
}

async function* bytes(log: OutputLog, end: number, mask: Pick<Mask, "text">): AsyncIterable<Uint8Array> {
  for await (const { after } of pieces(log, end, mask)) yield Buffer.from(after, "latin1");
}

/** The log in pieces of whole lines. Each byte is a character, so that bytes in any encoding stay the same. */
async function* pieces(log: OutputLog, end: number, mask: Pick<Mask, "text">) {
  let rest = "";
  for (let position = 0; position < end;) {
    const read = await log.read(position, Math.min(end, position + PIECE));
    position = read.length === 0 ? end : position + read.length;
    const text = rest + Buffer.from(read).toString("latin1");
    const cut = position < end ? cutOf(text) : text.length;
    rest = text.slice(cut);
    const before = text.slice(0, cut);
    yield { before, after: mask.text(before) };
  }
}

/** Where a text can be cut: behind a line, but not within a block such as a private key. */
function cutOf(text: string): number {
  const begin = text.lastIndexOf("-----BEGIN ");
  const isOpen = begin > text.lastIndexOf("-----END ") && text.length - begin < LONGEST_BLOCK;
  if (isOpen && begin > 0) return begin;
  return Math.max(text.lastIndexOf("\n") + 1, text.length - LONGEST_BLOCK);
}
