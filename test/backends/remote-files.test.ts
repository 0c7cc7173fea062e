import { execFileSync } from "node:child_process";
import {
  chmod,
  chown,
  link,
  lstat,
  mkdir,
  mkdtemp,
  readFile,
  readdir,
  readlink,
  rename,
  rm,
  stat,
  symlink,
  truncate,
  utimes,
  writeFile,
} from "node:fs/promises";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { localFiles } from "../../src/backends/local/files.ts";
import { type Facts, askFacts } from "../../src/backends/remote/facts.ts";
import { FILE_FUNCTIONS } from "../../src/backends/remote/files-script.ts";
import { remoteFiles } from "../../src/backends/remote/files.ts";
import { type Shells, openShells } from "../../src/backends/remote/shells.ts";
import type { Files } from "../../src/contract/backend.ts";
import { ToolFailure } from "../../src/contract/failure.ts";
import { type LocalReach, localReach } from "../support/local-reach.ts";
import { until } from "../support/until.ts";
import { temporaryFolder } from "../support/workspace.ts";

const isRoot = process.getuid?.() === 0;

/** Which shells are tried; `plain`: as on a system that has no stat(1). */
const SHELLS: readonly { readonly argv: readonly [string, ...string[]]; readonly plain?: boolean }[] = [
  { argv: ["dash"] },
  { argv: ["bash", "--posix"] },
  { argv: ["busybox", "sh"] },
  { argv: ["zsh", "--emulate", "sh"] },
  { argv: ["mksh"] },
  { argv: ["sh"], plain: true },
];

/** A machine on which everything is to be tried has these at least. */
const EXPECTED = ["sh", "dash", "bash"];

const isThere = (program: string): boolean => {
  try {
    execFileSync("sh", ["-c", `command -v ${program}`], { stdio: "ignore" });
    return true;
  } catch {
    return false;
  }
};

const bytes = (text: string) => Buffer.from(text);

/** The message of the `ToolFailure` that it fails with. */
async function failureOf(work: Promise<unknown>): Promise<string> {
  const error: unknown = await work.then(
    () => "it did not fail",
    (reason: unknown) => reason,
  );
  if (error instanceof ToolFailure) return error.message;
  throw new Error(`expected a ToolFailure, got ${String(error)}`);
}

async function readAll(path: string, from: Files): Promise<Buffer> {
  const file = await from.open(path);
  try {
    return Buffer.from(await file.read(0, 1_000_000));
  } finally {
    await file.close();
  }
}

for (const { argv } of SHELLS.filter((shell) => !isThere(shell.argv[0]))) {
  test.skipIf(process.env["CI"] !== "true" || !EXPECTED.includes(argv[0]))(
    `${argv[0]} is not here (NOT RUN: files through it)`,
    () => {
      expect(isThere(argv[0])).toBe(true);
    },
  );
}

