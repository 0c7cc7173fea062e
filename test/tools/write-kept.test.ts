import { execFileSync, spawnSync } from "node:child_process";
import { chmod, link, readFile, readdir, rm, stat, symlink, utimes, writeFile } from "node:fs/promises";
import { join } from "node:path";
import iconv from "iconv-lite";
import { describe, expect, test } from "vitest";
import type { Approver } from "../../src/core/contract/policy.ts";
import { temporaryFolder } from "../support/workspace.ts";
import { numberedLines, toolsOn } from "./tools.ts";

const approveOnce: Approver = async () => ({ answer: "once" });

const REFUSED = "Tool error: a.txt has changed since you last read it; it was not replaced";

test("a file that is replaced keeps its CRLF line ends, and the result says so", async () => {
  const { folder, text } = await toolsOn({ "a.txt": "one\r\ntwo\r\n", "b.txt": "one\r\ntwo\n" });
  expect(await text("write", { path: "a.txt", content: "1\n2\n" })).toMatch(/, with CRLF line ends as before\)$/);
  expect(await text("write", { path: "b.txt", content: "1\n2\n" })).not.toContain("CRLF");
  expect(await text("write", { path: "a.txt", content: "3\r\n4\n" })).not.toContain("CRLF");
  expect(await readFile(join(folder, "b.txt"), "utf8")).toBe("1\n2\n");
  expect(await readFile(join(folder, "a.txt"), "utf8")).toBe("3\r\n4\n");
});

describe("a file that is replaced keeps its encoding", () => {
  const wide = (text: string) => Buffer.from(`\ufeff${text}`, "utf16le");
  test.for([
    ["UTF-8 with a byte order mark", Buffer.from("\ufeffold\n"), "new é\n", Buffer.from("\ufeffnew é\n")],
    ["UTF-8 with a byte order mark", Buffer.from("\ufeffold\n"), "\ufeffnew é\n", Buffer.from("\ufeffnew é\n")],
    ["UTF-16 (little-endian)", wide("old\n"), "new é 文\n", wide("new é 文\n")],
    ["UTF-16 (big-endian)", wide("old\n").swap16(), "new é 文\n", wide("new é 文\n").swap16()],
    [
      "windows-1252",
      iconv.encode("alter Käse – 5 €\n", "windows-1252"),
      "neuer Käse – 6 €\n",
      iconv.encode("neuer Käse – 6 €\n", "windows-1252"),
    ],
    [
      "shift_jis",
      iconv.encode("こんにちは世界\n", "shift_jis"),
      "新しい世界 ok\n",
      iconv.encode("新しい世界 ok\n", "shift_jis"),
    ],
  ] as const)("and says so: %s", async ([label, before, content, after]) => {
    const { folder, text } = await toolsOn({ "a.txt": before });
    expect(await text("write", { path: "a.txt", content })).toBe(
      `Replaced a.txt (${after.length}B, in ${label} as before)`,
    );
    expect(await readFile(join(folder, "a.txt"))).toEqual(after);
  });

  test("and is not changed when the content has characters that its encoding lacks", async () => {
    const before = iconv.encode("alter Käse – 5 €\n", "windows-1252");
    const { folder, text } = await toolsOn({ "a.txt": before });
    expect(await text("write", { path: "a.txt", content: "文件\n" })).toBe(
      "Tool error: content has characters that windows-1252, the encoding of a.txt, does not have; it was not replaced\n" +
        "Use only characters of that encoding, or remove the file first: a new file is written as UTF-8.",
    );
    expect(await readFile(join(folder, "a.txt"))).toEqual(before);
  });

  test("but an empty or binary file becomes UTF-8", async () => {
    const { folder, text } = await toolsOn({
      "empty.txt": "",
      "data.bin": Buffer.from("a\0b"),
      "plain.txt": "plain\n",
    });
    for (const path of ["empty.txt", "data.bin", "plain.txt", "new.txt"]) {
      expect(await text("write", { path, content: "é文\n" })).toMatch(/^(Replaced|Created) \S+ \(6B\)$/);
      expect(await readFile(join(folder, path), "utf8")).toBe("é文\n");
    }
  });
});

