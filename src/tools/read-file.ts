import { Type } from "typebox";
import { type Limit, type ToolOptions, defineTool, withToolNames } from "../core/contract/tool.ts";
import { SAMPLE_BYTES, UTF_8, decodePart, decodeText, detectEncoding } from "../core/files/encoding.ts";
import { DEFAULT_MAX_BYTES, truncateHead } from "../core/output/truncate.ts";
import { renameKeys } from "../core/util/rename-keys.ts";
import { FILE_SPELLINGS } from "./shared/file-arguments.ts";
import { orNearest } from "./shared/not-found.ts";
import { READ_NAMES } from "./shared/other-agents.ts";
import { OUTPUT_SCHEME, outputId } from "./shared/output-path.ts";
import { notText } from "./shared/text-file.ts";

/** An operator looks at the beginning of a file; `read` pages through it. */
const LIMIT: Limit = { characters: 8_000 };
const TRUNCATED = "...[truncated]";

/** Reads the beginning of a text file. */
export const readFile = (options: ToolOptions = {}) => {
  const limit = options.limit ?? LIMIT;
  // No encoding takes more than four bytes per character, or more than twice as many bytes as UTF-8.
  const most = Math.max(SAMPLE_BYTES, 4 * (limit.characters ?? 0) + 4, 2 * (limit.bytes ?? DEFAULT_MAX_BYTES) + 4);
  return withToolNames((names) =>
    defineTool({
      name: "read_file",
      title: "Read file",
      description: "Read a text file. A long file is cut at the end. The path output://ID reads a saved output.",
      aliases: READ_NAMES,
      ...options,
      limit,
      touches: ["read", "output"],
      input: Type.Object(
        {
          path: Type.String({
            minLength: 1,
            description: "File to read: absolute, or relative to the working directory",
          }),
        },
        { additionalProperties: false },
      ),
      mend: (raw) => (typeof raw === "string" ? { path: raw } : renameKeys(raw, FILE_SPELLINGS)),
      effects: ({ path }) =>
        path.startsWith(OUTPUT_SCHEME) ? [{ kind: "output", id: outputId(path) }] : [{ kind: "read", path }],
      async run({ path }, context) {
        const { backend, outputs, seen, mask } = context;
        const saved = path.startsWith(OUTPUT_SCHEME);
        const file = saved
          ? await outputs.open(outputId(path))
          : await orNearest(path, context, names, () => backend.files.open(path));
        try {
          const bytes = await file.read(0, most);
          const isWhole = bytes.length >= file.info.size;
          // A saved output may hold any bytes.
          const encoding = saved
            ? UTF_8
            : await detectEncoding(bytes.subarray(0, SAMPLE_BYTES), isWhole && bytes.length <= SAMPLE_BYTES);
          if (encoding === undefined) throw await notText(path, bytes, file.info.size, names);
          const decoded = (await (isWhole ? decodeText : decodePart)(bytes, encoding)).replaceAll("\0", "\ufffd");
          const shown = truncateHead(decoded.replace(/^\ufeff/, ""), limit, mask);
          const truncated = shown.truncated !== false || !isWhole;
          if (!saved) seen.remember(file.info, truncated ? undefined : bytes);
          return { path, text: shown.text, size: file.info.size, truncated };
        } finally {
          await file.close();
        }
      },
      render: ({ text, truncated }) => (truncated ? `${text}${TRUNCATED}` : text),
    }),
  );
};
