import { chown, chmod, link, readFile, stat, writeFile } from "node:fs/promises";
import { appendFileSync } from "node:fs";
import { join } from "node:path";
import fc from "fast-check";
import iconv from "iconv-lite";
import { describe, expect, test } from "vitest";
import { local } from "../../src/machine/local/backend.ts";
import type { Backend } from "../../src/core/contract/backend.ts";
import type { Approver } from "../../src/core/contract/policy.ts";
import { cases } from "../support/cases.ts";
import { temporaryFolder, workspace } from "../support/workspace.ts";
import { gitApplied } from "./git.ts";
import { toolsOn } from "./tools.ts";

const approveOnce: Approver = async () => ({ answer: "once" });

describe("every byte outside the edits stays as it was", () => {
  // iconv's name, the byte order mark, a sentence for detection, and words to write.
  const ENCODINGS = [
    ["utf-8", "", "naïve café – 文件 \u{1f680}", ["é", "文件", "\u{1f680}", "word", "e\u0301"]],
    ["utf-8", "\ufeff", "naïve café – 文件 \u{1f680}", ["é", "文件", "\ufeff", "word"]],
    ["utf-16le", "\ufeff", "naïve 文件 \u{1f680}", ["é", "\u0a0a\u0d0d", "\u{1f680}", "word"]],
    ["utf-16be", "\ufeff", "naïve 文件 \u{1f680}", ["é", "\u0a0a\u0d0d", "\u{1f680}", "word"]],
    [
      "windows-1252",
      "",
      "Une façade naïve – déjà “payée” 5 € à l’hôtel; die Größe für alle Käufer",
      ["été", "Äpfel", "€", "’", "word"],
    ],
    ["shift_jis", "", "こんにちは世界、設定ファイルを読み込む。", ["表示", "ソース", "能力", "ｶﾅ", "word"]],
  ] as const;

  test.for(ENCODINGS)("in %s with the mark %j, whatever its line breaks", async ([name, mark, sentence, words]) => {
    const tools = await toolsOn();
    const path = join(tools.folder, "a.txt");
    const encode = (text: string) => iconv.encode(text, name, { addBOM: false });
    const line = fc.array(fc.constantFrom(...words, " ", "\t", "}"), { maxLength: 4 });
    const lineBreak = fc.constantFrom("\n", "\r\n", "mixed");
    const change = fc.record({ line: fc.nat(), with: fc.array(fc.constantFrom(...words, "", "\n"), { maxLength: 4 }) });
    const whole = fc.record({ lines: fc.array(line, { minLength: 3, maxLength: 12 }), lineBreak, ended: fc.boolean() });
    await fc.assert(
      fc.asyncProperty(whole, fc.array(change, { minLength: 1, maxLength: 4 }), async (wild, changes) => {
        const { pieces, edits, fresh } = await editsOf(sentence, wild, changes);
        const before = encode(mark + pieces.flat().join(""));
        await writeFile(path, before);
        const result = await tools.call("edit", { path: "a.txt", edits });
        const after = pieces.map(([outside, inside], index) => outside + (fresh.get(index) ?? inside));
        expect(result).toMatchObject({ status: "ok", data: { edits: edits.length } });
        expect(await readFile(path)).toEqual(encode(mark + after.join("")));
        if (name === "utf-8" && result.status === "ok") {
          expect(await gitApplied("a.txt", before, (result.data as { diff: string }).diff)).toEqual(
            await readFile(path),
          );
        }
      }),
      { numRuns: cases(15) },
    );
  });

  /** A text in pieces of which every second one is unique, and edits that replace some of those. */
  async function editsOf(
    sentence: string,
    { lines, lineBreak, ended }: { lines: readonly (readonly string[])[]; lineBreak: string; ended: boolean },
    changes: readonly { line: number; with: readonly string[] }[],
  ) {
    const breakOf = (index: number) => (lineBreak === "mixed" ? ["\n", "\r\n"][index % 2] : lineBreak) ?? "\n";
    const all = [sentence.split(""), ...lines];
    const pieces = all.map((words, index) => {
      const end = index < all.length - 1 || ended ? breakOf(index) : "";
      const previous = index === 0 ? "" : `<${index}>`;
      return [previous, `${words.join("")}[${index}]`, end] as const;
    });
    const edits: { old_text: string; new_text: string }[] = [];
    const fresh = new Map<number, string>();
    for (const { line, with: words } of changes) {
      const index = 1 + (line % lines.length);
      const inside = pieces[index]?.[1] ?? "";
      // In a file of mixed line breaks, the nearest one decides which a new one becomes: see edits.test.ts.
      const text = words.filter((word) => word !== "\n" || lineBreak !== "mixed").join("");
      if (fresh.has(index) || inside === text) continue;
      edits.push({ old_text: inside, new_text: text });
      fresh.set(index, text.replaceAll("\n", breakOf(0)));
    }
    const joined = pieces.map(([marker, inside], index) => [(pieces[index - 1]?.[2] ?? "") + marker, inside] as const);
    const last = pieces.at(-1)?.[2] ?? "";
    return { pieces: [...joined, [last, ""] as const], edits, fresh };
  }

  test("also where two characters share one byte sequence: then neither is replaced alone", async () => {
    // In Big5-HKSCS 0x8862 is "Ê" with a macron, two characters in Unicode.
    const before = Buffer.concat([
      iconv.encode("// 讀取設定檔案，你好世界\n", "big5"),
      Buffer.from([0x88, 0x62, 0x0a]),
    ]);
    const { folder, text } = await toolsOn({ "a.txt": before });
    expect(await text("edit", { path: "a.txt", old_text: "\u00ca", new_text: "x" })).toMatch(
      /^Tool error: old_text splits two characters that big5 writes as one in a\.txt\n/,
    );
    expect(await readFile(join(folder, "a.txt"))).toEqual(before);
    expect(await text("edit", { path: "a.txt", old_text: "\u00ca\u0304", new_text: "x" })).toMatch(/^Edited a\.txt/);
    expect(await readFile(join(folder, "a.txt"))).toEqual(Buffer.concat([before.subarray(0, -3), Buffer.from("x\n")]));
  });
});

