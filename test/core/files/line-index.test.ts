import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { localFiles } from "../../../src/machine/local/files.ts";
import type { OpenFile } from "../../../src/core/contract/backend.ts";
import { type LineIndex, type LineRange, lineIndex, readLines } from "../../../src/core/files/line-index.ts";
import { cases } from "../../support/cases.ts";
import { temporaryFolder } from "../../support/workspace.ts";

const MB = 1024 * 1024;
const LF = { bytes: Uint8Array.of(10), unit: 1 } as const;
const LF_16LE = { bytes: Uint8Array.of(10, 0), unit: 2 } as const;
const LF_16BE = { bytes: Uint8Array.of(0, 10), unit: 2 } as const;

const folder = temporaryFolder();
const files = localFiles({ workDir: folder, home: folder });

describe("lines by number", () => {
  test.for([
    ["UTF-8", LF, (text: string) => Buffer.from(text)],
    ["UTF-16, little-endian", LF_16LE, (text: string) => Buffer.from(text, "utf16le")],
    ["UTF-16, big-endian", LF_16BE, (text: string) => Buffer.from(text, "utf16le").swap16()],
  ] as const)("in %s are exactly the lines of the text, as many as fit", async ([, lineBreak, encode]) => {
    // U+0A0A and U+0A00 contain the bytes of a line break across their boundary.
    const line = fc.constantFrom("", "a", "longer line", "\u0a0a\u0a00\u000b", "é文");
    const wanted = fc.record({
      offset: fc.integer({ min: 1, max: 12 }),
      maxLines: fc.integer({ min: 1, max: 6 }),
      maxBytes: fc.integer({ min: 8, max: 60 }),
    });
    await fc.assert(
      fc.asyncProperty(
        fc.array(line, { maxLength: 10 }),
        fc.boolean(),
        wanted,
        async (texts, ended, { offset, maxLines, maxBytes }) => {
          const text = texts.join("\n") + (ended && texts.length > 0 ? "\n" : "");
          const lines = text.split(/(?<=\n)/).filter((each) => each !== "");
          const range = await rangeOf(encode(text), { offset, maxLines, maxBytes, lineBreak });
          const expected = lines.slice(offset - 1, offset - 1 + maxLines).map((each) => encode(each));
          let fit = 0;
          while (fit < expected.length && Buffer.concat(expected.slice(0, fit + 1)).length <= maxBytes) fit++;
          expect(range.total).toBe(lines.length);
          if (fit === 0 && expected.length > 0) {
            expect(range).toMatchObject({ cutInLine: true, lines: 1, atEnd: false });
            expect(range.bytes.length).toBeLessThanOrEqual(maxBytes);
            expect(Buffer.concat(expected).subarray(0, range.bytes.length)).toEqual(Buffer.from(range.bytes));
            return;
          }
          expect(Buffer.from(range.bytes)).toEqual(Buffer.concat(expected.slice(0, fit)));
          expect(range).toMatchObject({ cutInLine: false, lines: fit, atEnd: offset - 1 + fit >= lines.length });
        },
      ),
      { numRuns: cases(30) },
    );
  });

  test.for([
    ["UTF-8", LF, (text: string) => Buffer.from(text)],
    ["UTF-16", LF_16BE, (text: string) => Buffer.from(text, "utf16le").swap16()],
  ] as const)("in %s are found behind the borders of what is read at a time", async ([, lineBreak, encode]) => {
    const lines = Array.from({ length: 60_000 }, (_, line) => `${line} ${"x".repeat((line * 7_919) % 97)}\n`);
    const path = await written(encode(lines.join("")));
    const index = lineIndex();
    for (const offset of [59_999, 1, 17_431, 60_000, 30_000, 44_444, 2, 59_998]) {
      const range = await readRange(path, { offset, maxLines: 2, maxBytes: 51_200, lineBreak, index });
      expect(Buffer.from(range.bytes)).toEqual(encode(lines.slice(offset - 1, offset + 1).join("")));
    }
    expect(index.places.length).toBeGreaterThan(5);
    for (const { line, offset } of index.places) expect(offset).toBe(encode(lines.slice(0, line).join("")).length);
    expect(index.total).toBe(60_000);
  });

  test("past the end are none, and the number of lines is then known", async () => {
    const range = await rangeOf(Buffer.from("one\ntwo"), { offset: 3, maxLines: 5, maxBytes: 100, lineBreak: LF });
    expect(range).toMatchObject({ lines: 0, total: 2, atEnd: true });
  });

  test("of UTF-16 text with half a character at the end are counted as they are read", async () => {
    const bytes = Buffer.concat([Buffer.from("one\n", "utf16le"), Buffer.from("x")]);
    const path = await written(bytes);
    const index = lineIndex();
    for (const offset of [1, 2]) {
      const range = await readRange(path, { offset, maxLines: 1, maxBytes: 100, lineBreak: LF_16LE, index });
      expect(range).toMatchObject({ lines: 1, total: 2, atEnd: offset === 2 });
    }
  });
});

