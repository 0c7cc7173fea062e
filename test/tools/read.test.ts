import { execFileSync } from "node:child_process";
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { asText } from "../../src/core/call/result.ts";
import { bash } from "../../src/tools/bash.ts";
import { read } from "../../src/tools/read.ts";
import { local } from "../../src/machine/local/backend.ts";
import { cases } from "../support/cases.ts";
import { temporaryFolder, toolkitWith, workspace } from "../support/workspace.ts";
import { type Tools, numberedLines, toolsOn } from "./tools.ts";

const LIMIT_BYTES = 51_200;

describe("a text file", () => {
  test.for([
    ["with a final newline", "one\ntwo\n"],
    ["without a final newline", "one\ntwo"],
    ["of one newline", "\n"],
    ["of blank lines", "\n\n\n"],
    ["with CRLF line endings", "one\r\ntwo\r\n"],
    ["with mixed line endings", "one\r\ntwo\nthree\rfour\n"],
    ["with a byte order mark in its middle", "one\n\ufefftwo\n"],
    ["in many scripts", "naïve 文件 \u{1f9d1}\u200d\u{1f680} e\u0301 ع\n"],
    ["with control characters", "\x1b[31mred\x1b[0m\x07\x08\x7f\u202e\n"],
  ] as const)("%s is shown exactly as it is", async ([, content]) => {
    const { text } = await toolsOn({ "a.txt": content });
    expect(await text("read", { path: "a.txt" })).toBe(content);
  });

  test("that is empty says so", async () => {
    const { text } = await toolsOn({ "a.txt": "", "mark.txt": "\ufeff" });
    expect(await text("read", { path: "a.txt" })).toBe("(empty file)");
    expect(await text("read", { path: "mark.txt" })).toBe("(empty file)");
  });

  test("that begins with a byte order mark is shown without it", async () => {
    const { text } = await toolsOn({ "a.txt": "\ufeffone\ntwo\n" });
    expect(await text("read", { path: "a.txt" })).toBe("one\ntwo\n");
  });

  test.for([
    ["windows-1252", Buffer.from("caf\xe9\n", "latin1"), "café\n"],
    ["UTF-16 (little-endian)", Buffer.from("\ufeffhello é\n", "utf16le"), "hello é\n"],
    ["UTF-16 (big-endian)", Buffer.from("\ufeffhello é\n", "utf16le").swap16(), "hello é\n"],
  ] as const)("in %s is shown as text, which is said", async ([encoding, bytes, shown]) => {
    const { text } = await toolsOn({ "a.txt": bytes });
    expect(await text("read", { path: "a.txt" })).toBe(`${shown}\n[Decoded from ${encoding}.]`);
  });

  test("of exactly 2,000 lines is shown whole, without a notice", async () => {
    const content = numberedLines(2_000);
    const { text } = await toolsOn({ "a.txt": content });
    expect(await text("read", { path: "a.txt" })).toBe(content);
  });

  test("of exactly 51,200 bytes is shown whole, without a notice", async () => {
    const content = `${"x".repeat(99)}\n`.repeat(512);
    const { text } = await toolsOn({ "a.txt": content });
    expect(Buffer.byteLength(content)).toBe(LIMIT_BYTES);
    expect(await text("read", { path: "a.txt" })).toBe(content);
  });

  test("is read by relative and absolute paths, and through a link inside the workspace", async () => {
    const { folder, text } = await toolsOn({ "a/b.txt": "here\n" });
    execFileSync("ln", ["-s", "a/b.txt", join(folder, "link.txt")]);
    for (const path of ["a/b.txt", "./a/../a/b.txt", join(folder, "a/b.txt"), "link.txt"]) {
      expect(await text("read", { path })).toBe("here\n");
    }
  });

  test("is read with the argument spellings and tool names that other agents use", async () => {
    const { text } = await toolsOn({ "a.txt": numberedLines(5) });
    for (const spelling of ["file_path", "filePath", "filename", "file"]) {
      expect(await text("read", { [spelling]: "a.txt" })).toBe(numberedLines(5));
    }
    const second = "line 2\n\n[Showing lines 2-2 of 5. Use offset=3 to continue.]";
    expect(await text("read", { path: "a.txt", start_line: 2, max_lines: 1 })).toBe(second);
    expect(await text("read", { path: "a.txt", offset: "2", limit: "1" })).toBe(second);
    for (const name of ["cat", "view", "read_text_file", "Read"]) {
      expect(await text(name, { path: "a.txt" })).toBe(numberedLines(5));
    }
  });
});