describe("a file is not changed", () => {
  test("when it has bytes that its encoding does not have", async () => {
    const damaged = {
      "utf8.txt": Buffer.concat([
        Buffer.from("naïve café – “ünïcode” 文件\n".repeat(3)),
        Buffer.from("one caf\xe9\n", "latin1"),
      ]),
      "utf16.txt": Buffer.from("\ufeffone \ud83d two\n", "utf16le"),
      "odd.txt": Buffer.concat([Buffer.from("\ufeffone\n", "utf16le"), Buffer.from("x")]),
      "sjis.txt": Buffer.concat([
        iconv.encode("こんにちは世界、設定ファイルを読み込む。\none", "shift_jis"),
        Buffer.from([0xff, 0x0a]),
      ]),
    };
    const { folder, text } = await toolsOn(damaged);
    for (const [path, bytes] of Object.entries(damaged)) {
      expect(await text("edit", { path, old_text: "one", new_text: "1" })).toMatch(
        /^Tool error: \S+ looks like \S.* but the byte 0x[0-9a-f]{2} at offset \d+ \(line \d+\) is invalid in it; it was not changed\nConvert or repair it with a command first\.$/,
      );
      expect(await readFile(join(folder, path))).toEqual(bytes);
    }
  });

  test("when the new text has characters that its encoding lacks", async () => {
    const bytes = iconv.encode("naïve façade – “quoted”\n", "windows-1252");
    const { folder, text } = await toolsOn({ "a.txt": bytes });
    expect(await text("edit", { path: "a.txt", old_text: "quoted", new_text: "文件" })).toBe(
      "Tool error: new_text has characters that windows-1252, the encoding of a.txt, does not have\n" +
        "Use only characters of that encoding, or convert the file with a command first.",
    );
    expect(await readFile(join(folder, "a.txt"))).toEqual(bytes);
  });

  test("when another program changes it between being read and being written", async () => {
    const folder = await workspace({ "a.txt": "one\n" });
    const backend = await local({ workDir: folder, outputFolder: temporaryFolder() });
    const appending: Backend = {
      ...backend,
      files: { ...backend.files, open: async (path) => appendsWhenClosed(await backend.files.open(path)) },
    };
    const { text } = await toolsOn({}, { preset: "all", target: appending });
    expect(await text("edit", { path: "a.txt", old_text: "one", new_text: "1" })).toBe(
      `Tool error: ${join(folder, "a.txt")} was changed by another program since it was read; nothing was written\nRead it again.`,
    );
    expect(await readFile(join(folder, "a.txt"), "utf8")).toBe("one\ntwo\n");
  });
});