describe("a file that has changed since it was seen", () => {
  test("is not replaced: the difference is shown, and the next write replaces it", async () => {
    const { folder, text } = await toolsOn({ "a.txt": "one\ntwo\nthree\n" });
    await text("read", { path: "a.txt" });
    await writeFile(join(folder, "a.txt"), "one\n2\nthree\n");
    const write = () => text("write", { path: "a.txt", content: "all new\n" });
    expect(await write()).toBe(
      [
        REFUSED,
        "The difference is below. Write again to replace it anyway, or use edit.",
        "--- a/a.txt",
        "+++ b/a.txt",
        "@@ -1,3 +1,3 @@",
        " one",
        "-two",
        "+2",
        " three",
        "",
      ].join("\n"),
    );
    expect(await readFile(join(folder, "a.txt"), "utf8")).toBe("one\n2\nthree\n");
    expect(await write()).toBe("Replaced a.txt (8B)");
    expect(await readFile(join(folder, "a.txt"), "utf8")).toBe("all new\n");
  });

  test("is noticed whether a read, a write or an edit saw it, and whether a person or a command changed it", async () => {
    const { folder, text } = await toolsOn({ "a.txt": "one\n" });
    const sights = [
      ["read", { path: join(folder, "a.txt") }],
      ["write", { path: "./a.txt", content: "one\n" }],
      ["edit", { path: "a.txt", old_text: "one", new_text: "two" }],
    ] as const;
    for (const [name, input] of sights) {
      await text(name, input);
      await text("bash", { command: "echo more >> a.txt" });
      expect(await text("write", { path: "a.txt", content: "one\n" })).toContain("\n+more\n");
      await text("write", { path: "a.txt", content: "one\n" });
    }
  });

  test("is noticed through a link to it", async () => {
    const { folder, text } = await toolsOn({ "a.txt": "one\n" });
    await symlink("a.txt", join(folder, "link.txt"));
    await text("read", { path: "link.txt" });
    await writeFile(join(folder, "a.txt"), "two\n");
    expect(await text("write", { path: "a.txt", content: "x" })).toMatch(/has changed since you last read it/);
  });

  test("again after the difference was shown, must be read first", async () => {
    const { folder, text } = await toolsOn({ "a.txt": "one\n" });
    await text("read", { path: "a.txt" });
    for (const content of ["two\n", "three\n"]) {
      await writeFile(join(folder, "a.txt"), content);
      expect(await text("write", { path: "a.txt", content: "x" })).toMatch(new RegExp(`^${REFUSED}`));
    }
    expect(await readFile(join(folder, "a.txt"), "utf8")).toBe("three\n");
  });

  test("and of which only a part was seen, or which is large, must be read first", async () => {
    const large = numberedLines(40_000);
    const { folder, text } = await toolsOn({ "a.txt": numberedLines(10), "large.txt": large });
    await text("read", { path: "a.txt", limit: 2 });
    await text("write", { path: "large.txt", content: `${large}more\n` });
    await writeFile(join(folder, "a.txt"), "other\n");
    await writeFile(join(folder, "large.txt"), large);
    for (const path of ["a.txt", "large.txt"]) {
      for (let time = 0; time < 2; time++) {
        expect(await text("write", { path, content: "x" })).toBe(
          `Tool error: ${path} has changed since you last read it; it was not replaced\nRead it again, then write.`,
        );
      }
      await text("read", { path });
      expect(await text("write", { path, content: "x" })).toBe(`Replaced ${path} (1B)`);
    }
  });

  test("and that was seen whole before a part of it was, is compared with the whole", async () => {
    const { folder, text } = await toolsOn({ "a.txt": numberedLines(10) });
    await text("read", { path: "a.txt" });
    await text("read", { path: "a.txt", offset: 5, limit: 1 });
    await writeFile(join(folder, "a.txt"), numberedLines(11));
    expect(await text("write", { path: "a.txt", content: "x" })).toContain("\n+line 11\n");
  });

  test("in another encoding is compared as text; one that became binary must be read", async () => {
    const { folder, text } = await toolsOn({ "a.txt": Buffer.from("\ufeffone\n", "utf16le") });
    await text("read", { path: "a.txt" });
    await writeFile(join(folder, "a.txt"), Buffer.from("\ufefftwo\n", "utf16le"));
    expect(await text("write", { path: "a.txt", content: "x" })).toContain("\n-\ufeffone\n+\ufefftwo\n");
    await text("read", { path: "a.txt" });
    await writeFile(join(folder, "a.txt"), Buffer.from("a\0b"));
    expect(await text("write", { path: "a.txt", content: "x" })).toMatch(/Read it again, then write\.$/);
  });
});

