import { randomBytes } from "node:crypto";
import { readFile } from "node:fs/promises";
import { gzipSync } from "node:zlib";
import fc from "fast-check";
import iconv from "iconv-lite";
import { describe, expect, test } from "vitest";
import {
  SAMPLE_BYTES,
  decodePart,
  decodeText,
  detectEncoding,
  encodeText,
  encodingLabel,
  inUtf8,
} from "../../../src/core/files/encoding.ts";
import { cases } from "../../support/cases.ts";

const LEGACY = [
  "windows-1251",
  "windows-1252",
  "windows-1253",
  "windows-1254",
  "windows-1255",
  "windows-1256",
  "iso-8859-1",
  "iso-8859-5",
  "iso-8859-6",
  "iso-8859-7",
  "iso-8859-8",
  "koi8-r",
  "shift_jis",
  "euc-jp",
  "euc-kr",
  "gb18030",
  "big5",
];
const ALL = ["utf-8", "utf-16le", "utf-16be", ...LEGACY];

describe("the encoding of a text is detected", () => {
  test.for([
    ["shift_jis", "日本語"],
    ["shift_jis", "こんにちは世界\n"],
    ["shift_jis", "名前: 山田太郎\n住所: 東京都千代田区\n電話: 03-1234-5678\n"],
    ["shift_jis", "// 設定ファイルを読み込む\nint main() { return 0; }\n"],
    ["euc-jp", "こんにちは世界\n"],
    ["euc-jp", "# 設定ファイルを読み込む\nmain() { return 0; }\n"],
    ["euc-kr", "안녕하세요 세계\n"],
    ["euc-kr", "// 설정 파일을 읽습니다\nint main() {}\n"],
    ["gb18030", "中文"],
    ["gb18030", "你好，世界\n"],
    ["gb18030", "// 读取配置文件\nint main() { return 0; }\n"],
    ["big5", "你好，世界\n"],
    ["big5", "// 讀取設定檔案\nint main() { return 0; }\n"],
    ["windows-1251", "Привет, мир\n"],
    ["windows-1251", "// чтение файла настроек\nint main() {}\n"],
    ["koi8-r", "// чтение файла настроек\nint main() {}\n"],
    ["windows-1252", "café"],
    ["windows-1252", "naïve façade – “quoted” €5\n"],
    ["windows-1252", "Größe und Übermaß\n"],
    ["windows-1252", "Änderung\n"],
    ["windows-1252", "é[1]\n<1>é[2]\n<2>é[3]\n<3>é[4]\n – “quoted” €5\n"],
    ["windows-1252", "año niño señor\n"],
    ["windows-1252", "©®™ °C ±5 µm ½\n"],
    ["utf-8", "naïve 文件 \u{1f9d1}\u200d\u{1f680}\n"],
    ["utf-8", "plain\n"],
    ["utf-8", ""],
    ["utf-16le", "<?xml version='1.0'?>\nnaïve 一\n"],
    ["utf-16be", "<?xml version='1.0'?>\nnaïve 一\n"],
  ] as const)("%s: %j", async ([name, text]) => {
    const bytes = (await encodeText(text, { name, mark: 0 })) ?? fail(text);
    expect(await detectEncoding(bytes, true)).toEqual({ name, mark: 0 });
    // The same in a file whose first kilobytes are ASCII.
    const later = (await encodeText(`${"// plain text\n".repeat(3_000)}${text}`, { name, mark: 0 })) ?? fail(text);
    expect(await detectEncoding(later, true)).toEqual({ name, mark: 0 });
  });

  test("by its byte order mark", async () => {
    const marked = (bytes: readonly number[], text: Uint8Array) => Buffer.concat([Buffer.from(bytes), text]);
    const wide = Buffer.from("一二三", "utf16le");
    expect(await detectEncoding(marked([0xef, 0xbb, 0xbf], Buffer.from("é")), true)).toEqual({
      name: "utf-8",
      mark: 3,
    });
    expect(await detectEncoding(marked([0xff, 0xfe], wide), true)).toEqual({ name: "utf-16le", mark: 2 });
    expect(await detectEncoding(marked([0xfe, 0xff], Buffer.from(wide).swap16()), true)).toEqual({
      name: "utf-16be",
      mark: 2,
    });
  });

  test("as UTF-8 if it is slightly damaged UTF-8, and the damage is shown", async () => {
    const bytes = Buffer.concat([
      Buffer.from("naïve café – “ünïcode” 文件\n".repeat(3)),
      Buffer.from("caf\xe9\n", "latin1"),
    ]);
    expect(await detectEncoding(bytes, true)).toEqual({ name: "utf-8", mark: 0 });
    expect(await inUtf8(bytes, { name: "utf-8", mark: 0 })).toBeUndefined();
  });

  test("as UTF-8 if only the end of the sample is inside a character", async () => {
    for (const cut of [1, 2, 3]) {
      const sample = Buffer.from("x\u{1f600}").subarray(0, 1 + cut);
      expect(await detectEncoding(sample, false)).toEqual({ name: "utf-8", mark: 0 });
    }
    expect(await detectEncoding(Buffer.from("xé").subarray(0, 2), true)).toEqual({ name: "windows-1252", mark: 0 });
  });

  test("as an encoding with a character for every byte if windows-1252 has none for some", async () => {
    const bytes = Buffer.from("gr\x81n und blau\n", "latin1");
    const encoding = (await detectEncoding(bytes, true)) ?? fail("no encoding");
    expect(encoding.name).toBe("iso-8859-1");
    expect((await inUtf8(bytes, encoding))?.toString()).toBe("gr\x81n und blau\n");
  });
});