describe("a part of a file", () => {
  test("is the requested lines, with a notice on how to continue", async () => {
    const { text } = await toolsOn({ "a.txt": "one\ntwo\nthree\nfour\nfive\n" });
    expect(await text("read", { path: "a.txt", limit: 2 })).toBe(
      "one\ntwo\n\n[Showing lines 1-2 of 5. Use offset=3 to continue.]",
    );
    expect(await text("read", { path: "a.txt", offset: 2, limit: 3 })).toBe(
      "two\nthree\nfour\n\n[Showing lines 2-4 of 5. Use offset=5 to continue.]",
    );
    expect(await text("read", { path: "a.txt", offset: 4 })).toBe("four\nfive\n\n[Showing lines 4-5 of 5.]");
    expect(await text("read", { path: "a.txt", offset: 5, limit: 1 })).toBe("five\n\n[Showing lines 5-5 of 5.]");
    expect(await text("read", { path: "a.txt", limit: 5 })).toBe("one\ntwo\nthree\nfour\nfive\n");
  });

  test("shows by the place of its notice whether the file ends with a newline", async () => {
    const { text } = await toolsOn({ "with.txt": "one\ntwo\n", "without.txt": "one\ntwo" });
    expect(await text("read", { path: "with.txt", offset: 2 })).toBe("two\n\n[Showing lines 2-2 of 2.]");
    expect(await text("read", { path: "without.txt", offset: 2 })).toBe("two\n[Showing lines 2-2 of 2.]");
  });

  test("may be a blank line", async () => {
    const { text } = await toolsOn({ "a.txt": "one\n\nthree\n" });
    expect(await text("read", { path: "a.txt", offset: 2, limit: 1 })).toBe(
      "\n\n[Showing lines 2-2 of 3. Use offset=3 to continue.]",
    );
  });

  test("past the end fails with the number of lines", async () => {
    const { text } = await toolsOn({ "five.txt": numberedLines(5), "one.txt": "one", "empty.txt": "" });
    expect(await text("read", { path: "five.txt", offset: 6 })).toBe(
      "Tool error: offset 6 is past the end: five.txt has 5 lines",
    );
    expect(await text("read", { path: "one.txt", offset: 2, limit: 1 })).toBe(
      "Tool error: offset 2 is past the end: one.txt has 1 line",
    );
    expect(await text("read", { path: "empty.txt", offset: 9 })).toBe(
      "Tool error: offset 9 is past the end: empty.txt has 0 lines",
    );
  });

  test("with an invalid offset or limit is refused with what was expected", async () => {
    const { text } = await toolsOn({ "a.txt": "one\n" });
    expect(await text("read", { path: "a.txt", offset: 0 })).toBe(
      'validation error: parameter "offset": must be >= 1, got number 0. offset: First line to show, from 1 (default: 1)',
    );
    expect(await text("read", { path: "a.txt", limit: 1.5 })).toBe(
      'validation error: parameter "limit": expected integer, got number 1.5',
    );
  });
});

