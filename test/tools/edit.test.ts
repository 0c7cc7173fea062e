import { chmod, readFile, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { Approver } from "../../src/core/contract/policy.ts";
import { gitApplied } from "./git.ts";
import { type Tools, numberedLines, toolsOn } from "./tools.ts";
import { cases } from "../support/cases.ts";

describe("a text that occurs once", () => {
  test("is replaced, and the unified diff returned", async () => {
    const { folder, text } = await toolsOn({ "src/a.txt": "one\ntwo\nthree\nfour\nfive\n" });
    expect(await text("edit", { path: "src/a.txt", old_text: "three", new_text: "THREE" })).toBe(
      [
        "Edited src/a.txt",
        "",
        "--- a/src/a.txt",
        "+++ b/src/a.txt",
        "@@ -1,5 +1,5 @@",
        " one",
        " two",
        "-three",
        "+THREE",
        " four",
        " five",
        "",
      ].join("\n"),
    );
    expect(await readFile(join(folder, "src/a.txt"), "utf8")).toBe("one\ntwo\nTHREE\nfour\nfive\n");
  });

  test("deep in the file is shown with three lines around it and its line numbers", async () => {
    const { text } = await toolsOn({ "a.txt": numberedLines(5_000) });
    expect(await text("edit", { path: "a.txt", old_text: "line 4000\n", new_text: "one\nmore\n" })).toBe(
      [
        "Edited a.txt",
        "",
        "--- a/a.txt",
        "+++ b/a.txt",
        "@@ -3997,7 +3997,8 @@",
        " line 3997",
        " line 3998",
        " line 3999",
        "-line 4000",
        "+one",
        "+more",
        " line 4001",
        " line 4002",
        " line 4003",
        "",
      ].join("\n"),
    );
  });

  test.for([
    ["at the very start", "one\ntwo\n", "one", "1", "1\ntwo\n"],
    ["at the very end", "one\ntwo\n", "two\n", "2\n", "one\n2\n"],
    ["at the end of a file without a final newline", "one\ntwo", "two", "2", "one\n2"],
    ["that is the final newline's line", "one\ntwo", "two", "two\n", "one\ntwo\n"],
    ["and takes the final newline away", "one\ntwo\n", "two\n", "two", "one\ntwo"],
    ["that is all of the file", "one\ntwo\n", "one\ntwo\n", "three\n", "three\n"],
    ["over several lines", "a {\n  b\n}\n", "{\n  b\n}", "{}", "a {}\n"],
    ["inside a line", "let x = 1;\n", "1", "2", "let x = 2;\n"],
    ["that goes away", "one\ntwo\nthree\n", "two\n", "", "one\nthree\n"],
    ["with all there is", "one\ntwo\n", "one\ntwo\n", "", ""],
    ["to which something is added", "one\nthree\n", "one\n", "one\ntwo\n", "one\ntwo\nthree\n"],
    ["with a dollar, which is no pattern", "cost: X\n", "X", "$& $1 $$", "cost: $& $1 $$\n"],
    ["that looks like a regular expression", "a.*b\n", ".*", "+", "a+b\n"],
  ] as const)("%s", async ([, before, old_text, new_text, after]) => {
    const tools = await toolsOn({ "a.txt": before });
    const diff = await diffOf(tools, { path: "a.txt", old_text, new_text });
    expect(await readFile(join(tools.folder, "a.txt"), "utf8")).toBe(after);
    expect(await gitApplied("a.txt", before, diff)).toEqual(Buffer.from(after));
  });

  test("changes no other byte: byte order mark, CRLF, mixed line endings, trailing blanks, no final newline", async () => {
    const before = "\ufeffone \r\ntwo\t\nthree\r\n\r\n  four\rfive";
    const { folder, call } = await toolsOn({ "a.txt": before });
    expect(await call("edit", { path: "a.txt", old_text: "two", new_text: "2" })).toMatchObject({ status: "ok" });
    expect(await readFile(join(folder, "a.txt"))).toEqual(Buffer.from(before.replace("two", "2")));
  });

  test("may be given with line feeds where the file has CRLF, which it keeps", async () => {
    const { folder, call } = await toolsOn({ "a.txt": "one\r\ntwo\r\nthree\r\n" });
    for (const [old_text, new_text] of [
      ["one\ntwo", "1\n2"],
      ["2\r\n", "zwei\r\n"],
      ["three", "drei\nvier"],
    ]) {
      expect(await call("edit", { path: "a.txt", old_text, new_text })).toMatchObject({ status: "ok" });
    }
    expect(await readFile(join(folder, "a.txt"), "utf8")).toBe("1\r\nzwei\r\ndrei\r\nvier\r\n");
  });

  test.for([
    [
      "latin-1",
      Buffer.from("caf\xe9 one \xe0\n\xfc\n", "latin1"),
      Buffer.from("caf\xe9 zw\xf6lf \xe0\n\xfc\n", "latin1"),
    ],
    ["UTF-16", Buffer.from("\ufeffcafé one à\n", "utf16le"), Buffer.from("\ufeffcafé zwölf à\n", "utf16le")],
  ] as const)("stays in the encoding of the file: %s", async ([, before, after]) => {
    const { folder, call } = await toolsOn({ "a.txt": before });
    expect(await call("edit", { path: "a.txt", old_text: "one", new_text: "zwölf" })).toMatchObject({ status: "ok" });
    expect(await readFile(join(folder, "a.txt"))).toEqual(after);
  });

  test("keeps the file's permissions", async () => {
    const { folder, call } = await toolsOn({ "run.sh": "#!/bin/sh\necho one\n" });
    await chmod(join(folder, "run.sh"), 0o750);
    await call("edit", { path: "run.sh", old_text: "one", new_text: "two" });
    expect((await stat(join(folder, "run.sh"))).mode & 0o7777).toBe(0o750);
  });

  test("in a file of some megabytes is edited with a diff of a few lines", async () => {
    const { folder, text } = await toolsOn({ "a.txt": numberedLines(300_000) });
    const shown = await text("edit", { path: "a.txt", old_text: "line 299999\n", new_text: "changed\n" });
    expect(shown.split("\n")).toHaveLength(12);
    expect(await readFile(join(folder, "a.txt"), "utf8")).toBe(
      numberedLines(300_000).replace("line 299999\n", "changed\n"),
    );
  });

  test("is found by the names and spellings that other agents use", async () => {
    const { folder, text } = await toolsOn({ "a.txt": "0" });
    const spellings = [
      ["edit", { file_path: "a.txt", old_string: "0", new_string: "1" }],
      ["str_replace", { path: "a.txt", oldText: "1", newText: "2" }],
      ["replace_in_file", { filePath: "a.txt", oldString: "2", newString: "3" }],
    ] as const;
    for (const [name, input] of spellings) expect(await text(name, input)).toMatch(/^Edited a\.txt\n/);
    expect(await readFile(join(folder, "a.txt"), "utf8")).toBe("3");
  });
});

describe("what cannot be edited is refused, and the file is not changed", () => {
  test("a text that does not occur", async () => {
    const { folder, text } = await toolsOn({ "a.txt": "one\n  two\n" });
    expect(await text("edit", { path: "a.txt", old_text: "\ttwo", new_text: "x" })).toBe(
      [
        "Tool error: old_text was not found in a.txt",
        "The most similar text is at line 2:",
        "2:   two",
        'Line 1 of old_text differs in its leading or trailing spaces: the file has "  two", old_text "\\ttwo".',
      ].join("\n"),
    );
    expect(await readFile(join(folder, "a.txt"), "utf8")).toBe("one\n  two\n");
  });

  test("a text that occurs several times, with its lines", async () => {
    const { folder, text } = await toolsOn({ "a.txt": "x\ny\nx x\n\nx" });
    expect(await text("edit", { path: "a.txt", old_text: "x", new_text: "z" })).toBe(
      "Tool error: old_text occurs 4 times in a.txt: on lines 1, 3, 3, 5\nAdd lines before or after it until it occurs once, or set replace_all to replace every occurrence.",
    );
    expect(await readFile(join(folder, "a.txt"), "utf8")).toBe("x\ny\nx x\n\nx");
  });

  test("a text that occurs many times, with the first ten lines", async () => {
    const { text } = await toolsOn({ "a.txt": "x\n".repeat(999) });
    expect(await text("edit", { path: "a.txt", old_text: "x", new_text: "z" })).toMatch(
      /^Tool error: old_text occurs 999 times in a\.txt: on lines 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, …\n/,
    );
  });

  test("a text that overlaps itself, which occurs twice", async () => {
    const { text } = await toolsOn({ "a.txt": "aXaXa\n", "lines.txt": "}\n}\n}\n" });
    expect(await text("edit", { path: "a.txt", old_text: "aXa", new_text: "b" })).toMatch(
      /occurs 2 times in a\.txt: on lines 1, 1\n/,
    );
    expect(await text("edit", { path: "lines.txt", old_text: "}\n}", new_text: "" })).toMatch(
      /occurs 2 times in lines\.txt: on lines 1, 2\n/,
    );
  });

  test("no change", async () => {
    const { text } = await toolsOn({ "a.txt": "one\n" });
    expect(await text("edit", { path: "a.txt", old_text: "one", new_text: "one" })).toBe(
      "Tool error: old_text and new_text are the same: there is nothing to change in a.txt",
    );
  });

  test("an empty old_text, and missing arguments", async () => {
    const { text } = await toolsOn({ "a.txt": "one\n" });
    expect(await text("edit", { path: "a.txt", old_text: "", new_text: "x" })).toBe(
      "Tool error: old_text is empty\nGive the text to replace. To insert text, give an existing line as old_text and repeat it in new_text. " +
        "To create a file, or replace all of it, use write.",
    );
    const lacks = (name: string) => `validation error: missing required parameter "${name}"`;
    expect(await text("edit", { path: "a.txt", new_text: "x" })).toBe(lacks("old_text"));
    expect(await text("edit", { path: "a.txt", old_text: "one" })).toBe(lacks("new_text"));
    expect(await text("edit", { path: "a.txt" })).toBe(`${lacks("old_text")}\n${lacks("new_text")}`);
    expect(await text("edit", { old_text: "one", new_text: "x" })).toBe(
      'validation error: missing required parameter "path"',
    );
  });

  test("a missing file, a folder", async () => {
    const { folder, text } = await toolsOn({ "sub/a.txt": "" });
    const change = { old_text: "a", new_text: "b" };
    expect(await text("edit", { path: "b.txt", ...change })).toBe(
      `Tool error: File not found: ${folder}/b.txt\nLook for it with find: {"pattern":"b.txt"}.`,
    );
    expect(await text("edit", { path: "sub", ...change })).toBe(
      `Tool error: This is a folder, not a file: ${folder}/sub`,
    );
  });

  test("a file that is not text", async () => {
    const bytes = Buffer.from("one\0\n");
    const { folder, text } = await toolsOn({ "a.txt": bytes });
    expect(await text("edit", { path: "a.txt", old_text: "o", new_text: "x" })).toBe(
      "Tool error: Not text: a.txt is binary data, 5B\nUse bash with a program that reads this format.",
    );
    expect(await readFile(join(folder, "a.txt"))).toEqual(bytes);
  });

  test("half a character: of the file, or as the new text", async () => {
    const { folder, text } = await toolsOn({ "a.txt": "\u{1f600}!\n" });
    expect(await text("edit", { path: "a.txt", old_text: "\ud83d", new_text: "x" })).toMatch(
      /^Tool error: old_text contains half a character \(a lone surrogate, \\ud83d\)/,
    );
    expect(await text("edit", { path: "a.txt", old_text: "!", new_text: "\ude00" })).toMatch(
      /^Tool error: new_text contains half a character \(a lone surrogate, \\ude00\)/,
    );
    expect(await readFile(join(folder, "a.txt"), "utf8")).toBe("\u{1f600}!\n");
  });

  test("a file outside the workspace, and in read-only mode any", async () => {
    const { text } = await toolsOn({ "a.txt": "x" });
    const readonly = await toolsOn({ "a.txt": "x" }, { preset: "all", policy: { autonomy: "readonly" } });
    const change = { old_text: "x", new_text: "y" };
    expect(await text("edit", { path: "/etc/passwd", ...change })).toMatch(
      /^Path blocked by security policy: \/etc\/passwd/,
    );
    expect(await readonly.text("edit", { path: "a.txt", ...change })).toBe(
      "Read-only mode: cannot perform 'write files'",
    );
    expect(await readFile(join(readonly.folder, "a.txt"), "utf8")).toBe("x");
  });
});

describe("the diff", () => {
  test.for([
    "with space.txt",
    "ends with a date 2024-01-01",
    "ünïcode 文件 \u{1f600}.txt",
    "-dash.txt",
    "deep/er/with space/a.txt",
    'quote"d.txt',
    "back\\slash.txt",
    "tab\there.txt",
    "line\nbreak.txt",
    "\x1b[31mred",
    " blank ",
  ])("of a file named %j is one that git applies", async (path) => {
    const before = numberedLines(20);
    const tools = await toolsOn({ [path]: before }, { preset: "all", approver: approveOnce });
    const diff = await diffOf(tools, { path, old_text: "line 10\n", new_text: "ten\n" });
    expect(await gitApplied(path, before, diff)).toEqual(Buffer.from(before.replace("line 10\n", "ten\n")));
    expect(diff.split("\n").slice(0, 3)).toEqual([
      expect.stringMatching(/^--- /),
      expect.stringMatching(/^\+\+\+ /),
      "@@ -7,7 +7,7 @@",
    ]);
  });

  test("of a change of thousands of lines in the middle of a file is one that git applies", async () => {
    const middle = Array.from({ length: 2_500 }, (_, line) => `old ${line}\n`).join("");
    const changed = Array.from({ length: 2_400 }, (_, line) => `new ${line * 7}\n`).join("");
    const before = `${numberedLines(10)}${middle}${numberedLines(9)}`;
    const tools = await toolsOn({ "a.txt": before });
    expect(await gitApplied("a.txt", before, await wholeDiffOf(tools, before, middle, changed))).toEqual(
      Buffer.from(before.replace(middle, changed)),
    );
  });

  test("applied by git to the old file gives the new one, and only what was replaced has changed", async () => {
    const tools = await toolsOn({}, { preset: "all", approver: approveOnce });
    const names = fc.constantFrom("plain.txt", "with space.txt", "文件.md", 'q"uo\\te');
    await fc.assert(
      fc.asyncProperty(names, anEdit, async (path, { before, start, end, new_text, written }) => {
        // With mixed line breaks, unchanged lines keep their own: that has its own test.
        fc.pre(!(before.includes("\r\n") && /(?<!\r)\n/.test(before)));
        const old_text = before.slice(start, end);
        await writeFile(join(tools.folder, path), before);
        const result = await tools.call("edit", { path, old_text, new_text });
        const bytes = await readFile(join(tools.folder, path));
        if (old_text === written || before.indexOf(old_text) !== before.lastIndexOf(old_text)) {
          expect(result.status).toBe("failed");
          expect(bytes).toEqual(Buffer.from(before));
          return;
        }
        expect(bytes).toEqual(
          Buffer.concat([before.slice(0, start), written, before.slice(end)].map((part) => Buffer.from(part))),
        );
        if (result.status !== "ok") throw new Error(`expected an edit, got ${JSON.stringify(result)}`);
        expect(await gitApplied(path, before, (result.data as { diff: string }).diff)).toEqual(bytes);
      }),
      { numRuns: cases(30) },
    );
  });
});

describe("several edits in one call", () => {
  test("are all matched against the original file, and made together", async () => {
    const { folder, text } = await toolsOn({ "a.txt": "one\ntwo\nthree\n" });
    const edits = [
      { old_text: "three", new_text: "one" },
      { oldText: "one", newText: "1" },
    ];
    expect(await text("edit", { path: "a.txt", edits })).toBe(
      "Edited a.txt (2 edits)\n\n--- a/a.txt\n+++ b/a.txt\n@@ -1,3 +1,3 @@\n-one\n+1\n two\n-three\n+one\n",
    );
    expect(await readFile(join(folder, "a.txt"), "utf8")).toBe("1\ntwo\none\n");
  });

  test("are all refused when one cannot be made", async () => {
    const { folder, text } = await toolsOn({ "a.txt": "one\ntwo\nthree\n" });
    const good = { old_text: "one", new_text: "1" };
    for (const [bad, reason] of [
      [{ old_text: "four", new_text: "4" }, /^Tool error: edit 2: old_text was not found in a\.txt/],
      [{ old_text: "o", new_text: "0" }, /^Tool error: edit 2: old_text occurs 2 times in a\.txt: on lines 1, 2/],
      [{ old_text: "two", new_text: "two" }, /^Tool error: edit 2: old_text and new_text are the same/],
      [
        { old_text: "ne\nt", new_text: "x" },
        /^Tool error: edits 1 and 2 overlap in a\.txt, near line 1; nothing was changed/,
      ],
    ] as const) {
      expect(await text("edit", { path: "a.txt", edits: [good, bad] })).toMatch(reason);
      expect(await readFile(join(folder, "a.txt"), "utf8")).toBe("one\ntwo\nthree\n");
    }
  });

  test("give one diff, which git applies to the old file to get the new one", async () => {
    const tools = await toolsOn();
    // All lines differ, so that each edit has one place. Adjacent ones share a hunk, others do not.
    const lines = fc.array(fc.constantFrom("", "a", "long line"), { minLength: 2, maxLength: 60 });
    const chosen = fc.array(
      fc.record({ line: fc.nat(59), new_text: fc.constantFrom("", "x", "x\ny", "x\n", "\n\n\n") }),
      { minLength: 1, maxLength: 6 },
    );
    await fc.assert(
      fc.asyncProperty(lines, chosen, fc.boolean(), fc.boolean(), async (texts, wanted, whole, ended) => {
        const numbered = texts.map((text, line) => `<${line}>${text}`);
        const before = numbered.join("\n") + (ended ? "\n" : "");
        const changes = new Map(wanted.map(({ line, new_text }) => [line % numbered.length, new_text]));
        const edits = [...changes].map(([line, new_text]) => ({
          old_text: whole ? `${numbered[line]}` : `<${line}>`,
          new_text,
        }));
        let after = before;
        for (const { old_text, new_text } of edits) after = after.replace(old_text, () => new_text);
        await writeFile(join(tools.folder, "a.txt"), before);
        const result = await tools.call("edit", { path: "a.txt", edits });
        if (result.status !== "ok") throw new Error(`expected an edit, got ${JSON.stringify(result)}`);
        expect(await readFile(join(tools.folder, "a.txt"), "utf8")).toBe(after);
        expect((await gitApplied("a.txt", before, (result.data as { diff: string }).diff)).toString()).toBe(after);
      }),
      { numRuns: cases(15) },
    );
  });
});

const approveOnce: Approver = async () => ({ answer: "once" });

/** A text file with one kind of line break, and a range of whole characters in it with its replacement. */
const anEdit = fc
  .record({
    lines: fc.array(
      fc.oneof(
        fc.constantFrom(
          "",
          " ",
          "}",
          "\t",
          "a",
          "b",
          "--- a/x",
          "+++ b/x",
          "@@ -1,1 +1,1 @@",
          "\\ No newline at end of file",
        ),
        fc.string({ unit: "binary", maxLength: 8 }).map(asText),
      ),
      { minLength: 1, maxLength: 20 },
    ),
    newline: fc.constantFrom("\n", "\r\n"),
    ended: fc.boolean(),
    from: fc.nat(),
    length: fc.nat(60),
    new_text: fc.oneof(fc.constantFrom("", "\n", "x\n", "x"), fc.string({ unit: "binary", maxLength: 12 }).map(asText)),
  })
  .map(({ lines, newline, ended, from, length, new_text }) => {
    const before = lines.join(newline) + (ended ? newline : "") || "x";
    const characters = before.match(/\r\n|[^]/gu) ?? [];
    const first = from % characters.length;
    const start = characters.slice(0, first).join("").length;
    const end = start + characters.slice(first, first + 1 + length).join("").length;
    // A model writes line feeds; the file keeps its own line breaks.
    return {
      before,
      start,
      end,
      new_text,
      written: before.includes("\r\n") ? new_text.replaceAll("\n", "\r\n") : new_text,
    };
  });

/** Removes what no text file has, and line breaks of another kind. */
function asText(wild: string): string {
  return wild.replaceAll(/[\x00-\x06\x0e-\x1a\x1c-\x1f\r]/g, "x").replace(/^\ufeff/, "");
}

async function diffOf({ call }: Tools, input: { path: string; old_text: string; new_text: string }): Promise<string> {
  const result = await call("edit", input);
  if (result.status !== "ok") throw new Error(`expected an edit, got ${JSON.stringify(result)}`);
  return (result.data as { diff: string }).diff;
}

/** Returns the whole diff of the tool from its saved output, because a result is limited to 50 KB. */
async function wholeDiffOf(tools: Tools, before: string, old_text: string, new_text: string): Promise<string> {
  await writeFile(join(tools.folder, "a.txt"), before);
  const shown = await tools.text("edit", { path: "a.txt", old_text, new_text });
  const path = /Full output saved to: (output:\/\/\w+)\]$/.exec(shown)?.[1];
  let whole = "";
  for (let offset: number | undefined = 1; offset !== undefined;) {
    const page: string = await tools.text("read", { path, offset });
    const notice: RegExpExecArray | null = /\n\[Showing lines .*?(?:offset=(\d+) to continue\.)?\]$/.exec(page);
    whole += page.slice(0, notice?.index);
    offset = notice?.[1] === undefined ? undefined : Number(notice[1]);
  }
  return whole.replace(/^Edited a\.txt\n\n/, "");
}