describe("non-text is recognized", () => {
  test.for([
    ["a NUL byte", Buffer.from("text\0more\n")],
    ["a NUL character behind a byte order mark", Buffer.from("\ufefftext\0more\n")],
    ["a NUL character in UTF-16", Buffer.from("\ufefftext\0more\n", "utf16le")],
    ["UTF-32", Buffer.from("fffe0000610000006200000063000000", "hex")],
    ["numbers of 16 bits", Buffer.from(Uint16Array.from({ length: 200 }, (_, index) => index % 90).buffer)],
    ["control characters", Buffer.from("\x01\x02\x03\x04text\n")],
  ] as const)("%s", async ([, bytes]) => {
    expect(await detectEncoding(bytes, true)).toBeUndefined();
  });

  test("for a program, and compressed data of any size", async () => {
    expect(await detectEncoding((await readFile(process.execPath)).subarray(0, SAMPLE_BYTES), false)).toBeUndefined();
    for (let size = 0; size < 400; size += 7) {
      expect(await detectEncoding(gzipSync(randomBytes(size)), true)).toBeUndefined();
    }
  });

  test("but not for colours, form feeds and the end mark of DOS", async () => {
    for (const content of ["\x1b[31mred\x1b[0m\x07\x08\n", "page\f\n", "dos\x1a"]) {
      expect(await detectEncoding(Buffer.from(content), true)).toEqual({ name: "utf-8", mark: 0 });
    }
  });
});

describe("decoding and encoding", () => {
  test("windows-1252 has the usual characters between 0x80 and 0x9f", async () => {
    const bytes = Buffer.from([0x80, 0x85, 0x91, 0x92, 0x93, 0x94, 0x96, 0x97, 0x99, 0x9c, 0xff]);
    const encoding = { name: "windows-1252", mark: 0 };
    expect(await decodeText(bytes, encoding)).toBe("€…‘’“”–—™œÿ");
    expect(await encodeText("€…‘’“”–—™œÿ", encoding)).toEqual(bytes);
  });

  test.for(LEGACY)(
    "%s: any bytes are either decoded to a text that encodes to exactly these bytes, or not at all",
    async (name) => {
      const encoding = { name, mark: 0 };
      await fc.assert(
        fc.asyncProperty(fc.uint8Array({ maxLength: 12 }), async (bytes) => {
          const text = await inUtf8(bytes, encoding);
          const back = text === undefined ? bytes : await encodeText(text.toString(), encoding);
          expect(Buffer.from(back ?? [])).toEqual(Buffer.from(bytes));
        }),
        { numRuns: cases(60) },
      );
    },
  );

  test.for(ALL)(
    "%s: the bytes of a text are decoded to that text; characters it lacks are rejected, never replaced",
    async (name) => {
      const encoding = { name, mark: 0 };
      await fc.assert(
        fc.asyncProperty(fc.string({ unit: "grapheme", maxLength: 12 }), async (text) => {
          const bytes = await encodeText(text, encoding);
          if (bytes !== undefined) expect(await decodeText(bytes, encoding)).toBe(text);
          else expect(iconv.decode(iconv.encode(text, name), name, { stripBOM: false })).not.toBe(text);
        }),
        { numRuns: cases(60) },
      );
    },
  );

  test("half a surrogate pair cannot be encoded", async () => {
    for (const name of ["utf-8", "utf-16le", "utf-16be", "gb18030"]) {
      expect(await encodeText("a\ud83d", { name, mark: 0 })).toBeUndefined();
    }
    expect(await inUtf8(Buffer.from("a\ud83d", "utf16le"), { name: "utf-16le", mark: 0 })).toBeUndefined();
    expect(await inUtf8(Buffer.from("ab\n", "utf16le").subarray(0, 5), { name: "utf-16le", mark: 0 })).toBeUndefined();
  });

  test.for(["utf-8", "utf-16le", "shift_jis", "gb18030", "euc-jp"])(
    "%s: a part omits a character that is cut at its end",
    async (name) => {
      const encoding = { name, mark: 0 };
      const bytes = (await encodeText("ab日本", encoding)) ?? fail(name);
      expect(await decodePart(bytes.subarray(0, bytes.length - 1), encoding)).toBe("ab日");
      expect(await decodePart(bytes, encoding)).toBe("ab日本");
    },
  );
});

test("encodings have names that people know", () => {
  const labels = [
    [{ name: "utf-8", mark: 0 }, "UTF-8"],
    [{ name: "utf-8", mark: 3 }, "UTF-8 with a byte order mark"],
    [{ name: "utf-16le", mark: 2 }, "UTF-16 (little-endian)"],
    [{ name: "utf-16be", mark: 0 }, "UTF-16 (big-endian)"],
    [{ name: "shift_jis", mark: 0 }, "shift_jis"],
  ] as const;
  for (const [encoding, label] of labels) expect(encodingLabel(encoding)).toBe(label);
});

function fail(what: string): never {
  throw new Error(`the test's own text cannot be encoded: ${what}`);
}