describe("a large file", () => {
  const line = `${"x".repeat(99)}\n`;
  const lines = (24 * MB) / 100;

  test("is read only up to the requested place, the second time only around it", async () => {
    const path = await written(line.repeat(lines));
    const index = lineIndex();
    const options = { offset: 200_000, maxLines: 10, maxBytes: 51_200, lineBreak: LF, index };
    const first = await observed(path, options);
    expect(first.range.total).toBeUndefined();
    expect(first.bytesRead).toBeLessThan(21 * MB);
    const second = await observed(path, { ...options, offset: 199_990 });
    expect(Buffer.from(second.range.bytes).toString()).toBe(line.repeat(10));
    expect(second.bytesRead).toBeLessThan(1.2 * MB);
  });

  test("can be read concurrently with one index, which stays correct", async () => {
    const path = await written(line.repeat(lines));
    const index = lineIndex();
    const offsets = [150_000, 149_000, 200_000, 100];
    const ranges = offsets.map((offset) =>
      readRange(path, { offset, maxLines: 1, maxBytes: 51_200, lineBreak: LF, index }),
    );
    for (const range of await Promise.all(ranges)) expect(Buffer.from(range.bytes).toString()).toBe(line);
    const places = index.places.map(({ offset }) => offset);
    expect(places).toEqual(places.toSorted((one, other) => one - other));
    for (const place of index.places) expect(place.offset).toBe(place.line * 100);
  });

  test("is no longer read when the call is stopped", async () => {
    const path = await written(line.repeat(lines));
    const file = await files.open(path);
    const stop = new AbortController();
    const stopping: OpenFile = {
      ...file,
      read(offset, length) {
        stop.abort(new Error("stopped"));
        return file.read(offset, length);
      },
    };
    const options = {
      offset: lines,
      maxLines: 1,
      maxBytes: 100,
      lineBreak: LF,
      index: lineIndex(),
      until: stop,
    };
    await expect(readLines(stopping, options)).rejects.toThrow("stopped");
    await file.close();
  });
});

interface Wanted {
  readonly offset: number;
  readonly maxLines: number;
  readonly maxBytes: number;
  readonly lineBreak: typeof LF | typeof LF_16LE | typeof LF_16BE;
  readonly index: LineIndex;
}

async function rangeOf(bytes: Uint8Array, wanted: Omit<Wanted, "index">): Promise<LineRange> {
  return readRange(await written(bytes), { ...wanted, index: lineIndex() });
}

async function readRange(path: string, wanted: Wanted): Promise<LineRange> {
  return (await observed(path, wanted)).range;
}

/** Reads a range, and counts the bytes read from the file. */
async function observed(path: string, wanted: Wanted): Promise<{ range: LineRange; bytesRead: number }> {
  const file = await files.open(path);
  let bytesRead = 0;
  const counting: OpenFile = {
    ...file,
    async read(offset, length) {
      const bytes = await file.read(offset, length);
      bytesRead += bytes.length;
      return bytes;
    },
  };
  try {
    return { range: await readLines(counting, { ...wanted, until: new AbortController() }), bytesRead };
  } finally {
    await file.close();
  }
}

async function written(content: string | Uint8Array): Promise<string> {
  const path = join(folder, "file");
  await writeFile(path, content);
  return path;
}
