import iconv from "iconv-lite";
import { execFileSync } from "node:child_process";
import { chmodSync, mkdirSync, writeFileSync } from "node:fs";
import { link, mkdir, rm, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { rgPath } from "@vscode/ripgrep";
import fc from "fast-check";
import { Type } from "typebox";
import { afterEach, describe, expect, test, vi } from "vitest";
import { defineTool } from "../../src/core/contract/tool.ts";
import { asText } from "../../src/core/call/result.ts";
import { find } from "../../src/tools/find.ts";
import { grep } from "../../src/tools/grep.ts";
import { read } from "../../src/tools/read.ts";
import { cases } from "../support/cases.ts";
import { mustBeHere } from "../support/here.ts";
import { layout } from "../support/layout.ts";
import { until } from "../support/until.ts";
import { workspace } from "../support/workspace.ts";
import {
  dataOf,
  filesNamed,
  openFilesOf,
  permissionsUntested,
  processesNaming,
  searchTools,
  textForBound,
} from "./searching.ts";
import { type Tools, numberedLines } from "./tools.ts";

type Data = {
  lines: readonly { path: string; line: number; text: string; match: boolean }[];
  matches: number;
  stopped_at: number | null;
  cut_lines: number;
  sensitive_files: number;
  binary_files: number;
  complaints: string;
};

const dataOfGrep = (tools: Tools, input: object) => dataOf<Data>(tools, "grep", input);
const pathsOf = async (tools: Tools, input: object) => [
  ...new Set((await dataOfGrep(tools, input)).lines.map(({ path }) => path)),
];

afterEach(() => vi.unstubAllEnvs());

describe("what is found", () => {
  test("matching lines are shown as path:line: text, in the order of paths, in any case", async () => {
    const tools = await searchTools({
      "b.txt": "one\nTwo words\n",
      "a/z.txt": "x\ny\ntwo",
      "a.txt": "nothing\n",
      "c.txt": "(TWO)\r\n",
    });
    expect(await tools.text("grep", { pattern: "two" })).toBe("a/z.txt:3: two\nb.txt:2: Two words\nc.txt:1: (TWO)");
    expect(await dataOfGrep(tools, { pattern: "two", path: "b.txt" })).toEqual({
      lines: [{ path: "b.txt", line: 2, text: "Two words", match: true }],
      matches: 1,
      stopped_at: null,
      cut_lines: 0,
      sensitive_files: 0,
      binary_files: 0,
      left_out: [],
      complaints: "",
    });
  });

  test("a line with several matches counts once, an empty match too", async () => {
    const tools = await searchTools({ "a.txt": "aaa\nb\n" });
    expect(await tools.text("grep", { pattern: "a" })).toBe("a.txt:1: aaa");
    expect(await tools.text("grep", { pattern: "x*" })).toBe("a.txt:1: aaa\na.txt:2: b");
  });

  test("nothing found is reported, in an empty folder too", async () => {
    const tools = await searchTools({ "a.txt": "x\n" });
    await mkdir(join(tools.folder, "empty"));
    expect(await tools.text("grep", { pattern: "missing" })).toBe("No matches found.");
    expect(await tools.text("grep", { pattern: "x", path: "empty" })).toBe("No matches found.");
    expect(await tools.text("grep", { pattern: "x", glob: "*.nope" })).toBe("No matches found.");
  });

  test("case matters on request, in any script", async () => {
    const tools = await searchTools({ "a.txt": "Straße ÄRGER\nstrasse ärger\n" });
    expect(await tools.text("grep", { pattern: "ärger" })).toBe("a.txt:1: Straße ÄRGER\na.txt:2: strasse ärger");
    expect(await tools.text("grep", { pattern: "ärger", case_sensitive: true })).toBe("a.txt:2: strasse ärger");
    expect(await tools.text("grep", { pattern: "(?i)ÄRGER", case_sensitive: true })).toMatch(/:1: .*\n.*:2: /);
  });

  test("literal matches every character as it is", async () => {
    const tools = await searchTools({ "a.txt": "f(x) = [a-z]* + \\d$\nfx\n" });
    for (const pattern of ["f(x)", "[a-z]*", "\\d$", "(", "*", "= [", "+ \\"]) {
      expect(await tools.text("grep", { pattern, literal: true })).toBe("a.txt:1: f(x) = [a-z]* + \\d$");
    }
    expect(await tools.text("grep", { pattern: "f.x", literal: true })).toBe("No matches found.");
    expect(await tools.text("grep", { pattern: "f.x" })).toMatch(/^a\.txt:1/);
  });

  test("other spellings that models use are understood", async () => {
    const tools = await searchTools({ "a.txt": "One\none\nONE\n", "b.md": "one\n" });
    const found = (input: object) =>
      dataOfGrep(tools, input).then(({ lines }) => lines.map(({ path, line }) => `${path}:${line}`).join(" "));
    expect(await found({ query: "one", include: "*.txt", limit: "2" })).toBe("a.txt:1 a.txt:2");
    expect(await found({ regex: "one", file_path: "a.txt", ignore_case: false })).toBe("a.txt:2");
    expect(await found({ pattern: "one", filePath: "a.txt", caseSensitive: "true" })).toBe("a.txt:2");
    expect(await found({ pattern: "one", directory: ".", ignoreCase: true })).toBe("a.txt:1 a.txt:2 a.txt:3 b.md:1");
    expect(await found({ pattern: "One", path: "a.txt", case_insensitive: false, contextLines: 1 })).toBe(
      "a.txt:1 a.txt:2",
    );
    expect((await tools.call("ripgrep", { pattern: "one", maxResults: 1 })).status).toBe("ok");
  });

  test.each([
    [{}, 'missing required parameter "pattern"'],
    [{ pattern: "" }, 'parameter "pattern"'],
    [{ pattern: "a", path: "" }, 'parameter "path"'],
    [{ pattern: "a", max_results: 0 }, 'parameter "max_results"'],
    [{ pattern: "a", max_results: 10_001 }, 'parameter "max_results"'],
    [{ pattern: "a", context_lines: -1 }, 'parameter "context_lines"'],
    [{ pattern: "a", context_lines: 51 }, 'parameter "context_lines"'],
    [{ pattern: "a", glob: "*".repeat(1_001) }, 'parameter "glob"'],
    [{ pattern: "a", multiline: true }, 'unknown parameter "multiline"'],
  ])("arguments that do not fit are refused: %j", async (input, message) => {
    const { text } = await searchTools();
    expect(await text("grep", input)).toContain(`validation error: ${message}`);
  });
});

describe("names and patterns", () => {
  const ALL =
    ".eslintrc.js .github/workflows/ci.yml .hidden.ts a.ts lib/c.js lib/src/c.ts readme.md src/b.ts src/deep/d.ts src/x.js";

  test("a pattern that begins with - is a pattern", async () => {
    const tools = await searchTools({ "a.txt": "--help\n-e x\n--pre=id\n" });
    expect(await tools.text("grep", { pattern: "--help" })).toBe("a.txt:1: --help");
    expect(await tools.text("grep", { pattern: "-e x" })).toBe("a.txt:2: -e x");
    expect(await tools.text("grep", { pattern: "--pre=id", literal: true })).toBe("a.txt:3: --pre=id");
    expect(await tools.text("grep", { pattern: "-f/etc/passwd" })).toBe("No matches found.");
    expect(await tools.text("grep", { pattern: "help", glob: "--files" })).toBe("No matches found.");
    expect(await tools.text("grep", { pattern: "help", glob: "-*" })).toBe("No matches found.");
  });

  const NAMES = [
    "-rf",
    "--files",
    "with space.txt",
    "'single' \"double\" `back`.txt",
    "$(id);&|<>.txt",
    "ünïcode 文件 🎉.txt",
    "back\\slash.txt",
    "[id].{a,b}*?.txt",
    "!not.txt",
    "colon:1: x.txt",
    "a-5-b.txt",
    "dir with space/-/--.txt",
  ];

  test("files with any name are found, and searched when they are named", async () => {
    const tools = await searchTools(filesNamed("needle\n", ...NAMES));
    expect((await pathsOf(tools, { pattern: "needle" })).toSorted()).toEqual(NAMES.toSorted());
    for (const path of NAMES) {
      expect(await tools.text("grep", { pattern: "needle", path })).toBe(`${path}:1: needle`);
      expect(await pathsOf(tools, { pattern: "needle", path: join(tools.folder, path), context_lines: 1 })).toEqual([
        path,
      ]);
    }
  });

  test("a name with line breaks or other control characters is one quoted line", async () => {
    const { folder, ...tools } = await searchTools();
    for (const name of ["two\nlines.txt", "--\n--\n\nx", "a.txt:1: fake\n", "\x1b[31mred", "tab\there"]) {
      await mkdir(join(folder, name));
      await writeFile(join(folder, name, "--\nin.txt"), "before\nneedle\nafter\n");
    }
    const found = await pathsOf({ folder, ...tools }, { pattern: "needle", context_lines: 1 });
    expect(found.toSorted()).toEqual(
      ["two\nlines.txt", "--\n--\n\nx", "a.txt:1: fake\n", "\x1b[31mred", "tab\there"]
        .map((name) => `${name}/--\nin.txt`)
        .toSorted(),
    );
    expect(await tools.text("grep", { pattern: "needle", path: "two\nlines.txt" })).toBe(
      '"two\\nlines.txt/--\\nin.txt":2: needle',
    );
    expect((await tools.text("grep", { pattern: "needle", path: "--\n--\n\nx/--\nin.txt" })).split("\n")).toHaveLength(
      1,
    );
  });

  test("names that are not UTF-8 are found, each separately", async () => {
    const tools = await searchTools();
    for (const last of [0xfe, 0xff])
      writeFileSync(Buffer.concat([Buffer.from(join(tools.folder, "x")), Buffer.of(last)]), `needle ${last}\n`);
    expect(await tools.text("grep", { pattern: "needle" })).toBe(
      "x\ufffd:1: needle 254\nx\ufffd:1: needle 255\n\n[A name with \ufffd is not UTF-8.]",
    );
  });

  test.each([
    ["*.ts", ".hidden.ts a.ts lib/src/c.ts src/b.ts src/deep/d.ts"],
    ["*.{ts,md}", ".hidden.ts a.ts lib/src/c.ts readme.md src/b.ts src/deep/d.ts"],
    ["!*.ts", ".eslintrc.js .github/workflows/ci.yml lib/c.js readme.md src/x.js"],
    ["src/**", "src/b.ts src/deep/d.ts src/x.js"],
    ["src/", "src/b.ts src/deep/d.ts src/x.js"],
    ["./src/**", "src/b.ts src/deep/d.ts src/x.js"],
    ["/src/*.ts", "src/b.ts"],
    ["src/*", "src/b.ts src/x.js"],
    ["**/src/**", "lib/src/c.ts src/b.ts src/deep/d.ts src/x.js"],
    ["src/**/*.ts", "src/b.ts src/deep/d.ts"],
    ["!src/**", ".eslintrc.js .github/workflows/ci.yml .hidden.ts a.ts lib/c.js lib/src/c.ts readme.md"],
    ["{lib,src}/*.js", "lib/c.js src/x.js"],
    ["?.ts", "a.ts lib/src/c.ts src/b.ts src/deep/d.ts"],
    ["[ab].ts", "a.ts src/b.ts"],
    ["readme.md", "readme.md"],
    ["*", ALL],
    ["**/*", ALL],
    ["", ALL],
    [".*", ".eslintrc.js .hidden.ts"],
    [".github/**", ".github/workflows/ci.yml"],
    ["{.github,lib}/**", ".github/workflows/ci.yml lib/c.js lib/src/c.ts"],
    ["../**", ""],
    ["/etc/**", ""],
    ["-e", ""],
    ["nope/", ""],
    ["[", ""],
    ["{a", ""],
  ])("glob %j looks at %j", async (glob, expected) => {
    const tools = await searchTools({
      ...filesNamed(
        "needle\n",
        "a.ts",
        "readme.md",
        "src/b.ts",
        "src/deep/d.ts",
        "src/x.js",
        "lib/c.js",
        "lib/src/c.ts",
      ),
      ...filesNamed(
        "needle\n",
        ".hidden.ts",
        ".github/workflows/ci.yml",
        ".git/needle",
        "node_modules/m.ts",
        "src/node_modules/m.ts",
        "src/gen.min.js",
        ".eslintrc.js",
      ),
      ".gitignore": "node_modules\n*.min.js\n!.eslintrc.js\n",
    });
    expect((await pathsOf(tools, { pattern: "needle", glob })).join(" ")).toBe(expected);
  });

  test("a glob may be relative to the searched folder or to the working directory", async () => {
    const tools = await searchTools(filesNamed("needle\n", "pkg/src/a.ts", "pkg/test/b.ts", "pkg/[x]/src/c.ts"));
    expect(await pathsOf(tools, { pattern: "needle", path: "pkg", glob: "src/**" })).toEqual(["pkg/src/a.ts"]);
    expect(await pathsOf(tools, { pattern: "needle", path: "pkg", glob: "pkg/src/**" })).toEqual(["pkg/src/a.ts"]);
    expect(await pathsOf(tools, { pattern: "needle", path: "pkg/[x]", glob: "src/*.ts" })).toEqual([
      "pkg/[x]/src/c.ts",
    ]);
    expect(await pathsOf(tools, { pattern: "needle", path: "pkg", glob: "!src/**" })).toEqual([
      "pkg/[x]/src/c.ts",
      "pkg/test/b.ts",
    ]);
    expect(await pathsOf(tools, { pattern: "needle", path: "pkg", glob: "!pkg/src/**" })).toEqual([
      "pkg/[x]/src/c.ts",
      "pkg/test/b.ts",
    ]);
  });

  test("a glob that begins with an ignored folder or a link finds no more than others", async () => {
    const tools = await searchTools({ ...filesNamed("needle\n", "dist/a.js", "src/a.js"), ".gitignore": "dist/\n" });
    await symlink("dist", join(tools.folder, "link"));
    await symlink("/etc", join(tools.folder, "etc"));
    for (const glob of ["dist/**", "**/dist/**", "link/**", "link/*.js", "etc/**", "src/../dist/*"]) {
      expect(await pathsOf(tools, { pattern: "needle|root", glob })).toEqual([]);
    }
  });

  test("a glob does not exclude a file that is named", async () => {
    const tools = await searchTools(filesNamed("needle\n", "a.ts"));
    expect(await pathsOf(tools, { pattern: "needle", path: "a.ts", glob: "*.md" })).toEqual(["a.ts"]);
  });

  test("a chain of stars or braces in a glob ends in bounded time", async () => {
    const tools = await searchTools(filesNamed("needle\n", "a".repeat(250)));
    const message = /^(No matches found\.|Tool error: the glob takes too long to match: )/;
    expect(await tools.text("grep", { pattern: "needle", glob: `${"*a".repeat(40)}b` })).toMatch(message);
    expect(await tools.text("grep", { pattern: "needle", glob: `${"{a,aa}".repeat(80)}c` })).toMatch(message);
    expect(await tools.text("grep", { pattern: "needle", glob: "{a,b}{a,b}".repeat(90) })).toBe("No matches found.");
    expect(await tools.text("grep", { pattern: "needle", glob: "{".repeat(900) })).toBe("No matches found.");
  });
});

describe("context", () => {
  const TWENTY = numberedLines(20);

  test("lines around a match have -, and separate groups have -- between them", async () => {
    const tools = await searchTools({ "a.txt": TWENTY, "b.txt": TWENTY });
    expect(await tools.text("grep", { pattern: "line (3|5|12)$", path: "a.txt", context_lines: 1 })).toBe(
      [
        "a.txt-2- line 2",
        "a.txt:3: line 3",
        "a.txt-4- line 4",
        "a.txt:5: line 5",
        "a.txt-6- line 6",
        "--",
        "a.txt-11- line 11",
        "a.txt:12: line 12",
        "a.txt-13- line 13",
      ].join("\n"),
    );
    expect(await tools.text("grep", { pattern: "line (1|20)$", context_lines: 1 })).toBe(
      [
        "a.txt:1: line 1",
        "a.txt-2- line 2",
        "--",
        "a.txt-19- line 19",
        "a.txt:20: line 20",
        "--",
        "b.txt:1: line 1",
        "b.txt-2- line 2",
        "--",
        "b.txt-19- line 19",
        "b.txt:20: line 20",
      ].join("\n"),
    );
  });

  test("files are separated even without context lines", async () => {
    const tools = await searchTools({ "a.txt": "x\n", "b.txt": "x\n" });
    expect(await tools.text("grep", { pattern: "x", context_lines: 2 })).toBe("a.txt:1: x\n--\nb.txt:1: x");
    expect(await tools.text("grep", { pattern: "x" })).toBe("a.txt:1: x\nb.txt:1: x");
  });

  test("at the limit the context of the last match is whole, and the next one is not shown", async () => {
    const tools = await searchTools({
      "a.txt": TWENTY,
      "b.txt": TWENTY.replace("line 7", "line 10"),
      "c.txt": "1\n2\n3\n4\n5\nline 10\n",
    });
    const shown = async (max_results: number, pattern = "line 10$") => {
      const { lines } = await dataOfGrep(tools, { pattern, context_lines: 2, max_results });
      return lines.map(({ path, line, match }) => `${path[0]}${line}${match ? "!" : ""}`).join(" ");
    };
    expect(await shown(1)).toBe("a8 a9 a10! a11 a12");
    expect(await shown(2)).toBe("a8 a9 a10! a11 a12 b5 b6 b7! b8 b9");
    expect(await shown(3)).toBe("a8 a9 a10! a11 a12 b5 b6 b7! b8 b9 b10! b11 b12");
    expect(await shown(1, "line (2|7)$")).toBe("a1 a2! a3 a4");
    expect(await shown(1, "line (2|3)$")).toBe("a1 a2!");
  });

  test("50 lines of context, beyond the ends of the file", async () => {
    const tools = await searchTools({ "a.txt": numberedLines(30) });
    expect((await dataOfGrep(tools, { pattern: "line 15$", context_lines: 50 })).lines).toHaveLength(30);
  });
});

describe("the limit", () => {
  const STOPPED =
    "[Stopped at 100 matches; there are more. Use a narrower pattern, path or glob, or a larger max_results.]";

  test.each([
    [99, 99, false],
    [100, 100, false],
    [101, 100, true],
    [5_000, 100, true],
  ])("of %i matches %i are shown, in one file and in many", async (there, shown, stopped) => {
    const one = await searchTools({ "a.txt": "x\n".repeat(there) });
    const many = await searchTools(
      filesNamed("x\n", ...Array.from({ length: Math.min(there, 500) }, (_, index) => `d${index % 7}/f${index}.txt`)),
    );
    for (const tools of [one, many]) {
      expect(await dataOfGrep(tools, { pattern: "x" })).toMatchObject({
        matches: shown,
        stopped_at: stopped ? 100 : null,
      });
      const text = await tools.text("grep", { pattern: "x" });
      expect(text.endsWith(`\n\n${STOPPED}`)).toBe(stopped);
      expect(text.split("\n").filter((line) => line.endsWith(": x"))).toHaveLength(shown);
    }
    expect(await dataOfGrep(one, { pattern: "x", path: "a.txt" })).toMatchObject({
      matches: shown,
      stopped_at: stopped ? 100 : null,
    });
  });

  test("it may be set, from 1 to 10,000", async () => {
    const tools = await searchTools({ "a.txt": "x\n".repeat(10_001) });
    expect(await tools.text("grep", { pattern: "x", max_results: 1 })).toMatch(
      /^a\.txt:1: x\n\n\[Stopped at 1 match; there are more\./,
    );
    expect(await dataOfGrep(tools, { pattern: "x", max_results: "10000" })).toMatchObject({
      matches: 10_000,
      stopped_at: 10_000,
    });
    expect(
      await dataOfGrep(await searchTools({ "a.txt": "x\n".repeat(10_000) }), { pattern: "x", max_results: 10_000 }),
    ).toMatchObject({ matches: 10_000, stopped_at: null });
  });

  test("a result that does not fit is saved whole", async () => {
    const { text } = await searchTools({ "a.txt": `${"x".repeat(300)}\n`.repeat(400) });
    const shown = await text("grep", { pattern: "x", max_results: 400 });
    expect(Buffer.byteLength(shown)).toBeLessThan(52_000);
    const path = /Full output saved to: (output:\/\/\w+)/.exec(shown)?.[1];
    expect(await text("read", { path, offset: 400 })).toMatch(/^a\.txt:400: x{300}\n/);
  });
});

describe("order", () => {
  /** A tree on which ripgrep's threads finish in a different order nearly every time. */
  async function scattered(patience: number): Promise<Tools> {
    const files: { [path: string]: string } = {};
    for (let index = 0; index < 400; index++) {
      const folder = ["a", "a-b", "a.d", "a b", "B", "é", "🎉", "\uffee", "z/y/x"][index % 9];
      files[`${folder}/${(index * 7919) % 400}.txt`] =
        `${"filler\n".repeat(index % 50 === 0 ? 20_000 : index % 10)}needle\n`;
    }
    return searchTools(files, { patience });
  }

  test("five runs find the same in the same order, sorted or in parallel, stopped or not", async () => {
    const soon = await scattered(60_000);
    const late = await scattered(0);
    for (const max_results of [37, 400, 10_000]) {
      const input = { pattern: "needle", max_results, context_lines: 1 };
      const expected = await dataOfGrep(soon, input);
      expect(expected.matches).toBe(Math.min(max_results, 400));
      for (let run = 0; run < 5; run++) {
        expect(await dataOfGrep(late, input)).toEqual(expected);
        expect(await dataOfGrep(soon, input)).toEqual(expected);
      }
    }
    // The parallel search really has different orders; otherwise the test above proves nothing.
    const raw = () =>
      execFileSync(rgPath, ["--no-config", "--files-with-matches", "needle", late.folder], { encoding: "utf8" });
    const first = raw();
    await until("ripgrep's own order differs", () => raw() !== first);
  });

  test("on any tree, for any limit: the first matches by path and line, sorted or in parallel", async () => {
    const name = fc.stringMatching(/^[a-c.\- é🎉]{1,3}$/u).filter((text) => !/^\.|^ *$/.test(text));
    const tree = fc.dictionary(
      fc.array(name, { minLength: 1, maxLength: 3 }).map((parts) => parts.join("/")),
      fc.array(fc.constantFrom("needle", "x", "", "Needle y"), { maxLength: 4 }),
      { minKeys: 1, maxKeys: 8 },
    );
    await fc.assert(
      fc.asyncProperty(tree, fc.integer({ min: 1, max: 10 }), async (files, max_results) => {
        const made = Object.fromEntries(
          Object.entries(files).filter(([path]) => !Object.keys(files).some((other) => other.startsWith(`${path}/`))),
        );
        const contents = Object.fromEntries(Object.entries(made).map(([path, lines]) => [path, lines.join("\n")]));
        const all = Object.keys(made)
          .toSorted((one, other) =>
            Buffer.compare(Buffer.from(one.replaceAll("/", "\0")), Buffer.from(other.replaceAll("/", "\0"))),
          )
          .flatMap((path) =>
            made[path]!.flatMap((text, index) => (/needle/i.test(text) ? [`${path}:${index + 1}:${text}`] : [])),
          );
        for (const patience of [0, 60_000]) {
          const tools = await searchTools(contents, { patience });
          const { lines, stopped_at } = await dataOfGrep(tools, { pattern: "needle", max_results });
          expect(lines.map(({ path, line, text }) => `${path}:${line}:${text}`)).toEqual(all.slice(0, max_results));
          expect(stopped_at).toBe(all.length > max_results ? max_results : null);
          await tools.toolkit.close();
        }
      }),
      { numRuns: cases(12) },
    );
  });
});

describe("long lines", () => {
  const CUT = "[Long lines are cut to 500 characters; use read to see them whole.]";

  test.each([
    ["ascii", "x"],
    ["two bytes", "é"],
    ["three bytes", "文"],
    ["four bytes", "🎉"],
    ["a joined emoji", "👩‍👩‍👧‍👦"],
    ["a combining mark", "e\u0301"],
  ])("up to 500 characters are shown whole, of more the first 500: %s", async (_, unit) => {
    const characters = Array.from(unit.repeat(501));
    const tools = await searchTools({
      "a.txt": `${characters.slice(0, 500).join("")}\n`,
      "b.txt": `${characters.slice(0, 501).join("")}\r\n`,
    });
    const { lines, cut_lines } = await dataOfGrep(tools, { pattern: "." });
    expect(lines.map(({ text }) => text)).toEqual([
      characters.slice(0, 500).join(""),
      `${characters.slice(0, 500).join("")}…`,
    ]);
    expect(cut_lines).toBe(1);
    expect(await tools.text("grep", { pattern: ".", path: "a.txt" })).not.toContain("[");
    expect(await tools.text("grep", { pattern: ".", path: "b.txt" })).toMatch(
      new RegExp(`…\\n\\n${CUT.replace(/[[\]]/g, "\\$&")}$`),
    );
  });

  test("a match far to the right in a line of a megabyte is shown with its surroundings", async () => {
    const tools = await searchTools({
      "a.min.js": `${"é".repeat(500_000)}needle${"é".repeat(500_000)}\nshort\n${"y".repeat(3_000)}\n`,
    });
    const { lines, cut_lines } = await dataOfGrep(tools, { pattern: "needle", context_lines: 2 });
    expect(lines.map(({ line, text, match }) => [line, Array.from(text).length, match])).toEqual([
      [1, 501, true],
      [2, 5, false],
      [3, 501, false],
    ]);
    expect(cut_lines).toBe(2);
  });

  test("endless combining marks on one letter are cut too", async () => {
    const tools = await searchTools({ "a.txt": `needle ${"e".padEnd(400_000, "\u0301")}\nneedle 2\n` });
    const { lines } = await dataOfGrep(tools, { pattern: "needle" });
    expect(lines.map(({ text }) => Array.from(text).length)).toEqual([501, 8]);
  });

  test("a line that looks as if it had been cut is shown as it is", async () => {
    for (const line of ["needle [... omitted end of long line]", "needle [... 3 more matches]", "needle…"]) {
      expect(await (await searchTools({ "a.txt": line })).text("grep", { pattern: "needle" })).toBe(`a.txt:1: ${line}`);
    }
  });
});

describe("encodings and binary files", () => {
  test("$ and ^ match at CRLF, and no carriage return is shown", async () => {
    const tools = await searchTools({ "a.txt": "one;\r\ntwo;\r\n\r\nend;", "b.txt": "one;\ntwo\n" });
    expect(await tools.text("grep", { pattern: "e;$" })).toBe("a.txt:1: one;\nb.txt:1: one;");
    expect(await tools.text("grep", { pattern: "^$", path: "a.txt" })).toBe("a.txt:3: ");
    expect(await tools.text("grep", { pattern: "^two;?$", context_lines: 1 })).not.toContain("\r");
    expect(await pathsOf(tools, { pattern: "\\r" })).toEqual(["a.txt"]);
    expect(await pathsOf(tools, { pattern: "one;\r" })).toEqual(["a.txt"]);
    expect(await pathsOf(tools, { pattern: "\r", literal: true })).toEqual(["a.txt"]);
  });

  test("UTF-16 with a mark is searched as text; the mark of UTF-8 is not part of the first line", async () => {
    const tools = await searchTools({
      "be.txt": Buffer.from("\ufeffGrün über\r\nzwei\r\n", "utf16le").swap16(),
      "le.txt": Buffer.from("\ufeffGrün über\r\nzwei\r\n", "utf16le"),
      "utf8.txt": "\ufeffGrün über\n",
    });
    expect(await tools.text("grep", { pattern: "^grün Ü" })).toBe(
      "be.txt:1: Grün über\nle.txt:1: Grün über\nutf8.txt:1: Grün über",
    );
  });

  test("lines that are not UTF-8 are shown as Latin text", async () => {
    const tools = await searchTools({ "latin1.c": Buffer.from("/* grün */ needle\nplain needle\n", "latin1") });
    expect(await tools.text("grep", { pattern: "needle" })).toBe(
      "latin1.c:1: /* grün */ needle\nlatin1.c:2: plain needle",
    );
    expect(await tools.text("grep", { pattern: "gr.n" })).toBe("No matches found."); // a dot is one character of UTF-8
    expect(await tools.text("grep", { pattern: "gr(?-u:.)n" })).toBe("latin1.c:1: /* grün */ needle");
  });

  test.for(["off", "auto"] as const)(
    "what `read` decodes is found, with the sandbox %s: older encodings, and UTF-16 without a mark",
    async (sandbox) => {
      const text = "first line\nneedle 北京欢迎你 is here\nlast\n";
      const tools = await searchTools(
        {
          "be.txt": Buffer.from(text, "utf16le").swap16(),
          "bin.dat": Buffer.from("\0\x01needle\xff\n", "latin1"),
          "gbk.txt": iconv.encode(text, "gb18030"),
          "latin.txt": Buffer.from("needle Étude naïve\n", "latin1"),
          "le.txt": Buffer.from(text, "utf16le"),
          "sjis.txt": iconv.encode("needle これは日本語のテキストです\n", "shift_jis"),
          "utf8.txt": text,
        },
        { sandbox },
      );
      const chinese = (name: string) => `${name}:2: needle 北京欢迎你 is here`;
      expect(await tools.text("grep", { pattern: "needle" })).toBe(
        [
          ...[chinese("be.txt"), chinese("gbk.txt"), "latin.txt:1: needle Étude naïve", chinese("le.txt")],
          ...["sjis.txt:1: needle これは日本語のテキストです", chinese("utf8.txt")],
        ].join("\n"),
      );
      const found = (input: object) => pathsOf(tools, input);
      expect(await found({ pattern: "北京.迎" })).toEqual(["be.txt", "gbk.txt", "le.txt", "utf8.txt"]);
      expect(await found({ pattern: "étude", literal: true })).toEqual(["latin.txt"]);
      expect(await found({ pattern: "[日木]本" })).toEqual(["sjis.txt"]);
      expect(await found({ pattern: "needle", glob: "*e.txt" })).toEqual(["be.txt", "le.txt"]);
      expect(await found({ pattern: "京", path: "gbk.txt" })).toEqual(["gbk.txt"]);
      expect(await tools.text("grep", { pattern: "needle", max_results: 1 })).toContain("Stopped at 1 match");
    },
  );

  test("binary files are skipped, and reported when they are named", async () => {
    const tools = await searchTools({ "a.bin": Buffer.from("\0needle\n"), "z.txt": "needle\n" });
    expect(await tools.text("grep", { pattern: "needle" })).toBe("z.txt:1: needle");
    expect(await tools.text("grep", { pattern: "needle", path: "a.bin" })).toBe(
      "No matches found.\n\n[1 binary file with matches not shown.]",
    );
  });

  test("a file that turns out to be binary late ends at that line, and does not affect the next file", async () => {
    const late = Buffer.concat([
      Buffer.from("needle\n".repeat(3)),
      Buffer.from("filler\n".repeat(40_000)),
      Buffer.from("\0\nneedle\n"),
    ]);
    for (const patience of [0, 60_000]) {
      const tools = await searchTools({ "late.bin": late, "z.txt": "needle z\n", "z2.txt": "no\n" }, { patience });
      expect(await tools.text("grep", { pattern: "needle" })).toBe(
        "late.bin:1: needle\nlate.bin:2: needle\nlate.bin:3: needle\nz.txt:1: needle z\n\n[1 binary file with matches not shown.]",
      );
    }
  });
});

describe("patterns that cannot be searched for", () => {
  const HINT = "for plain text give literal: true.";

  test.each<[string, RegExp]>([
    ["(", /unclosed group/],
    ["[z-a]", /invalid character class range/],
    ["a{2,1}", /invalid repetition count range/],
    ["(?<=a)b", /look-around, including look-ahead and look-behind, is not supported/],
    ["(a)\\1", /backreferences are not supported/],
    ["\\p{Nope}", /Unicode property not found/],
    ["(x{1,1000}){1,1000}", /compiled regex exceeds size limit/i],
    ["a\\nb", /"\\n" is not allowed/],
    ["(".repeat(5_000), /nest|unclosed/],
  ])("a pattern that is none is a failure that says why: %#", async (pattern, message) => {
    const { text } = await searchTools({ "a.txt": "x\n" });
    for (const path of [".", "a.txt"]) {
      const said = await text("grep", { pattern, path });
      expect(said).toMatch(/^Tool error: the pattern cannot be searched for: /);
      expect(said).toMatch(message);
      expect(said).toContain(HINT);
      expect(said.length).toBeLessThan(2_000);
      expect(said).not.toContain("--multiline");
    }
  });

  test("a line break or a NUL in the pattern is reported at once", async () => {
    const { text } = await searchTools({ "a.txt": "a\nb\n" });
    for (const pattern of ["a\nb", "a\0b"]) {
      for (const literal of [true, false])
        expect(await text("grep", { pattern, literal })).toMatch(
          /^Tool error: the pattern contains a line break or NUL byte/,
        );
    }
  });

  test("the longest pattern works, a longer one is refused", async () => {
    const longest = "文".repeat(10_000);
    const tools = await searchTools({ "a.txt": `${longest}\n` });
    expect(await dataOfGrep(tools, { pattern: longest, literal: true })).toMatchObject({ matches: 1, cut_lines: 1 });
    expect(await tools.text("grep", { pattern: "a".repeat(200_000), literal: true })).toMatch(
      /^validation error: parameter "pattern": /,
    );
    expect(await tools.text("grep", { pattern: "(".padEnd(10_000, "文") })).toMatch(/unclosed group/);
  });

  test("a pattern with exponential backtracking in other engines is fast", async () => {
    const { text } = await searchTools({ "a.txt": `${"a".repeat(50_000)}\n` });
    expect(await text("grep", { pattern: "(a+)+$b" })).toBe("No matches found.");
    expect(await text("grep", { pattern: "(.*)(.*)(.*)(.*)(.*)x" })).toBe("No matches found.");
  });
});

describe("what is left out", () => {
  test.each([false, true])("what .gitignore says, nested and taken back (in a repository: %s)", async (inGit) => {
    const tools = await searchTools({
      ".gitignore": "*.log\n/top.txt\nbuild/\n!keep.log\n# comment\n[\n",
      "sub/.gitignore": "!special.log\nlocal.txt\n",
      ...filesNamed(
        "needle\n",
        "a.log",
        "keep.log",
        "top.txt",
        "sub/top.txt",
        "sub/a.log",
        "sub/special.log",
        "sub/local.txt",
        "local.txt",
      ),
      ...filesNamed("needle\n", "build/x.txt", "sub/build/x.txt", "build/keep.log"),
    });
    if (inGit) execFileSync("git", ["init", "--quiet", tools.folder]);
    expect(await pathsOf(tools, { pattern: "needle" })).toEqual([
      "keep.log",
      "local.txt",
      "sub/special.log",
      "sub/top.txt",
    ]);
    expect(await pathsOf(tools, { pattern: "needle", path: "sub" })).toEqual(["sub/special.log", "sub/top.txt"]);
    expect(await pathsOf(tools, { pattern: "needle", glob: "*.log" })).toEqual(["keep.log", "sub/special.log"]);
    // A named path is searched.
    expect(await pathsOf(tools, { pattern: "needle", path: "a.log" })).toEqual(["a.log"]);
    expect(await pathsOf(tools, { pattern: "needle", path: "build" })).toEqual(["build/keep.log", "build/x.txt"]);
  });

  test("git's own folder, unless it is named; no other hidden file", async () => {
    const hidden = [".config", ".dir/.c", ".dir/a.txt", ".env.example"];
    const tools = await searchTools(filesNamed("needle\n", ...hidden, "sub/.b.txt", "seen.txt", ".git/x", ".env"));
    expect(await pathsOf(tools, { pattern: "needle" })).toEqual([...hidden, "seen.txt", "sub/.b.txt"]);
    expect(await pathsOf(tools, { pattern: "needle", path: ".config" })).toEqual([".config"]);
    expect(await pathsOf(tools, { pattern: "needle", path: ".dir" })).toEqual([".dir/.c", ".dir/a.txt"]);
    expect(await pathsOf(tools, { pattern: "needle", glob: ".dir/*.txt" })).toEqual([".dir/a.txt"]);
    expect(await pathsOf(tools, { pattern: "needle", glob: ".env*" })).toEqual([".env.example"]);
    expect(await pathsOf(tools, { pattern: "needle", glob: ".git/*" })).toEqual([".git/x"]);
    expect(await pathsOf(tools, { pattern: "needle", glob: "*.txt" })).toEqual([
      ".dir/a.txt",
      "seen.txt",
      "sub/.b.txt",
    ]);
  });

  test("sensitive files, which are counted and searched when they are named", async () => {
    const tools = await searchTools(
      filesNamed(
        "needle\nneedle\n",
        "server.pem",
        "conf/credentials.json",
        "z.txt",
        ".env",
        ".aws/config",
        "conf/id_rsa",
      ),
    );
    for (const patience of [0, 60_000]) {
      const again = { ...(await searchTools({}, { workDir: tools.folder, patience })), folder: tools.folder };
      expect(await again.text("grep", { pattern: "needle" })).toBe(
        "z.txt:1: needle\nz.txt:2: needle\n\n[5 sensitive files with matches left out; name one as path to search it.]",
      );
    }
    expect(await dataOfGrep(tools, { pattern: "nothing" })).toMatchObject({ sensitive_files: 0 });
    expect(await tools.text("grep", { pattern: "needle", path: "conf" })).toMatch(
      /^No matches found\.\n\n\[2 sensitive files/,
    );
    expect(await tools.text("grep", { pattern: "needle", glob: "*.pem" })).toMatch(
      /^No matches found\.\n\n\[1 sensitive file with matches left out/,
    );
    expect(await tools.text("grep", { pattern: "needle", glob: ".env" })).toMatch(
      /^No matches found\.\n\n\[1 sensitive file /,
    );
    for (const path of ["server.pem", "conf/credentials.json", ".env", ".aws", ".aws/config"]) {
      expect(await tools.text("grep", { pattern: "needle", path })).toMatch(/requires approval/);
    }
    const approved = await searchTools({}, { workDir: tools.folder, approver: async () => ({ answer: "once" }) });
    expect(await pathsOf(approved, { pattern: "needle", path: "server.pem" })).toEqual(["server.pem"]);
    expect(await pathsOf(approved, { pattern: "needle", path: "conf/credentials.json" })).toEqual([
      "conf/credentials.json",
    ]);
    expect(await pathsOf(approved, { pattern: "needle", path: ".aws" })).toEqual([".aws/config"]);
  });

  test("sensitive files do not use up the limit", async () => {
    const tools = await searchTools({ "a.pem": "needle\n".repeat(500), "b.txt": "needle\n" });
    expect(await dataOfGrep(tools, { pattern: "needle", max_results: 1 })).toMatchObject({
      matches: 1,
      stopped_at: null,
      sensitive_files: 1,
    });
  });

  test("links are not followed, inside the workspace or out of it; FIFOs do not block", async () => {
    const { folder, outside, ...place } = await layout().then((made) => ({ ...made, folder: made.workDir }));
    await place.file("in/a.txt", "secret within\n");
    await place.link("out", outside);
    await place.link("out.txt", join(outside, "secret.txt"));
    await place.link("loop/loop", "..");
    execFileSync("mkfifo", [join(folder, "in/pipe")]);
    const toolkit = await place.toolkit({
      tools: [grep(), find(), read()],
      policy: { forbiddenPaths: place.forbiddenPaths },
    });
    const text = async (input: object) => asText(await toolkit.call({ name: "grep", input }));
    expect(await text({ pattern: "secret" })).toBe("in/a.txt:1: secret within");
    for (const path of ["out", "out.txt", "../../outside", outside, join(outside, "secret.txt")]) {
      expect(await text({ pattern: "secret", path })).toMatch(
        /^Path not allowed by security policy: .* outside the workspace/,
      );
    }
    expect(await text({ pattern: "secret", path: "in/pipe" })).toBe(
      "Tool error: This is neither a file nor a folder: in/pipe",
    );
    expect(await text({ pattern: "root", path: "/etc/passwd" })).toMatch(
      /^Path (blocked|not allowed) by security policy/,
    );
  });
});

describe("paths", () => {
  test("a folder or a file, absolute or relative, or a link within", async () => {
    const tools = await searchTools(filesNamed("needle\n", "sub/a.txt", "b.txt"));
    await symlink("sub", join(tools.folder, "link"));
    for (const path of ["sub", "./sub/", "sub/../sub", join(tools.folder, "sub"), "link", "sub/a.txt", "link/a.txt"]) {
      expect(await tools.text("grep", { pattern: "needle", path })).toBe("sub/a.txt:1: needle");
    }
  });

  test("a missing path is reported", async () => {
    const { text } = await searchTools();
    expect(await text("grep", { pattern: "x", path: "missing" })).toBe(
      'Tool error: File not found: missing\nLook for it with find: {"pattern":"missing"}.',
    );
  });

  test("a folder outside that is allowed shows whole paths, and takes globs", async () => {
    const place = await layout();
    const toolkit = await place.toolkit({
      tools: [grep()],
      policy: { autonomy: "full", allowedRoots: [place.outside] },
    });
    await place.file(join(place.outside, "src/a.ts"), "needle\n");
    const paths = async (glob: string) => {
      const result = await toolkit.call({ name: "grep", input: { pattern: "needle", path: place.outside, glob } });
      return asText(result);
    };
    for (const glob of ["", "*.ts", "src/**", "**/*.ts"])
      expect(await paths(glob)).toBe(`${place.outside}/src/a.ts:1: needle`);
    expect(await paths("lib/**")).toBe("No matches found.");
  });

  test("a saved output is searched by its name", async () => {
    const { folder, ...tools } = await searchTools({ "a.txt": numberedLines(3_000) });
    const path = /output:\/\/\w+/.exec(await tools.text("grep", { pattern: "line", max_results: 3_000 }))?.[0];
    expect(await tools.text("grep", { pattern: "line 2999$", path, context_lines: 1 })).toBe(
      `${path}-2998- a.txt:2998: line 2998\n${path}:2999: a.txt:2999: line 2999\n${path}-3000- a.txt:3000: line 3000`,
    );
    expect(await dataOfGrep({ folder, ...tools }, { pattern: "line", path })).toMatchObject({
      matches: 100,
      stopped_at: 100,
    });
    expect(await tools.text("grep", { pattern: "(", path })).toMatch(
      /^Tool error: the pattern cannot be searched for: /,
    );
    expect(await tools.text("grep", { pattern: "nothing", path })).toBe("No matches found.");
  });

  test("a saved output with any bytes is searched too, and a missing one is reported", async () => {
    const saves = defineTool({
      name: "saves",
      description: "Saves bytes",
      input: Type.Object({}),
      touches: [],
      effects: () => [],
      run: (_, { outputs }) =>
        outputs.save(
          Buffer.concat([
            Buffer.from("a\0needle 1\n"),
            Buffer.of(0xff),
            Buffer.from(" needle 2\r\n"),
            Buffer.alloc(3_000_000, "x"),
            Buffer.from("\nneedle é"),
          ]),
        ),
    });
    const tools = await searchTools({}, { tools: [grep(), saves] });
    const { toolkit, text } = tools;
    const saved = `output://${await dataOf<string>(tools, "saves", {})}`;
    expect(await text("grep", { pattern: "needle", path: saved, glob: "*.ts" })).toBe(
      `${saved}:1: a\ufffdneedle 1\n${saved}:2: \ufffd needle 2\n${saved}:4: needle é`,
    );
    expect(await dataOfGrep(tools, { pattern: "needle|x$", path: saved, max_results: 2 })).toMatchObject({
      matches: 2,
      stopped_at: 2,
    });
    for (const path of ["output://missing", "output://", "output://../../etc/passwd"]) {
      expect(await text("grep", { pattern: "x", path })).toMatch(/^Tool error: no saved output /);
    }
    expect((await toolkit.call({ name: "grep", input: { pattern: "x" } })).status).toBe("ok");
  });
});

describe("the surroundings have no effect", () => {
  test("no configuration of ripgrep, the user's or the project's, and no ignore files but git's", async () => {
    const place = await layout();
    for (const file of ["a.txt", "b.md", "deep/c.txt"]) await place.file(file, "needle\n");
    await place.file(".ripgreprc", "--files-with-matches\n--glob=!*.txt\n");
    await place.file(".ignore", "*.md\n");
    await place.file(".rgignore", "*.txt\n");
    await place.file(join(place.home, ".ripgreprc"), "--glob=!*.txt\n");
    await place.file(join(place.home, ".config/ripgrep/config"), "--glob=!*.txt\n");
    const toolkit = await place.toolkit({ tools: [grep()], policy: { autonomy: "full" } });
    vi.stubEnv("RIPGREP_CONFIG_PATH", join(place.workDir, ".ripgreprc"));
    expect(asText(await toolkit.call({ name: "grep", input: { pattern: "needle" } }))).toBe(
      "a.txt:1: needle\nb.md:1: needle\ndeep/c.txt:1: needle",
    );
  });

  test("no git configuration of the user's", async () => {
    const place = await layout();
    execFileSync("git", ["init", "--quiet", place.workDir]);
    await place.file("a.txt", "needle\n");
    await place.file(join(place.home, ".config/git/ignore"), "*.txt\n");
    await place.file(join(place.home, ".gitconfig"), `[core]\n\texcludesFile = ${place.home}/.config/git/ignore\n`);
    vi.stubEnv("XDG_CONFIG_HOME", join(place.home, ".config"));
    const toolkit = await place.toolkit({ tools: [grep()], policy: { autonomy: "full" } });
    expect(asText(await toolkit.call({ name: "grep", input: { pattern: "needle" } }))).toBe("a.txt:1: needle");
  });
});

describe("when things go wrong", () => {
  test.each([0, 60_000])(
    "a search of a large tree that is stopped leaves no process behind (patience %i)",
    async (patience) => {
      const tools = await searchTools(
        { "big.txt": "lorem ipsum dolor sit amet consetetur \n".repeat(500_000) },
        { patience },
      );
      for (let index = 0; index < 300; index++)
        await link(join(tools.folder, "big.txt"), join(tools.folder, `${index}.txt`));
      const stop = new AbortController();
      const call = tools.toolkit.call({ name: "grep", input: { pattern: "(.*\\w){20}\\d$" } }, { signal: stop.signal });
      await until("ripgrep runs", () => processesNaming(tools.folder).length > 0);
      stop.abort();
      expect((await call).status).toBe("aborted");
      expect(processesNaming(tools.folder)).toEqual([]);
    },
  );

  test("closing the toolkit stops a search too", async () => {
    const tools = await searchTools({ "big.txt": "lorem ipsum dolor sit amet consetetur \n".repeat(500_000) });
    for (let index = 0; index < 300; index++)
      await link(join(tools.folder, "big.txt"), join(tools.folder, `${index}.txt`));
    const call = tools.call("grep", { pattern: "(.*\\w){20}\\d$" });
    await until("ripgrep runs", () => processesNaming(tools.folder).length > 0);
    await tools.toolkit.close();
    expect((await call).status).toBe("aborted");
    expect(processesNaming(tools.folder)).toEqual([]);
  });

  test("many searches at once do not affect each other", async () => {
    const tools = await searchTools(
      Object.fromEntries(Array.from({ length: 100 }, (_, index) => [`f${index}.txt`, `needle ${index}\n`])),
    );
    const found = await Promise.all(
      Array.from({ length: 20 }, (_, index) => tools.text("grep", { pattern: `needle ${index}$` })),
    );
    expect(found).toEqual(Array.from({ length: 20 }, (_, index) => `f${index}.txt:1: needle ${index}`));
  });

  test("a file that goes away while others are searched is no failure", async () => {
    const slow = "lorem ipsum dolor sit amet consetetur \n".repeat(500_000);
    const files = { "a.txt": "needle 1\n", "b.txt": slow, "z.txt": "needle 1\n" };
    const tools = await searchTools(files, { patience: 60_000 });
    for (let index = 0; index < 4; index++)
      await link(join(tools.folder, "b.txt"), join(tools.folder, `b${index}.txt`));
    const found = dataOfGrep(tools, { pattern: "(.*\\w){20}\\d$|^needle" });
    await until("the first files are read", () => openFilesOf(tools.folder).some((path) => /b\d*\.txt$/.test(path)));
    await rm(join(tools.folder, "z.txt"));
    const { lines, complaints } = await found;
    expect(lines.map(({ path }) => path)).toEqual(["a.txt"]);
    expect(complaints).toBe("z.txt: No such file or directory");
  });

  mustBeHere("what permissions forbid", permissionsUntested);
  test.skipIf(permissionsUntested !== undefined)(
    "what may not be read is reported, and the rest is found",
    async () => {
      const place = await layout();
      vi.stubEnv("XDG_CONFIG_HOME", place.home);
      for (const file of ["a.txt", "locked/b.txt", "c.txt", "d/e.txt"]) await place.file(file, "needle\n");
      chmodSync(join(place.workDir, "locked"), 0);
      chmodSync(join(place.workDir, "c.txt"), 0);
      const text = (input: object) => textForBound("grep", input, place);
      expect(text({ pattern: "needle" })).toBe(
        "a.txt:1: needle\nd/e.txt:1: needle\n\n[Not everything could be searched: c.txt: Permission denied; locked: Permission denied]",
      );
      expect(text({ pattern: "needle", path: "c.txt" })).toMatch(/c\.txt: Permission denied/);
      mkdirSync(join(place.workDir, "many"));
      for (let index = 0; index < 9; index++) mkdirSync(join(place.workDir, "many", `n${index}`), 0);
      expect(text({ pattern: "x", path: "many" })).toBe(
        "No matches found.\n\n[Not everything could be searched: many/n0: Permission denied; many/n1: Permission denied; many/n2: Permission denied; and 6 more]",
      );
      for (const path of ["locked", "c.txt", ...Array.from({ length: 9 }, (_, index) => `many/n${index}`)])
        chmodSync(join(place.workDir, path), 0o700);
    },
  );
});

describe("files that a .gitignore ignores", () => {
  const files = {
    ".gitignore": "scripts/*\n",
    "scripts/a.py": "needle\n",
    "venv/.gitignore": "*\n",
    "venv/lib/b.py": "needle\n",
    "src/c.py": "other\n",
  };
  test.each([
    ["a folder that was named is searched", { path: "scripts" }, "scripts/a.py:1: needle"],
    ["a folder that was named in an ignored one is searched", { path: "venv/lib" }, "venv/lib/b.py:1: needle"],
    ["elsewhere those with matches are counted", {}, "[2 files that a .gitignore ignores left out;"],
    ["those that a glob means are counted", { glob: "scripts/*.py" }, "[1 file that a .gitignore ignores left out;"],
    [
      "they are counted where another file matches too",
      { pattern: "needle|other" },
      /^src\/c\.py:1: other\n\n\[.*iles that a \.gitignore ignores/,
    ],
  ])("%s", async (_, input, shown) => {
    const { text } = await searchTools(files);
    const found = await text("grep", { pattern: "needle", ...input });
    if (typeof shown === "string") expect(found).toContain(shown);
    else expect(found).toMatch(shown); // at a high load they may not be counted in time
  });

  test("find does the same, and says nothing where there is nothing", async () => {
    const { text } = await searchTools(files);
    expect(await text("find", { pattern: "*.py", path: "scripts" })).toMatch(
      /^scripts\/a.py\n\n\[A .gitignore ignores all/,
    );
    expect(await text("find", { pattern: "a.py" })).toContain("[1 file that a .gitignore ignores left out;");
    expect(await text("find", { pattern: "*.py" })).toMatch(/^src\/c\.py\n\n\[.*iles that a \.gitignore ignores/);
    expect(await text("find", { pattern: "none.py" })).toBe("Nothing found.");
    expect(await text("grep", { pattern: "none" })).toBe("No matches found.");
  });

  test("a workspace that a folder above ignores is searched", async () => {
    const above = await workspace({ ".gitignore": "*\n", "ws/a.py": "needle\n" });
    const { text } = await searchTools({}, { workDir: join(above, "ws") });
    expect(await text("grep", { pattern: "needle" })).toContain("a.py:1: needle");
    expect(await text("find", { pattern: "*.py" })).toContain("a.py");
  });
});

test.each([3_000, 300_000])("a match after %i characters of a line is shown with its surroundings", async (far) => {
  const { text } = await searchTools({
    "min.js": `${"x".repeat(far)}(NEEDLE)${"y".repeat(3_000)}\nshort NEEDLE\nNEEDLE${"z".repeat(3_000)}\n`,
  });
  for (const input of [
    { pattern: "needle" },
    { pattern: "(NEEDLE", literal: true },
    { pattern: "NEEDLE", path: "min.js" },
  ])
    expect(await text("grep", input)).toMatch(/^min.js:1: …x{50,}\(NEEDLE\)?y{50,}…$/m);
  expect(await text("grep", { pattern: "needle" })).toMatch(/^min.js:3: NEEDLEz{400,}…$/m);
});
