import type { ToolBackend } from "../../core/contract/backend.ts";
import { sensitive } from "../../machine/places/keys.ts";
import { displayPath } from "../../core/util/paths.ts";
import { type TextFile, readTextFile } from "./text-file.ts";

/** Files with more bytes are not compared for a question: the new content is shown. */
const MAX_COMPARED = 1_048_576;

/**
 * Returns a unified diff from a file to what a call would make of it. Shows no old content of a file with secrets, and
 * treats a file that is missing, large or not text as empty.
 *
 * @param changed makes the new text. Rejects if the change cannot be made to this text.
 */
export async function changeOf(
  path: string,
  { files, workDir, home }: Pick<ToolBackend, "files" | "workDir" | "home">,
  changed: (before: string) => string | Promise<string>,
): Promise<string> {
  const info = await files.stat(path);
  const isShown = info?.kind === "file" && info.size <= MAX_COMPARED && ![path, info.path].some(sensitive);
  const before = isShown ? await readCurrentText(path, { files, workDir, home }) : undefined;
  const name = displayPath(info?.path ?? path, { workDir });
  const { unifiedDiff } = await import("../../core/files/diff.ts");
  return unifiedDiff(before === undefined ? undefined : name, name, before ?? "", await changed(before ?? ""));
}

async function readCurrentText(path: string, backend: Pick<ToolBackend, "files" | "workDir" | "home">) {
  const file = await readTextFile(backend, path, () => undefined).catch((): TextFile | undefined => undefined);
  return file?.utf8.toString();
}
