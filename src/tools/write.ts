import { Type } from "typebox";
import { type ToolOptions, defineTool } from "../contract/tool.ts";
import { formatSize } from "../output/size.ts";
import { renameKeys } from "../util/rename-keys.ts";
import { FILE_SPELLINGS } from "./file-arguments.ts";

/** Creates a file or replaces it whole, atomically; makes the folders on the way. */
export const write = (options: ToolOptions = {}) =>
  defineTool({
    name: "write",
    title: "Write file",
    description: "Create a file, or replace it completely. Makes missing folders. To change a part of a file use edit.",
    aliases: ["create_file"],
    ...options,
    paramsHint: "path (required), content (required)",
    touches: ["write"],
    input: Type.Object(
      {
        path: Type.String({ minLength: 1, description: "File to write: absolute, or relative to the working directory" }),
        content: Type.String({ description: "The whole content of the file" }),
      },
      { additionalProperties: false },
    ),
    mend: (raw) => renameKeys(raw, FILE_SPELLINGS),
    effects: ({ path }) => [{ kind: "write", path }],
    async run({ path, content }, { backend }) {
      const before = await backend.files.stat(path);
      const bytes = Buffer.from(content);
      await backend.files.write(path, bytes);
      return { path, bytes: bytes.length, created: before === undefined };
    },
    render: ({ path, bytes, created }) => `${created ? "Created" : "Replaced"} ${path} (${formatSize(bytes)})`,
  });
