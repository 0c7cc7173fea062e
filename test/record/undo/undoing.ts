import { spawnSync } from "node:child_process";
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { Type } from "typebox";
import { asText, bash, defineTool, write } from "../../../src/index.ts";
import { undoFolder } from "../../../src/app/config/state.ts";
import { readActs } from "../../../src/record/undo/acts.ts";
import { readLog } from "../../../src/record/undo/log.ts";
import { openPoints } from "../../../src/record/undo/points.ts";
import { requireProgram } from "../../support/here.ts";
import { until } from "../../support/until.ts";
import { temporaryFolder, toolkitWith } from "../../support/workspace.ts";

/** Runs a script, as a tool of another program may: the policy does not look into it. */
const anything = defineTool({
  name: "anything",
  description: "Runs a script.",
  touches: ["foreign"],
  input: Type.Object({ command: Type.String() }),
  effects: () => [{ kind: "foreign", from: "a test" }],
  run: async ({ command }, { backend }) => spawnSync("bash", ["-c", command], { cwd: backend.workDir }).status,
});

/** A toolkit that keeps states of the folder, and what people do with them. */
export async function undoing(folder: string, options: Parameters<typeof toolkitWith>[0] = {}) {
  requireProgram("git");
  const { stateDir = temporaryFolder() } = options;
  const toolkit = await toolkitWith({
    workDir: folder,
    stateDir,
    undo: true,
    tools: [bash(), write(), anything],
    preset: "none",
    approver: async () => ({ answer: "once" }),
    ...options,
  });
  const points = await openPoints({ folder: undoFolder(stateDir), workDir: folder });
  const store = join(undoFolder(stateDir), readdirSync(undoFolder(stateDir))[0] ?? "");
  let turn = 1;
  return {
    toolkit,
    points,
    store,
    newTurn: () => void turn++,
    /** Runs a command as a tool does, and waits until the state after it is kept. */
    async run(command: string, name = "anything"): Promise<string> {
      const result = await toolkit.call({ name, input: { command }, turn: `turn ${turn}` });
      await until("the state after the call is kept", async () => (await readLog(store)).acting.length === 0);
      return asText(result);
    },
    /** Writes a file with the file tool, and waits until what it left is recorded. */
    async write(path: string, content: string): Promise<string> {
      const result = await toolkit.call({ name: "write", input: { path, content }, turn: `turn ${turn}` });
      await until("the act is recorded", async () =>
        readActs(store, await readLog(store)).every(({ after }) => after !== undefined),
      );
      return asText(result);
    },
    async undo({ id, ...choice }: { force?: boolean; repository?: boolean; id?: string } = {}) {
      const preview = await points.preview(id);
      return { preview, ...(await points.restore(preview, choice)) };
    },
  };
}
