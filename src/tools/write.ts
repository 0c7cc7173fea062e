import { Type } from "typebox";
import type { FileInfo, ToolBackend } from "../core/contract/backend.ts";
import { text } from "../core/contract/content.ts";
import { ToolFailure } from "../core/contract/failure.ts";
import { type ToolContext, type ToolOptions, defineTool, withToolNames } from "../core/contract/tool.ts";
import type { SeenFile } from "../core/contract/seen.ts";
import {
  type Encoding,
  SAMPLE_BYTES,
  UTF_8,
  inUtf8,
  decodePart,
  decodeText,
  detectEncoding,
  encodeText,
  encodingLabel,
} from "../core/files/encoding.ts";
import { formatSize } from "../core/output/size.ts";
import { DEFAULT_LIMIT, truncateHead } from "../core/output/truncate.ts";
import { displayPath } from "../core/util/paths.ts";
import { renameKeys } from "../core/util/rename-keys.ts";
import { FILE_SPELLINGS, requireWholeCharacters } from "./shared/file-arguments.ts";
import { WRITE_NAMES, withoutRemarks } from "./shared/other-agents.ts";
import { changeOf } from "./shared/change.ts";
import { fileInTurn } from "./shared/in-turn.ts";

/** A file that was written. */
export type Written = {
  readonly path: string;
  readonly bytes: number;
  readonly created: boolean;
  readonly encoding: string;
  /** Whether line ends were written as CRLF, as the file had them. */
  readonly crlf?: boolean;
};

export interface WriteOptions extends ToolOptions {
  /** The result that the model reads. Default: "Created a.txt (12B)". */
  readonly summary?: (written: Written) => string;
}

/** Creates a file or replaces its whole content, atomically. Creates missing folders. A file keeps its encoding. */
export const write = ({ summary = shortSummary, ...options }: WriteOptions = {}) =>
  withToolNames((names) =>
    defineTool({
      name: "write",
      title: "Write file",
      description:
        "Create a file, or replace its whole content. Creates missing folders. A file that has changed since you " +
        `last read it is not replaced: the result shows the difference.${partText(names("edit"))}`,
      aliases: WRITE_NAMES,
      ...options,
      touches: ["read", "write"],
      input: Type.Object(
        {
          path: Type.String({
            minLength: 1,
            description: "File to write: absolute, or relative to the working directory",
          }),
          content: Type.String({ description: "The whole content of the file" }),
        },
        { additionalProperties: false },
      ),
      mend: (raw) => withoutRemarks(renameKeys(raw, FILE_SPELLINGS)),
      effects: ({ path }) => [
        { kind: "read", path },
        { kind: "write", path, does: "replace" },
      ],
      change: ({ path, content }, backend) => changeOf(path, backend, (old) => withLineEnds(content, old)),
      async run({ path, content }, context) {
        requireWholeCharacters("content", content);
        const { backend, seen, signal } = context;
        return fileInTurn(backend, path, signal, async () => {
          // In parallel: on a remote host each takes a round trip.
          const sampled = firstBytes(backend, path, SAMPLE_BYTES);
          sampled.catch(() => undefined); // it may not be there
          const before = await backend.files.stat(path);
          if (before?.kind === "file") await refuseIfChanged(before, path, context, names("edit"));
          const encoding = before?.kind === "file" && before.size > 0 ? await encodingOf(await sampled) : UTF_8;
          const old = before?.kind === "file" ? await decodePart(await sampled, encoding) : "";
          const kept = withLineEnds(content, old);
          const bytes = await encoded(kept, encoding, path);
          const info = await backend.files.write(path, bytes);
          seen.wrote(info, bytes);
          return {
            path,
            bytes: bytes.length,
            created: before === undefined,
            encoding: encodingLabel(encoding),
            ...(kept !== content && { crlf: true }),
          };
        });
      },
      render: (written) => summary(written),
    }),
  );

