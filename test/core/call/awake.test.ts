import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { expect, test } from "vitest";
import { root } from "../../docs/pages.ts";
import { temporaryFolder } from "../../support/workspace.ts";

/** A program that has nothing else to do, with a tool that waits for what does not keep a process alive. */
const PROGRAM = `
import { asText, createToolkit, defineTool } from "handrail";
const late = defineTool({
  name: "late",
  description: "Answers late.",
  input: { type: "object" },
  run: () => new Promise((resolve) => setTimeout(() => resolve("here"), 100).unref()),
});
const toolkit = await createToolkit({ tools: [late], stateDir: process.argv[1] });
console.log(asText(await toolkit.call({ name: "late", input: {} })));
await toolkit.close();
`;

test("a process with a running call does not end before the call", async () => {
  const args = ["--input-type=module", "-e", PROGRAM, temporaryFolder()];
  const { stdout } = await promisify(execFile)(process.execPath, args, { cwd: root });
  expect(stdout).toBe("here\n");
});
