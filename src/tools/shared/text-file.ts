import type { FileInfo, ToolBackend } from "../../contract/backend.ts";
import { ToolFailure } from "../../contract/failure.ts";
import type { ToolNames } from "../../contract/tool.ts";
import { type Encoding, detectEncoding, encodingLabel, inUtf8 } from "../../files/encoding.ts";
import { formatSize } from "../../output/size.ts";

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
        `${path} looks like ${encodingLabel(encoding)} but has bytes that are invalid in it; it was not changed`,
        names("bash") === undefined ? {} : { hint: "Convert or repair it with a command first." },
      );
    }
    return { info, bytes, utf8, encoding };
  } finally {
    await file.close();
  }
}

/** The failure for a file that is not text, with its type by content. */
export async function notText(path: string, start: Uint8Array, size: number, names: ToolNames): Promise<ToolFailure> {
  const { fileTypeFromBuffer } = await import("file-type");
  const type = await fileTypeFromBuffer(start).catch(() => undefined);
  const what = type === undefined ? "binary data" : `${type.ext.toUpperCase()} (${type.mime})`;
  const bash = names("bash");
  return new ToolFailure(
    `Not text: ${path} is ${what}, ${formatSize(size)}`,
    bash === undefined ? {} : { hint: `Use ${bash} with a program that reads this format.` },
  );
}
