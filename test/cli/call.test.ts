import { execFileSync } from "node:child_process";
import { lstat, readFile, readdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { isAlive } from "../support/until.ts";
import { temporaryFolder } from "../support/workspace.ts";
import { type CommandLine, commandLine } from "./program.ts";

describe("handrail call", () => {
  test("prints the tool's text with one line break at its end, and nothing else", async () => {
    const { here, run } = await commandLine({ "a.txt": "one\ntwo" });
    expect(await run(["call", "read", '{"path":"README.md"}'])).toEqual(ended("# Read me\n"));
    expect(await here(["call", "read", '{"path":"a.txt"}'])).toEqual(ended("one\ntwo\n"));
    const failed = await here(["call", "ls", '{"path":"README.md"}', "--preset", "all"]);
    expect(failed).toMatchObject({ code: 1, stderr: "" });
  });

  test("accepts arguments as JSON, from stdin, or none at all", async () => {
    const { here } = await commandLine();
    const input = '{"path":"README.md"}';
    expect(await here(["call", "read", "-"], {}, { input })).toEqual(ended("# Read me\n"));
    const missing = ended('validation error: missing required parameter "path"\n', 1);
    expect(await here(["call", "read", "-"])).toEqual(missing);
    expect(await here(["call", "read"])).toEqual(missing);
    expect(await here(["call", "time", "--preset", "all"])).toMatchObject({
      code: 0,
      stdout: expect.stringMatching(/^\d{10}\n$/),
    });
    expect(await here(["call", "bash", "echo hi", "--yes"])).toEqual(ended("hi\n"));
  });

  test("reads stdin of any size, and only on request", async () => {
    const { folder, run } = await commandLine();
    const content = "é\u2028x\n".repeat(100_000);
    const { code, stdout } = await run(["call", "write", "-"], JSON.stringify({ path: "big.txt", content }));
    expect({ code, stdout }).toEqual({ code: 0, stdout: "Created big.txt (683.6KB)\n" });
    expect(await readFile(join(folder, "big.txt"), "utf8")).toBe(content);
    expect(await run(["call", "read", '{"path":"README.md"}'], "not looked at")).toEqual(ended("# Read me\n"));
  });

  test("prints the whole result as one line of JSON with --json, whatever its status", async () => {
    const { here } = await commandLine();
    const read = await here(["call", "read", '{"path":"README.md"}', "--json"]);
    expect(read).toMatchObject({ code: 0, stderr: "", stdout: expect.stringMatching(/^\{.*\}\n$/) });
    expect(JSON.parse(read.stdout)).toMatchObject({
      status: "ok",
      content: [{ type: "text", text: "# Read me\n" }],
      data: { path: "README.md", total: 1 },
    });
    const unknown = await here(["call", "raed", "{}", "--json"]);
    expect(unknown.code).toBe(1);
    expect(JSON.parse(unknown.stdout)).toMatchObject({ status: "unknown-tool", name: "raed", closest: ["read"] });
    const broken = await here(["call", "read", "{", "--json"]);
    expect(broken.code).toBe(1);
    expect(JSON.parse(broken.stdout)).toMatchObject({ status: "invalid-input" });
    const denied = await here(["call", "read", '{"path":"/etc/passwd"}', "--json"]);
    expect(denied.code).toBe(1);
    expect(JSON.parse(denied.stdout)).toMatchObject({ status: "denied", by: "policy" });
  });

  test("works in the given folder, or in the current one", async () => {
    const { folder, here } = await commandLine({ "sub/a.txt": "in sub\n" });
    expect(await here(["call", "read", '{"path":"a.txt"}', "--work-dir", "sub"])).toEqual(ended("in sub\n"));
    expect(await here(["--work-dir", join(folder, "sub"), "call", "read", '{"path":"a.txt"}'])).toEqual(
      ended("in sub\n"),
    );
    expect(await here(["call", "read", '{"path":"a.txt"}'], {}, { cwd: "sub" })).toEqual(ended("in sub\n"));
    const above = ["call", "read", '{"path":"../README.md"}', "--work-dir", "sub"];
    expect(await here([...above, "--sandbox", "off"])).toMatchObject({
      code: 1,
      stdout: expect.stringMatching(/^Path (blocked|not allowed) by security policy: \.\.\/README\.md/),
    });
  });

  test("changes files of a repository such that git reports exactly these changes", async () => {
    const { folder, here } = await commandLine({ "src/a.ts": "export const a = 1;\r\nexport const b = 2;\r\n" });
    const input = { path: "src/a.ts", old_text: "b = 2", new_text: "b = 3" };
    const { code, stdout } = await here(["call", "edit", JSON.stringify(input)]);
    expect(code).toBe(0);
    const git = (...args: readonly string[]) => execFileSync("git", ["-C", folder, ...args], { encoding: "utf8" });
    expect(git("diff", "--numstat")).toBe("1\t1\tsrc/a.ts\n");
    const patch = stdout.slice(stdout.indexOf("--- a/"));
    execFileSync("git", ["-C", folder, "apply", "--reverse", "--whitespace=nowarn"], { input: patch });
    expect(git("status", "--porcelain")).toBe("");
  });

  test("exits with 0 when the call succeeded, even if the command in it failed", async () => {
    const { here } = await commandLine();
    expect(await here(["call", "bash", '{"command":"echo a; exit 3"}', "--yes"])).toEqual(ended("a\n\nExit code: 3\n"));
  });

  test("exits with 1 when it failed: an unknown tool, broken JSON, a missing file", async () => {
    const { folder, here } = await commandLine();
    expect(await here(["call", "raed", "{}"])).toEqual(ended('unknown tool "raed". Closest: "read"\n', 1));
    expect(await here(["call", "read", '{"path": }'])).toEqual(
      ended(
        `validation error: the arguments are not valid JSON: Unexpected token '}' at line 1 column 10, at "}". Send one JSON object.\n`,
        1,
      ),
    );
    expect(await here(["call", "read", '{"path":"none.txt"}'])).toEqual(
      ended(`Tool error: File not found: ${folder}/none.txt\nLook for it with bash.\n`, 1),
    );
  });
});

describe("without a terminal", () => {
  test("a call that needs approval is denied, and the text says what can be done", async () => {
    const { folder, run } = await commandLine();
    expect(await run(["call", "bash", '{"command":"touch made.txt"}', "--sandbox", "off"])).toEqual(
      ended(
        "Medium-risk command requires approval: `touch made.txt` (changes, copies or packs files), and there is nobody to ask. To allow it, " +
          "run it in a terminal, keep `handrail approvals wait` open in a terminal meanwhile, or approve in advance with --yes.\n",
        1,
      ),
    );
    expect(await readdir(folder)).not.toContain("made.txt");
  });

  test("--yes approves what would be asked, and full autonomy asks nothing", async () => {
    const { here } = await commandLine();
    expect(await here(["call", "bash", '{"command":"echo ran"}', "--yes"])).toEqual(ended("ran\n"));
    expect(await here(["call", "bash", '{"command":"echo ran"}', "--autonomy", "full"])).toEqual(ended("ran\n"));
  });

  test("--yes does not answer for a person about a start-up file", async () => {
    const { here } = await commandLine();
    expect(await here(["call", "write", '{"path":".git/hooks/pre-commit","content":"x"}', "--yes"])).toMatchObject({
      code: 1,
      stdout: expect.stringContaining("--yes does not answer for a person"),
    });
  });

  test("what the policy denies is denied, even with --yes", async () => {
    const { here } = await commandLine();
    for (const more of [[], ["--yes"], ["--autonomy", "full"]]) {
      expect(await here(["call", "read", '{"path":"/etc/passwd"}', ...more])).toMatchObject({
        code: 1,
        stdout: expect.stringMatching(/^Path blocked by security policy: \/etc\/passwd/),
        stderr: "",
      });
    }
    expect(
      await here(["call", "bash", '{"command":"touch x"}', "--autonomy", "readonly", "--sandbox", "off", "--yes"]),
    ).toEqual(ended("Read-only mode: cannot perform 'run a command'\n", 1));
  });
});

describe("what outlives a call", () => {
  test("an output that one call saved is read by the next", async () => {
    const { here } = await commandLine();
    const { stdout } = await here(["call", "bash", '{"command":"seq 5000"}', "--yes"]);
    const path = /Full output saved to: (output:\/\/\w+)(?: \(for commands: \S+\))?\]\n$/.exec(stdout)?.[1];
    expect(await here(["call", "read", JSON.stringify({ path, offset: 1, limit: 1 })])).toEqual(
      ended("1\n\n[Showing lines 1-1 of 5000. Use offset=2 to continue.]\n"),
    );
  });

  test("is in a state folder and files that only this user can read", async () => {
    const { stateHome, shell } = await commandLine();
    expect(await shell(`umask 0; handrail call bash '{"command":"seq 5000"}' --yes > /dev/null`)).toMatchObject({
      code: 0,
    });
    const all = await modesUnder(join(stateHome, "handrail"));
    const modes = all.filter(({ path }) => !/\/undo\/.*\/large\//.test(path)); // links to files of the workspace
    expect(modes.length).toBeGreaterThan(2);
    for (const { path, folder, mode } of modes) {
      const isObject = path.includes("/undo/") && path.includes("/objects/"); // these are never written again
      expect({ path, mode }).toEqual({ path, mode: folder ? 0o700 : isObject ? mode & 0o600 : 0o600 });
    }
  });

  test("cannot be accessed by tools", async () => {
    const { stateHome, here } = await commandLine();
    await here(["call", "bash", '{"command":"seq 5000"}', "--yes"]);
    const input = JSON.stringify({ path: join(stateHome, "handrail", "outputs") });
    expect(await here(["call", "ls", input, "--preset", "all", "--autonomy", "full"])).toMatchObject({
      code: 1,
      stdout: expect.stringMatching(/^Path (blocked|not allowed) by security policy: /),
    });
  });

  test("is nothing else: no process, no temporary folder", async () => {
    const { folder, shell } = await commandLine();
    const temporary = temporaryFolder();
    await shell(
      `TMPDIR=${temporary} handrail call bash '{"command":"sleep 600 & echo $! > child.pid"}' --yes --sandbox off`,
    );
    expect(await isAlive(Number(await readFile(join(folder, "child.pid"), "utf8")))).toBe(false);
    expect(await readdir(temporary)).toEqual([]);
  });
});

describe("when nobody reads the output", () => {
  test("the program exits quietly", async () => {
    const { shell } = await commandLine({ "big.txt": `${"x".repeat(99)}\n`.repeat(500) });
    for (const script of [
      `handrail call read '{"path":"big.txt"}' | head -1`,
      "handrail tools --preset all --format mcp | true",
      "handrail --help | true",
      `yes '{"id":1,"area":"path","input":"a"}' | head -c 200000 | handrail policy check --batch | head -1`,
    ]) {
      expect(await shell(script)).toMatchObject({ code: 0, stderr: "" });
    }
  });

  test("it stops reading questions that arrive endlessly", async () => {
    const { shell } = await commandLine();
    const { code, stdout, stderr } = await shell(
      `yes '{"id":1,"area":"path","input":"README.md"}' | handrail policy check --batch | head -1`,
    );
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
    expect(JSON.parse(stdout)).toMatchObject({ id: 1, verdict: "allow" });
  });

  test("what the call started is ended all the same", async () => {
    const { folder, shell } = await commandLine();
    const temporary = temporaryFolder();
    const command = "sleep 600 & echo $! > child.pid; seq 3000";
    await writeFile(join(folder, "call.json"), JSON.stringify({ command }));
    const { stderr } = await shell(`TMPDIR=${temporary} handrail call bash - --yes --sandbox off < call.json | true`);
    expect(stderr).toBe("");
    expect(await isAlive(Number(await readFile(join(folder, "child.pid"), "utf8")))).toBe(false);
    expect(await readdir(temporary)).toEqual([]);
  });

  test("a full disk is reported", async () => {
    const { shell } = await commandLine();
    for (const words of ["call read README.md", "tools", "--help"]) {
      const { code, stderr } = await shell(`handrail ${words} > /dev/full`);
      expect({ words, code }).toEqual({ words, code: 1 });
      expect(stderr).toMatch(/^handrail: cannot write to stdout: ENOSPC.*\n$/);
    }
  });

  test("a closed stderr, stdin or stdout is no problem", async () => {
    const { shell } = await commandLine();
    const call = `handrail call read '{"path":"README.md"}'`;
    expect(await shell(`${call} 2>&-`)).toEqual(ended("# Read me\n"));
    expect(await shell(`${call} <&-`)).toEqual(ended("# Read me\n"));
    expect(await shell(`${call} >&-`)).toMatchObject({ stdout: "", stderr: expect.not.stringContaining("at ") });
    expect(await shell("handrail tools --colour 2>&1 >/dev/null | true")).toMatchObject({ stderr: "" });
  });
});

function ended(stdout: string, code = 0): Awaited<ReturnType<CommandLine["run"]>> {
  return { code, signal: null, stdout, stderr: "" };
}

async function modesUnder(path: string): Promise<readonly { path: string; folder: boolean; mode: number }[]> {
  const info = await lstat(path);
  const here = { path, folder: info.isDirectory(), mode: info.mode & 0o7777 };
  if (!here.folder) return [here];
  const inside = await Promise.all((await readdir(path)).map((name) => modesUnder(join(path, name))));
  return [here, ...inside.flat()];
}