test("an edit whose text still occurs once is made, whatever else has changed", async () => {
  const { folder, text } = await toolsOn({ "a.txt": "one\ntwo\n" });
  await text("read", { path: "a.txt" });
  await writeFile(join(folder, "a.txt"), "zero\none\ntwo\n");
  expect(await text("edit", { path: "a.txt", old_text: "two", new_text: "2" })).toMatch(/^Edited a\.txt/);
  expect(await readFile(join(folder, "a.txt"), "utf8")).toBe("zero\none\n2\n");
});

test("simultaneous edits and writes of one file wait for each other, and none is lost", async () => {
  const lines = Array.from({ length: 20 }, (_, index) => `line ${index};\n`);
  const { folder, call } = await toolsOn({ "a.txt": lines.join("") });
  const calls = lines.map((line) => call("edit", { path: "a.txt", old_text: line, new_text: line.toUpperCase() }));
  for (const result of await Promise.all(calls)) expect(result.status).toBe("ok");
  expect(await readFile(join(folder, "a.txt"), "utf8")).toBe(lines.join("").toUpperCase());
  const content = lines.join("").repeat(50);
  const both = [
    call("write", { path: "a.txt", content }),
    call("edit", { path: "./a.txt", old_text: "LINE 3;", new_text: "three" }),
  ];
  for (const result of await Promise.all(both)) expect(["ok", "failed"]).toContain(result.status);
  expect(await readFile(join(folder, "a.txt"), "utf8")).toBe(content);
});

describe("the file stays the same file", () => {
  test("with its permissions, but not setuid or setgid", async () => {
    const { folder, call } = await toolsOn({ "a.sh": "one\n" });
    for (const mode of [0o600, 0o755, 0o4755, 0o2711]) {
      await writeFile(join(folder, "a.sh"), "one\n");
      await chmod(join(folder, "a.sh"), mode);
      await call("edit", { path: "a.sh", old_text: "one", new_text: "two" });
      expect((await stat(join(folder, "a.sh"))).mode & 0o7777).toBe(mode & 0o777);
    }
  });

  test.skipIf(process.getuid?.() !== 0)(
    "with its owner and group (only root can give files away; skipped for others)",
    async () => {
      const { folder, call } = await toolsOn({ "a.sh": "one\n" });
      await chown(join(folder, "a.sh"), 1_234, 5_678);
      await chmod(join(folder, "a.sh"), 0o4750);
      await call("edit", { path: "a.sh", old_text: "one", new_text: "two" });
      const { uid, gid, mode } = await stat(join(folder, "a.sh"));
      expect({ uid, gid, mode: mode & 0o7777 }).toEqual({ uid: 1_234, gid: 5_678, mode: 0o750 });
    },
  );

  test("with all its names, once a person has approved", async () => {
    const { folder, text } = await toolsOn({ "a.txt": "one two three\n" }, { preset: "all", approver: approveOnce });
    await link(join(folder, "a.txt"), join(folder, "b.txt"));
    const { ino } = await stat(join(folder, "a.txt"));
    for (const [old_text, new_text] of [
      ["two", "a much longer text"],
      ["a much longer text", ""],
      ["one", "1"],
    ] as const) {
      expect(await text("edit", { path: "a.txt", old_text, new_text })).toMatch(/^Edited a\.txt/);
      expect(await readFile(join(folder, "b.txt"))).toEqual(await readFile(join(folder, "a.txt")));
    }
    expect(await readFile(join(folder, "b.txt"), "utf8")).toBe("1  three\n");
    expect((await stat(join(folder, "a.txt"))).ino).toBe(ino);
  });
});

/** Reads a real file, which another program then seems to write. */
function appendsWhenClosed<T extends Awaited<ReturnType<Backend["files"]["open"]>>>(file: T): T {
  return {
    ...file,
    async close() {
      await file.close();
      appendFileSync(file.info.path, "two\n");
    },
  };
}
