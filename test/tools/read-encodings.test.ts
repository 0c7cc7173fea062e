import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import fc from "fast-check";
import iconv from "iconv-lite";
import { expect, test } from "vitest";
import { read } from "../../src/tools/read.ts";
import { numberedLines, toolsOn } from "./tools.ts";
import { cases } from "../support/cases.ts";

const TEXTS = [
  ["windows-1252", "naïve façade – “quoted” €5\n"],
  ["windows-1251", "// чтение файла настроек\nint main() {}\n"],
  ["koi8-r", "// чтение файла настроек\nint main() {}\n"],
  ["shift_jis", "名前: 山田太郎\n住所: 東京都千代田区\n"],
  ["euc-jp", "# 設定ファイルを読み込む\nmain() { return 0; }\n"],
  ["euc-kr", "// 설정 파일을 읽습니다\nint main() {}\n"],
  ["gb18030", "// 读取配置文件\nint main() { return 0; }\n"],
  ["big5", "// 讀取設定檔案\nint main() { return 0; }\n"],
] as const;

test.for(TEXTS)("text in %s is decoded, with a notice", async ([name, content]) => {
  const { text } = await toolsOn({ "a.txt": iconv.encode(content, name) });
  expect(await text("read", { path: "a.txt" })).toBe(`${content}\n[Decoded from ${name}.]`);
});

test.for(TEXTS)("text in %s whose first 64 KB are ASCII is decoded where it is not", async ([name, content]) => {
  const { text } = await toolsOn({ "a.txt": iconv.encode(numberedLines(10_000) + content, name) });
  const [first = ""] = content.split("\n");
  expect(await text("read", { path: "a.txt", limit: 1 })).toMatch(/^line 1\n\n\[Showing lines 1-1 of /);
  expect(await text("read", { path: "a.txt", offset: 10_001, limit: 1 })).toMatch(
    new RegExp(`^${first.replaceAll(/[()]/g, "\\$&")}\n\n\\[Decoded from ${name}\\.\\]\n\\[Showing lines 10001-10001`),
  );
});

test("text in UTF-16 is read by lines, also when a character contains the byte of a line break", async () => {
  const lines = Array.from({ length: 3_000 }, (_, index) => `${index} \u0a0a\u0a00 文\r\n`);
  for (const swapped of [false, true]) {
    const bytes = Buffer.from(`\ufeff${lines.join("")}`, "utf16le");
    const { text } = await toolsOn({ "a.txt": swapped ? bytes.swap16() : bytes });
    const label = `UTF-16 (${swapped ? "big" : "little"}-endian)`;
    expect(await text("read", { path: "a.txt", offset: 2_999 })).toBe(
      `${lines.slice(2_998).join("")}\n[Decoded from ${label}.]\n[Showing lines 2999-3000 of 3000.]`,
    );
    expect(await text("read", { path: "a.txt", limit: 2 })).toBe(
      `${lines.slice(0, 2).join("")}\n[Decoded from ${label}.]\n[Showing lines 1-2 of 3000. Use offset=3 to continue.]`,
    );
  }
});

test("at most 50 KB of UTF-8 are shown, even if the file's encoding needs fewer bytes", async () => {
  const line = `${"é".repeat(99)}\n`;
  const { text } = await toolsOn({ "a.txt": Buffer.from(line.repeat(500), "latin1") });
  expect(await text("read", { path: "a.txt" })).toBe(
    `${line.repeat(257)}\n[Decoded from windows-1252.]\n[Showing lines 1-257 of 500. Use offset=258 to continue.]`,
  );
});

test("damaged UTF-8 is shown as UTF-8, with replacement characters", async () => {
  const content = Buffer.concat([Buffer.from("naïve – 文件\n".repeat(5)), Buffer.from("caf\xe9\n", "latin1")]);
  const { text } = await toolsOn({ "a.txt": content });
  expect(await text("read", { path: "a.txt" })).toBe(
    `${"naïve – 文件\n".repeat(5)}caf\ufffd\n\n[Line 6 has the byte 0xe9, which is invalid in UTF-8 and shown as \ufffd. ` +
      "The file cannot be edited before it is repaired.]",
  );
});

test.each([
  ["le.txt", iconv.encode("one\ntwo\n", "utf-32le"), "UTF-32LE"],
  ["be.txt", iconv.encode("\ufeffone 文件\n", "utf-32be"), "UTF-32BE"],
])("UTF-32 is named before a read or an edit is refused: %s", async (path, content, name) => {
  const { text } = await toolsOn({ [path]: content });
  const refused = `Tool error: ${path} is text in ${name}, ${content.length}B, which is neither shown nor edited\nConvert it with bash: iconv -f ${name} -t UTF-8 ${path}`;
  expect(await text("read", { path })).toBe(refused);
  expect(await text("edit", { path, old_text: "one", new_text: "1" })).toBe(refused);
  expect(await text("bash", { command: `iconv -f ${name} -t UTF-8 ${path}` })).toContain("one");
});

test("lines that end with CR alone are named in a read and in an edit that does not find them", async () => {
  const { text } = await toolsOn({ "a.txt": "one\rtwo\rthree\r" });
  expect(await text("read", { path: "a.txt" })).toContain(
    "[Lines end with CR alone (old Mac OS) and count as one line.",
  );
  expect(await text("edit", { path: "a.txt", old_text: "one\ntwo", new_text: "1\n2" })).toMatch(
    /^Tool error: .*; lines of a\.txt end with CR alone \(old Mac OS\), not with LF\nWrite \\r for these line ends/,
  );
  expect(await text("edit", { path: "a.txt", old_text: "one\rtwo", new_text: "1\r2" })).toMatch(/^Edited/);
});

test.for([
  ["utf-16le", "\ufeff"],
  ["utf-16be", "\ufeff"],
  ["windows-1252", ""],
  ["shift_jis", ""],
] as const)("in %s, page by page, all of the text is shown and no page is over a limit", async ([name, mark]) => {
  const tools = await toolsOn({}, { tools: [read({ limit: { lines: 4, bytes: 64 } })] });
  const first = name === "shift_jis" ? "設定ファイルを読み込む" : "Une façade naïve – déjà payée";
  const word = fc.constantFrom(...(name === "shift_jis" ? ["表示", "ソース", "ok "] : ["été", "à ", "ok "]));
  const line = fc.array(word, { maxLength: 5 }).map((words) => words.join(""));
  const content = fc.tuple(fc.array(line, { maxLength: 20 }), fc.constantFrom("\n", "\r\n"));
  await fc.assert(
    fc.asyncProperty(content, async ([lines, lineBreak]) => {
      const whole = [first, ...lines, ""].join(lineBreak);
      await writeFile(join(tools.folder, "a.txt"), iconv.encode(mark + whole, name, { addBOM: false }));
      let shown = "";
      for (let offset = 1, more = true; more;) {
        const result = await tools.call("read", { path: "a.txt", offset });
        if (result.status !== "ok") throw new Error(`expected a page, got ${JSON.stringify(result)}`);
        const page = result.data as { text: string; last: number; at_end: boolean };
        expect(Buffer.byteLength(page.text)).toBeLessThanOrEqual(64);
        expect(page.text.split("\n").length - 1).toBeLessThanOrEqual(4);
        shown += page.text;
        more = !page.at_end;
        offset = page.last + 1;
      }
      expect(shown).toBe(whole);
    }),
    { numRuns: cases(15) },
  );
});
