import { mkdir, rm } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { asText } from "../../src/core/call/result.ts";
import type { CheckedCall } from "../../src/core/contract/call.ts";
import { backendThere } from "../machine/search-there.ts";
import { layout } from "../support/layout.ts";
import { filesNamed } from "./searching.ts";
import { toolsOn } from "./tools.ts";

const suggested = (text: string) => /\nDid you mean (?:one of: )?(.*)\?$/.exec(text)?.[1];

test("the nearest paths are suggested, the most likely first, three at most", async () => {
  const { text, folder } = await toolsOn(
    filesNamed("", "src/index.ts", "test/index.ts", "lib/index.ts", "docs/index.ts", "a/b/c/deep.ts", "src/parse.ts"),
  );
  await mkdir(join(folder, "Docs2"));
  expect(suggested(await text("read", { path: "index.ts" }))?.split(", ")).toHaveLength(3);
  expect(suggested(await text("read", { path: "src/test/index.ts" }))).toBe("src/index.ts");
  expect(suggested(await text("ls", { path: "docs2" }))).toBe("Docs2");
  expect(suggested(await text("find", { path: "SRC" }))).toBe("src");
  expect(suggested(await text("read", { path: "a/b/deep.ts" }))).toBe("a/b/c/deep.ts");
  expect(suggested(await text("read", { path: `${folder}/src/Parse.ts#L3-L9` }))).toBe("src/parse.ts");
  expect(suggested(await text("read", { path: "src/serialize.ts" }))).toBeUndefined();
  expect(suggested(await text("read", { path: "deep.ts" }))).toBeUndefined(); // too deep
});

test("no name is suggested from folders that the call may not read, and nobody is asked", async () => {
  const asked: CheckedCall[] = [];
  const place = await layout();
  for (const path of ["secret/plan.txt", "open/plan.md", ".env", "keys/id_rsa"]) await place.file(path);
  await place.link("way-out", place.outside);
  await place.link("to-nothing.txt", "missing");
  const toolkit = await place.toolkit({
    preset: "all",
    policy: { workspaceOnly: false, forbiddenPaths: [join(place.workDir, "secret"), ...place.forbiddenPaths] },
    approver: async (call) => {
      asked.push(call);
      return { answer: "refuse" };
    },
  });
  const text = async (path: string) => asText(await toolkit.call({ name: "read", input: { path } }));
  expect(suggested(await text("plan.txt"))).toBeUndefined();
  expect(suggested(await text("open/plan.txt"))).toBe("open/plan.md");
  expect(suggested(await text(".en"))).toBeUndefined();
  expect(suggested(await text("keys/id_rs"))).toBeUndefined();
  expect(suggested(await text("to-nothing.tx"))).toBeUndefined();
  expect(asked).toEqual([]);
  await text("way-out/Secret.txt");
  await text(`${place.outside}/Secret.txt`);
  expect(asked.map(({ tool }) => tool.name)).toEqual(["read", "read"]); // only for the paths themselves
});

test("a working folder that is gone is what every tool names, with what to do", async () => {
  const folder = join(process.cwd(), `gone-${process.pid}`); // not in /tmp, which the sandbox replaces
  await mkdir(folder);
  const { text } = await toolsOn({}, { workDir: folder });
  await rm(folder, { recursive: true });
  for (const [name, input] of [
    ["bash", { command: "echo" }],
    ["bash", { command: "echo", background: true }],
    ["ls", {}],
    ["read", { path: "a" }],
    ["grep", { pattern: "a" }],
    ["find", { pattern: "a" }],
  ] as const)
    expect(await text(name, input)).toMatch(
      /^Tool error: (The working directory does not exist any more: |cannot start .*: there is no folder ).*\n.*removed or renamed/,
    );
});

test.for(["debian", "busybox"] as const)("on another system (%s) too", async (system) => {
  const { folder } = await toolsOn(filesNamed("", "src/index.ts", "src/parse.ts"));
  const { text } = await toolsOn({}, { target: await backendThere(folder, system, "grep and find") });
  expect(suggested(await text("read", { path: "src/Index.ts" }))).toBe("src/index.ts");
  expect(suggested(await text("ls", { path: "SRC" }))).toBe("src");
});
