import { execFileSync } from "node:child_process";
import {
  link,
  lstat,
  mkdir,
  readFile,
  readdir,
  rename,
  rm,
  stat,
  symlink,
  truncate,
  utimes,
  writeFile,
} from "node:fs/promises";
import { createServer } from "node:net";
import { join } from "node:path";
import fc from "fast-check";
import { beforeAll, beforeEach, describe, expect, test } from "vitest";
import { localFiles } from "../../src/machine/local/files.ts";
import { type Facts, askFacts } from "../../src/machine/shell/facts.ts";
import FILES from "../../src/machine/shell/files.sh";
import PATHS from "../../src/machine/shell/path.sh";
import { remoteFiles } from "../../src/machine/shell/files.ts";
import { type Shells, openShells } from "../../src/machine/shell/shells.ts";
import type { Files } from "../../src/core/contract/backend.ts";
import { ToolFailure } from "../../src/core/contract/failure.ts";
import { failureOf } from "../support/failing.ts";
import { type LocalTransport, localTransport } from "../support/local-transport.ts";
import { until } from "../support/until.ts";
import { temporaryFolder } from "../support/workspace.ts";
import { bytes, namingCases, onFullDisk, readAll, writingCases } from "./files-cases.ts";
import { shellsHere } from "./there.ts";

/** The number of files in one folder, created once for all shells, because this takes long on a slow disk. */
const CROWD = 5_000;
let crowd: Promise<string> | undefined;
async function crowded(): Promise<string> {
  const folder = temporaryFolder();
  await Promise.all(Array.from({ length: CROWD }, (_, index) => writeFile(join(folder, `file ${index}`), "x")));
  return folder;
}

