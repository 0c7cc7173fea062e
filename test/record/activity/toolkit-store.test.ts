import { existsSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { asText } from "../../../src/core/call/result.ts";
import { defineTool } from "../../../src/core/contract/tool.ts";
import { temporaryFolder, toolkitWith, workspace } from "../../support/workspace.ts";
import { all } from "./events.ts";
import { besides, newFile, storeOn } from "./stores.ts";

test("the row of an act is in the file before it runs, and all of it when the toolkit is closed", async () => {
  const file = newFile();
  const workDir = await workspace();
  const types = async () => {
    return (await besides(file)).all<{ type: string }>("SELECT type FROM events ORDER BY id").map(({ type }) => type);
  };
  const act = defineTool({
    name: "act",
    description: "Writes, and says what others can see of its call.",
    touches: ["write"],
    input: { type: "object" },
    effects: () => [{ kind: "write", path: "new.txt" }],
    run: types,
  });
  const toolkit = await toolkitWith({ workDir, tools: [act], policy: { autonomy: "full" }, store: storeOn(file) });
  const result = await toolkit.call({ name: "act", input: {} });
  expect(result).toMatchObject({ status: "ok", data: ["call.started", "call.approved"] });
  await toolkit.close();
  expect(await types()).toEqual(["call.started", "call.approved", "call.finished"]);
  expect((await all(storeOn(file))).at(-1)).toMatchObject({ status: "ok", data: ["call.started", "call.approved"] });
});

test("when nothing can be recorded an act is refused with the reason, and calls that only read still work", async () => {
  const workDir = await workspace({ "there.txt": "hello" });
  const noPlace = temporaryFolder();
  const toolkit = await toolkitWith({ workDir, policy: { autonomy: "full" }, store: storeOn(noPlace) });
  const written = await toolkit.call({ name: "write", input: { path: "new.txt", content: "x" } });
  expect(asText(written)).toContain(`could not be recorded, so it was not run: ${noPlace} cannot be opened`);
  expect(existsSync(join(workDir, "new.txt"))).toBe(false);
  expect(asText(await toolkit.call({ name: "read", input: { path: "there.txt" } }))).toContain("hello");
  await expect(toolkit.close()).rejects.toThrow(/events could not be recorded: .* cannot be opened/);
});