describe("a file over the limits", () => {
  test("of 5,120 lines shows 2,000 and how to continue", async () => {
    const { text } = await toolsOn({ "a.txt": numberedLines(5_120) });
    const first = numberedLines(2_000);
    expect(await text("read", { path: "a.txt" })).toBe(
      `${first}\n[Showing lines 1-2000 of 5120. Use offset=2001 to continue.]`,
    );
    expect(await text("read", { path: "a.txt", limit: 4_000 })).toBe(
      `${first}\n[Showing lines 1-2000 of 5120. Use offset=2001 to continue.]`,
    );
    expect(await text("read", { path: "a.txt", offset: 4_001 })).toBe(
      `${numberedLines(5_120).slice(numberedLines(4_000).length)}\n[Showing lines 4001-5120 of 5120.]`,
    );
  });

  test("of 3,000 lines shows the rest at the second page", async () => {
    const { text } = await toolsOn({ "a.txt": numberedLines(3_000) });
    const page = await text("read", { path: "a.txt", offset: 2_001 });
    expect(page).toBe(`${numberedLines(3_000).slice(numberedLines(2_000).length)}\n[Showing lines 2001-3000 of 3000.]`);
  });

  test("over 50 KB shows the whole lines that fit", async () => {
    const line = `${"x".repeat(99)}\n`;
    const { text } = await toolsOn({ "a.txt": line.repeat(1_000) });
    expect(await text("read", { path: "a.txt" })).toBe(
      `${line.repeat(512)}\n[Showing lines 1-512 of 1000. Use offset=513 to continue.]`,
    );
  });

  test("counts the bytes of UTF-8, not characters", async () => {
    const line = `${"é".repeat(50)}\n`;
    const { text } = await toolsOn({ "a.txt": line.repeat(1_000) });
    const fits = Math.floor(LIMIT_BYTES / Buffer.byteLength(line));
    expect(await text("read", { path: "a.txt" })).toBe(
      `${line.repeat(fits)}\n[Showing lines 1-${fits} of 1000. Use offset=${fits + 1} to continue.]`,
    );
  });

  test("of more than 16 MB shows its size instead of its lines, and ends with its last page", async () => {
    const lines = 200_000;
    const { text } = await toolsOn({ "a.txt": `${"x".repeat(99)}\n`.repeat(lines) });
    expect(await text("read", { path: "a.txt", limit: 1 })).toBe(
      `${"x".repeat(99)}\n\n[Showing lines 1-1 of a file of 19.1MB. Use offset=2 to continue.]`,
    );
    expect(await text("read", { path: "a.txt", offset: lines - 1, limit: 2 })).toMatch(
      /\n\n\[Showing lines 199999-200000 of 200000\.\]$/,
    );
    expect(await text("read", { path: "a.txt", offset: lines + 1 })).toBe(
      "Tool error: offset 200001 is past the end: a.txt has 200000 lines",
    );
  });

  test("fits the tool's own limits", async () => {
    const tools = [read({ limit: { lines: 2, bytes: 10 } })];
    const { text } = await toolsOn({ "short.txt": "a\nb\nc\n", "long.txt": "12345\n12345\n" }, { tools });
    expect(await text("read", { path: "short.txt" })).toBe(
      "a\nb\n\n[Showing lines 1-2 of 3. Use offset=3 to continue.]",
    );
    expect(await text("read", { path: "long.txt" })).toBe(
      "12345\n\n[Showing lines 1-1 of 2. Use offset=2 to continue.]",
    );
  });
});