describe.each(shellsHere().map((argv) => ({ argv })))("files through $argv", ({ argv }) => {
  let transport: LocalTransport;
  let shells: Shells;
  let facts: Facts;
  let folder: string;
  let files: Files;
  let here: Files;
  const at = (path: string) => join(folder, path);

  beforeAll(async () => {
    transport = localTransport(argv);
    shells = await openShells({ transport, preamble: () => PATHS + FILES });
    const shell = await shells.take();
    facts = await askFacts(shell);
    shells.giveBack(shell);
    return async () => shells.close();
  });
  beforeEach(() => {
    folder = temporaryFolder();
    files = remoteFiles({ shells, facts, base: { workDir: folder, home: join(folder, "home") } });
    here = localFiles({ workDir: folder, home: join(folder, "home") });
  });

  /** Returns the outcome without details that only this machine can know, and without the wording for circles. */
  const told = async (work: Promise<unknown>): Promise<unknown> => {
    const result: unknown = await work.then(
      (value) => ({ value }),
      (error: unknown) => ({
        failed: error instanceof ToolFailure ? error.message.replace(/^(The links form a circle).*/, "$1") : error,
      }),
    );
    return JSON.parse(
      JSON.stringify(result, (key, value: unknown) => {
        if (key === "version") return "some";
        if (key === "modifiedMs") return Math.floor(Number(value));
        return value;
      }),
    );
  };
  const same = async (operation: (on: Files) => Promise<unknown>) =>
    expect(await told(operation(files))).toEqual(await told(operation(here)));

  describe("real paths", () => {
    test("are those that this machine finds, wherever links lead", async () => {
      await mkdir(at("a/b/c"), { recursive: true });
      await writeFile(at("a/file"), "x");
      expect(await files.realPath("none/x")).toBe(at("none/x"));
      const links: readonly (readonly [string, string])[] = [
        ["to-b", "a/b"],
        ["a/up", ".."],
        ["a/b/far", "../../to-b/c"],
        ["absolute", at("a/file")],
        ["dangling", "not/yet"],
        ["dangling-up", "none/../a/file"],
        ["through", "to-b/../file"],
        ["chain", "dangling"],
        ["circle", "circle"],
        ["one", "two"],
        ["two", "one"],
        ["root", "/"],
        ["below-file", "a/file/x"],
        ["line\nend\n", "a/b\n"],
        ["a/b\n", "b"],
        ["many", "a///b/./c/"],
      ];
      for (const [name, target] of links) await symlink(target, at(name));
      const paths = links.flatMap(([name]) => [name, `${name}/x`, `${name}/../a`, `${name}/b/c`]);
      for (const path of [
        ".",
        "/",
        "//",
        "~",
        "~/x",
        "a/file",
        "a/file/x",
        "a/none/y/z",
        "none",
        "a/b/far/../c",
        ...paths,
      ]) {
        await same((on) => on.realPath(path));
      }
    });

    test("of trees with any links are those that this machine finds", async () => {
      const name = fc.constantFrom("a", "b", "c", "d e", "..");
      const path = fc.array(name, { minLength: 1, maxLength: 4 }).map((parts) => parts.join("/"));
      const target = fc.oneof(
        path,
        path.map((each) => `<root>/${each}`),
      );
      const tree = fc.array(fc.record({ path, kind: fc.constantFrom("folder", "file", "link"), target }), {
        maxLength: 8,
      });
      let runs = 0;
      await fc.assert(
        fc.asyncProperty(tree, fc.array(path, { minLength: 1, maxLength: 12 }), async (entries, asked) => {
          const root = at(`tree-${runs++}/x/y`);
          await mkdir(root, { recursive: true });
          for (const entry of entries) {
            const there = join(root, entry.path);
            if (!there.startsWith(root)) continue;
            const make = {
              folder: () => mkdir(there, { recursive: true }),
              file: () => writeFile(there, ""),
              link: () => symlink(entry.target.replace("<root>", root), there),
            };
            await make[entry.kind]().catch(() => undefined); // the path exists already
          }
          // Requested together: they must not affect each other.
          const [ours, theirs] = await Promise.all(
            [files, here].map((on) => Promise.all(asked.map((each) => told(on.realPath(`${root}/${each}`))))),
          );
          expect(ours).toEqual(theirs);
        }),
        { numRuns: 40 },
      );
    });
  });

  describe("write", () => {
    writingCases(() => ({ folder, files }), {
      rounds: 15,
      refusal: /was replaced or removed while it was read|was replaced while it was being opened/,
    });

    test("the returned info is what this machine finds", async () => {
      await files.write("a/b/c.txt", bytes("hello"));
      expect(await told(files.stat("a/b/c.txt"))).toEqual(await told(here.stat("a/b/c.txt")));
    });

    test("any content of any size arrives unchanged, and none of it is executed", async () => {
      const evil = `'; touch ${at("run")}; $(touch ${at("run")}) \`touch ${at("run")}\`\nexit\n%s\\0\\n`;
      const sizes = [0, 1, 8_191, 8_192, 8_193, 65_535, 65_536, 65_537, 300_000];
      const contents = [
        bytes(evil),
        bytes("é\u{1f600}"),
        Buffer.from([0xff, 0xfe]),
        Buffer.from([0]),
        bytes(`${evil}\0`.repeat(3_000)),
      ];
      for (const content of [
        ...contents,
        ...sizes.map((size) => Buffer.alloc(size, "line\n\xff")),
        ...sizes.map((size) => Buffer.alloc(size, "a b\n")),
      ]) {
        expect((await files.write("file", content)).size).toBe(content.length);
        expect((await readFile(at("file"))).equals(content)).toBe(true);
      }
      expect(await readdir(folder)).toEqual(["file"]);
    });

    test("rejected content is not executed either", async () => {
      const evil = bytes(`\n\n)\ntouch '${at("run")}'\n`.repeat(10_000));
      await mkdir(at("folder"));
      await writeFile(at("file"), "x");
      expect(await failureOf(files.write("folder", evil))).toBe("This is a folder, not a file: folder");
      expect(await failureOf(files.write("file/x", evil))).toBe("A part of the path is not a folder: file/x");
      expect(await failureOf(files.write("file/x", bytes("small")))).toBe("A part of the path is not a folder: file/x");
      await files.write("other", bytes("still in step"));
      expect((await readdir(folder)).sort()).toEqual(["file", "folder", "other"]);
    });

    test("after a connection lost in the middle the content is old or new, and it can be written again", async () => {
      await files.write("file", bytes("old"));
      for (let round = 0; round < 5; round++) {
        const content = Buffer.alloc(3_000_000, 65 + round);
        const writing = files.write("file", content);
        await until(
          "it has begun",
          async () =>
            (await readdir(folder)).some((name) => name.endsWith(".tmp")) || (await stat(at("file"))).size > 3,
        );
        transport.cut();
        await writing;
        expect((await readFile(at("file"))).equals(content)).toBe(true);
        expect(await readdir(folder)).toEqual(["file"]);
      }
    });
  });

  describe("read", () => {
    test("any range has the right bytes", async () => {
      const content = Buffer.from(Array.from({ length: 400_000 }, (_, index) => (index * 7 + (index >> 8)) & 255));
      await writeFile(at("file"), content);
      const file = await files.open("file");
      for (const edge of [0, 4_096, 65_536, 131_072, 262_144, 399_999, 400_000, 500_000]) {
        for (const offset of [edge - 1, edge, edge + 1]) {
          for (const length of [0, 1, 4_095, 4_097, 65_536, 65_537, 300_000]) {
            if (offset < 0) continue;
            const got = Buffer.from(await file.read(offset, length));
            expect(got.equals(content.subarray(offset, offset + length))).toBe(true);
          }
        }
      }
    });

    test("a long file is read completely", async () => {
      const content = Buffer.alloc(20_000_003, "some bytes \0\xff\x01\n");
      await writeFile(at("file"), content);
      const file = await files.open("file");
      expect(content.equals(await file.read(0, 30_000_000))).toBe(true);
    });

    test("a file that grew or shrank is the same file, a replaced one is not", async () => {
      await writeFile(at("log"), Buffer.alloc(100_000, 1));
      const log = await files.open("log");
      await writeFile(at("log"), Buffer.alloc(50_000, 2), { flag: "a" });
      expect((await log.read(90_000, 100_000)).length).toBe(60_000);
      if (!argv.includes("busybox")) {
        await truncate(at("log"), 80_000);
        expect((await log.read(70_000, 100_000)).length).toBe(10_000);
      }
      await writeFile(at("other"), Buffer.alloc(100_000, 3));
      await rename(at("other"), at("log"));
      expect(await failureOf(log.read(70_000, 10))).toContain("log was replaced or removed while it was read");
      await rm(at("log"));
      expect(await failureOf(log.read(70_000, 10))).toContain("log was replaced or removed while it was read");
    });

    test("files whose content the kernel generates are read too", async () => {
      expect((await readAll("/proc/version", files)).toString()).toBe(await readFile("/proc/version", "utf8"));
    });
  });

  describe("a path that is not a regular file", () => {
    test("is reported, rejected at once, and not changed", async () => {
      execFileSync("mkfifo", [at("fifo")]);
      await mkdir(at("folder"));
      await symlink("fifo", at("link-to-fifo"));
      await symlink("/dev/null", at("link-to-device"));
      const server = createServer();
      await new Promise<void>((resolve) => server.listen(at("socket"), resolve));
      try {
        for (const path of ["fifo", "link-to-fifo", "socket", "folder", "link-to-device", "/dev/zero"]) {
          await same((on) => on.stat(path));
          await same((on) => on.open(path));
          expect(await told(files.write(path, bytes("x")))).toEqual(await told(here.write(path, bytes("x"))));
          if (path !== "folder") await same((on) => on.list(path));
        }
        await same((on) => on.list("."));
      } finally {
        await new Promise((resolve) => server.close(resolve));
      }
    });
  });

  describe("list", () => {
    test("is the same as on this machine, including strange names and links", async () => {
      expect(await files.list(".")).toEqual([]);
      const names = [
        "b",
        "B",
        "a",
        "ä",
        "10",
        "9",
        ".x",
        "..y",
        "...",
        "-",
        "-rf",
        "é",
        "\u{1f600}",
        "*",
        "a\nb",
        "c\n",
        "'",
        '"',
        "\\",
        " ",
        "$HOME",
        "a -> b",
        "?",
      ];
      for (const name of names) await writeFile(at(name), name);
      await same((on) => on.list("."));
      await mkdir(at("sub"));
      await symlink("a", at("l1"));
      await same((on) => on.list("."));
      for (const [index, target] of ["nowhere\nat all", "it's", "x\\y", "end\n", "' -> '", at("a"), "é"].entries())
        await symlink(target, at(`m${index}`));
      await symlink("b", at("n' -> 'o"));
      await same((on) => on.list("."));
      await utimes(at("a"), 1_000_000_000.25, 1_000_000_000.25);
      await utimes(at("b"), 0, 0);
      await same((on) => on.list("."));
      await same((on) => on.list("none"));
      await same((on) => on.list("a"));
      await same((on) => on.list("sub"));
    });

    test("thousands of entries are returned at once", async () => {
      crowd ??= crowded();
      const there = await crowd;
      expect((await files.list(there)).length).toBe(CROWD);
      await same((on) => on.list(there));
    });
  });

  describe("remove", () => {
    test("removes a file, a link itself, or a folder with its content, and nothing else", async () => {
      await mkdir(at("folder/deep/er"), { recursive: true });
      await writeFile(at("folder/deep/file"), "x");
      await mkdir(at("kept"));
      await writeFile(at("kept/file"), "x");
      await symlink("../kept", at("folder/link"));
      await symlink("kept", at("link"));
      await symlink("nowhere", at("dangling"));
      await writeFile(at("-rf"), "x");
      for (const path of ["folder", "link", "dangling", "./-rf"]) await files.remove(path);
      expect(await readdir(folder)).toEqual(["kept"]);
      expect(await readdir(at("kept"))).toEqual(["file"]);
      for (const path of ["none", "none/below", "kept/file/below", "/"]) await same((on) => on.remove(path));
    });
  });

  describe("a path that is already real", () => {
    test("is rejected when a link has been put on the way to it, and nothing is changed", async () => {
      await mkdir(at("secret"));
      await writeFile(at("secret/file"), "kept");
      await symlink("secret", at("way"));
      await symlink("secret/file", at("name"));
      const real = { real: true };
      for (const path of [at("way/file"), at("name")]) {
        for (const work of [files.open(path, real), files.write(path, bytes("x"), real), files.stat(path, real)]) {
          expect(await failureOf(work)).toContain("was replaced while it was being opened; nothing was done");
        }
      }
      expect(await failureOf(files.write(at("way/new/file"), bytes("x"), real))).toContain(
        "was replaced while it was being opened",
      );
      expect(await failureOf(files.list(at("way"), real))).toContain("was replaced while it was being opened");
      expect(await failureOf(files.remove(at("way/file"), real))).toContain("was replaced while it was being opened");
      expect(await readFile(at("secret/file"), "utf8")).toBe("kept");
      expect(await readdir(at("secret"))).toEqual(["file"]);
      expect((await files.stat(at("secret/file"), real))?.size).toBe(4);
      await files.remove(at("name"), real);
      expect(await lstat(at("name")).catch(() => "gone")).toBe("gone");
    });
  });

  describe("names", () => {
    namingCases(() => ({ folder, files }), { runs: 25 });
  });

  const filesOn = async (disk: string) => remoteFiles({ shells, facts, base: { workDir: disk, home: disk } });
  onFullDisk(filesOn, (disk) => {
    test("a file with two names is copied first, and is kept if there is no space for both", async () => {
      const there = await filesOn(disk());
      await there.write("file", bytes("old"));
      await link(join(disk(), "file"), join(disk(), "file-too"));
      expect(await failureOf(there.write("file", Buffer.alloc(50_000, 65)))).toBe("The disk is full: file");
      expect((await readAll("file", there)).toString()).toBe("old");
      expect((await readdir(disk())).sort()).toEqual(["file", "file-too"]);
    });
  });
});
