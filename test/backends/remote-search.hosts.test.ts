import { chmod, mkdir, readFile, readdir, rm, stat, symlink, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { type SearchWay, searchWay } from "../../src/backends/remote/helper.ts";
import { isStatic, ourRipgrepFor } from "../../src/backends/remote/search/our-ripgrep.ts";
import { putThere } from "../../src/backends/remote/search/put-there.ts";
import type { Backend, Process } from "../../src/contract/backend.ts";
import { asText } from "../../src/engine/result.ts";
import { find } from "../../src/tools/find.ts";
import { grep } from "../../src/tools/grep.ts";
import { RIPGREP_ARGUMENTS } from "../../src/tools/shared/ripgrep.ts";
import { mustBeHere, programProblem } from "../support/here.ts";
import { temporaryFolder, toolkitWith, workspace } from "../support/workspace.ts";
import { type System, backendThere, shellsThere } from "./search-there.ts";

/** The tools grep and find on a folder, as a model calls them. */
async function tools(on: { workDir: string } | { backend: Backend }) {
  const toolkit = await toolkitWith({
    ...on,
    tools: [grep({ patience: 60_000 }), find()],
    policy: { autonomy: "full" },
  });
  return async (name: string, input: unknown) => asText(await toolkit.call({ name, input }));
}

const SEARCH = [...RIPGREP_ARGUMENTS, "--with-filename", "--line-number", "--no-heading", "--no-context-separator"];

const latin1 = (text: string) => Buffer.from(text, "latin1");

/** Files that are read in more than one way. */
async function oddTree(): Promise<string> {
  const root = await workspace({
    "a.txt": "needle one\nhay\nNeedle two\nhay\nhay\nhay\nneedle three\n",
    "a/b.txt": "in a folder: needle\n",
    "a-b.txt": "beside it: needle\n",
    "src/main.ts": "const needle = 1;\nexport { needle };\n",
    "src/deep/er/x.ts": "needle\n",
    "crlf.txt": "first\r\nneedle\r\nlast needle\r\n",
    "no-end.txt": "hay\nneedle without an end",
    "empty.txt": "",
    "bom.txt": "\ufeffneedle first\nneedle\n",
    "latin.txt": latin1("caf\xe9 needle\nna\xefve\n"),
    "utf8.txt": "naïve café needle\nстрока Needle\n𝒳 needle 日本\n",
    "binary.bin": Buffer.from("needle\0\nneedle\n"),
    "late.bin": Buffer.from(`needle\n${"hay hay hay\n".repeat(8_000)}\0\nneedle\n`),
    "long.txt": `${"x".repeat(3_000)} needle ${"é".repeat(3_000)}\nneedle ${"é".repeat(1_999)}\n`,
    "many.txt": "needle\n".repeat(300),
    "mixed.txt": "one\rneedle two\rthree\nneedle\rneedle\n",
    ".hidden": "needle\n",
    ".config/x.txt": "needle\n",
    ".git/HEAD": "needle\n",
    ".git/info/exclude": "excluded.txt\n",
    "excluded.txt": "needle\n",
    ".gitignore": "ignored*\n!ignored-not.txt\nbuild/\n/only-top.txt\n*.log\n",
    "ignored.txt": "needle\n",
    "ignored-not.txt": "needle\n",
    "build/out.txt": "needle\n",
    "src/build/out.txt": "needle\n",
    "only-top.txt": "needle\n",
    "src/only-top.txt": "needle\n",
    "src/.gitignore": "deep/**/*.ts\n!keep.log\n",
    "src/keep.log": "needle\n",
    "src/drop.log": "needle\n",
    "node_modules/m/i.js": "needle\n",
    "sub/.git/HEAD": "x\n",
    "sub/.git/info/exclude": "mine.txt\n",
    "sub/mine.txt": "needle\n",
    "sub/other.txt": "needle\n",
    "-e.txt": "needle\n",
    'it\'s $(odd) `name` "q".txt': "needle\n",
    "two\nlines.txt": "needle in two\n",
    "trailing\n": "needle\n",
    "[id].tsx": "needle\n",
    "{a,b}.txt": "needle\n",
    "back\\slash.txt": "needle\n",
    "ünïcode/é.txt": "needle\n",
    "words.txt": "foo bar\nfoobar\nfoo_bar\n12 34\n\nfoo.bar\nFOO\n  indented\n\tTab\na+b (c) [d] {e} ^f$ |g\\\n",
  });
  const at = (name: Buffer | string) =>
    Buffer.concat([Buffer.from(`${root}/`), typeof name === "string" ? Buffer.from(name) : name]);
  await writeFile(at(latin1("lat\xedn.txt")), "needle in latin\n");
  await mkdir(at(latin1("f\xf6lder")));
  await writeFile(at(latin1("f\xf6lder/x.txt")), "needle\n");
  await symlink("a.txt", join(root, "link.txt"));
  await symlink("src", join(root, "link-to-folder"));
  await symlink("nowhere", join(root, "broken"));
  return root;
}

const GREPS: readonly object[] = [
  { pattern: "needle" },
  { pattern: "needle", max_results: 5 },
  { pattern: "needle", max_results: 1_000 },
  { pattern: "Needle", case_sensitive: true },
  { pattern: "needle", context_lines: 2, max_results: 1_000 },
  { pattern: "^needle", context_lines: 1, max_results: 1_000 },
  { pattern: "needle$", max_results: 1_000 },
  { pattern: "^$", path: "words.txt" },
  { pattern: "^", path: "mixed.txt" },
  { pattern: "$", path: "crlf.txt" },
  { pattern: "needle", glob: "*.ts" },
  { pattern: "needle", glob: "*.{ts,txt}", max_results: 1_000 },
  { pattern: "needle", glob: "src/**", max_results: 1_000 },
  { pattern: "needle", glob: "!*.txt" },
  { pattern: "needle", glob: ".hidden" },
  { pattern: "needle", glob: ".git/**" },
  { pattern: "needle", glob: "{a,b}.txt" },
  { pattern: "needle", path: "src" },
  { pattern: "needle", path: "build" },
  { pattern: "needle", path: "sub" },
  { pattern: "needle", path: ".config" },
  { pattern: "needle", path: "binary.bin" },
  { pattern: "needle", path: "late.bin" },
  { pattern: "hay", path: "late.bin", max_results: 2 },
  { pattern: "needle", path: "link.txt" },
  { pattern: "needle", path: "-e.txt" },
  { pattern: "needle", path: "two\nlines.txt" },
  { pattern: String.raw`\bfoo\b` },
  { pattern: String.raw`\bfoo\b`, context_lines: 1 },
  { pattern: String.raw`foo\Bbar` },
  { pattern: String.raw`\d+ \d+` },
  { pattern: String.raw`^\s+\w` },
  { pattern: String.raw`na\wve` },
  { pattern: "na.ve" },
  { pattern: "caf.$" },
  { pattern: "НЕЕ|СТРОКА" },
  { pattern: String.raw`\p{Greek}|\p{Cyrillic}+` },
  { pattern: String.raw`[^\x00-\x7f]` },
  { pattern: "foo[._ ]bar" },
  { pattern: "foo.bar" },
  { pattern: "(?i)foo", case_sensitive: true },
  { pattern: "(?:foo)(?<second>bar)?" },
  { pattern: "fo{2}b?" },
  { pattern: "x{2,5}y*?" },
  { pattern: "^.{3}$", path: "words.txt" },
  { pattern: "[[:upper:]]{3}", case_sensitive: true },
  { pattern: "[a-z&&[^aeiou]]{4}" },
  { pattern: "a+b (c) [d] {e} ^f$ |g\\", literal: true },
  { pattern: "FOO.BAR", literal: true },
  { pattern: "kaſe|needle" },
  { pattern: "nothing like this" },
  { pattern: "needle|", path: "a.txt" },
  { pattern: "(needle|)$", path: "a.txt" },
];

const FINDS: readonly object[] = [
  {},
  { max_results: 5 },
  { pattern: "*.txt" },
  { pattern: "*.ts" },
  { pattern: "src/**" },
  { pattern: "needle" },
  { pattern: "lines" },
  { pattern: ".*" },
  { pattern: ".git/**" },
  { pattern: "*", type: "dir" },
  { type: "file" },
  { path: "src" },
  { path: "build" },
  { path: "sub" },
];

const noBusybox = programProblem("busybox");
mustBeHere("searches with the programs of busybox", noBusybox);
const systems: readonly System[] = noBusybox === undefined ? ["debian", "busybox"] : ["debian"];
const WAYS: readonly SearchWay[] = ["ripgrep there", "ripgrep put there", "grep and find"];

describe.each(systems)("on another system with the programs of %s", (system) => {
  test.each(WAYS)("by the way %s, grep and find give what they give here", { timeout: 120_000 }, async (way) => {
    const workDir = await oddTree();
    const backend = await backendThere(workDir, system, way);
    const [here, there] = await Promise.all([tools({ workDir }), tools({ backend })]);
    expect(await searchWay(backend)).toBe(way);
    for (const input of GREPS)
      expect.soft({ input, text: await there("grep", input) }).toEqual({ input, text: await here("grep", input) });
    for (const input of FINDS)
      expect.soft({ input, text: await there("find", input) }).toEqual({ input, text: await here("find", input) });
  });
});

describe.each(systems)("grep and find with the programs of %s", (system) => {
  test("give for any small tree and pattern what ripgrep gives", { timeout: 240_000 }, async () => {
    const workDir = await workspace({});
    const backend = await backendThere(workDir, system, "grep and find");
    const [here, there] = await Promise.all([tools({ workDir }), tools({ backend })]);
    const atom = fc.constantFrom(
      "a",
      "b",
      "k",
      ".",
      "é",
      "ß",
      "ſ",
      "\\w",
      "\\d",
      "\\s",
      "\\b",
      "^",
      "$",
      "[ab]",
      "[^a]",
      "[[:alpha:]]",
      "(a|b)",
      "(?:é|)",
      "\\.",
      "\\W",
      "\\pL",
      "K",
      "Å",
    );
    const pattern = fc
      .array(fc.tuple(atom, fc.constantFrom("", "", "", "*", "+", "?", "{2}", "{1,3}", "*?", "|")), {
        minLength: 1,
        maxLength: 5,
      })
      .map((parts) => parts.map(([one, many]) => one + many).join(""));
    const line = fc
      .array(
        fc.constantFrom(
          "a",
          "b",
          "K",
          "s",
          " ",
          ".",
          "é",
          "É",
          "ß",
          "1",
          "日",
          "\t",
          "\r",
          "\xff",
          "_",
          "Å",
          "å",
          "\u212a",
        ),
        { maxLength: 8 },
      )
      .map((parts) => parts.join(""));
    const content = fc
      .array(line, { maxLength: 6 })
      .chain((lines) =>
        fc
          .constantFrom("utf8" as const, "latin1" as const)
          .map((encoding) => Buffer.from(lines.join("\n").replace(/\r$/, "\r\n"), encoding)),
      );
    const name = fc.constantFrom(
      "a.txt",
      "b.ts",
      "sub/a.txt",
      "sub/deep/é.ts",
      "sub.x",
      ".hidden",
      "x/.y/z",
      "line\nbreak",
      "build/a.ts",
      "keep.log",
      "sub/keep.log",
    );
    const ignore = fc.array(
      fc.constantFrom(
        "build",
        "/build/",
        "*.log",
        "!keep.log",
        "sub/*.txt",
        "**/deep",
        "*.t?",
        "!*.ts",
        "#x",
        "a\\.txt",
      ),
      { maxLength: 3 },
    );
    await fc.assert(
      fc.asyncProperty(
        fc.record({
          files: fc.dictionary(name, content, { maxKeys: 6 }),
          ignores: fc.record({ "": ignore, "sub/": ignore }),
          pattern,
          literal: fc.boolean(),
          case_sensitive: fc.boolean(),
          context_lines: fc.constantFrom(0, 0, 1, 2),
          max_results: fc.constantFrom(1, 3, 100),
        }),
        async ({ files, ignores, ...question }) => {
          await Promise.all((await readdir(workDir)).map((entry) => rm(join(workDir, entry), { recursive: true })));
          const rules = Object.entries(ignores).map(
            ([folder, lines]) => [`${folder}.gitignore`, Buffer.from(lines.join("\n"))] as const,
          );
          for (const [path, bytes] of [...Object.entries(files), ...rules]) {
            await mkdir(dirname(join(workDir, path)), { recursive: true });
            await writeFile(join(workDir, path), bytes);
          }
          const expected = await here("grep", question);
          // What ripgrep does not take, grep is not asked for.
          if (expected.startsWith("Tool error")) return expect(await there("grep", question)).toContain("Tool error");
          expect(await there("grep", question)).toBe(expected);
          expect(await there("find", { pattern: "*.t*" })).toBe(await here("find", { pattern: "*.t*" }));
        },
      ),
      { numRuns: Number(process.env["SEARCHES"] ?? 60) },
    );
  });

  test("leave out what is excepted, and end when they are stopped", async () => {
    const workDir = await workspace({
      "a.txt": "needle\n",
      "b/c.txt": "needle\n",
      "b [x]*/c.txt": "needle\n",
      "d.txt": "needle\n",
    });
    const backend = await backendThere(workDir, system, "grep and find");
    const args = [...RIPGREP_ARGUMENTS, "--files"];
    const except = [join(workDir, "b [x]*"), join(workDir, "d.txt")];
    const listed = await backend.helper("rg", args, { paths: [workDir], except });
    expect(await written(listed)).toEqual({
      how: { how: "exited", code: 0 },
      output: `${workDir}/a.txt\0${workDir}/b/c.txt\0`,
      errors: "",
    });
    const found = await backend.helper("find", ["-mindepth", "1", "-type", "f", "-print0"], {
      paths: [workDir],
      except,
    });
    expect((await written(found)).output.split("\0").sort()).toEqual(["", `${workDir}/a.txt`, `${workDir}/b/c.txt`]);

    const stop = new AbortController();
    const waiting = await backend.helper("rg", [...SEARCH, "--regexp=needle"], { paths: [], signal: stop.signal });
    stop.abort();
    expect(await waiting.exit).toEqual({ how: "aborted" });
    const killed = await backend.helper("rg", [...SEARCH, "--regexp=needle"], { paths: [] });
    await killed.kill();
    expect(await killed.exit).toEqual({ how: "signaled", signal: "SIGTERM" });
    await expect(backend.helper("rg", args, { paths: [workDir], signal: AbortSignal.abort() })).rejects.toThrow(
      "was stopped before it was started",
    );
  });

  test("search what is written to their stdin", async () => {
    const backend = await backendThere(await workspace(), system, "grep and find");
    const child = await backend.helper(
      "rg",
      [...SEARCH, "--text", "--ignore-case", "--context=1", String.raw`--regexp=n\w+dle`],
      { paths: [] },
    );
    await child.write("hay 1\nhay 2\nNeedle\nhay ");
    await child.write("3\nhay 4\n");
    await child.endInput();
    expect(await written(child)).toEqual({
      how: { how: "exited", code: 0 },
      output: ["2-hay 2", "3:Needle", "4-hay 3"].map((line) => `<stdin>\0${line}\n`).join(""),
      errors: "",
    });
    const none = await backend.helper("rg", [...SEARCH, "--regexp=x"], { paths: [] });
    await none.endInput();
    expect(await written(none)).toEqual({ how: { how: "exited", code: 1 }, output: "", errors: "" });
  });

  test("say what they cannot search for, and where there is no ripgrep", async () => {
    const backend = await backendThere(await workspace({ "a.txt": "a" }), system, "grep and find");
    const ask = (...args: readonly string[]) =>
      backend.helper("rg", [...SEARCH, ...args], { paths: [backend.workDir] });
    const cases: readonly (readonly [pattern: string, why: string])[] = [
      ["(?=x)", "look-around is not supported"],
      [String.raw`(a)\1`, "backreferences are not supported"],
      ["a{2,1}", "its end is before its start"],
      ["(a", "unclosed group"],
      ["[a", "unclosed character class"],
      ["*", 'there is nothing before "*"'],
      [String.raw`\Ax`, "cannot be searched for line by line"],
      [String.raw`\p{Nonsense}`, "the Unicode property Nonsense is not known"],
    ];
    for (const [pattern, why] of cases) {
      const failure: unknown = await ask(`--regexp=${pattern}`).catch((error: unknown) => error);
      expect(failure).toMatchObject({ name: "ToolFailure", hint: expect.stringContaining("install ripgrep there") });
      expect(String(failure)).toContain(why);
      expect(String(failure)).toContain("there is no ripgrep on the shell");
    }
    await writeFile(join(backend.workDir, "a.txt"), `${"a".repeat(60)}!Z\n`);
    const endless = await ask(String.raw`--regexp=^(\w+)+\B!Z`);
    expect(await written(endless)).toMatchObject({
      how: { how: "exited", code: 2 },
      errors: "rg: the pattern takes too long to match without ripgrep\n",
    });
    await expect(ask("--regexp=x", "--pcre2")).rejects.toThrow("cannot do what this argument asks for: --pcre2");
    await expect(backend.helper("rg", ["--regexp=x"], { paths: [backend.workDir] })).rejects.toThrow(
      "no --no-require-git",
    );
  });
});

describe("ripgrep put there", () => {
  const mode = async (path: string) => (await stat(path)).mode & 0o777;

  test("lies in the cache folder by its hash, is put there once, and by several at the same time", async () => {
    const there = await shellsThere("debian");
    const ours = await ourRipgrepFor(there.facts);
    if (ours === undefined) throw new Error("there is no ripgrep of ours for this machine");
    const paths = await Promise.all(Array.from({ length: 4 }, () => putThere(ours, there.shells, there.facts)));
    const path = join(there.home, ".cache/handrail", `rg-${ours.hash}`);
    expect(new Set(paths)).toEqual(new Set([path]));
    expect(await readdir(dirname(path))).toEqual([`rg-${ours.hash}`]);
    expect(await mode(path)).toBe(0o700);
    expect(await mode(dirname(path))).toBe(0o700);
    const before = await stat(path);
    expect(await putThere(ours, there.shells, { ...there.facts, programs: new Set() })).toBe(path);
    expect((await stat(path)).ino).toBe(before.ino);
    await writeFile(path, "broken");
    expect(await putThere(ours, there.shells, { ...there.facts, programs: new Set() })).toBe(path);
    expect((await readFile(path)).equals(ours.bytes)).toBe(true);
  });

  test("lies in a folder of the user's alone where the home is none, and nowhere where that is somebody else's doing", async () => {
    const there = await shellsThere("debian");
    const ours = await ourRipgrepFor(there.facts);
    if (ours === undefined) throw new Error("there is no ripgrep of ours for this machine");
    await writeFile(join(there.home, ".cache"), "no folder");
    const temporary = temporaryFolder();
    const folder = join(temporary, `handrail-${there.facts.user}`);
    const put = () => putThere(ours, there.shells, { ...there.facts, temporary });
    expect(await put()).toBe(join(folder, `rg-${ours.hash}`));
    await chmod(folder, 0o777);
    expect(await put()).not.toContain(temporary);
    await rm(folder, { recursive: true });
    await symlink(temporaryFolder(), folder);
    expect(await put()).not.toContain(temporary);
    for (const other of ["/tmp", "/dev/shm", "/var/tmp"])
      await rm(join(other, `handrail-${there.facts.user}`, `rg-${ours.hash}`), { force: true });
  });

  test("what does not arrive whole is not used, and nothing is left of it", async () => {
    const there = await shellsThere("debian");
    const ours = await ourRipgrepFor(there.facts);
    if (ours === undefined) throw new Error("there is no ripgrep of ours for this machine");
    expect(await putThere({ ...ours, hash: "0".repeat(64) }, there.shells, there.facts)).toBeUndefined();
    expect(await readdir(join(there.home, ".cache/handrail"))).toEqual([]);
    expect((await there.shells.ask("echo still here")).out.toString()).toBe("still here\n");
  });

  test("is not even tried for another machine, nor is a program that needs a loader", async () => {
    const facts = { system: "Linux", machine: process.arch === "x64" ? "x86_64" : "aarch64" };
    expect(await ourRipgrepFor(facts)).toBeDefined();
    expect(await ourRipgrepFor({ ...facts, system: "FreeBSD" })).toBeUndefined();
    expect(await ourRipgrepFor({ ...facts, machine: "riscv64" })).toBeUndefined();
    expect(isStatic(await readFile(process.execPath))).toBe(false);
    expect(isStatic(Buffer.from("#!/bin/sh\n"))).toBe(false);
  });
});

async function written({ exit, output, errors }: Process) {
  const how = await exit;
  const text = async (log: typeof output | undefined) => Buffer.from((await log?.read(0, 100_000)) ?? []).toString();
  return { how, output: await text(output), errors: await text(errors) };
}