describe("a line over the limit", () => {
  const start = "a".repeat(LIMIT_BYTES - 1);
  // The two-byte character crosses the limit, so it is omitted.
  const long = `${start}é${"b".repeat(60_000)}`;

  test("is cut at a whole character, with a command for more of it and the next offset", async () => {
    const { text } = await toolsOn({ "a.txt": `${long}\nsecond\n` });
    expect(await text("read", { path: "a.txt" })).toBe(
      `${start}\n[Line 1 of 2 is cut at 50KB. Use offset=2 for the next line. To see more of this line use bash: ` +
        `sed -n '1{p;q;}' -- a.txt | tail -c +51200 | head -c 51200]`,
    );
    expect(await text("read", { path: "a.txt", offset: 2 })).toBe("second\n\n[Showing lines 2-2 of 2.]");
  });

  test("after a byte order mark, or in another encoding, is never continued at the wrong place", async () => {
    const { text } = await toolsOn({
      "mark.txt": `\ufeff${long}`,
      "latin.txt": Buffer.from(`${"é".repeat(60_000)}\nsecond\n`, "latin1"),
    });
    const command = /use bash: (.*)\]$/.exec(await text("read", { path: "mark.txt" }))?.[1];
    expect(await text("bash", { command })).toMatch(/^aaéb/);
    expect(await text("read", { path: "latin.txt" })).toMatch(
      /^é{25600}\n\[Decoded from windows-1252\.\]\n\[Line 1 of 2 is cut at 50KB\. Use offset=2 for the next line\.\]$/,
    );
  });

  test("that is the last one has no next line", async () => {
    const { text } = await toolsOn({ "a.txt": `first\n${long}` });
    expect(await text("read", { path: "a.txt" })).toBe("first\n\n[Showing lines 1-1 of 2. Use offset=2 to continue.]");
    expect(await text("read", { path: "a.txt", offset: 2 })).toMatch(
      /a\n\[Line 2 of 2 is cut at 50KB\. To see more of this line use bash: sed -n '2\{p;q;\}' -- a\.txt \| tail -c \+51200 \| head -c 51200\]$/,
    );
  });

  test("continues exactly where it was cut with the command in the notice", async () => {
    const { folder, text } = await toolsOn();
    for (const path of ["a.txt", "with space/it's.txt", "-n", join(folder, "absolute.txt")]) {
      await mkdir(join(folder, "with space"), { recursive: true });
      await writeFile(path.startsWith("/") ? path : join(folder, path), `first\n${long}\nlast\n`);
      const command = /use bash: (.*)\]$/.exec(await text("read", { path, offset: 2 }))?.[1];
      const more = await text("bash", { command });
      expect(more.slice(0, 2)).toBe("éb");
      expect(Buffer.byteLength(more)).toBe(LIMIT_BYTES);
    }
  });

  test("in the home folder is found by the command too", async () => {
    const folder = await workspace({ "a b.txt": long });
    const backend = await local({ workDir: folder, home: folder, outputFolder: temporaryFolder() });
    const { text } = await toolsOn({}, { tools: [read(), bash()], target: backend });
    const command = /use bash: (.*)\]$/.exec(await text("read", { path: "~/a b.txt" }))?.[1];
    expect(await text("bash", { command })).toMatch(/^éb/);
  });

  test("of a saved output has no command, since bash cannot open it", async () => {
    const { text } = await toolsOn();
    const shown = await text("bash", { command: `printf '%0200000d\\nend\\n' 0 | tr 0 x; seq 3000` });
    const path = /Full output saved to: (output:\/\/\w+)\]/.exec(shown)?.[1];
    expect(await text("read", { path })).toMatch(
      /x\n\[Line 1 of 3002 is cut at 50KB\. Use offset=2 for the next line\. To see more of this line run its command again and cut the output\.\]$/,
    );
  });
});

describe("a file that is not text", () => {
  test.for([
    ["text with a NUL byte", Buffer.from("text\0more\n"), "10B"],
    ["numbers", Buffer.from(Array.from({ length: 2_048 }, (_, at) => (at * 7_919) % 256)), "2KB"],
    ["control characters", Buffer.from("\x01\x02\x03\x04text\n"), "9B"],
  ] as const)("%s: is refused, and its size said", async ([, bytes, size]) => {
    const { text } = await toolsOn({ "data.bin": bytes });
    expect(await text("read", { path: "data.bin" })).toBe(
      `Tool error: Not text: data.bin is binary data, ${size}\nUse bash with a program that reads this format.`,
    );
  });

  test("such as an archive is refused with its kind", async () => {
    const { folder, text } = await toolsOn();
    execFileSync("bash", ["-c", "head -c 5000 /dev/urandom | gzip > a.gz"], { cwd: folder });
    expect(await text("read", { path: "a.gz" })).toMatch(
      /^Tool error: Not text: a\.gz is GZ \(application\/gzip\), [\d.]+KB\n/,
    );
  });
});

