import { execFileSync } from "node:child_process";
import { createServer } from "node:net";
import { lstat, mkdir, readdir, rm, stat, symlink, truncate, writeFile } from "node:fs/promises";
import { join } from "node:path";
import fc from "fast-check";
import { beforeEach, describe, expect, test } from "vitest";
import { local } from "../../src/machine/local/backend.ts";
import type { Files } from "../../src/core/contract/backend.ts";
import { failureOf } from "../support/failing.ts";
import { temporaryFolder } from "../support/workspace.ts";
import { bytes, namingCases, onFullDisk, readAll, writingCases } from "./files-cases.ts";

let folder: string;
let files: Files;
beforeEach(async () => {
  folder = temporaryFolder();
  ({ files } = await local({ workDir: folder, home: join(folder, "home"), outputFolder: join(folder, "outputs") }));
});

const at = (path: string) => join(folder, path);

describe("write", () => {
  writingCases(() => ({ folder, files }), { rounds: 40 });
});

describe("a path that is not a regular file", () => {
  let server: ReturnType<typeof createServer>;
  beforeEach(async () => {
    execFileSync("mkfifo", [at("fifo")]);
    await mkdir(at("folder"));
    await symlink("fifo", at("link-to-fifo"));
    await symlink("/dev/null", at("link-to-device"));
    server = createServer();
    await new Promise<void>((resolve) => server.listen(at("socket"), resolve));
    return async () => new Promise((resolve) => server.close(resolve));
  });

  test.each([
    ["fifo", "This is a FIFO (named pipe), not a file: fifo"],
    ["link-to-fifo", "This is a FIFO (named pipe), not a file: link-to-fifo"],
    ["socket", "This is a socket, not a file: socket"],
    ["folder", "This is a folder, not a file: folder"],
    ["link-to-device", "This is a device, not a file: link-to-device"],
    ["/dev/zero", "This is a device, not a file: /dev/zero"],
    ["/dev/tty", "This is a device, not a file: /dev/tty"],
  ])("%s is refused at once, to read and to write, and stays what it is", async (path, message) => {
    const before = await files.stat(path);
    expect(await failureOf(files.open(path))).toContain(message);
    expect(await failureOf(files.write(path, bytes("x")))).toContain(message);
    expect((await files.stat(path))?.kind).toBe(before?.kind);
    expect((await readdir(folder)).filter((name) => name.includes(".tmp"))).toEqual([]);
  });

  test("stat and list report its kind", async () => {
    expect((await files.list(".")).map(({ name, kind, target }) => [name, kind, target])).toEqual([
      ["fifo", "fifo", undefined],
      ["folder", "folder", undefined],
      ["link-to-device", "link", "/dev/null"],
      ["link-to-fifo", "link", "fifo"],
      ["socket", "socket", undefined],
    ]);
    expect(await files.stat("link-to-device")).toMatchObject({ kind: "device", size: 0 });
    expect(await files.stat("fifo")).toMatchObject({ kind: "fifo", size: 0 });
  });

  test("only a folder is listed", async () => {
    await files.write("file", bytes("x"));
    expect(await failureOf(files.list("fifo"))).toContain("This is a FIFO (named pipe), not a folder: fifo");
    expect(await failureOf(files.list("file"))).toContain("This is a file, not a folder: file");
    expect(await failureOf(files.list("none"))).toContain("File not found: none");
  });
});

describe("names", () => {
  const WILD = [
    " ",
    "a b",
    " lead",
    "trail ",
    "new\nline",
    "tab\tname",
    "\x1b[31mred",
    "-rf",
    "--",
    "'",
    '"',
    "\\",
    "*",
    "?",
    "$HOME",
    "`id`",
    "~x",
    "#",
    "é",
    "e\u0301",
    "漢字",
    "😀",
    "\u202egnp.exe",
    ".hidden",
    "...",
    "n".repeat(255),
    "é".repeat(127),
    "file (deleted)",
  ];

  test.each(WILD)("%j is written, read, listed and removed like any other", async (name) => {
    await files.write(`./${name}`, bytes(name));
    expect((await readAll(`./${name}`, files)).toString()).toBe(name);
    expect((await files.list(".")).map((entry) => entry.name)).toEqual([name]);
    expect((await files.stat(at(name)))?.path).toBe(at(name));
    await files.remove(`./${name}`);
    expect(await readdir(folder)).toEqual([]);
  });

  namingCases(() => ({ folder, files }), { runs: 60 });

  test("the two Unicode forms of an accent are two files", async () => {
    await files.write("\u00e9", bytes("one"));
    await files.write("e\u0301", bytes("two"));
    expect((await readAll("\u00e9", files)).toString()).toBe("one");
  });
});

