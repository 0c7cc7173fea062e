import { deepEqual, equal, ok } from "node:assert/strict";
import { cksum } from "./cksum.ts";
import { randomBytes } from "./random.ts";
import { type Cases, failureOf } from "./scene.ts";

/** `open`, and reading. */
export const reading: Cases = {
  "every byte comes back as it was written": async ({ write, read }) => {
    const bytes = Buffer.from(Uint8Array.from({ length: 1_024 }, (_, index) => (index * 3 + (index >> 8)) & 255));
    await write("file", bytes);
    deepEqual(await read("file"), bytes);
  },

  "a file without a line end, one with only line ends, and an empty one are read as they are": async (scene) => {
    const { write, read } = scene;
    for (const text of ["no end", "\n", "\n\n\n", "\r\n", "", " ", "\0", "a\0", "\0\n"]) {
      await write("file", text);
      equal((await read("file")).toString(), text, JSON.stringify(text));
    }
  },

  "five megabytes are the same there and back, whole and in ranges": async ({ backend, write, read, sh, at }) => {
    const bytes = randomBytes(5 * 1_048_576 + 1, 1);
    await write("file", bytes);
    equal((await sh("cksum <file")).output.trim(), cksum(bytes));
    ok((await read("file")).equals(bytes));
    const file = await backend.files.open(at("file"));
    for (const [offset, length] of RANGES) {
      const range = Buffer.from(await file.read(offset, length));
      ok(range.equals(bytes.subarray(offset, offset + length)), `${length} bytes from ${offset}`);
    }
    await file.close();
  },

  "a range beyond the end returns what exists, or nothing": async ({ backend, write, at }) => {
    await write("file", "0123456789");
    const file = await backend.files.open(at("file"));
    const text = async (offset: number, length: number) => Buffer.from(await file.read(offset, length)).toString();
    deepEqual(
      [await text(0, 100), await text(8, 100), await text(10, 5), await text(1_000_000, 5), await text(3, 0)],
      ["0123456789", "89", "", "", ""],
    );
    await file.close();
  },

  "parallel ranges, of one file and of two, are each right": async (scene) => {
    const { backend, write, at } = scene;
    await write("one", "1".repeat(100_000));
    await write("two", "2".repeat(100_000));
    const files = await Promise.all(["one", "two"].map((name) => backend.files.open(at(name))));
    const ranges = files.flatMap((file) => Array.from({ length: 8 }, (_, index) => file.read(index * 10_000, index)));
    const texts = (await Promise.all(ranges)).map((bytes) => Buffer.from(bytes).toString());
    deepEqual(
      texts,
      ["1", "2"].flatMap((digit) => Array.from({ length: 8 }, (_, index) => digit.repeat(index))),
    );
    await Promise.all(files.map((file) => file.close()));
  },

  "through a link, its target is read": async ({ write, read, sh }) => {
    await write("folder/file", "content");
    await sh("ln -s folder to-folder; ln -s to-folder/file link");
    equal((await read("link")).toString(), "content");
  },

  "a missing path, a folder and a path below a file fail with the path as written": async (scene) => {
    const { backend, write, at, sh } = scene;
    await write("file", "content");
    await sh("mkdir folder; ln -s nowhere dangling");
    for (const name of ["none", "none/at/all", "folder", "file/below", "dangling"]) {
      ok((await failureOf(backend.files.open(at(name)))).includes(at(name)), name);
    }
  },

  "a FIFO or a device is refused at once, never waited for or emptied, through a link too": async (scene) => {
    const { backend, sh, at } = scene;
    await sh("mkfifo fifo; ln -s fifo link; ln -s /dev/zero device");
    for (const path of [at("fifo"), at("link"), at("device"), "/dev/null", "/dev/tty"]) {
      ok((await failureOf(backend.files.open(path))).includes(path), path);
    }
    // Writes to no device: a faulty backend might replace it.
    for (const path of [at("fifo"), at("link")]) {
      ok((await failureOf(backend.files.write(path, Buffer.from("x")))).includes(path), path);
    }
    deepEqual(
      (await backend.files.list(at("."))).map(({ name, kind }) => [name, kind]),
      [
        ["device", "link"],
        ["fifo", "fifo"],
        ["link", "link"],
      ],
    );
  },
};

/** Offsets and lengths around typical block and buffer sizes. */
const RANGES: readonly (readonly [offset: number, length: number])[] = [
  [0, 1],
  [1, 1],
  [511, 514],
  [4_095, 4_098],
  [65_535, 65_537],
  [1_048_575, 2_097_155],
  [5_242_870, 100],
  [5_242_880, 1],
  [5_242_881, 1],
];