describe("a path that is not a file", () => {
  test("is reported: a folder, nothing, a FIFO, a file as a parent", async () => {
    const { folder, text } = await toolsOn({ "folder/a.txt": "a" });
    execFileSync("mkfifo", [join(folder, "fifo")]);
    execFileSync("ln", ["-s", "nowhere", join(folder, "broken")]);
    expect(await text("read", { path: "folder" })).toBe(`Tool error: This is a folder, not a file: ${folder}/folder`);
    expect(await text("read", { path: "missing.txt" })).toBe(
      `Tool error: File not found: ${folder}/missing.txt\nLook for it with find: {"pattern":"missing.txt"}.`,
    );
    expect(await text("read", { path: "fifo" })).toBe(
      `Tool error: This is a FIFO (named pipe), not a file: ${folder}/fifo`,
    );
    expect(await text("read", { path: "broken" })).toContain(`Tool error: File not found: ${folder}/nowhere\n`);
    expect(await text("read", { path: "folder/a.txt/b" })).toContain(
      `Tool error: A part of the path is not a folder: ${folder}/folder/a.txt/b\n`,
    );
  });

  test("or is missing is refused before anything is read", async () => {
    const { text } = await toolsOn();
    expect(await text("read", {})).toBe('validation error: missing required parameter "path"');
    expect(await text("read", { path: "" })).toMatch(/^validation error: parameter "path": /);
    expect(await text("read", { path: "a\0b" })).toMatch(/has a NUL byte in it$/);
  });
});

describe("a saved output", () => {
  test("is read page by page like a file", async () => {
    const { text } = await toolsOn();
    const shown = await text("bash", { command: "seq 5000" });
    const path = /\[Output truncated at 2000 lines\. Full output saved to: (output:\/\/\w+)\]$/.exec(shown)?.[1];
    expect(await text("read", { path, limit: 2 })).toBe(
      "1\n2\n\n[Showing lines 1-2 of 5000. Use offset=3 to continue.]",
    );
    expect(await text("read", { path, offset: 4_999 })).toBe("4999\n5000\n\n[Showing lines 4999-5000 of 5000.]");
  });

  test("with bytes that are not text can still be read", async () => {
    const { text } = await toolsOn();
    const shown = await text("bash", { command: `printf 'caf\\351 \\0!\\n'; seq 3000` });
    const path = /Full output saved to: (output:\/\/\w+)\]$/.exec(shown)?.[1];
    expect(await text("read", { path, limit: 2 })).toBe(
      "caf\ufffd \ufffd!\n1\n\n[Showing lines 1-2 of 3001. Use offset=3 to continue.]",
    );
  });

  test("that is unknown, badly named or another toolkit's is refused with the next step", async () => {
    const { text } = await toolsOn();
    const shown = await text("bash", { command: "seq 5000" });
    const path = /(output:\/\/\w+)\]$/.exec(shown)?.[1];
    const another = await toolkitWith({ preset: "coding" });
    for (const unknown of ["output://0123456789abcdef", "output://", "output://../../etc/passwd"]) {
      expect(await text("read", { path: unknown })).toBe(
        `Tool error: no saved output ${JSON.stringify(unknown.slice("output://".length))}: it was removed or belongs to another session\n` +
          "Copy the id exactly from the notice, or call the tool again. " +
          "Outputs are removed after 7 days, or when all of them exceed 2GB, the oldest first.",
      );
    }
    expect(asText(await another.call({ name: "read", input: { path } }))).toMatch(/^Tool error: no saved output/);
  });
});

