import { execFileSync } from "node:child_process";
import { once } from "node:events";
import { mkdir, open, readFile, rm, symlink, truncate } from "node:fs/promises";
import { createServer } from "node:net";
import { join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import { local } from "../../src/machine/local/backend.ts";
import type { Backend } from "../../src/core/contract/backend.ts";
import { temporaryFolder, workspace } from "../support/workspace.ts";
import { type Tools, numberedLines, toolsOn } from "./tools.ts";

const GB = 1024 ** 3;

/** A call of every tool that takes a path, for one of these files. */
const CALLS = [
  ["read", {}],
  ["read", { offset: 1_000_000 }],
  ["edit", { old_text: "a", new_text: "b" }],
  ["write", { content: "new\n" }],
] as const;

describe("anything but a regular file is refused at once with its kind", () => {
  test("a FIFO without a writer, and one without a reader", async () => {
    const tools = await toolsOn();
    execFileSync("mkfifo", [join(tools.folder, "it")]);
    expect(await answers(tools, "it")).toEqual(refusals("a FIFO (named pipe)", join(tools.folder, "it")));
  });

  test("a socket with a listener", async () => {
    const tools = await toolsOn();
    const server = createServer().listen(join(tools.folder, "it"));
    onTestFinished(() => void server.close());
    await once(server, "listening");
    expect(await answers(tools, "it")).toEqual(refusals("a socket", join(tools.folder, "it")));
  });

  test("a folder", async () => {
    const tools = await toolsOn();
    await mkdir(join(tools.folder, "it"));
    for (const [name, input] of CALLS) {
      expect(await tools.text(name, { path: "it", ...input })).toBe(
        `Tool error: This is a folder, not a file: ${tools.folder}/it`,
      );
    }
  });

  test("/dev/zero, also where the policy lets a person allow it", async () => {
    const tools = await toolsOn(
      {},
      {
        preset: "all",
        approver: async () => ({ answer: "once" }),
        policy: { autonomy: "full", workspaceOnly: false, forbiddenPaths: [] },
      },
    );
    await symlink("/dev/zero", join(tools.folder, "link"));
    for (const path of ["/dev/zero", "link"])
      expect(await answers(tools, path)).toEqual(refusals("a device", "/dev/zero"));
  });

  test("/dev/zero, and a link to it, are blocked by the policy", async () => {
    const { folder, text } = await toolsOn();
    await symlink("/dev/zero", join(folder, "link"));
    for (const path of ["/dev/zero", "link"]) {
      for (const [name, input] of CALLS)
        expect(await text(name, { path, ...input })).toMatch(/^Path blocked by security policy: /);
    }
  });

  test("a link that leads to itself, and two that lead to each other", async () => {
    const { folder, text } = await toolsOn();
    await symlink("self", join(folder, "self"));
    await symlink("two", join(folder, "one"));
    await symlink("one", join(folder, "two"));
    for (const path of ["self", "one", "one/deeper.txt"]) {
      for (const [name, input] of [...CALLS, ["ls", {}] as const]) {
        expect(await text(name, { path, ...input })).toMatch(
          /^Path not allowed by security policy: .* cannot be resolved: The links form a circle/,
        );
      }
    }
    expect(await text("ls", {})).toMatch(/ one -> two\n.* self -> self\n.* two -> one$/);
  });
});

describe("a file of 10 GB", () => {
  test("of holes is refused as binary, and can be replaced", async () => {
    const { folder, text } = await toolsOn({ "sparse.bin": "" });
    await truncate(join(folder, "sparse.bin"), 10 * GB);
    expect(await text("read", { path: "sparse.bin" })).toMatch(
      /^Tool error: Not text: sparse\.bin is binary data, 10GB\n/,
    );
    expect(await text("edit", { path: "sparse.bin", old_text: "a", new_text: "b" })).toBe(
      "Tool error: sparse.bin is 10GB; the largest file that can be edited is 128MB",
    );
    expect(await text("write", { path: "sparse.bin", content: "small\n" })).toBe("Replaced sparse.bin (6B)");
  });

  test("of text is read by lines, and only as far as asked", async () => {
    const { folder, text } = await toolsOn({ "large.txt": numberedLines(100_000) });
    // A hole, after which the text continues: no tool reads through it to count lines.
    const file = await open(join(folder, "large.txt"), "r+");
    await file.write("\nthe last line\n", 10 * GB);
    await file.close();
    expect(await text("read", { path: "large.txt", limit: 2 })).toBe(
      "line 1\nline 2\n\n[Showing lines 1-2 of a file of 10GB. Use offset=3 to continue.]",
    );
    expect(await text("read", { path: "large.txt", offset: 99_999, limit: 1 })).toMatch(
      /^line 99999\n\n\[Showing lines 99999-99999 of a file/,
    );
    expect(await text("edit", { path: "large.txt", old_text: "a", new_text: "b" })).toMatch(
      /^Tool error: large\.txt is 10GB; the largest/,
    );
  });

  test("that is searched for a line far after its end stops with the call", async () => {
    const { folder, toolkit } = await toolsOn({ "large.txt": numberedLines(10_000) });
    await truncate(join(folder, "large.txt"), 10 * GB);
    const stop = new AbortController();
    const request = { name: "read", input: { path: "large.txt", offset: 10_002 } };
    const result = await toolkit.call(request, {
      signal: stop.signal,
      onEvent: () => setImmediate(() => stop.abort()),
    });
    expect(result.status).toBe("aborted");
  });
});

describe("a file that is removed or changes while it is read", () => {
  const whole = numberedLines(1_000);

  test.for([
    ["removed", (path: string) => rm(path), whole],
    ["replaced by a link to another place", (path: string) => rm(path).then(() => symlink("/etc/passwd", path)), whole],
    ["cut short", (path: string) => truncate(path, 14), "line 1\nline 2\n"],
    ["emptied", (path: string) => truncate(path, 0), "(empty file)"],
  ] as const)("%s once it is open is shown as it was opened, or as far as it goes", async ([, change, shown]) => {
    const { text } = await changing({ "a.txt": whole }, change);
    expect(await text("read", { path: "a.txt" })).toBe(shown);
  });

  test("removed before it is opened is not found", async () => {
    const { folder, text } = await toolsOn({ "a.txt": whole });
    await rm(join(folder, "a.txt"));
    expect(await text("read", { path: "a.txt" })).toContain(`Tool error: File not found: ${folder}/a.txt\n`);
  });

  test("replaced again and again is always read whole, old or new", async () => {
    const { folder, call, text } = await toolsOn({ "a.txt": numberedLines(1) });
    const writing = (async () => {
      for (let count = 2; count <= 50; count++) await call("write", { path: "a.txt", content: numberedLines(count) });
    })();
    let done = false;
    void writing.then(() => (done = true));
    while (!done) {
      const content = await text("read", { path: "a.txt" });
      expect(content).toBe(numberedLines(content.split("\n").length - 1));
    }
    expect(await readFile(join(folder, "a.txt"), "utf8")).toBe(numberedLines(50));
  });
});

/** Tools on a real backend on which a file changes as soon as it has been opened. */
async function changing(
  files: { readonly [path: string]: string },
  change: (path: string) => Promise<void>,
): Promise<Tools> {
  const folder = await workspace(files);
  const backend = await local({ workDir: folder, outputFolder: temporaryFolder() });
  const openThenChange: Backend["files"]["open"] = async (path) => {
    const file = await backend.files.open(path);
    await change(path);
    return file;
  };
  return toolsOn({}, { preset: "all", target: { ...backend, files: { ...backend.files, open: openThenChange } } });
}

/** Returns what each tool says about the path, `ls` last. */
async function answers({ text }: Tools, path: string): Promise<readonly string[]> {
  const said: string[] = [];
  for (const [name, input] of CALLS) said.push(await text(name, { path, ...input }));
  return [...said, await text("ls", { path })];
}

function refusals(what: string, real: string): readonly string[] {
  const refused = `Tool error: This is ${what}, not a`;
  return [...CALLS.map(() => `${refused} file: ${real}`), `${refused} folder: ${real}`];
}
