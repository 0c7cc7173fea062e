import { mkdir, readdir, stat, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { putRipgrep, searchWay } from "../../src/backends/remote/search.ts";
import type { Backend } from "../../src/contract/backend.ts";
import { asText } from "../../src/engine/result.ts";
import { find } from "../../src/tools/find.ts";
import { grep } from "../../src/tools/grep.ts";
import { mustBeHere, programProblem } from "../support/here.ts";
import { toolkitWith, workspace } from "../support/workspace.ts";
import { type System, backendThere, shellsThere } from "./search-there.ts";

/** The tools grep and find on a folder, as a model calls them. */
async function tools(on: { workDir: string } | { target: Backend }) {
  const toolkit = await toolkitWith({
    ...on,
    tools: [grep(), find()],
    policy: { autonomy: "full" },
  });
  return async (name: string, input: unknown) => asText(await toolkit.call({ name, input }));
}

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
describe.each(systems)("on a remote host with the programs of %s", (system) => {
  test.each(["its own ripgrep", "our ripgrep"] as const)(
    "with %s, grep and find give what they give here",
    { timeout: 120_000 },
    async (way) => {
      const workDir = await oddTree();
      const backend = await backendThere(workDir, system, way);
      const [here, there] = await Promise.all([tools({ workDir }), tools({ target: backend })]);
      expect(await searchWay(backend)).toBe(way);
      for (const input of GREPS)
        expect.soft({ input, text: await there("grep", input) }).toEqual({ input, text: await here("grep", input) });
      for (const input of FINDS)
        expect.soft({ input, text: await there("find", input) }).toEqual({ input, text: await here("find", input) });
    },
  );

  test("without ripgrep the grep and find there answer, and say what they do not do", async () => {
    const workDir = await workspace({
      "a.txt": "hay\nNeedle (a)\n",
      "b/c d.txt": "needle 2\n",
      "odd:1:name.txt": "needle\n",
      ".gitignore": "ignored.txt\n",
      "ignored.txt": "needle\n",
      ".git/HEAD": "needle\n",
      ".env": "NEEDLE=1\n",
    });
    const backend = await backendThere(workDir, system, "grep and find");
    const there = await tools({ target: backend });
    expect(await searchWay(backend)).toBe("grep and find");
    const text = await there("grep", { pattern: "needle", context_lines: 3 });
    expect(text).toMatch(
      /^a\.txt:2: Needle \(a\)\n--\nb\/c d\.txt:1: needle 2\n--\nignored\.txt:1: needle\n\n\[1 sensitive file /,
    );
    expect(text).toContain("[There is no ripgrep on the shell");
    expect(await there("grep", { pattern: "E (", case_sensitive: true, literal: true })).toContain("No matches found.");
    expect(await there("grep", { pattern: "e (a", path: "a.txt", literal: true })).toMatch(/^a\.txt:2: Needle \(a\)\n/);
    expect(await there("grep", { pattern: "needle", max_results: 1 })).toContain("\n\n[Stopped at 1 match;");
    expect(await there("grep", { pattern: "a(" })).toMatch(/^Tool error: /);
    expect(await there("find", {})).toBe(
      ".gitignore\na.txt\nb/\nb/c d.txt\nodd:1:name.txt\n\n[1 sensitive file left out; name one in the pattern to see it.]",
    );
  });
});

test("ripgrep is put into the cache folder by its hash, once, also by several at the same time; what is broken is replaced", async () => {
  const { shells, facts, home } = await shellsThere("debian");
  const paths = await Promise.all(Array.from({ length: 4 }, () => putRipgrep(shells, facts)));
  const folder = join(home, ".cache/handrail");
  const [name = ""] = await readdir(folder);
  expect(new Set(paths)).toEqual(new Set([join(folder, name)]));
  expect((await stat(join(folder, name))).mode & 0o777).toBe(0o700);
  expect((await stat(folder)).mode & 0o777).toBe(0o700);
  await writeFile(join(folder, name), "broken");
  expect(await putRipgrep(shells, { ...facts, programs: new Set() })).toBe(join(folder, name));
  expect((await stat(join(folder, name))).size).toBeGreaterThan(1_000);
  expect(await readdir(folder)).toEqual([name]);
  expect(await putRipgrep(shells, { ...facts, machine: "riscv64" })).toBeUndefined();
  expect(await putRipgrep(shells, { ...facts, system: "FreeBSD" })).toBeUndefined();
});