describe("there is no refusal", () => {
  test("when a file was touched, or written with the same content", async () => {
    const { folder, text } = await toolsOn({ "a.txt": "one\n" });
    await text("read", { path: "a.txt" });
    await utimes(join(folder, "a.txt"), new Date(), new Date());
    expect(await text("write", { path: "a.txt", content: "two\n" })).toBe("Replaced a.txt (4B)");
    await rm(join(folder, "a.txt"));
    await writeFile(join(folder, "a.txt"), "two\n");
    expect(await text("write", { path: "a.txt", content: "three\n" })).toBe("Replaced a.txt (6B)");
  });

  test("when a file was never seen here, is new, or was removed", async () => {
    const { folder, text } = await toolsOn({ "a.txt": "one\n", "b.txt": "one\n" });
    expect(await text("write", { path: "a.txt", content: "two\n" })).toBe("Replaced a.txt (4B)");
    await text("read", { path: "b.txt" });
    await rm(join(folder, "b.txt"));
    expect(await text("write", { path: "b.txt", content: "two\n" })).toBe("Created b.txt (4B)");
  });

  test("when another toolkit has seen it", async () => {
    const { folder, text } = await toolsOn({ "a.txt": "one\n" });
    const other = await toolsOn({}, { preset: "all", workDir: folder });
    await other.text("read", { path: "a.txt" });
    await text("write", { path: "a.txt", content: "two\n" });
    expect(await text("write", { path: "a.txt", content: "three\n" })).toBe("Replaced a.txt (6B)");
    expect(await other.text("write", { path: "a.txt", content: "four\n" })).toMatch(/has changed since/);
  });
});

describe("without space for the new content, the old one stays whole", () => {
  // The limit of a file's size stands for the disk's: both let a part be written and refuse the rest.
  const written = (folder: string, path: string) => {
    const program = join(import.meta.dirname, "../fixtures/files/write-once.mjs");
    const script = `ulimit -f 64; exec "$0" "$@"`;
    const args = ["-c", script, process.execPath, program, folder, temporaryFolder(), path, String(200 * 1024)];
    return execFileSync("bash", args, { encoding: "utf8" });
  };

  test("and nothing else is left behind", async () => {
    const { folder } = await toolsOn({ "a.txt": "old\n" });
    expect(written(folder, "a.txt")).toMatch(/^Tool error: \S*a\.txt: .*EFBIG/);
    expect(await readFile(join(folder, "a.txt"), "utf8")).toBe("old\n");
    expect(await readdir(folder)).toEqual(["a.txt"]);
  });

  test("also in a file with several names, which is written in place", async () => {
    const { folder } = await toolsOn({ "a.txt": "old\n" });
    await link(join(folder, "a.txt"), join(folder, "b.txt"));
    expect(written(folder, "b.txt")).toMatch(/^Tool error: \S*b\.txt: .*EFBIG/);
    expect(await readFile(join(folder, "a.txt"), "utf8")).toBe("old\n");
  });
});

/** Whether another user can run the built package: only root can be one, and a clone in its home is closed to others. */
const canBeAnother =
  process.getuid?.() === 0 &&
  spawnSync("test", ["-r", import.meta.filename], { uid: 65_534, gid: 65_534 }).status === 0;

test.skipIf(!canBeAnother)(
  "a file whose owner could not be kept is left as it is (root alone, outside of its home)",
  async () => {
    const { folder } = await toolsOn({ "a.txt": "old\n" });
    await chmod(folder, 0o777);
    await chmod(join(folder, "a.txt"), 0o666);
    const stateDir = temporaryFolder();
    await chmod(stateDir, 0o777);
    const program = join(import.meta.dirname, "../fixtures/files/write-once.mjs");
    const args = [program, folder, stateDir, "a.txt", "5", "65534"];
    const env = { ...process.env, HOME: stateDir };
    expect(execFileSync(process.execPath, args, { encoding: "utf8", env })).toMatch(
      /^Tool error: \S*a\.txt belongs to another user or group \(0:0\), and this user cannot keep that owner; the file was not changed\n/,
    );
    expect(await readFile(join(folder, "a.txt"), "utf8")).toBe("old\n");
    expect(await readdir(folder)).toEqual(["a.txt"]);
  },
);

describe("a file with several names (hard links)", () => {
  test("is asked about, and refused where nobody can be asked", async () => {
    const { folder, text } = await toolsOn({ "a.txt": "one\n" });
    await link(join(folder, "a.txt"), join(folder, "b.txt"));
    expect(await text("write", { path: "b.txt", content: "two\n" })).toMatch(/b\.txt .*2 names \(hard links\)/);
    expect(await readFile(join(folder, "a.txt"), "utf8")).toBe("one\n");
  });

  test("keeps them all when a person approves: longer, shorter, empty", async () => {
    const { folder, text } = await toolsOn({ "a.txt": "one\n" }, { preset: "all", approver: approveOnce });
    await link(join(folder, "a.txt"), join(folder, "b.txt"));
    const { ino } = await stat(join(folder, "a.txt"));
    for (const content of [numberedLines(5_000), "short\n", "", "again\n"]) {
      expect(await text("write", { path: "b.txt", content })).toMatch(/^Replaced b\.txt/);
      expect(await readFile(join(folder, "a.txt"), "utf8")).toBe(content);
    }
    expect(await stat(join(folder, "b.txt"))).toMatchObject({ ino, nlink: 2 });
    expect(await readdir(folder)).toEqual(["a.txt", "b.txt"]);
  });
});
