import { execFileSync, spawnSync } from "node:child_process";
import { chmodSync, mkdirSync, writeFileSync } from "node:fs";
import { mkdir, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import fc from "fast-check";
import picomatch from "picomatch";
import { afterEach, describe, expect, test, vi } from "vitest";
import { asText } from "../../src/core/call/result.ts";
import { find } from "../../src/tools/find.ts";
import { cases } from "../support/cases.ts";
import { mustBeHere } from "../support/here.ts";
import { layout } from "../support/layout.ts";
import { until } from "../support/until.ts";
import { dataOf, filesNamed, permissionsUntested, processesNaming, searchTools, textForBound } from "./searching.ts";
import type { Tools } from "./tools.ts";

type Data = { total: number; sensitive_files: number; complaints: string; paths: readonly string[] };

const dataOfFind = (tools: Tools, input: object) => dataOf<Data>(tools, "find", input);
const pathsOf = async (tools: Tools, input: object) => (await dataOfFind(tools, input)).paths.join(" ");

afterEach(() => vi.unstubAllEnvs());

const TREE = filesNamed(
  "",
  "a.ts",
  "readme.md",
  "src/b.ts",
  "src/deep/d.test.ts",
  "src/x.js",
  "lib/c.js",
  "lib/src/c.ts",
  "Makefile",
);

describe("what is found", () => {
  test("everything, sorted by path, folders with a slash at the end", async () => {
    const tools = await searchTools(TREE);
    expect(await tools.text("find", {})).toBe(
      [
        "Makefile",
        "a.ts",
        "lib/",
        "lib/c.js",
        "lib/src/",
        "lib/src/c.ts",
        "readme.md",
        "src/",
        "src/b.ts",
        "src/deep/",
        "src/deep/d.test.ts",
        "src/x.js",
      ].join("\n"),
    );
    expect(await dataOfFind(tools, { pattern: "x.js" })).toEqual({
      total: 1,
      sensitive_files: 0,
      left_out: [],
      complaints: "",
      paths: ["src/x.js"],
    });
  });

  test.each([
    ["*.ts", "a.ts lib/src/c.ts src/b.ts src/deep/d.test.ts"],
    ["**/*.ts", "a.ts lib/src/c.ts src/b.ts src/deep/d.test.ts"],
    ["src/**/*.ts", "src/b.ts src/deep/d.test.ts"],
    ["src/**", "src/ src/b.ts src/deep/ src/deep/d.test.ts src/x.js"],
    ["src/*", "src/b.ts src/deep/ src/x.js"],
    ["./src/*.js", "src/x.js"],
    ["**/src", "lib/src/ src/"],
    ["**/src/", "lib/src/ src/"],
    ["src/", "lib/src/ src/"],
    ["sr*", "lib/src/ src/"],
    ["*.{js,md}", "lib/c.js readme.md src/x.js"],
    ["{lib,src}/*.js", "lib/c.js src/x.js"],
    ["?.ts", "a.ts lib/src/c.ts src/b.ts"],
    ["[ab].ts", "a.ts src/b.ts"],
    ["*.TS", ""],
    ["b.ts", "src/b.ts"],
    ["ME", "readme.md"],
    ["make", "Makefile"],
    [".ts", "a.ts lib/src/c.ts src/b.ts src/deep/d.test.ts"],
    ["test", "src/deep/d.test.ts"],
    ["src/", "lib/src/ src/"],
    ["lib/src", "lib/src/ lib/src/c.ts"],
    ["deep/D", "src/deep/d.test.ts"],
    [
      "*",
      "Makefile a.ts lib/ lib/c.js lib/src/ lib/src/c.ts readme.md src/ src/b.ts src/deep/ src/deep/d.test.ts src/x.js",
    ],
    [
      "**/*",
      "Makefile a.ts lib/ lib/c.js lib/src/ lib/src/c.ts readme.md src/ src/b.ts src/deep/ src/deep/d.test.ts src/x.js",
    ],
    ["-name", ""],
    ["-*", ""],
    ["*.nope", ""],
    ["[", ""],
    ["{a", ""],
  ])("pattern %j finds %j", async (pattern, expected) => {
    expect(await pathsOf(await searchTools(TREE), { pattern })).toBe(expected);
  });

  test("only files, only folders, or both", async () => {
    const tools = await searchTools(TREE);
    expect(await pathsOf(tools, { pattern: "*c*", type: "file" })).toBe("lib/c.js lib/src/c.ts");
    expect(await pathsOf(tools, { pattern: "*c*", type: "dir" })).toBe("lib/src/ src/");
    expect(await pathsOf(tools, { pattern: "*c*", type: "" })).toBe("lib/c.js lib/src/ lib/src/c.ts src/");
    expect(await pathsOf(tools, { type: "dir" })).toBe("lib/ lib/src/ src/ src/deep/");
    expect(await pathsOf(tools, { pattern: "src/", type: "file" })).toBe("");
    expect(await tools.text("find", { type: "folder" })).toMatch(
      /^validation error: parameter "type": expected one of "file", "dir", ""/,
    );
  });

  test("in a folder, with paths that can be read", async () => {
    const tools = await searchTools(TREE);
    await symlink("src", join(tools.folder, "link"));
    for (const path of ["src", "./src/", "lib/../src", join(tools.folder, "src"), "link"]) {
      expect(await pathsOf(tools, { path })).toBe("src/b.ts src/deep/ src/deep/d.test.ts src/x.js");
      expect(await pathsOf(tools, { path, pattern: "deep/*" })).toBe("src/deep/d.test.ts");
    }
    expect(await pathsOf(tools, { path: "lib", pattern: "lib/*" })).toBe("");
    expect(await pathsOf(tools, { pattern: join(tools.folder, "src/*.ts") })).toBe("src/b.ts");
  });

  test("other spellings that models use are understood", async () => {
    const tools = await searchTools(TREE);
    expect(await pathsOf(tools, { glob: "*.js", directory: "src" })).toBe("src/x.js");
    expect(await pathsOf(tools, { name: "*.js", limit: "1" })).toBe("lib/c.js");
    expect(await pathsOf(tools, { query: "x.j", maxResults: 5 })).toBe("src/x.js");
    expect((await tools.call("find_files", {})).status).toBe("ok");
  });

  test("nothing found is reported, and so is a path that is not a folder", async () => {
    const { folder, text } = await searchTools(TREE);
    expect(await text("find", { pattern: "missing" })).toBe("Nothing found.");
    await mkdir(join(folder, "empty"));
    expect(await text("find", { path: "empty" })).toBe("Nothing found.");
    expect(await text("find", { path: "missing" })).toBe(
      'Tool error: File not found: missing\nLook for it with find: {"pattern":"missing"}.',
    );
    expect(await text("find", { path: "a.ts" })).toBe("Tool error: This is not a folder: a.ts");
    expect(await text("find", { path: "" })).toMatch(/^validation error: parameter "path": /);
    expect(await text("find", { pattern: "x".repeat(1_001) })).toMatch(/^validation error: parameter "pattern": /);
  });

  test("names of all kinds", async () => {
    const names = [
      "-rf",
      "--files",
      "with space.txt",
      "'q' \"d\".txt",
      "[id].tsx",
      "{a,b}.txt",
      "ünï 文件 🎉.txt",
      "back\\slash",
      "*star*.txt",
      "!not.txt",
    ];
    const tools = await searchTools(filesNamed("", ...names));
    expect((await dataOfFind(tools, {})).paths.toSorted()).toEqual(names.toSorted());
    for (const pattern of names) expect((await dataOfFind(tools, { pattern })).paths).toContain(pattern);
    expect(await pathsOf(tools, { pattern: "ÜNÏ" })).toBe("ünï 文件 🎉.txt");
  });

  test("a name with control characters is one quoted line; names that are not UTF-8 stay distinct", async () => {
    const { folder, ...tools } = await searchTools();
    await mkdir(join(folder, "two\nlines/x\ny"), { recursive: true });
    await writeFile(join(folder, "two\nlines/\x1b[31mred.txt"), "");
    for (const last of [0xfe, 0xff]) {
      writeFileSync(Buffer.concat([Buffer.from(join(folder, "f")), Buffer.of(last)]), "");
      mkdirSync(Buffer.concat([Buffer.from(join(folder, "d")), Buffer.of(last)]));
    }
    expect((await tools.text("find", {})).split("\n")).toEqual([
      "d\ufffd/",
      "d\ufffd/",
      "f\ufffd",
      "f\ufffd",
      '"two\\nlines/"',
      '"two\\nlines/\\u001b[31mred.txt"',
      '"two\\nlines/x\\ny/"',
      "",
      "[A name with \ufffd is not UTF-8.]",
    ]);
    expect((await dataOfFind({ folder, ...tools }, { pattern: "**/*.txt" })).paths).toEqual([
      "two\nlines/\x1b[31mred.txt",
    ]);
  });

  test("a glob finds what picomatch matches, with ripgrep's own filter in front", async () => {
    const part = fc.stringMatching(/^[ab.\-é]{1,3}$/u).filter((name) => !name.startsWith("."));
    const tree = fc.uniqueArray(
      fc.array(part, { minLength: 1, maxLength: 3 }).map((parts) => parts.join("/")),
      { minLength: 1, maxLength: 8 },
    );
    const piece = fc.constantFrom("*", "a", "b", ".", "-", "?", "{a,b}", "{a.,b}", "[ab]", "/", "**/", "é");
    const glob = fc
      .array(piece, { minLength: 1, maxLength: 5 })
      .map((pieces) => pieces.join(""))
      .filter((text) => /[*?[{]/.test(text) && !/^\/|\/$|^\.|\/\.|\*\*\*|\*\*[^/]/.test(text));
    await fc.assert(
      fc.asyncProperty(tree, fc.array(glob, { minLength: 1, maxLength: 6 }), async (paths, globs) => {
        const files = paths.filter((path) => !paths.some((other) => other.startsWith(`${path}/`)));
        const folders = [
          ...new Set(
            files.flatMap((path) =>
              path
                .split("/")
                .slice(0, -1)
                .map((_, index) =>
                  path
                    .split("/")
                    .slice(0, index + 1)
                    .join("/"),
                ),
            ),
          ),
        ];
        const tools = await searchTools(filesNamed("", ...files));
        for (const pattern of globs) {
          const isMeant = picomatch(pattern, { dot: true, noextglob: true });
          const named = (path: string) => isMeant(pattern.includes("/") ? path : path.split("/").at(-1)!);
          const expected = [...files.filter(named), ...folders.filter(named).map((path) => `${path}/`)];
          expect((await dataOfFind(tools, { pattern })).paths.toSorted()).toEqual(expected.toSorted());
        }
        await tools.toolkit.close();
      }),
      { numRuns: cases(10) },
    );
  });
});

describe("order and limit", () => {
  test.each([
    [199, undefined, 199],
    [200, undefined, 200],
    [201, undefined, 200],
    [201, 201, 201],
    [201, 1, 1],
  ])("of %i, with max_results %s, %i are shown and the total is told", async (there, max_results, shown) => {
    const names = Array.from({ length: there }, (_, index) => `d${index % 5}/f${String(index).padStart(3, "0")}.txt`);
    const tools = await searchTools(filesNamed("", ...names));
    const input = { pattern: "*.txt", ...(max_results !== undefined && { max_results }) };
    const { paths, total } = await dataOfFind(tools, input);
    expect(total).toBe(there);
    expect(paths).toEqual(names.toSorted().slice(0, shown));
    const text = await tools.text("find", input);
    const notice = `\n\n[Showing ${shown} of ${there}. Use a narrower path or pattern, or a larger max_results.]`;
    expect(text.endsWith(notice)).toBe(shown < there);
    expect(text).toContain(paths.join("\n"));
  });

  test("folder by folder, as in grep, and the same ten times", async () => {
    const names = ["a/x", "a/é", "a/\uffee", "a/🎉", "a b", "a-b/x", "a-c", "a.txt", "B", "é"];
    const tools = await searchTools(filesNamed("needle\n", ...names));
    const expected = ["B", "a/", "a/x", "a/é", "a/\uffee", "a/🎉", "a b", "a-b/", "a-b/x", "a-c", "a.txt", "é"];
    for (let run = 0; run < 10; run++) expect((await dataOfFind(tools, {})).paths).toEqual(expected);
    const { lines } = await dataOf<{ lines: { path: string }[] }>(tools, "grep", { pattern: "needle" });
    expect(lines.map(({ path }) => path)).toEqual(expected.filter((path) => !path.endsWith("/")));
  });

  test("6,000 files: the first and the total", async () => {
    const tools = await searchTools();
    execFileSync(
      "bash",
      ["-c", "for d in $(seq 100 139); do mkdir d$d; (cd d$d && seq -f f%04g.h 1 150 | xargs touch); done"],
      { cwd: tools.folder },
    );
    expect(await dataOfFind(tools, { pattern: "*.h", max_results: 2 })).toMatchObject({
      total: 6_000,
      paths: ["d100/f0001.h", "d100/f0002.h"],
    });
    expect(await dataOfFind(tools, { max_results: 1 })).toMatchObject({ total: 6_040, paths: ["d100/"] });
    expect((await dataOfFind(tools, { max_results: 10_000 })).total).toBe(6_040);
    expect(await tools.text("find", { pattern: "f0150", max_results: 10_000 })).toMatch(
      /^d100\/f0150\.h\n(.*\n){38}d139\/f0150\.h$/,
    );
  });
});

describe("what is left out", () => {
  test.each([false, true])("what .gitignore says, nested and taken back (in a repository: %s)", async (inGit) => {
    const tools = await searchTools({
      ".gitignore": "*.log\n/top\nbuild/\nnode_modules\n",
      "sub/.gitignore": "!special.log\nlocal/\n",
      ...filesNamed(
        "",
        "a.log",
        "sub/special.log",
        "sub/local/x.txt",
        "build/x.txt",
        "sub/build/deep/x.txt",
        "node_modules/p/index.js",
        "keep.txt",
        "top/x.txt",
        "sub/top/x.txt",
      ),
    });
    for (const folder of [
      "empty",
      "sub/empty",
      "build/empty",
      "sub/local/empty",
      "top/empty",
      "sub/top/empty",
      "node_modules/e",
      "sub/local2",
      "local/e",
      "Build",
    ]) {
      await mkdir(join(tools.folder, folder), { recursive: true });
    }
    if (inGit) execFileSync("git", ["init", "--quiet", tools.folder]);
    const sub = "sub/.gitignore sub/empty/ sub/local2/ sub/special.log sub/top/ sub/top/empty/ sub/top/x.txt";
    expect(await pathsOf(tools, {})).toBe(`.gitignore Build/ empty/ keep.txt local/ local/e/ sub/ ${sub}`);
    expect(await pathsOf(tools, { path: "sub" })).toBe(sub);
    expect(await pathsOf(tools, { pattern: "*.log" })).toBe("sub/special.log");
    expect(await pathsOf(tools, { pattern: "*.log", type: "file" })).toBe("sub/special.log");
    expect(await pathsOf(tools, { pattern: "empty", type: "dir" })).toBe("empty/ sub/empty/ sub/top/empty/");
    expect(await pathsOf(tools, { pattern: "**/build/**" })).toBe("");
    // A named path is searched.
    expect(await pathsOf(tools, { path: "build", type: "file" })).toBe("build/x.txt");
  });

  test("rules that are taken back in the same file or in one further in", async () => {
    const tools = await searchTools({
      ".gitignore": "out*\n!out2\n/vendor/*\n!/vendor/keep\n",
      "in/.gitignore": "!out1/\n",
      ...filesNamed("", "vendor/a/x", "vendor/keep/x"),
    });
    for (const folder of ["out1", "out2", "in/out1", "in/out3", "vendor/b"])
      await mkdir(join(tools.folder, folder), { recursive: true });
    expect(await pathsOf(tools, {})).toBe(
      ".gitignore in/ in/.gitignore in/out1/ out2/ vendor/ vendor/keep/ vendor/keep/x",
    );
  });

  test("a folder with only ignored files is still listed", async () => {
    const tools = await searchTools({
      ".gitignore": "*.log\n",
      "logs/a.log": "",
      "deep/er/b.log": "",
    });
    expect(await pathsOf(tools, {})).toBe(".gitignore deep/ deep/er/ logs/");
  });

  test("files and folders are ignored as git ignores them", async () => {
    const rule = fc.constantFrom(
      "a",
      "b/",
      "/a",
      "a/b",
      "!a",
      "!b/",
      "**/b",
      "a*",
      "!/a/b",
      "*/b",
      "a/**",
      "/*",
      "!c",
      "c/**/a",
      "*.txt",
      "!b.txt",
      "a/*",
      "# a",
      "",
      "[ab]",
      "\\a",
      " ",
      "a ",
      "A",
    );
    const rules = fc.array(rule, { maxLength: 5 }).map((lines) => lines.join("\n"));
    const folder = fc
      .array(fc.constantFrom("a", "b", "c", "ab", "A"), { minLength: 1, maxLength: 3 })
      .map((parts) => parts.join("/"));
    await fc.assert(
      fc.asyncProperty(
        fc.uniqueArray(folder, { minLength: 1, maxLength: 6 }),
        rules,
        rules,
        async (folders, atTop, inA) => {
          const tools = await searchTools({
            ".gitignore": atTop,
            "a/.gitignore": inA,
            ...filesNamed("", "a.txt", "b.txt", ...folders.map((path) => `${path}/b.txt`)),
          });
          for (const path of folders) await mkdir(join(tools.folder, path, "empty"), { recursive: true });
          const git = (...args: readonly string[]) =>
            spawnSync("git", ["-C", tools.folder, ...args], { encoding: "utf8" }).stdout;
          git("init", "--quiet");
          const files = git("ls-files", "-z", "--others", "--exclude-standard")
            .split("\0")
            .filter((path) => path !== "");
          const found = async (type: "file" | "dir") => (await dataOfFind(tools, { type })).paths.toSorted();
          // What is all ignored is searched all the same, because the caller named it.
          expect(files.length === 0 ? [] : await found("file")).toEqual(files.toSorted());
          const every = [
            ...new Set(
              ["a", ...folders.map((path) => `${path}/empty`)].flatMap((path) =>
                path.split("/").map((_, index) =>
                  path
                    .split("/")
                    .slice(0, index + 1)
                    .join("/"),
                ),
              ),
            ),
          ];
          const ignored = new Set(git("check-ignore", "--no-index", ...every).split("\n"));
          const open = every.filter((path) => !ignored.has(path)).map((path) => `${path}/`);
          expect(open.length === 0 ? [] : await found("dir")).toEqual(open.toSorted());
          await tools.toolkit.close();
        },
      ),
      {
        numRuns: cases(12),
        examples: [
          [["a/a", "a"], "a/*", "!a"],
          [["a/b"], "b/", "!b/"],
        ],
      },
    );
  });

  test("a .gitignore that is unreadable, or not a file, has no effect", async () => {
    const place = await layout();
    await place.folder("a/.gitignore");
    await place.link("b/.gitignore", join(place.outside, "secret.txt"));
    await place.folder("b/secret");
    await place.file("c/.gitignore", Buffer.concat([Buffer.from("\ufeffgone\r\n[\r\n"), Buffer.alloc(600_000, "#")]));
    await place.folder("c/gone");
    execFileSync("mkfifo", [join(await place.folder("d"), ".gitignore")]);
    const toolkit = await place.toolkit({ tools: [find()], policy: { autonomy: "full" } });
    const result = await toolkit.call({ name: "find", input: { type: "dir" } });
    expect(asText(result).split("\n")).toEqual(["a/", "a/.gitignore/", "b/", "b/secret/", "c/", "d/"]);
  });

  test("git's own folder, unless the pattern names it; no other hidden name", async () => {
    const tools = await searchTools(
      filesNamed(
        "",
        ".env",
        ".env.example",
        ".github/workflows/ci.yml",
        ".github/.x",
        "src/.eslintrc.js",
        "seen.js",
        ".git/config",
        ".git/.y/z",
      ),
    );
    await mkdir(join(tools.folder, ".empty"));
    await mkdir(join(tools.folder, ".ssh"));
    const all =
      ".empty/ .env.example .github/ .github/.x .github/workflows/ .github/workflows/ci.yml seen.js src/ src/.eslintrc.js";
    for (const pattern of ["", "*", "**/*"]) expect(await pathsOf(tools, { pattern })).toBe(all);
    expect(await pathsOf(tools, { pattern: "*.js" })).toBe("seen.js src/.eslintrc.js");
    expect(await pathsOf(tools, { pattern: "workflows/" })).toBe(".github/workflows/");
    expect(await pathsOf(tools, { pattern: ".env" })).toBe(".env .env.example");
    expect(await pathsOf(tools, { pattern: ".e*" })).toBe(".empty/ .env .env.example src/.eslintrc.js");
    expect(await pathsOf(tools, { pattern: ".github/**" })).toBe(
      ".github/ .github/.x .github/workflows/ .github/workflows/ci.yml",
    );
    expect(await pathsOf(tools, { pattern: ".*" })).toBe(".empty/ .env.example .github/ .github/.x src/.eslintrc.js");
    expect(await pathsOf(tools, { path: ".github" })).toBe(".github/.x .github/workflows/ .github/workflows/ci.yml");
    expect(await pathsOf(tools, { pattern: ".git/config" })).toBe(".git/config");
    expect(await pathsOf(tools, { pattern: "config" })).toBe("");
  });

  test("a hidden name that .gitignore ignores, unless negated", async () => {
    const tools = await searchTools({
      ".gitignore": ".*\n!.keep\n!.github\n",
      ...filesNamed("", ".keep", ".other", ".github/a", "a"),
    });
    expect(await pathsOf(tools, {})).toBe(".github/ .github/a .keep a");
    expect(await pathsOf(tools, { pattern: ".other" })).toBe("");
  });

  test("sensitive files are omitted and counted, unless a pattern names them", async () => {
    const tools = await searchTools(filesNamed("", "server.pem", "conf/credentials.json", "a.txt"));
    expect(await tools.text("find", {})).toBe(
      "a.txt\nconf/\n\n[2 sensitive files left out; name one in the pattern to see it.]",
    );
    expect(await tools.text("find", { pattern: "*.pem" })).toBe("server.pem");
    expect(await tools.text("find", { pattern: "credentials" })).toBe("conf/credentials.json");
    expect(await dataOfFind(tools, { type: "dir" })).toMatchObject({ paths: ["conf/"], sensitive_files: 0 });
  });

  test("links are found by name, and not followed", async () => {
    const place = await layout();
    await place.file("real/a.txt");
    await place.link("to-folder", "real");
    await place.link("to-outside", place.outside);
    await place.link("to-nothing", "missing");
    await place.link("real/loop", "..");
    await place.link(".hidden", "real");
    await place.file(".gitignore", "ignored\n");
    await place.link("ignored", "real");
    const toolkit = await place.toolkit({
      tools: [find()],
      policy: { autonomy: "full", forbiddenPaths: place.forbiddenPaths },
    });
    const text = async (input: object) => asText(await toolkit.call({ name: "find", input }));
    expect(await text({})).toMatch(
      /^\.gitignore\n\.hidden\nreal\/\nreal\/a\.txt\nreal\/loop\nto-folder\nto-nothing\nto-outside(\n\n\[1 file that .*\])?$/,
    );
    expect(await text({ pattern: "to-*" })).toBe("to-folder\nto-nothing\nto-outside");
    expect(await text({ pattern: "to-*", type: "file" })).toBe("Nothing found.");
    expect(await text({ pattern: "secret.txt" })).toBe("Nothing found.");
    expect(await text({ path: "to-outside" })).toMatch(
      /^Path not allowed by security policy: .* outside the workspace/,
    );
  });
});

describe("nothing outside", () => {
  test.each([
    "../**/*",
    "../*",
    "/etc/**",
    "/etc/passwd",
    "..",
    "../outside/secret.txt",
    "**/../**",
    "src/../../**",
    "{..,x}/*",
    "[.][.]/*",
    "~/**",
    "\\.\\./*",
    "./../../**",
  ])("pattern %j", async (pattern) => {
    const place = await layout();
    await place.file("in.txt");
    const toolkit = await place.toolkit({ tools: [find()], policy: { autonomy: "full" } });
    const result = await toolkit.call({ name: "find", input: { pattern } });
    expect(result.status).toBe("ok");
    expect(asText(result)).toMatch(/^(Nothing found\.|in\.txt)$/);
  });

  test("a path outside is refused by the policy", async () => {
    const place = await layout();
    const toolkit = await place.toolkit({
      tools: [find()],
      policy: { autonomy: "full", forbiddenPaths: place.forbiddenPaths },
    });
    for (const path of ["..", "../../outside", place.outside, "/", "~"]) {
      expect(asText(await toolkit.call({ name: "find", input: { path } }))).toMatch(
        /^Path (blocked|not allowed) by security policy/,
      );
    }
  });

  test("a folder outside that is allowed shows whole paths", async () => {
    const place = await layout();
    const toolkit = await place.toolkit({
      tools: [find()],
      policy: { autonomy: "full", allowedRoots: [place.outside] },
    });
    await place.folder(join(place.outside, "empty"));
    expect(asText(await toolkit.call({ name: "find", input: { path: place.outside } }))).toBe(
      `${place.outside}/empty/\n${place.outside}/secret.txt`,
    );
  });
});

describe("when things go wrong", () => {
  test("a long chain of stars or braces ends in bounded time", async () => {
    const tools = await searchTools(filesNamed("", "a".repeat(250), `${"a/".repeat(60)}a`));
    const TOO_LONG = /^Tool error: the glob takes too long to match: /;
    for (const end of ["b", "[b]"]) {
      const ended = end === "b" ? /^Nothing found\.$/ : TOO_LONG; // ripgrep excludes the first beforehand
      expect(await tools.text("find", { pattern: `${"*a".repeat(40)}${end}` })).toMatch(ended);
      expect(await tools.text("find", { pattern: `${"{a,aa}".repeat(80)}${end}` })).toMatch(ended);
    }
    expect(await tools.text("find", { pattern: `${"**/a/".repeat(30)}b` })).toMatch(
      /^(Nothing found\.|Tool error: the glob takes too long)/,
    );
    expect(await tools.text("find", { pattern: "{a,b}{a,b}".repeat(90) })).toBe("Nothing found.");
    expect(await tools.text("find", { pattern: "{1..100000000}" })).toMatch(/^(Nothing found\.|a)/);
    expect(await tools.text("find", { pattern: "{{{{a,b},c},d},e}".repeat(20) })).toBe("Nothing found.");
    expect(await tools.text("find", { pattern: "[".repeat(900) })).toBe("Nothing found.");
    expect(await pathsOf(tools, { pattern: "*a*a*" })).toContain("a".repeat(250));
  });

  test("a stopped search leaves no process", async () => {
    const tools = await searchTools();
    execFileSync("bash", ["-c", "for d in $(seq 1 40); do mkdir d$d; (cd d$d && seq 1 100 | xargs touch); done"], {
      cwd: tools.folder,
    });
    for (let run = 0; run < 3; run++) {
      const stop = new AbortController();
      const call = tools.toolkit.call({ name: "find", input: {} }, { signal: stop.signal });
      let isOver = false;
      void call.finally(() => (isOver = true));
      await until("one of them runs, or it is over", () => isOver || processesNaming(tools.folder).length > 0);
      stop.abort();
      expect(["aborted", "ok"]).toContain((await call).status);
      expect(processesNaming(tools.folder)).toEqual([]);
    }
  });

  test("configuration and ignore files of the user's have no effect, nor those of other tools", async () => {
    const place = await layout();
    execFileSync("git", ["init", "--quiet", place.workDir]);
    await place.file("a.txt");
    await place.folder("empty.txt");
    for (const file of [
      ".ignore",
      ".rgignore",
      ".fdignore",
      join(place.home, ".ripgreprc"),
      join(place.home, ".config/git/ignore"),
    ])
      await place.file(file, "*.txt\n");
    await place.file(join(place.home, ".gitconfig"), `[core]\n\texcludesFile = ${place.home}/.config/git/ignore\n`);
    vi.stubEnv("RIPGREP_CONFIG_PATH", join(place.home, ".ripgreprc"));
    vi.stubEnv("XDG_CONFIG_HOME", join(place.home, ".config"));
    const toolkit = await place.toolkit({ tools: [find()], policy: { autonomy: "full" } });
    expect(asText(await toolkit.call({ name: "find", input: {} }))).toBe(
      ".fdignore\n.ignore\n.rgignore\na.txt\nempty.txt/",
    );
  });

  mustBeHere("what permissions forbid", permissionsUntested);
  test.skipIf(permissionsUntested !== undefined)(
    "what may not be read is reported, and the rest is found",
    async () => {
      const place = await layout();
      vi.stubEnv("XDG_CONFIG_HOME", place.home);
      for (const file of ["a.txt", "locked/b.txt", "c.txt"]) await place.file(file);
      chmodSync(join(place.workDir, "locked"), 0);
      chmodSync(join(place.workDir, "c.txt"), 0);
      const text = (input: object) => textForBound("find", input, place);
      const NOTICE = "\n\n[Not everything could be searched: locked: Permission denied]";
      expect(text({})).toBe(`a.txt\nc.txt\nlocked/${NOTICE}`);
      expect(text({ type: "dir" })).toBe(`locked/${NOTICE}`);
      expect(text({ type: "file" })).toBe(`a.txt\nc.txt${NOTICE}`);
      chmodSync(join(place.workDir, "locked"), 0o700);
    },
  );
});
