import { execFileSync } from "node:child_process";
import { chmod, link, mkdir, readFile, readdir, readlink, stat, symlink } from "node:fs/promises";
import { join } from "node:path";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { toolsOn } from "./tools.ts";
import { cases } from "../support/cases.ts";

test("a new file is created with missing folders, and its size is reported", async () => {
  const { folder, text } = await toolsOn();
  expect(await text("write", { path: "a/b/c.txt", content: "hello\n" })).toBe("Created a/b/c.txt (6B)");
  expect(await readFile(join(folder, "a/b/c.txt"), "utf8")).toBe("hello\n");
});

test("an existing file is replaced whole", async () => {
  const { folder, text } = await toolsOn({ "a.txt": "something much longer than what comes\n" });
  expect(await text("write", { path: "a.txt", content: "short" })).toBe("Replaced a.txt (5B)");
  expect(await readFile(join(folder, "a.txt"), "utf8")).toBe("short");
});

test("an empty content makes an empty file", async () => {
  const { folder, text } = await toolsOn({ "a.txt": "x" });
  expect(await text("write", { path: "a.txt", content: "" })).toBe("Replaced a.txt (0B)");
  expect(await text("write", { path: "b.txt", content: "" })).toBe("Created b.txt (0B)");
  expect(await readFile(join(folder, "a.txt"), "utf8")).toBe("");
});

test("sizes are in bytes of UTF-8, in readable units", async () => {
  const { text } = await toolsOn();
  expect(await text("write", { path: "a.txt", content: "é".repeat(256) })).toBe("Created a.txt (512B)");
  expect(await text("write", { path: "b.txt", content: "x".repeat(51_200) })).toBe("Created b.txt (50KB)");
});

test("what a program gets is the path as given, the bytes and whether the file is new", async () => {
  const { call } = await toolsOn();
  expect(await call("write", { path: "a.txt", content: "é" })).toMatchObject({
    status: "ok",
    data: { path: "a.txt", bytes: 2, created: true },
  });
  expect(await call("write", { path: "a.txt", content: "e" })).toMatchObject({ data: { bytes: 1, created: false } });
});

test("any text arrives exactly, in a file with any usual name", async () => {
  const { folder, call } = await toolsOn();
  const name = fc.constantFrom(
    "plain.txt",
    "with space.txt",
    "ünïcode 文件.txt",
    "-n",
    "'quoted' \"name\"",
    "a\\b",
    "$HOME",
    "*",
  );
  await fc.assert(
    fc.asyncProperty(name, fc.string({ unit: "binary", maxLength: 200 }), async (path, content) => {
      expect(await call("write", { path, content })).toMatchObject({ status: "ok" });
      expect(await readFile(join(folder, path), "utf8")).toBe(content);
    }),
    { numRuns: cases(10) },
  );
});

test("a lone surrogate, which no file can hold, is refused, and the file is not changed", async () => {
  const { folder, text } = await toolsOn({ "a.txt": "before" });
  expect(await text("write", { path: "a.txt", content: "smile \ud83d" })).toBe(
    "Tool error: content contains half a character (a lone surrogate, \\ud83d), which cannot be written to a file\nSend the whole character.",
  );
  expect(await readFile(join(folder, "a.txt"), "utf8")).toBe("before");
});

describe("what exists is kept", () => {
  test("the permissions of a replaced file; a new one has the usual ones", async () => {
    const { folder, call } = await toolsOn({ "run.sh": "#!/bin/sh\n", "private.txt": "x" });
    await chmod(join(folder, "run.sh"), 0o755);
    await chmod(join(folder, "private.txt"), 0o600);
    for (const path of ["run.sh", "private.txt", "new.txt"]) await call("write", { path, content: "new\n" });
    expect(await modeOf(join(folder, "run.sh"))).toBe(0o755);
    expect(await modeOf(join(folder, "private.txt"))).toBe(0o600);
    expect(await modeOf(join(folder, "new.txt"))).toBe(0o666 & ~process.umask());
  });

  test("a link inside the workspace: its target is written", async () => {
    const { folder, text } = await toolsOn({ "real.txt": "old" });
    await symlink("real.txt", join(folder, "link.txt"));
    expect(await text("write", { path: "link.txt", content: "new" })).toBe("Replaced link.txt (3B)");
    expect(await readlink(join(folder, "link.txt"))).toBe("real.txt");
    expect(await readFile(join(folder, "real.txt"), "utf8")).toBe("new");
  });

  test("no other file is left in the folder", async () => {
    const { folder, call } = await toolsOn({ "a.txt": "x" });
    await call("write", { path: "a.txt", content: "y" });
    await call("write", { path: "b.txt", content: "y" });
    expect(await readdir(folder)).toEqual(["a.txt", "b.txt"]);
  });
});

describe("what cannot be written is reported", () => {
  test("a folder, a FIFO, a file as a parent, a file with several names", async () => {
    const { folder, text } = await toolsOn({ "a.txt": "x" });
    await mkdir(join(folder, "sub"));
    execFileSync("mkfifo", [join(folder, "fifo")]);
    await link(join(folder, "a.txt"), join(folder, "same.txt"));
    expect(await text("write", { path: "sub", content: "x" })).toBe(
      `Tool error: This is a folder, not a file: ${folder}/sub`,
    );
    expect(await text("write", { path: "fifo", content: "x" })).toBe(
      `Tool error: This is a FIFO (named pipe), not a file: ${folder}/fifo`,
    );
    expect(await text("write", { path: "a.txt/b.txt", content: "x" })).toMatch(/^Tool error: .*\/a\.txt/);
    expect(await text("write", { path: "same.txt", content: "y" })).toMatch(/same\.txt .*2 names \(hard links\)/);
    expect(await readFile(join(folder, "a.txt"), "utf8")).toBe("x");
  });

  test("a path outside the workspace, and missing arguments", async () => {
    const { folder, text } = await toolsOn();
    expect(await text("write", { path: "../outside.txt", content: "x" })).toMatch(
      /^Path (not allowed|blocked) by security policy: \.\.\/outside\.txt/,
    );
    expect(await text("write", { path: "a.txt" })).toBe('validation error: missing required parameter "content"');
    expect(await readdir(folder)).toEqual([]);
  });
});

test("other agents' names and spellings are understood", async () => {
  const { folder, text } = await toolsOn();
  for (const [index, spelling] of ["contents", "file_text"].entries()) {
    const path = `${index}.txt`;
    expect(await text("create_file", { file_path: path, [spelling]: "x" })).toBe(`Created ${path} (1B)`);
    expect(await readFile(join(folder, path), "utf8")).toBe("x");
  }
});

async function modeOf(path: string): Promise<number> {
  return (await stat(path)).mode & 0o7777;
}
