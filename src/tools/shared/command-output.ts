import type { OutputLog } from "../../core/contract/backend.ts";
import { decodeOutput } from "../../core/output/decode.ts";
import { KEPT_OF_START } from "../../core/output/kept.ts";
import { screenText } from "../../core/output/screen-text.ts";
import { formatSize } from "../../core/output/size.ts";
import { type Truncation, savedNotice, truncateHead, truncateTail } from "../../core/output/truncate.ts";
import type { Limit, ToolContext } from "../../core/contract/tool.ts";
import { pause } from "../../core/util/abort.ts";

/** How often a running command's output is reported, in milliseconds. */
const REPORT_EVERY_MS = 100;

/** The maximum size of one report, in bytes. Of more output, only the newest part is reported. */
const REPORT_BYTES = 4_096;

/**
 * Returns the end of what a terminal would show of the output between the bytes `from` and `to` (`screenText`). A
 * notice below truncated output names `output://ID`, which has all of it.
 *
 * @param to Default: the end of what is kept.
 * @param savedAs The id under which the output is saved already. Default: it is saved now.
 */
export async function shownTail(
  output: OutputLog,
  limit: Limit,
  { outputs, mask }: Pick<ToolContext, "outputs" | "mask">,
  { from = 0, to, savedAs }: { readonly from?: number; readonly to?: number; readonly savedAs?: string } = {},
): Promise<string> {
  // Read in this order, because both grow: a size greater than what is kept means that output was lost.
  const { size } = output;
  const { kept: all } = output;
  const kept = to ?? all;
  const { start, cut } = await screenEnd(output, { from, to: kept }, limit, mask);
  if (cut.truncated === false && start === from && size <= all) return cut.text;
  const id = savedAs ?? (await outputs.save(output).catch(() => undefined));
  const what = { truncated: cut.truncated === false ? ("bytes" as const) : cut.truncated, limit };
  const notice = savedNotice(what, id, savedAs === undefined ? outputs.forCommands : undefined);
  return `${cut.text}\n${notice}${size <= all ? "" : lossNotice({ size, kept: all })}`;
}

/** The most of an output that is read for a part that may be shown, in bytes. */
const MOST_READ = 4_194_304;

/** How much more is read when what a terminal would show of it is less than the limit, as with a progress bar. */
const READ_MORE = 8;

/** The end of what a terminal would show, and where the part of the output begins that was read for it. */
async function screenEnd(
  output: OutputLog,
  { from, to }: { readonly from: number; readonly to: number },
  limit: Limit,
  mask: ToolContext["mask"],
): Promise<{ readonly start: number; readonly cut: Truncation }> {
  for (let most = mostBytes(limit); ; most *= READ_MORE) {
    const start = Math.max(from, to - most);
    const text = screenText(decodeOutput(await output.read(start, to), { cut: start > 0 }));
    const cut = truncateTail(text, limit, mask);
    if (start === from || cut.truncated !== false) return { start, cut };
    // The first line is incomplete.
    if (most > MOST_READ) return { start, cut: truncateTail(text.slice(text.indexOf("\n") + 1), limit, mask) };
  }
}

/** The beginning of what a terminal would show of the output, and whether that is all of it. */
export async function shownHead(
  output: OutputLog,
  limit: Limit,
  { mask }: Pick<ToolContext, "mask">,
): Promise<{ readonly text: string; readonly isAll: boolean }> {
  for (let most = mostBytes(limit); ; most *= READ_MORE) {
    const bytes = await output.read(0, Math.min(output.kept, most));
    const cut = truncateHead(screenText(decodeOutput(bytes)), limit, mask);
    const isAll = cut.truncated === false && output.size <= bytes.length;
    if (isAll || cut.truncated !== false || bytes.length < most || most > MOST_READ) return { text: cut.text, isAll };
  }
}

/** How many bytes a limit may need: UTF-8 has at most four a character, and U+FFFD has three in place of one. */
function mostBytes({ bytes, characters = Infinity }: Limit): number {
  return (bytes ?? 4 * characters) + 4;
}

/**
 * What is missing in an output. Its end is kept when the command has ended, unless the disk did not take the beginning.
 */
function lossNotice({ size, kept }: Pick<OutputLog, "size" | "kept">): string {
  return kept > KEPT_OF_START
    ? `\n[Of ${formatSize(size)} of output, ${formatSize(kept)} were kept: the beginning and this end.]`
    : `\n[Only the first ${formatSize(kept)} of ${formatSize(size)} were kept. This is the end of that part.]`;
}

/** The kept size without a UTF-8 character at the end that is still incomplete. */
export async function wholeCharacters(output: OutputLog): Promise<number> {
  const { kept } = output;
  const end = await output.read(kept - 3, kept);
  // Finds the start of the last character in the last three bytes, and compares its length (RFC 3629).
  for (let back = 1; back <= end.length; back++) {
    const byte = end[end.length - back] ?? 0;
    if ((byte & 0xc0) === 0x80) continue;
    const length = byte >= 0xf0 ? 4 : byte >= 0xe0 ? 3 : byte >= 0xc0 ? 2 : 1;
    return length > back ? kept - back : kept;
  }
  return kept;
}

/**
 * Reports new output every `REPORT_EVERY_MS`, until the signal fires. Of more than `REPORT_BYTES` between two reports
 * only the end is reported, below a line with the size of what was skipped.
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
  const { kept } = output; // read in this order, because both grow
  if (size > kept && kept <= KEPT_OF_START) report({ output: `\n${skippedNotice(size - kept)}\n` });
}

function skippedNotice(bytes: number): string {
  return `[… ${formatSize(bytes)} of output skipped …]`;
}

/** How many bytes to skip to the next line; in a single line, to the next UTF-8 character. */
function partOfLine(bytes: Uint8Array): number {
  const next = bytes.indexOf(10) + 1;
  if (next > 0 && next < bytes.length) return next;
  const character = bytes.findIndex((byte) => (byte & 0xc0) !== 0x80);
  return Math.min(Math.max(character, 0), 3);
}
