import { readdirSync, readlinkSync } from "node:fs";
import { appendFile, link, mkdir, readFile, readdir, rename, rm, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import fc from "fast-check";
import { afterEach, describe, expect, test } from "vitest";
import { type OutputLogOptions, type WritableOutputLog, createOutputLog } from "../../../src/core/output/log.ts";
import { until } from "../../support/until.ts";
import { testFolders } from "./folder.ts";

const newFolder = testFolders();
const logs: WritableOutputLog[] = [];
afterEach(async () => {
  for (const log of logs.splice(0)) await log.dispose();
});

async function newLog(options: Partial<OutputLogOptions> = {}) {
  const folder = options.folder ?? join(await newFolder(), "made", "when needed");
  const log = createOutputLog({ ...options, folder });
  logs.push(log);
  return { log, folder };
}

/** Bytes that differ at every position from those around. */
function pattern(length: number): Uint8Array {
  return Uint8Array.from({ length }, (_, at) => (at * 7 + (at >> 8) * 13 + (at >> 16) * 5) & 0xff);
}

const bytes = (value: string) => new TextEncoder().encode(value);
const words = (value: Uint8Array) => new TextDecoder().decode(value);
const all = (log: WritableOutputLog) => log.read(0, log.kept);

function linkOf(path: string): string {
  try {
    return readlinkSync(path);
  } catch {
    return ""; // closed meanwhile
  }
}

async function collect(chunks: AsyncIterable<Uint8Array>): Promise<Buffer> {
  const parts: Uint8Array[] = [];
  for await (const chunk of chunks) parts.push(chunk);
  return Buffer.concat(parts);
}

/** `toEqual` takes seconds for large arrays. */
function expectSameBytes(actual: Uint8Array, expected: Uint8Array): void {
  expect(actual.length).toBe(expected.length);
  expect(Buffer.compare(actual, expected)).toBe(0);
}

describe("in memory", () => {
  test("small output creates neither a file nor its folder", async () => {
    const { log, folder } = await newLog();
    log.write(bytes("hello "));
    log.write(bytes("world"));
    expect(words(await all(log))).toBe("hello world");
    await log.end();
    expect(await log.file()).toBeUndefined();
    expect({ size: log.size, kept: log.kept, ended: log.ended }).toEqual({ size: 11, kept: 11, ended: true });
    await expect(stat(folder)).rejects.toThrow("ENOENT");
  });

  test("a log without output is empty", async () => {
    const { log } = await newLog();
    await log.end();
    expect((await log.tail(10)).length).toBe(0);
    expect((await collect(log.follow())).length).toBe(0);
  });

  test("ranges are limited to what is kept", async () => {
    const { log } = await newLog();
    log.write(bytes("0123456789"));
    expect(words(await log.read(2, 5))).toBe("234");
    expect(words(await log.read(-5, 3))).toBe("012");
    expect(words(await log.read(8, Infinity))).toBe("89");
    expect(words(await log.read(20, 30))).toBe("");
    expect(words(await log.read(5, 5))).toBe("");
    expect(words(await log.tail(3))).toBe("789");
    expect(words(await log.tail(300))).toBe("0123456789");
  });

  test("the writer may reuse its buffer", async () => {
    const { log } = await newLog();
    const buffer = bytes("first");
    log.write(buffer);
    buffer.set(bytes("XXXXX"));
    expect(words(await all(log))).toBe("first");
  });

  test("what is written after the end is ignored", async () => {
    const { log } = await newLog();
    log.write(bytes("a"));
    await log.end();
    log.write(bytes("b"));
    expect({ size: log.size, text: words(await all(log)) }).toEqual({ size: 1, text: "a" });
  });
});

describe("in a file", () => {
  test("256 KiB stay in memory, one byte more moves everything to a private file", async () => {
    const { log, folder } = await newLog();
    const content = pattern(256 * 1024 + 1);
    log.write(content.subarray(0, 256 * 1024));
    expect(await log.file()).toBeUndefined();
    log.write(content.subarray(256 * 1024));
    const file = await log.file();
    expect(await readdir(folder)).toHaveLength(1);
    expectSameBytes(await readFile(file ?? ""), content);
    expect((await stat(file ?? "")).mode & 0o777).toBe(0o600);
    expect((await stat(folder)).mode & 0o777).toBe(0o700);
  });

  test("a read sees everything written before it, in memory or in the file", async () => {
    const { log } = await newLog();
    const content = pattern(3_000_000);
    for (let at = 0; at < content.length; at += 100_000) {
      log.write(content.subarray(at, at + 100_000));
      // Not awaited at once: bytes move to the file during the reads.
      const [whole, tail] = await Promise.all([all(log), log.tail(150_000)]);
      expectSameBytes(whole, content.subarray(0, at + 100_000));
      expectSameBytes(tail, content.subarray(Math.max(0, at - 50_000), at + 100_000));
    }
    await log.end();
    expectSameBytes(await all(log), content);
    expect(log.problem).toBeUndefined();
  });

  test("any writes are read back in any ranges", async () => {
    const source = pattern(1_200_000);
    const sizes = fc.array(fc.oneof(fc.nat(100), fc.nat(70_000), fc.nat(400_000)), { minLength: 1, maxLength: 12 });
    const ranges = fc.array(fc.tuple(fc.nat(1_300_000), fc.nat(1_300_000)), { maxLength: 6 });
    const folder = await newFolder();
    await fc.assert(
      fc.asyncProperty(
        sizes,
        ranges,
        fc.boolean(),
        fc.integer({ min: 0, max: 1_000_000 }),
        async (lengths, wanted, ends, start) => {
          const log = createOutputLog({ folder, start });
          let written = 0;
          for (const length of lengths) {
            const chunk = source.subarray(written, written + length);
            log.write(chunk);
            written += chunk.length;
            if (length % 2 === 0) await log.drained();
          }
          if (ends) await log.end();
          const expected = source.subarray(0, ends ? written : Math.min(written, start));
          expect({ size: log.size, kept: log.kept }).toEqual({ size: written, kept: expected.length });
          for (const [from, end] of wanted) {
            expectSameBytes(await log.read(from, end), expected.subarray(from, Math.max(from, end)));
            expectSameBytes(await log.tail(end), expected.subarray(Math.max(0, expected.length - end)));
          }
          await log.end();
          expectSameBytes(await collect(log.follow()), source.subarray(0, written));
          await log.dispose();
        },
      ),
      { numRuns: 40 },
    );
    expect(await readdir(folder)).toEqual([]);
  });

  test("a writer that waits for drained leaves little unwritten", async () => {
    const { log } = await newLog();
    const chunk = pattern(1_000_000);
    for (let count = 0; count < 30; count += 1) {
      log.write(chunk);
      await log.drained();
    }
    await log.end();
    expect((await stat((await log.file()) ?? "")).size).toBe(30_000_000);
    expectSameBytes(await log.read(29_000_000, 30_000_000), chunk);
  });

  test("of a long output the beginning and the end are kept, with a line where the middle is missing", async () => {
    const { log } = await newLog({ start: 500_000, end: 1_100_000 });
    const content = pattern(3_000_000);
    log.write(content.subarray(0, 300_000));
    log.write(content.subarray(300_000));
    log.write(content.subarray(0, 10));
    expect([log.size, log.kept]).toEqual([3_000_010, 500_000]);
    await log.end();
    const line = "\n[… 1MB of output are missing here: the beginning and the end were kept …]\n";
    const expected = [content.subarray(0, 500_000), bytes(line), content.subarray(1_900_000), content.subarray(0, 10)];
    expectSameBytes(await all(log), Buffer.concat(expected));
    expectSameBytes(await readFile((await log.file()) ?? ""), Buffer.concat(expected));
    expect([log.size, log.problem]).toEqual([3_000_010, undefined]);
  });
});

describe("following", () => {
  test("returns what is there, then what is added, and ends with the log", async () => {
    const { log } = await newLog();
    log.write(bytes("one "));
    const chunks = log.follow()[Symbol.asyncIterator]();
    expect(words((await chunks.next()).value)).toBe("one ");
    const next = chunks.next();
    log.write(bytes("two"));
    expect(words((await next).value)).toBe("two");
    const last = chunks.next();
    await log.end();
    expect((await last).done).toBe(true);
  });

  test("returns all of a large output to each of several followers while it is written", async () => {
    const { log } = await newLog();
    const content = pattern(2_000_000);
    const early = [collect(log.follow()), collect(log.follow())];
    for (let at = 0; at < content.length; at += 30_000) {
      log.write(content.subarray(at, at + 30_000));
      await log.drained();
    }
    const late = collect(log.follow());
    await log.end();
    for (const followed of await Promise.all([...early, late])) {
      expect(followed.length).toBe(content.length);
      expectSameBytes(followed, content);
    }
  });

  test("ends when the signal fires, also while waiting", async () => {
    const { log } = await newLog();
    const stop = new AbortController();
    log.write(bytes("x"));
    const chunks = log.follow(stop.signal)[Symbol.asyncIterator]();
    await chunks.next();
    const waiting = chunks.next();
    stop.abort();
    expect((await waiting).done).toBe(true);
    expect((await collect(log.follow(stop.signal))).length).toBe(0);
  });

  test("continues to the end of a log that keeps a part", async () => {
    const { log } = await newLog({ start: 3, end: 1 });
    const followed = collect(log.follow());
    log.write(bytes("abcdef"));
    await log.end();
    expect(words(await followed)).toMatch(/^abc\n.*missing.*\nf$/);
  });

  test("ends when the log is disposed", async () => {
    const { log } = await newLog();
    const followed = collect(log.follow());
    await log.dispose();
    expect((await followed).length).toBe(0);
  });
});

describe("when the disk fails", () => {
  test("what is in memory stays readable and the problem is reported", async () => {
    const folder = join(await newFolder(), "a-file");
    await writeFile(folder, "in the way");
    const { log } = await newLog({ folder });
    const content = pattern(300_000);
    log.write(content);
    await log.end();
    log.write(content);
    expect(log.problem).toMatch(
      /^only the first 300000 bytes of the output are kept, its file could not be written: E/,
    );
    expect(await log.file()).toBeUndefined();
    expect(log.kept).toBe(300_000);
    expectSameBytes(await all(log), content);
    expectSameBytes(await collect(log.follow()), content);
  });

  test("later output is counted and not kept", async () => {
    const { log } = await newLog({ folder: "/proc/no-such-folder" });
    const content = pattern(300_000);
    log.write(content);
    expect(await log.file()).toBeUndefined();
    log.write(content);
    await log.drained();
    await log.end();
    expect({ size: log.size, kept: log.kept }).toEqual({ size: 600_000, kept: 300_000 });
    expectSameBytes(await all(log), content);
  });

  test("a folder that is removed meanwhile causes no loss", async () => {
    const { log, folder } = await newLog();
    const content = pattern(2_000_000);
    log.write(content.subarray(0, 1_000_000));
    await log.file();
    await rm(folder, { recursive: true });
    log.write(content.subarray(1_000_000));
    await log.end();
    expect(log.problem).toBeUndefined();
    expectSameBytes(await all(log), content);
  });
});

describe("disposing", () => {
  test("removes the file, and reading then reports that it is gone", async () => {
    const { log, folder } = await newLog();
    log.write(pattern(400_000));
    await log.dispose();
    await log.dispose();
    expect(await readdir(folder)).toEqual([]);
    await expect(log.read(0, 1)).rejects.toThrow("this output is gone: its log was disposed of");
    expect(await log.file()).toBeUndefined();
    log.write(bytes("ignored"));
    await log.end();
  });

  test("is not needed to close the file: a forgotten one is closed, without a warning", async () => {
    const folder = await newFolder();
    const warnings: Error[] = [];
    const onWarning = (warning: Error) => void warnings.push(warning);
    process.on("warning", onWarning);
    const forget = async () => {
      const log = createOutputLog({ folder });
      log.write(pattern(400_000));
      await log.end();
    };
    const openFiles = () => readdirSync("/proc/self/fd").filter((fd) => linkOf(`/proc/self/fd/${fd}`).includes(folder));
    await forget();
    expect(openFiles()).toHaveLength(1);
    setFlagsFromString("--expose-gc");
    const collectGarbage = runInNewContext("gc") as () => void;
    await until("the file is closed", () => {
      collectGarbage();
      return openFiles().length === 0;
    });
    await new Promise(setImmediate); // warnings are emitted after garbage collection
    process.off("warning", onWarning);
    expect(warnings).toEqual([]);
  });

  test("leaves a file that was linked to or moved away", async () => {
    const kept = await newFolder();
    for (const [name, adopt] of [
      ["linked", link],
      ["moved", rename],
    ] as const) {
      const { log, folder } = await newLog();
      log.write(pattern(400_000));
      await log.end();
      await adopt((await log.file()) ?? "", join(kept, name));
      await log.dispose();
      expect(await readdir(folder)).toEqual([]);
      expectSameBytes(await readFile(join(kept, name)), pattern(400_000));
    }
  });

  test("does not touch other files of the folder", async () => {
    const folder = await newFolder();
    await mkdir(join(folder, "other"));
    await writeFile(join(folder, "note"), "");
    const { log } = await newLog({ folder });
    log.write(pattern(400_000));
    await log.dispose();
    expect((await readdir(folder)).toSorted()).toEqual(["note", "other"]);
  });
});

describe("a log that was handed over", () => {
  /** A log with this much in its file, to which another process now appends. */
  async function handedOver(options: Partial<OutputLogOptions> = {}) {
    const { log, folder } = await newLog(options);
    const head = pattern(300_000);
    log.write(head);
    const file = await log.handOver();
    if (file === undefined) throw new Error("it was not handed over");
    return { log, folder, head, append: (more: Uint8Array) => appendFile(file, more) };
  }

  test("reads, counts and follows what the other writer appends like our own", async () => {
    const { log, head, append } = await handedOver();
    expect([log.size, log.kept]).toEqual([300_000, 300_000]);
    const following = collect(log.follow());
    const grown = log.grown(300_000);
    await append(bytes("from another"));
    await grown;
    expect([log.size, log.kept]).toEqual([300_012, 300_012]);
    expect(words(await log.tail(7))).toBe("another");
    await log.end();
    expectSameBytes(await following, Buffer.concat([head, bytes("from another")]));
  });

  test("continues a follower that had read everything with what is appended then", async () => {
    const { log } = await newLog();
    const following = log.follow()[Symbol.asyncIterator]();
    let followed = 0;
    const follow = async (to: number) => {
      while (followed < to) followed += ((await following.next()).value as Uint8Array).length;
    };
    log.write(pattern(300_000));
    await follow(300_000);
    const more = follow(300_003);
    const file = await log.handOver();
    await appendFile(file ?? "", bytes("new"));
    await more;
    expect(followed).toBe(300_003);
    await log.end();
  });

  test("ignores our writes until it is taken back", async () => {
    const { log, head, append } = await handedOver();
    log.write(bytes("ignored"));
    await append(bytes("one "));
    log.takeBack();
    log.write(bytes("two"));
    await log.end();
    expectSameBytes(await all(log), Buffer.concat([head, bytes("one two")]));
    expect([log.size, log.kept, log.problem]).toEqual([300_007, 300_007, undefined]);
  });

  test("is not possible for small output: there is no file to append to, and nothing changes", async () => {
    const { log } = await newLog();
    log.write(bytes("small"));
    expect(await log.handOver()).toBeUndefined();
    log.write(bytes(" and more"));
    expect(words(await all(log))).toBe("small and more");
  });

  test("is not possible if it has ended, was disposed or cannot be written", async () => {
    const ended = (await newLog()).log;
    ended.write(pattern(300_000));
    await ended.end();
    expect(await ended.handOver()).toBeUndefined();
    const gone = (await newLog()).log;
    gone.write(pattern(300_000));
    await gone.dispose();
    expect(await gone.handOver()).toBeUndefined();
    const blocked = join(await newFolder(), "file");
    await writeFile(blocked, "");
    const { log } = await newLog({ folder: blocked });
    log.write(pattern(300_000));
    expect(await log.handOver()).toBeUndefined();
    log.write(bytes("x"));
    expect(log.size).toBe(300_001);
  });

  test("does not include what is appended after the end", async () => {
    const { log, append } = await handedOver();
    await append(bytes("last"));
    await log.end();
    await append(bytes("too late"));
    expect([log.size, log.kept]).toEqual([300_004, 300_004]);
    expect(words(await log.tail(4))).toBe("last");
  });

  test("counts what was dropped", async () => {
    const { log, append } = await handedOver();
    await append(bytes("0123456789"));
    await log.end(5_000);
    expect([log.size, log.kept]).toEqual([305_010, 300_010]);
  });

  test("ignores a second count of dropped bytes", async () => {
    const { log } = await handedOver();
    await log.end(10);
    await log.end(99);
    expect(log.size).toBe(300_010);
  });

  test("loses nothing if its folder is removed at that moment", async () => {
    const { log, folder, head, append } = await handedOver();
    await rm(folder, { recursive: true });
    await append(bytes("more"));
    await log.end();
    expect(Buffer.compare(await all(log), Buffer.concat([head, bytes("more")]))).toBe(0);
  });

  test("stops waiting for growth at the signal, the end and the disposal", async () => {
    const { log } = await handedOver();
    const controller = new AbortController();
    const waiting = log.grown(1_000_000, controller.signal);
    controller.abort();
    await expect(waiting).resolves.toBeUndefined();
    const atEnd = log.grown(1_000_000);
    await log.end();
    await expect(atEnd).resolves.toBeUndefined();
    const another = await handedOver();
    const atDisposal = another.log.grown(1_000_000);
    await another.log.dispose();
    await expect(atDisposal).resolves.toBeUndefined();
  });
});
