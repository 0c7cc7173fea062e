// Test cases for both local and remote files. Cases for only one of them are in its own test file.
import { execFileSync } from "node:child_process";
import {
  chmod,
  chown,
  link,
  mkdtemp,
  readFile,
  readdir,
  readlink,
  rm,
  stat,
  symlink,
  writeFile,
} from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import type { Files } from "../../src/core/contract/backend.ts";
import { failureOf } from "../support/failing.ts";

/** The environment of a test. */
export interface FilesPlace {
  /** The folder of the test, initially empty; the working directory of `files`. */
  readonly folder: string;
  readonly files: Files;
}

const isRoot = process.getuid?.() === 0;
const NAMED = ["open", "stat", "list", "remove", "realPath"] as const;

export const bytes = (text: string) => Buffer.from(text);

/** Returns the content of a file, up to a megabyte. */
export async function readAll(path: string, from: Files): Promise<Buffer> {
  const file = await from.open(path);
  try {
    return Buffer.from(await file.read(0, 1_000_000));
  } finally {
    await file.close();
  }
}

/**
 * Registers cases of `write`, in addition to those of the backend suite.
 *
 * @param rounds how often a file is replaced while it is read
 * @param refusal an error that a reader may get instead of the old or new content; default: none
 */
export function writingCases(
  place: () => FilesPlace,
  { rounds, refusal }: { readonly rounds: number; readonly refusal?: RegExp },
): void {
  test("creates the file and its folders, and returns the new file's info", async () => {
    const { files, folder } = place();
    const info = await files.write("a/b/c.txt", bytes("hello"));
    expect(await readFile(join(folder, "a/b/c.txt"), "utf8")).toBe("hello");
    expect(info).toEqual(await files.stat("a/b/c.txt"));
    expect(info).toMatchObject({ path: join(folder, "a/b/c.txt"), kind: "file", size: 5, links: 1 });
  });

  test("a new file has the umask's mode, an old one keeps its own, except setuid, setgid and sticky", async () => {
    const { files, folder } = place();
    const old = join(folder, "old.txt");
    expect((await files.write("new.txt", bytes("x"))).mode).toBe(0o666 & ~process.umask());
    for (const mode of [0o600, 0o640, 0o644, 0o755, 0o444, 0o2755, 0o4711, 0o1777, 0o7666]) {
      for (const names of [1, 2]) {
        await writeFile(old, "old");
        if (names === 2) await link(old, join(folder, "other-name.txt"));
        await chmod(old, mode);
        if (names === 2 && mode === 0o444 && !isRoot) {
          // Written in place, so that both names keep their content in common.
          await expect(files.write("old.txt", bytes("new"))).rejects.toThrow("Permission denied");
          await Promise.all([rm(old), rm(join(folder, "other-name.txt"))]);
          continue;
        }
        expect((await files.write("old.txt", bytes("new"))).mode).toBe(mode & 0o777);
        expect((await stat(old)).mode & 0o7777).toBe(mode & 0o777);
        expect(await readFile(old, "utf8")).toBe("new");
        await Promise.all([rm(old), rm(join(folder, "other-name.txt"), { force: true })]);
      }
    }
  });

  test.skipIf(!isRoot)("the owner is kept (NOT RUN without root)", async () => {
    const { files, folder } = place();
    const theirs = join(folder, "theirs.txt");
    await writeFile(theirs, "old");
    await chown(theirs, 12_345, 23_456);
    await chmod(theirs, 0o640);
    await files.write("theirs.txt", bytes("new"));
    const { uid, gid, mode } = await stat(theirs);
    expect({ uid, gid, mode: mode & 0o7777 }).toEqual({ uid: 12_345, gid: 23_456, mode: 0o640 });
  });

  test("through a link it changes the target, and the link stays a link", async () => {
    const { files, folder } = place();
    await writeFile(join(folder, "target.txt"), "old");
    await symlink("target.txt", join(folder, "link"));
    await symlink("link", join(folder, "link-to-link"));
    await symlink("sub/not-yet.txt", join(folder, "dangling"));
    await files.write("link-to-link", bytes("new"));
    await files.write("dangling", bytes("made"));
    expect(await readlink(join(folder, "link-to-link"))).toBe("link");
    expect(await readlink(join(folder, "dangling"))).toBe("sub/not-yet.txt");
    expect(await readFile(join(folder, "target.txt"), "utf8")).toBe("new");
    expect(await readFile(join(folder, "sub/not-yet.txt"), "utf8")).toBe("made");
  });

  test("a reader sees the old or the new content, never a part or a mixture", async () => {
    const { files } = place();
    const size = 300_000;
    await files.write("file", Buffer.alloc(size, 0));
    let writing = true;
    const writes = (async () => {
      for (let round = 1; round <= rounds; round++) await files.write("file", Buffer.alloc(size, round));
    })().finally(() => (writing = false));
    for (let whole = 0; writing || whole === 0;) {
      const seen = await readAll("file", files).catch((error: unknown) => String(error));
      if (typeof seen === "string") {
        expect(seen).toMatch(refusal ?? "nothing is refused");
        continue;
      }
      expect(seen.length).toBe(size);
      expect(seen.equals(Buffer.alloc(size, seen[0]))).toBe(true);
      whole++;
    }
    await writes;
  });

  test("of parallel writes one wins as a whole, and no other file is left", async () => {
    const { files, folder } = place();
    const contents = Array.from({ length: 20 }, (_, index) => Buffer.alloc(index % 2 === 0 ? 70_000 : 500, 65 + index));
    await Promise.all(contents.map((content) => files.write("file", content)));
    const left = await readFile(join(folder, "file"));
    expect(contents.some((content) => content.equals(left))).toBe(true);
    expect(await readdir(folder)).toEqual(["file"]);
  });

  test("keeps nothing of a longer old content", async () => {
    const { files } = place();
    await files.write("file", bytes("a long old content"));
    await files.write("file", bytes(""));
    expect((await readAll("file", files)).length).toBe(0);
  });

  test("a file with two names keeps both, its inode and its mode, whether it grows or shrinks", async () => {
    const { files, folder } = place();
    const [one, two] = [join(folder, "one"), join(folder, "two")];
    await writeFile(one, "shared");
    await link(one, two);
    await chmod(one, 0o640);
    const { ino } = await stat(one);
    for (const content of ["something longer than before", "less", "", "again", "z".repeat(100_000), "end"]) {
      const info = await files.write("two", bytes(content));
      expect([await readFile(one, "utf8"), await readFile(two, "utf8")]).toEqual([content, content]);
      expect(info).toMatchObject({ links: 2, mode: 0o640, size: content.length });
      expect((await stat(one)).ino).toBe(ino);
    }
    expect((await readdir(folder)).sort()).toEqual(["one", "two"]);
  });

  test("a file in place of a parent folder is reported", async () => {
    const { files, folder } = place();
    await files.write("file", bytes("x"));
    for (const path of ["file/below", "file/far/below"])
      expect(await failureOf(files.write(path, bytes("x")))).toBe(`A part of the path is not a folder: ${path}`);
    expect(await readdir(folder)).toEqual(["file"]);
  });
}