describe("list", () => {
  test("is sorted by code units, including hidden names", async () => {
    const names = ["b", "B", "a", "ä", "Z", "10", "9", ".x", "-", "_", "é", "z", "\u{1f600}", "\uffee"];
    for (const name of names) await files.write(`./${name}`, bytes("x"));
    expect((await files.list(".")).map(({ name }) => name)).toEqual([...names].sort());
  });

  test("reports sizes, times and link targets, including dangling ones", async () => {
    await files.write("file", bytes("12345"));
    await symlink("nowhere\nat all", at("link"));
    const [file, broken] = await files.list(".");
    expect(file).toMatchObject({ name: "file", kind: "file", size: 5 });
    expect(file?.modifiedMs).toBeCloseTo((await stat(at("file"))).mtimeMs, 0);
    expect(broken).toMatchObject({ name: "link", kind: "link", target: "nowhere\nat all" });
  });

  test.skipIf(process.platform !== "linux")(
    "includes names that are not UTF-8, with replacement characters (NOT RUN except on Linux)",
    async () => {
      await writeFile(Buffer.concat([bytes(`${folder}/caf`), Buffer.from([0xe9]), bytes(".txt")]), "12345");
      expect(await files.list(".")).toMatchObject([{ name: "caf\ufffd.txt", kind: "file", size: 5 }]);
    },
  );

  test("omits an entry that disappears meanwhile, without an error", async () => {
    const names = Array.from({ length: 300 }, (_, index) => `file-${String(index).padStart(3, "0")}`);
    await Promise.all(names.map((name) => writeFile(at(name), "x")));
    const [listed] = await Promise.all([
      files.list("."),
      ...names.filter((_, index) => index % 3 !== 0).map((name) => rm(at(name))),
    ]);
    const kept = names.filter((_, index) => index % 3 === 0);
    expect(listed.map(({ name }) => name).filter((name) => kept.includes(name))).toEqual(kept);
  });

  test("returns a folder of thousands of entries in full", async () => {
    const names = Array.from({ length: 3_000 }, (_, index) => `f${index}`);
    await mkdir(at("many"));
    for (let start = 0; start < names.length; start += 100)
      await Promise.all(names.slice(start, start + 100).map((name) => writeFile(at(`many/${name}`), "")));
    expect((await files.list("many")).map(({ name }) => name)).toEqual([...names].sort());
  });
});

describe("open and read", () => {
  test("any range is the same as that of a buffer", async () => {
    const content = Buffer.from(Uint8Array.from({ length: 5_000 }, (_, index) => (index * 31 + (index >> 8)) & 255));
    await files.write("file", content);
    const file = await files.open("file");
    await fc.assert(
      fc.asyncProperty(fc.nat(6_000), fc.nat(6_000), async (offset, length) => {
        expect(Buffer.from(await file.read(offset, length)).equals(content.subarray(offset, offset + length))).toBe(
          true,
        );
      }),
    );
    await file.close();
  });

  test("an open file keeps its content when it is replaced or removed", async () => {
    await files.write("file", bytes("old"));
    const file = await files.open("file");
    await files.write("file", bytes("new"));
    await files.remove("file");
    expect(Buffer.from(await file.read(0, 10)).toString()).toBe("old");
    await file.close();
  });

  test("a file that is truncated meanwhile returns what is left", async () => {
    await files.write("file", Buffer.alloc(100_000, 1));
    const file = await files.open("file");
    await truncate(at("file"), 10);
    expect((await file.read(0, 100_000)).length).toBe(10);
    expect((await file.read(50_000, 10)).length).toBe(0);
    await file.close();
  });

  test("files of /proc have no size but a content", async () => {
    const file = await files.open("/proc/self/status");
    expect(file.info.size).toBe(0);
    expect(Buffer.from(await file.read(0, 100_000)).toString()).toContain(`Pid:\t${process.pid}\n`);
    await file.close();
  });

  test("the version changes with every write, also within one clock tick, and never without a write", async () => {
    const versions = new Set<string>();
    for (let round = 0; round < 20; round++) versions.add((await files.write("file", bytes("same"))).version);
    expect(versions.size).toBe(20);
    expect(versions).toContain((await files.stat("file"))?.version);
    const file = await files.open("file");
    expect(versions).toContain(file.info.version);
    await file.close();
  });

  test("reading a closed file fails", async () => {
    await files.write("file", bytes("x"));
    const file = await files.open("file");
    await file.close();
    expect(await failureOf(file.read(0, 1))).toContain("file");
  });

  test("a missing file is reported with its path as it was given", async () => {
    expect(await failureOf(files.open("none/at/all"))).toContain("File not found: none/at/all");
    expect(await files.stat("none/at/all")).toBeUndefined();
    await files.write("file", bytes("x"));
    expect(await failureOf(files.open("file/below"))).toContain("A part of the path is not a folder: file/below");
    expect(await files.stat("file/below")).toBeUndefined();
  });
});

