import { expect, test } from "vitest";
import { asText } from "../../../src/core/call/result.ts";
import { isAlive } from "../../support/until.ts";
import { toolkitWith, workspace } from "../../support/workspace.ts";
import { SLEEPS, doingTool, shell } from "./doing.ts";

test("without a live terminal no process becomes a job, and it ends with its call", async () => {
  const { tool, set } = doingTool();
  const toolkit = await toolkitWith({
    workDir: await workspace(),
    tools: [tool],
    preset: "none",
    policy: { autonomy: "full" },
  });
  let pid = 0;
  set([{ kind: "exec", command: SLEEPS }], async (context) => {
    expect(context.backend.terminal).toBeUndefined();
    const process = await context.backend.spawn({ argv: shell(SLEEPS) });
    pid = Number(process.id);
    return context.jobs.adopt(process, SLEEPS);
  });
  expect(asText(await toolkit.call({ name: "doing", input: {} }))).toMatch(
    /^Tool error: tool "doing" tried to make a job of a process that this call did not start in a live terminal$/,
  );
  expect(pid).toBeGreaterThan(0);
  expect(await isAlive(pid)).toBe(false);
});