function partText(edit: string | undefined): string {
  return edit === undefined ? "" : ` To change part of a file use ${edit}.`;
}

/** The content with the line ends of a file that has only CRLF, if the content has only LF. */
function withLineEnds(content: string, old: string): string {
  const isCrlf = old.includes("\r\n") && !/(?<!\r)\n/.test(old);
  return isCrlf && !content.includes("\r") ? content.replaceAll("\n", "\r\n") : content;
}

function shortSummary({ path, bytes, created, encoding, crlf = false }: Written): string {
  const ends = crlf ? ", with CRLF line ends as before" : "";
  const kept = (encoding === encodingLabel(UTF_8) ? "" : `, in ${encoding} as before`) + ends;
  return `${created ? "Created" : "Replaced"} ${path} (${formatSize(bytes)}${kept})`;
}

/** Rejects, and shows the difference, when a person or a command has changed the file since the model saw it. */
async function refuseIfChanged(
  info: FileInfo,
  path: string,
  { backend, seen }: ToolContext,
  edit: string | undefined,
): Promise<void> {
  const last = seen.recall(info.path);
  if (last === undefined || info.version === last.version || info.version === last.written) return;
  const diff = await difference(last, info, path, backend);
  if (diff === "") return; // touched, not changed
  if (diff !== undefined) seen.remember(info); // the model sees the difference: its next write replaces the file
  throw new ToolFailure(`${path} has changed since you last read it; it was not replaced`, {
    hint:
      diff === undefined
        ? "Read it again, then write."
        : `The difference is below. Write again to replace it anyway${edit === undefined ? "" : `, or use ${edit}`}.`,
    ...(diff !== undefined && { content: [text(truncateHead(diff, DEFAULT_LIMIT).text)] }),
  });
}

/** The unified diff from what was seen to the current content. `undefined` when it cannot be computed. */
async function difference(
  last: SeenFile,
  info: FileInfo,
  path: string,
  backend: ToolBackend,
): Promise<string | undefined> {
  if (last.content === undefined) return undefined;
  const now = await firstBytes(backend, path, 4 * last.content.length + SAMPLE_BYTES);
  if (now.length === info.size && Buffer.compare(now, last.content) === 0) return "";
  const encoding = await detectEncoding(now, now.length === info.size);
  if (encoding === undefined || now.length < info.size) return undefined;
  const name = displayPath(info.path, backend);
  const { unifiedDiff } = await import("../core/files/diff.ts");
  return unifiedDiff(name, name, await decodeText(last.content, encoding), await decodeText(now, encoding));
}

/** A text file keeps its encoding, which its readers expect. A file that is not text becomes UTF-8. */
async function encodingOf(sample: Uint8Array): Promise<Encoding> {
  const encoding = (await detectEncoding(sample, sample.length < SAMPLE_BYTES)) ?? UTF_8;
  // A wrong guess would write the new text in an encoding that nobody meant.
  return sample.length < SAMPLE_BYTES && (await inUtf8(sample, encoding)) === undefined ? UTF_8 : encoding;
}

async function firstBytes(backend: ToolBackend, path: string, length: number): Promise<Uint8Array> {
  const file = await backend.files.open(path);
  try {
    return await file.read(0, Math.min(length, file.info.size));
  } finally {
    await file.close();
  }
}

async function encoded(content: string, encoding: Encoding, path: string): Promise<Uint8Array> {
  const mark = encoding.mark > 0 && !content.startsWith("\ufeff") ? "\ufeff" : "";
  const bytes = await encodeText(mark + content, encoding);
  if (bytes !== undefined) return bytes;
  throw new ToolFailure(
    `content has characters that ${encodingLabel(encoding)}, the encoding of ${path}, does not have; it was not ` +
      "replaced",
    { hint: "Use only characters of that encoding, or remove the file first: a new file is written as UTF-8." },
  );
}
