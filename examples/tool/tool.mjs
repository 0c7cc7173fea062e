import { ToolFailure, defineTool } from "handrail";

/** The tool, for toolkits: createToolkit({ tools: [tool] }). */
const tool = defineTool({
  name: "line_count",
  description: "Counts the lines of a text file of the workspace.", // for the model
  input: {
    type: "object",
    properties: { path: { type: "string", description: "Path of the file" } },
    required: ["path"],
  },
  // What a call touches. The policy judges it before `run` is called, and `backend` reaches nothing else.
  touches: ["read"],
  effects: ({ path }) => [{ kind: "read", path }],
  async run({ path }, { backend }) {
    const file = await backend.files.open(path);
    try {
      if (file.info.size > 10_000_000) throw new ToolFailure(`${path} is larger than 10 MB`);
      const text = Buffer.from(await file.read(0, file.info.size)).toString("utf8");
      return { path, lines: text.split("\n").length - 1 };
    } finally {
      await file.close();
    }
  },
  render: ({ path, lines }) => `${path} has ${lines} lines.`, // what the model reads
});

export default tool;
