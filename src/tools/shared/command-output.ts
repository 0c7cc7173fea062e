import type { OutputLog } from "../../contract/backend.ts";
import { decodeOutput } from "../../output/decode.ts";
import { formatSize } from "../../output/size.ts";
import { savedNotice, truncateTail } from "../../output/truncate.ts";
import type { Limit, ToolContext } from "../../contract/tool.ts";
import { pause } from "../../util/abort.ts";

/** How often people are shown more of a running command's output. */
const REPORT_EVERY_MS = 100;

/** Only the newest part of a flood is of use to someone who watches. */
const REPORT_BYTES = 4_096;

/**
 * The end of what was written from byte `from` up to `to` (all that is kept), with a notice below it where that is not all; all of it is then
 * in `output://ID` (saved, unless `savedAs` says where it is already).
 */
export async function shownTail(
  output: OutputLog,
  limit: Limit,
  { outputs, mask }: Pick<ToolContext, "outputs" | "mask">,
  { from = 0, to, savedAs }: { readonly from?: number; readonly to?: number; readonly savedAs?: string } = {},
): Promise<string> {
  // Looked at in this order, since both grow: more than is kept means that something is lost.
  const { size } = output;
  const { kept: all } = output;
  const kept = to ?? all;
  // UTF-8 has at most four bytes a character, and U+FFFD has three in place of one.
  const most = (limit.bytes ?? 4 * (limit.characters ?? Infinity)) + 4;
  const start = Math.max(from, kept - most);
  const bytes = await output.read(start, kept);
  const cut = truncateTail(decodeOutput(bytes, { cut: start > 0 }), limit, mask);
  if (cut.truncated === false && start === from && size <= all) return cut.text;
  const id = savedAs ?? (await outputs.save(output).catch(() => undefined));
  const notice = savedNotice({ truncated: cut.truncated === false ? "bytes" : cut.truncated, limit }, id);
  return `${cut.text}\n${notice}${size <= all ? "" : lossNotice({ size, kept: all })}`;
}

/** A log keeps the beginning of what is beyond all measure, or of what the disk did not take. */
function lossNotice({ size, kept }: Pick<OutputLog, "size" | "kept">): string {
  return `\n[Of ${formatSize(size)} of output only the first ${formatSize(kept)} were kept: this is the end of those.]`;
}

/** How far its output can be shown in whole characters, which the next bytes may complete. */
export async function wholeCharacters(output: OutputLog): Promise<number> {
  const { kept } = output;
  const end = await output.read(kept - 3, kept);
  // Of the last three bytes the first that begins a character of more bytes than are there (RFC 3629).
  for (let back = 1; back <= end.length; back++) {
    const byte = end[end.length - back] ?? 0;
    if ((byte & 0xc0) === 0x80) continue;
    const length = byte >= 0xf0 ? 4 : byte >= 0xe0 ? 3 : byte >= 0xc0 ? 2 : 1;
    return length > back ? kept - back : kept;
  }
  return kept;
}

/**
 * Shows people the output while it comes, a few times a second at most, until the signal fires. Where more is written between two updates
 * than is shown, a line in its place says how much was skipped.
 */
export async function reportOutput(
  output: OutputLog,
  { report }: Pick<ToolContext, "report">,
  until: AbortSignal,
): Promise<void> {
  let decoder = new TextDecoder();
  let shown = 0;
  for (;;) {
    await output.grown(shown, until);
    const { kept } = output;
    if (kept > shown) {
      const from = Math.max(shown, kept - REPORT_BYTES);
      const bytes = await output.read(from, kept);
      if (from === shown) {
        report({ output: decoder.decode(bytes, { stream: true }) });
      } else {
        const skipped = partOfLine(bytes);
        decoder = new TextDecoder();
        const rest = decoder.decode(bytes.subarray(skipped), { stream: true });
        report({ output: `\n${skippedNotice(from - shown + skipped)}\n${rest}` });
      }
      shown = kept;
    }
    if (until.aborted) break;
    await pause(REPORT_EVERY_MS, until);
  }
  const { size } = output;
  const { kept } = output; // in this order, since both grow
  if (size > kept) report({ output: `\n${skippedNotice(size - kept)}\n` });
}

function skippedNotice(bytes: number): string {
  return `[… ${formatSize(bytes)} of output skipped …]`;
}

/** How many bytes at the beginning are the rest of a line; of a line that goes on to the end, the rest of a UTF-8 character. */
function partOfLine(bytes: Uint8Array): number {
  const next = bytes.indexOf(10) + 1;
  if (next > 0 && next < bytes.length) return next;
  const character = bytes.findIndex((byte) => (byte & 0xc0) !== 0x80);
  return Math.min(Math.max(character, 0), 3);
}