/**
 * Registers cases of names.
 *
 * @param runs how many names with random characters are tried
 */
export function namingCases(place: () => FilesPlace, { runs }: { readonly runs: number }): void {
  test("a name that no system accepts is reported", async () => {
    const { files, folder } = place();
    const name = "n".repeat(256);
    for (const operation of NAMED) expect(await failureOf(files[operation](name))).toContain("The name is too long");
    expect(await failureOf(files.write(name, bytes("x")))).toContain("The name is too long");
    expect(await readdir(folder)).toEqual([]);
  });

  test("a NUL byte is rejected everywhere", async () => {
    const { files } = place();
    for (const operation of NAMED) expect(await failureOf(files[operation]("a\0b"))).toContain("null bytes");
    expect(await failureOf(files.write("a\0b", bytes("x")))).toContain("null bytes");
  });

  test("with any characters in the name, what is written is what is read", async () => {
    const { files, folder } = place();
    const name = fc
      .string({ unit: "binary", minLength: 1, maxLength: 60 })
      .filter(
        (text) => !/[/\0]|\p{Surrogate}/u.test(text) && Buffer.byteLength(text) <= 255 && text !== "." && text !== "..",
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
        const path = join(folder, given);
        await files.write(path, content);
        expect((await readFile(path)).equals(content)).toBe(true);
        expect((await readAll(path, files)).equals(content)).toBe(true);
        expect(await files.realPath(path)).toBe(path);
        expect((await files.list(".")).map((entry) => entry.name)).toEqual([given]);
        await files.remove(path);
        expect(await readdir(folder)).toEqual([]);
      }),
      { numRuns: runs },
    );
  });
}

/**
 * Creates a disk of 64 KiB, empty at the start of each test. `body` registers more cases, in addition to the one for
 * all files.
 */
export function onFullDisk(filesOn: (disk: string) => Promise<Files>, body?: (disk: () => string) => void): void {
  describe.skipIf(!isRoot || process.platform !== "linux")(
    "a full disk (NOT RUN without root on Linux: it needs a mount)",
    () => {
      let disk: string;
      beforeAll(async () => {
        disk = await mkdtemp(join(tmpdir(), "handrail-disk-"));
        execFileSync("mount", ["-t", "tmpfs", "-o", "size=64k", "tmpfs", disk]);
      });
      beforeEach(async () => {
        for (const name of await readdir(disk)) await rm(join(disk, name));
      });
      afterAll(async () => {
        execFileSync("umount", [disk]);
        await rm(disk, { recursive: true });
      });

      test("fails with a sentence, the old content is kept, and nothing is left behind", async () => {
        const files = await filesOn(disk);
        const full = (name: string) => `The disk is full: ${name}`;
        await files.write("file", bytes("old"));
        expect(await failureOf(files.write("file", Buffer.alloc(200_000)))).toBe(full("file"));
        expect(await failureOf(files.write("other", Buffer.alloc(200_000)))).toBe(full("other"));
        await link(join(disk, "file"), join(disk, "file-too"));
        expect(await failureOf(files.write("file", Buffer.alloc(200_000)))).toBe(full("file"));
        await rm(join(disk, "file-too"));
        await files.write("filler", Buffer.alloc(56_000));
        expect(await failureOf(files.write("file", Buffer.alloc(8_000, 65)))).toBe(full("file"));
        expect((await readAll("file", files)).toString()).toBe("old");
        expect((await readdir(disk)).sort()).toEqual(["file", "filler"]);
        await files.remove("filler");
        await files.write("file", Buffer.alloc(20_000, 7)); // the space is free again
        expect((await files.stat("file"))?.size).toBe(20_000);
      });

      body?.(() => disk);
    },
  );
}