describe.each(SHELLS.filter(({ argv }) => isThere(argv[0])))(
  "files through $argv (without stat: $plain)",
  ({ argv, plain = false }) => {
    let reach: LocalReach;
    let shells: Shells;
    let facts: Facts;
    let folder: string;
    let files: Files;
    let here: Files;
    const at = (path: string) => join(folder, path);

    beforeAll(async () => {
      reach = localReach(argv);
      shells = await openShells({ reach, preamble: () => FILE_FUNCTIONS });
      const shell = await shells.take();
      const asked = await askFacts(shell);
      shells.giveBack(shell);
      facts = plain ? { ...asked, stat: "none" } : asked;
      return async () => shells.close();
    });
    beforeEach(() => {
      folder = temporaryFolder();
      files = remoteFiles({ shells, facts, base: { workDir: folder, home: join(folder, "home") } });
      here = localFiles({ workDir: folder, home: join(folder, "home") });
    });

    /** What is told, without what only this machine can know so exactly, and in which words a circle is found. */
    const told = async (work: Promise<unknown>): Promise<unknown> => {
      const result: unknown = await work.then(
        (value) => ({ value }),
        (error: unknown) => ({
          failed: error instanceof ToolFailure ? error.message.replace(/^(Links lead in a circle).*/, "$1") : error,
        }),
      );
      return JSON.parse(
        JSON.stringify(result, (key, value: unknown) => {
          if (key === "version") return "some";
          if (key === "modifiedMs") return plain ? Math.floor(Number(value) / 86_400_000) : Math.floor(Number(value));
          return value;
        }),
      );
    };
    const same = async (operation: (on: Files) => Promise<unknown>) =>
      expect(await told(operation(files))).toEqual(await told(operation(here)));

    describe("real paths", () => {
      test("are those that this machine finds, whatever leads where", async () => {
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
              await make[entry.kind]().catch(() => undefined); // something is there
            }
            // Asked together: they must not disturb each other.
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
      test("makes the file and the folders on the way, and says what is there now", async () => {
        const info = await files.write("a/b/c.txt", bytes("hello"));
        expect(await readFile(at("a/b/c.txt"), "utf8")).toBe("hello");
        expect(info).toEqual(await files.stat("a/b/c.txt"));
        expect(info).toMatchObject({ path: at("a/b/c.txt"), kind: "file", size: 5, links: 1 });
        await same((on) => on.stat("a/b/c.txt"));
      });

      test("a new file has the mode that the user's umask leaves, and an old one keeps its own", async () => {
        expect((await files.write("new.txt", bytes("x"))).mode).toBe(0o666 & ~process.umask());
        for (const mode of [0o600, 0o640, 0o644, 0o755, 0o444, 0o2755, 0o4711, 0o1777]) {
          await writeFile(at("old.txt"), "old");
          await chmod(at("old.txt"), mode);
          expect((await files.write("old.txt", bytes("new"))).mode).toBe(mode);
          expect((await stat(at("old.txt"))).mode & 0o7777).toBe(mode);
          expect(await readFile(at("old.txt"), "utf8")).toBe("new");
          await rm(at("old.txt"));
        }
      });

      test.skipIf(!isRoot)("the owner stays (NOT RUN without root)", async () => {
        await writeFile(at("theirs.txt"), "old");
        await chown(at("theirs.txt"), 12_345, 23_456);
        await chmod(at("theirs.txt"), 0o640);
        await files.write("theirs.txt", bytes("new"));
        const { uid, gid, mode } = await stat(at("theirs.txt"));
        expect({ uid, gid, mode: mode & 0o7777 }).toEqual({ uid: 12_345, gid: 23_456, mode: 0o640 });
      });

      test("through a link it changes what the link leads to, and the link stays a link", async () => {
        await writeFile(at("target.txt"), "old");
        await symlink("target.txt", at("link"));
        await symlink("link", at("link-to-link"));
        await symlink("sub/not-yet.txt", at("dangling"));
        await files.write("link-to-link", bytes("new"));
        await files.write("dangling", bytes("made"));
        expect(await readlink(at("link-to-link"))).toBe("link");
        expect(await readlink(at("dangling"))).toBe("sub/not-yet.txt");
        expect(await readFile(at("target.txt"), "utf8")).toBe("new");
        expect(await readFile(at("sub/not-yet.txt"), "utf8")).toBe("made");
      });

      test("any content of any size arrives as it is, and nothing of it is run", async () => {
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

      test("content that is refused is not run either", async () => {
        const evil = bytes(`\n\n)\ntouch '${at("run")}'\n`.repeat(10_000));
        await mkdir(at("folder"));
        await writeFile(at("file"), "x");
        expect(await failureOf(files.write("folder", evil))).toBe("This is a folder, not a file: folder");
        expect(await failureOf(files.write("file/x", evil))).toBe("Not a folder on the way to: file/x");
        expect(await failureOf(files.write("file/x", bytes("small")))).toBe("Not a folder on the way to: file/x");
        await files.write("other", bytes("still in step"));
        expect((await readdir(folder)).sort()).toEqual(["file", "folder", "other"]);
      });

      test("a reader sees the old content or the new, never a part or a mixture", async () => {
        const size = 300_000;
        await files.write("file", Buffer.alloc(size, 0));
        let writing = true;
        const writes = (async () => {
          for (let round = 1; round <= 15; round++) await files.write("file", Buffer.alloc(size, round));
          writing = false;
        })();
        let whole = 0;
        let refused = 0;
        while (writing || whole === 0) {
          const seen = await readAll("file", files).catch((error: unknown) => String(error));
          if (typeof seen === "string") {
            expect(seen).toMatch(/was replaced or removed while it was being read|changed while it was being opened/);
            refused++;
            continue;
          }
          expect(seen.length).toBe(size);
          expect(seen.equals(Buffer.alloc(size, seen[0]))).toBe(true);
          whole++;
        }
        await writes;
        expect(whole + refused).toBeGreaterThan(0);
      });

      test("of writes side by side one wins whole, and nothing else is left", async () => {
        const contents = Array.from({ length: 12 }, (_, index) =>
          Buffer.alloc(index % 2 === 0 ? 70_000 : 500, 65 + index),
        );
        await Promise.all(contents.map((content) => files.write("file", content)));
        const left = await readFile(at("file"));
        expect(contents.some((content) => content.equals(left))).toBe(true);
        expect(await readdir(folder)).toEqual(["file"]);
      });

      test("a file with two names keeps both, its inode and its mode, whether it grows or shrinks", async () => {
        await writeFile(at("one"), "shared");
        await link(at("one"), at("two"));
        await chmod(at("one"), 0o640);
        const { ino } = await stat(at("one"));
        for (const content of ["something longer than before", "less", "", "again", "z".repeat(100_000), "end"]) {
          const info = await files.write("two", bytes(content));
          expect([await readFile(at("one"), "utf8"), await readFile(at("two"), "utf8")]).toEqual([content, content]);
          expect(info).toMatchObject({ links: 2, mode: 0o640, size: content.length });
          expect((await stat(at("one"))).ino).toBe(ino);
        }
        expect((await readdir(folder)).sort()).toEqual(["one", "two"]);
      });

      test("a name that no system takes is told", async () => {
        const name = "n".repeat(256);
        for (const operation of ["open", "stat", "list", "remove", "realPath"] as const) {
          expect(await failureOf(files[operation](name))).toContain("The name is too long");
        }
        expect(await failureOf(files.write(name, bytes("x")))).toContain("The name is too long");
        expect(await failureOf(files.open("a\0b"))).toContain("null bytes");
      });

      test("a connection that is lost in the middle leaves the old content or the new, and it is written again", async () => {
        await files.write("file", bytes("old"));
        for (let round = 0; round < 5; round++) {
          const content = Buffer.alloc(3_000_000, 65 + round);
          const writing = files.write("file", content);
          await until(
            "it has begun",
            async () =>
              (await readdir(folder)).some((name) => name.endsWith(".tmp")) || (await stat(at("file"))).size > 3,
          );
          reach.cut();
          await writing;
          expect((await readFile(at("file"))).equals(content)).toBe(true);
          expect(await readdir(folder)).toEqual(["file"]);
        }
      });
    });

    describe("read", () => {
      test("any range is what stands there", async () => {
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

      test("a long file comes whole", async () => {
        const content = Buffer.alloc(20_000_003, "some bytes \0\xff\x01\n");
        await writeFile(at("file"), content);
        const file = await files.open("file");
        expect(content.equals(await file.read(0, 30_000_000))).toBe(true);
      });

      test("a file that grew or shrank is the same file, one that was replaced is not", async () => {
        await writeFile(at("log"), Buffer.alloc(100_000, 1));
        const log = await files.open("log");
        await writeFile(at("log"), Buffer.alloc(50_000, 2), { flag: "a" });
        expect((await log.read(90_000, 100_000)).length).toBe(60_000);
        if (facts.stat !== "none" && !argv.includes("busybox")) {
          await truncate(at("log"), 80_000);
          expect((await log.read(70_000, 100_000)).length).toBe(10_000);
        }
        await writeFile(at("other"), Buffer.alloc(100_000, 3));
        await rename(at("other"), at("log"));
        expect(await failureOf(log.read(70_000, 10))).toContain("log was replaced or removed while it was being read");
        await rm(at("log"));
        expect(await failureOf(log.read(70_000, 10))).toContain("log was replaced or removed while it was being read");
      });

      test("what the kernel makes up when it is read is read too", async () => {
        expect((await readAll("/proc/version", files)).toString()).toBe(await readFile("/proc/version", "utf8"));
      });
    });

    describe("what is no regular file", () => {
      test("is told, refused at once, and stays what it is", async () => {
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
      test("is what this machine lists, strange names and links included", async () => {
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

      test.skipIf(plain)("thousands of entries come at once", async () => {
        await Promise.all(Array.from({ length: 5_000 }, (_, index) => writeFile(at(`file ${index}`), "x")));
        expect((await files.list(".")).length).toBe(5_000);
        await same((on) => on.list("."));
      });
    });

    describe("remove", () => {
      test("takes a file, a link itself, or a folder with all in it, and nothing else", async () => {
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

    describe("a path that is real already", () => {
      test("is refused where a link stands on the way by now, and nothing is touched", async () => {
        await mkdir(at("secret"));
        await writeFile(at("secret/file"), "kept");
        await symlink("secret", at("way"));
        await symlink("secret/file", at("name"));
        const real = { real: true };
        for (const path of [at("way/file"), at("name")]) {
          for (const work of [files.open(path, real), files.write(path, bytes("x"), real), files.stat(path, real)]) {
            expect(await failureOf(work)).toContain("changed while it was being opened; nothing was done");
          }
        }
        expect(await failureOf(files.write(at("way/new/file"), bytes("x"), real))).toContain(
          "changed while it was being opened",
        );
        expect(await failureOf(files.list(at("way"), real))).toContain("changed while it was being opened");
        expect(await failureOf(files.remove(at("way/file"), real))).toContain("changed while it was being opened");
        expect(await readFile(at("secret/file"), "utf8")).toBe("kept");
        expect(await readdir(at("secret"))).toEqual(["file"]);
        expect((await files.stat(at("secret/file"), real))?.size).toBe(4);
        await files.remove(at("name"), real);
        expect(await lstat(at("name")).catch(() => "gone")).toBe("gone");
      });
    });

    describe("names", () => {
      test("whatever a name has in it, what is written is what is read", async () => {
        const name = fc
          .string({ unit: "binary", minLength: 1, maxLength: 60 })
          .filter(
            (text) =>
              !/[/\0]|\p{Surrogate}/u.test(text) && Buffer.byteLength(text) <= 255 && text !== "." && text !== "..",
          );
        const nasty = fc.constantFrom(
          "$(touch x)",
          "`touch x`",
          "-n",
          "a\n",
          "\n",
          "'",
          "\\",
          "%s",
          "*",
          "~",
          "file (deleted)",
          "x".repeat(255),
          "\\0101",
          "!",
          "#",
        );
        await fc.assert(
          fc.asyncProperty(fc.oneof(name, nasty), fc.uint8Array({ maxLength: 300 }), async (given, content) => {
            await files.write(at(given), content);
            expect((await readFile(at(given))).equals(content)).toBe(true);
            expect((await readAll(at(given), files)).equals(content)).toBe(true);
            expect(await files.realPath(at(given))).toBe(at(given));
            expect((await files.list(".")).map((entry) => entry.name)).toEqual([given]);
            await files.remove(at(given));
            expect(await readdir(folder)).toEqual([]);
          }),
          { numRuns: 25 },
        );
      });
    });

    describe.skipIf(!isRoot || process.platform !== "linux")(
      "a full disk (NOT RUN without root on Linux: it needs a mount)",
      () => {
        let disk: string;
        beforeAll(async () => {
          disk = await mkdtemp(join(tmpdir(), "handrail-disk-"));
          execFileSync("mount", ["-t", "tmpfs", "-o", "size=64k", "tmpfs", disk]);
        });
        afterAll(async () => {
          execFileSync("umount", [disk]);
          await rm(disk, { recursive: true });
        });

        test("fails with a sentence, the old content stays, and nothing is left behind", async () => {
          const there = remoteFiles({ shells, facts, base: { workDir: disk, home: disk } });
          const full = "No space is left on the disk for: file";
          await there.write("file", bytes("old"));
          expect(await failureOf(there.write("file", Buffer.alloc(200_000)))).toBe(full);
          await link(join(disk, "file"), join(disk, "file-too"));
          expect(await failureOf(there.write("file", Buffer.alloc(200_000)))).toBe(full);
          expect(await failureOf(there.write("file", Buffer.alloc(50_000, 65)))).toBe(full); // a copy, but not both
          await rm(join(disk, "file-too"));
          await there.write("filler", Buffer.alloc(56_000));
          expect(await failureOf(there.write("file", Buffer.alloc(8_000, 65)))).toBe(full);
          expect((await readAll("file", there)).toString()).toBe("old");
          expect((await readdir(disk)).sort()).toEqual(["file", "filler"]);
          await there.remove("filler");
          await there.write("file", Buffer.alloc(20_000, 7)); // and the space is there again
          expect((await there.stat("file"))?.size).toBe(20_000);
        });
      },
    );
  },
);