describe("realPath", () => {
  test("follows every link, and appends the names of what does not exist to the real path of what does", async () => {
    await mkdir(at("real/sub"), { recursive: true });
    await symlink("real", at("link"));
    await symlink(at("link/sub"), at("deep"));
    await symlink("link/new", at("dangling"));
    for (const [path, expected] of [
      [".", ""],
      ["link", "real"],
      ["deep", "real/sub"],
      ["deep/../x", "x"], // two dots in a path as it is written go before links are followed
      ["link/none/at/all", "real/none/at/all"],
      ["dangling", "real/new"],
      ["dangling/below", "real/new/below"],
      ["~/x", "home/x"],
      ["", ""],
    ] as const) {
      expect(await files.realPath(path)).toBe(join(folder, expected));
    }
    expect(await files.realPath("/none/../etc/./none")).toBe("/etc/none");
  });

  test("a circle fails, also one behind a missing folder", async () => {
    await symlink("two", at("one"));
    await symlink("one", at("two"));
    await symlink("self/x", at("self"));
    for (const path of ["one", "one/x", "self", "self/y"])
      expect(await failureOf(files.realPath(path))).toContain("circle");
  });

  test("forty dangling links in a row are followed, an endless chain is not", async () => {
    for (let index = 0; index < 60; index++) await symlink(`hop-${index + 1}/x`, at(`hop-${index}`));
    expect(await files.realPath("hop-50")).toBe(at(`hop-60${"/x".repeat(10)}`));
    expect(await failureOf(files.realPath("hop-0"))).toContain("circle");
  });
});

describe("remove", () => {
  test("removes a file, a folder with its content, and a link without its target", async () => {
    await files.write("folder/deep/file", bytes("x"));
    await files.write("file", bytes("x"));
    await symlink("folder", at("link"));
    await symlink("nowhere", at("dangling"));
    for (const path of ["link", "dangling", "file"]) await files.remove(path);
    expect(await readdir(folder)).toEqual(["folder"]);
    expect(await readAll("folder/deep/file", files)).toEqual(bytes("x"));
    await files.remove("folder/");
    expect(await readdir(folder)).toEqual([]);
  });

  test("through a linked folder it removes entries of the target", async () => {
    await files.write("folder/file", bytes("x"));
    await symlink("folder", at("link"));
    await files.remove("link/file");
    expect(await readdir(at("folder"))).toEqual([]);
    expect((await lstat(at("link"))).isSymbolicLink()).toBe(true);
  });

  test("trailing dots mean the folder they name, never one above it", async () => {
    await files.write("keep/me", bytes("x"));
    await files.write("keep/go/away/file", bytes("x"));
    await files.remove("keep/go/away/.");
    expect(await readdir(at("keep/go"))).toEqual([]);
    await mkdir(at("keep/go/away"));
    await files.remove("keep/go/away/..");
    expect(await readdir(at("keep"))).toEqual(["me"]);
    expect(await readdir(folder)).toEqual(["keep"]);
    const inner = await local({ workDir: at("keep"), outputFolder: folder });
    await inner.files.remove(".");
    expect(await readdir(folder)).toEqual([]);
  });

  test("a missing path fails, and the root is rejected", async () => {
    expect(await failureOf(files.remove("none"))).toContain("File not found: none");
    expect(await failureOf(files.remove("none/below"))).toContain("File not found: none/below");
    expect(await failureOf(files.remove("/"))).toContain("The root folder cannot be removed");
  });
});

onFullDisk(async (disk) => (await local({ workDir: disk, outputFolder: folder })).files);

describe("the working directory", () => {
  test("must be an existing folder", async () => {
    await files.write("file", bytes("x"));
    expect(await failureOf(local({ workDir: at("none"), outputFolder: folder }))).toContain(
      `The working directory does not exist: ${at("none")}`,
    );
    expect(await failureOf(local({ workDir: at("file"), outputFolder: folder }))).toContain(
      `The working directory is not a folder: ${at("file")}`,
    );
  });

  test("given through a link is the link's target", async () => {
    await mkdir(at("real"));
    await symlink("real", at("link"));
    expect((await local({ workDir: at("link"), outputFolder: folder })).workDir).toBe(at("real"));
  });
});
