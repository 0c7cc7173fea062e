import type { FileInfo, ToolBackend } from "../../core/contract/backend.ts";
import { ToolFailure } from "../../core/contract/failure.ts";
import type { ToolNames } from "../../core/contract/tool.ts";
import {
  type Encoding,
  type InvalidByte,
  detectEncoding,
  encodingLabel,
  inUtf8,
  invalidByte,
  utf32Label,
} from "../../core/files/encoding.ts";
import { formatSize } from "../../core/output/size.ts";
import { quoteWord } from "../../core/util/quote.ts";

/** The largest file that is edited. Larger files are rarely text, and JavaScript strings end at 512 MB. */
const MAX_EDIT_BYTES = 128 * 1024 * 1024;

/** A whole text file: its bytes, and the text that they encode losslessly. */
export interface TextFile {
  readonly info: FileInfo;
  readonly bytes: Uint8Array;
  /** The text in UTF-8. In a file in UTF-8, these are its bytes. */
  readonly utf8: Buffer;
  readonly encoding: Encoding;
}

/**
 * Reads a whole text file in its own encoding.
 *
 * @throws ToolFailure when the file is too large, is not text, or has bytes that would change when written back.
 */
export async function readTextFile(
  backend: Pick<ToolBackend, "files">,
  path: string,
  names: ToolNames,
): Promise<TextFile> {
  const file = await backend.files.open(path);
  try {
    const { info } = file;
    if (info.size > MAX_EDIT_BYTES) {
      throw new ToolFailure(
        `${path} is ${formatSize(info.size)}; the largest file that can be edited is ${formatSize(MAX_EDIT_BYTES)}`,
      );
    }
    const bytes = await file.read(0, info.size);
    const encoding = await detectEncoding(bytes, true);
    if (encoding === undefined) throw await notText(path, bytes, info.size, names);
    const utf8 = await inUtf8(bytes, encoding);
    if (utf8 === undefined) {
      throw new ToolFailure(
        `${path} looks like ${encodingLabel(encoding)} but ${invalidText(await invalidByte(bytes, encoding))} in it; ` +
          "it was not changed",
        names("bash") === undefined ? {} : { hint: "Convert or repair it with a command first." },
      );
    }
    return { info, bytes, utf8, encoding };
  } finally {
    await file.close();
  }
}

function invalidText(found: InvalidByte | undefined): string {
  if (found === undefined) return "has bytes that are invalid";
  const { byte, offset, line } = found;
  return `the byte 0x${byte.toString(16).padStart(2, "0")} at offset ${offset} (line ${line}) is invalid`;
}

/** The failure for a file that is not text, with its type by content. */
export async function notText(path: string, start: Uint8Array, size: number, names: ToolNames): Promise<ToolFailure> {
  const bash = names("bash");
  const utf32 = utf32Label(start);
  if (utf32 !== undefined) {
    const convert = `iconv -f ${utf32} -t UTF-8 ${quoteWord(path)}`;
    return new ToolFailure(`${path} is text in ${utf32}, ${formatSize(size)}, which is neither shown nor edited`, {
      ...(bash !== undefined && { hint: `Convert it with ${bash}: ${convert}` }),
    });
  }
  const { fileTypeFromBuffer } = await import("file-type");
  const type = await fileTypeFromBuffer(start).catch(() => undefined);
  const what = type === undefined ? "binary data" : `${type.ext.toUpperCase()} (${type.mime})`;
  return new ToolFailure(
    `Not text: ${path} is ${what}, ${formatSize(size)}`,
    bash === undefined ? {} : { hint: `Use ${bash} with a program that reads this format.` },
  );
}