test("reading any text file page by page, with the offsets that the notices give, yields exactly the file", async () => {
  const tools = await toolsOn({}, { tools: [read({ limit: { lines: 4, bytes: 64 } })] });
  const line = fc.oneof(
    fc.string({ unit: "binary", maxLength: 12 }),
    fc.string({ unit: "grapheme", maxLength: 4 }),
    fc.constantFrom("", "\r", "\ufeff", "[Showing lines", "\x1b[31m"),
  );
  const file = fc.tuple(fc.array(line, { maxLength: 24 }), fc.boolean()).map(([lines, ended]) => {
    // Control characters that do not occur in text would make it binary.
    const text = lines.join("\n").replaceAll(/[\x00-\x06\x0e-\x1a\x1c-\x1f]/g, "x");
    return ended && text !== "" ? `${text}\n` : text;
  });
  await fc.assert(
    fc.asyncProperty(file, async (content) => {
      await writeFile(join(tools.folder, "a.txt"), content);
      expect(await pageByPage(tools, "a.txt")).toBe(content.replace(/^\ufeff/, ""));
    }),
    { numRuns: cases(50) },
  );
});

async function pageByPage({ text }: Tools, path: string): Promise<string> {
  let whole = "";
  for (let offset: number | undefined = 1; offset !== undefined;) {
    const page = await text("read", { path, ...(offset > 1 && { offset }) });
    if (page === "(empty file)") return "";
    const notice = /\n\[Showing lines (\d+)-\d+ of \d+\.(?: Use offset=(\d+) to continue\.)?\]$/.exec(page);
    if (notice !== null) expect(notice[1]).toBe(String(offset));
    whole += notice === null ? page : page.slice(0, notice.index);
    offset = notice?.[2] === undefined ? undefined : Number(notice[2]);
  }
  return whole;
}

test("a notebook with a picture of megabytes is read", async () => {
  const notebook = JSON.stringify({ cells: [{ outputs: [{ data: { "image/png": "A".repeat(12_000_000) } }] }] });
  const { text } = await toolsOn({ "nb.ipynb": notebook });
  expect(await text("read", { path: "nb.ipynb" })).toContain('"image/png":"[11.4MB of base64 left out]"');
});

test("a notebook is read without the base64 of its pictures, in the lines that it has", async () => {
  const picture = Buffer.alloc(90_000, "picture").toString("base64");
  const outputs = [
    { data: { "image/png": picture, "text/html": `<img src="data:image/png;base64,${picture}"><b>` } },
    { data: { "image/jpeg": picture.replaceAll(/.{76}/g, "$&\n") } },
  ];
  const notebook = JSON.stringify({ cells: [{ outputs, source: ["plot()\n"] }, { source: ["target = 1"] }] }, null, 1);
  const { folder, text } = await toolsOn({ "nb.ipynb": notebook, "nb.json": notebook });
  const shown = await text("read", { path: "nb.ipynb" });
  expect(shown.length).toBeLessThan(1_000);
  expect(shown).toMatch(/"image\/png": "\[117.2KB of base64 left out\]",\n.*base64,\[.*left out\]\\"><b>/);
  expect(shown).toContain('"plot()\\n"');
  const line = 1 + notebook.split("\n").findIndex((each) => each.includes("target"));
  expect(await text("read", { path: "nb.ipynb", offset: line, limit: 1 })).toContain("target = 1");
  expect(await text("read", { path: "nb.json" })).not.toContain("left out");
  await text("edit", { path: "nb.ipynb", old_text: "target = 1", new_text: "target = 2" });
  expect(await readFile(join(folder, "nb.ipynb"), "utf8")).toBe(notebook.replace("target = 1", "target = 2"));
});
