import { execFileSync } from "node:child_process";
import { mkdir, mkdtemp, rm, stat, symlink, utimes, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { temporaryFolder } from "../support/workspace.ts";
import { type Tools, toolsOn } from "./tools.ts";

const WHEN = new Date("2025-02-26T12:34:56Z");

test("each entry is a line with its time (UTC), its size and its name, sorted by name", async () => {
  const tools = await toolsOn({ "b.txt": "x".repeat(1_536), "a.txt": "", "big.bin": Buffer.alloc(51_200), Z: "z" });
  await mkdir(join(tools.folder, "sub"));
  await touchAll(tools, "b.txt", "a.txt", "big.bin", "Z", "sub");
  expect(await tools.text("ls", {})).toBe(
    [
      "2025-02-26 12:34        1B  Z",
      "2025-02-26 12:34        0B  a.txt",
      "2025-02-26 12:34     1.5KB  b.txt",
      "2025-02-26 12:34      50KB  big.bin",
      "2025-02-26 12:34         -  sub/",
    ].join("\n"),
  );
});

test("a link shows its target, also a missing one; a FIFO is shown as one", async () => {
  const { folder, text } = await toolsOn({ "a.txt": "x" });
  await symlink("a.txt", join(folder, "link"));
  await symlink("/no/such/file", join(folder, "broken"));
  execFileSync("mkfifo", [join(folder, "pipe")]);
  const lines = (await text("ls", {})).split("\n").map((line) => line.slice("2025-02-26 12:34  ".length));
  expect(lines).toEqual([
    "      1B  a.txt",
    "    link  broken -> /no/such/file",
    "    link  link -> a.txt",
    "    fifo  pipe",
  ]);
});

test("names that begin with a dot are shown when asked for", async () => {
  const tools = await toolsOn({ ".hidden": "", "seen.txt": "", ".git/config": "" });
  expect(await namesOf(tools, {})).toEqual(["seen.txt"]);
  expect(await namesOf(tools, { show_hidden: true })).toEqual([".git", ".hidden", "seen.txt"]);
  expect(await namesOf(tools, { showHidden: "true" })).toEqual([".git", ".hidden", "seen.txt"]);
});

test("a folder is given by any path inside the workspace; names of any script are shown", async () => {
  const tools = await toolsOn({ "sub/ünïcode 文件.txt": "", "sub/deep/a.txt": "" });
  for (const path of ["sub", "./sub/", "sub/deep/..", join(tools.folder, "sub")]) {
    expect(await namesOf(tools, { path })).toEqual(["deep", "ünïcode 文件.txt"]);
  }
  await symlink("sub", join(tools.folder, "link"));
  expect(await namesOf(tools, { path: "link" })).toEqual(["deep", "ünïcode 文件.txt"]);
});

test("a name with control characters is one quoted line, not several", async () => {
  const { folder, text } = await toolsOn();
  await writeFile(join(folder, "a\n2025-01-01 00:00        1B  fake"), "");
  await writeFile(join(folder, "\x1b[31mred"), "");
  await symlink("to\nnowhere", join(folder, "link"));
  const lines = (await text("ls", {})).split("\n").map((line) => line.slice("2025-02-26 12:34        0B  ".length));
  expect(lines).toEqual(['"\\u001b[31mred"', '"a\\n2025-01-01 00:00        1B  fake"', 'link -> "to\\nnowhere"']);
});

test("a name that is not UTF-8 is listed with replacement characters, and how to open it", async () => {
  const { folder, text } = await toolsOn({ "a.txt": "" });
  await writeFile(Buffer.concat([Buffer.from(`${folder}/caf`), Buffer.from([0xe9])]), "x");
  await symlink("caf", Buffer.concat([Buffer.from(`${folder}/gr`), Buffer.from([0xfc, 0x6e])]));
  const [listed = "", notice = ""] = (await text("ls", {})).split("\n\n");
  const lines = listed.split("\n").map((line) => line.slice("2025-02-26 12:34        0B  ".length));
  expect(lines).toEqual(["a.txt", "caf\ufffd", "gr\ufffdn -> caf"]);
  expect(notice).toBe("[A name with \ufffd is not UTF-8. Write * for it in bash: cat -- caf*]");
  expect(await text("bash", { command: "cat -- caf*" })).toBe("x");
  expect(await text("read", { path: "caf\ufffd" })).toMatch(/^Tool error: File not found: .*\n.*: cat -- caf\*$/);
});

// Some file systems keep times up to the year 292 billion; others, like ext4, store their maximum.
test("a time out of range does not prevent the listing", async () => {
  const shared = await stat("/dev/shm").then(() => mkdtemp("/dev/shm/handrail-test-"), temporaryFolder);
  onTestFinished(() => rm(shared, { recursive: true }));
  execFileSync("touch", ["-d", "@99999999999999", join(shared, "a.txt")]);
  const { text } = await toolsOn(
    {},
    { preset: "all", workDir: shared, policy: { autonomy: "full", forbiddenPaths: [] } },
  );
  expect(await text("ls", {})).toMatch(/^\+?\d{4,6}-\d\d-\d\d \d\d:\d\d {8}0B {2}a\.txt$/);
});

test("an empty folder is reported, and so is a path that is not a folder", async () => {
  const { folder, text } = await toolsOn({ "a.txt": "x", ".hidden": "" });
  await mkdir(join(folder, "empty"));
  expect(await text("ls", { path: "empty" })).toBe("(empty directory)");
  expect(await text("ls", { path: "a.txt" })).toBe(`Tool error: This is a file, not a folder: ${folder}/a.txt`);
  expect(await text("ls", { path: "missing" })).toMatch(/^Tool error: File not found: .*\/missing\n/);
  expect(await text("ls", { path: "/etc" })).toMatch(/^Path blocked by security policy: \/etc/);
  expect(await text("ls", { path: "" })).toMatch(/^validation error: parameter "path": /);
});

test("what a program gets is every entry with its kind, size in bytes and time", async () => {
  const tools = await toolsOn({ "a.txt": "four" });
  await symlink("a.txt", join(tools.folder, "link"));
  await touchAll(tools, "a.txt");
  expect(await tools.call("list_directory", {})).toMatchObject({
    status: "ok",
    data: {
      entries: [
        { name: "a.txt", kind: "file", size: 4, modified: "2025-02-26T12:34:56.000Z" },
        { name: "link", kind: "link", target: "a.txt" },
      ],
    },
  });
});

test("of 3,000 entries those that fit are shown, and all are saved", async () => {
  const { folder, text } = await toolsOn();
  execFileSync("bash", ["-c", "for i in $(seq 1001 4000); do : > file$i; done"], { cwd: folder });
  const [listing = "", notice = ""] = (await text("ls", {})).split("\n\n");
  const lines = listing.split("\n");
  expect(lines).toHaveLength(Math.floor(51_200 / `${lines[0]}\n`.length));
  expect(lines[0]).toMatch(/ file1001$/);
  const path = /^\[Output truncated at 50KB\. Full output saved to: (output:\/\/\w+)\]$/.exec(notice)?.[1];
  expect(await text("read", { path, offset: 3_000 })).toMatch(/ file4000\n\[Showing lines 3000-3000 of 3000\.\]$/);
});

async function namesOf({ call }: Tools, input: object): Promise<readonly string[]> {
  const result = await call("ls", input);
  if (result.status !== "ok") throw new Error(`expected a listing, got ${JSON.stringify(result)}`);
  return (result.data as { readonly entries: readonly { name: string }[] }).entries.map(({ name }) => name);
}

async function touchAll({ folder }: Tools, ...names: readonly string[]): Promise<void> {
  for (const name of names) await utimes(join(folder, name), WHEN, WHEN);
}
