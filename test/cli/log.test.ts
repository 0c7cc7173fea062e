import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { temporaryFolder } from "../support/workspace.ts";
import { commandLine } from "./program.ts";

interface Line {
  readonly time: string;
  readonly level: string;
  readonly what: string;
  readonly [detail: string]: unknown;
}

const linesOf = (file: string): readonly Line[] =>
  readFileSync(file, "utf8")
    .split("\n")
    .slice(0, -1)
    .map((line) => JSON.parse(line) as Line);

const newFile = () => join(temporaryFolder(), "log.jsonl");

describe("--log-file", () => {
  test("appends the events of a run, one JSON object per line, to a private file", async () => {
    const line = await commandLine({ "handrail.yaml": "policy: { commands: { deny: [rm] } }\n" });
    const file = newFile();
    await line.here(["call", "read", '{"path":"README.md"}', "--log-file", file]);
    expect(statSync(file).mode & 0o777).toBe(0o600);
    const first = linesOf(file);
    expect(first.map(({ level, what }) => [level, what])).toEqual([
      ["info", "program.started"],
      ["debug", "call.started"],
      ["debug", "call.approved"],
      ["info", "call.finished"],
      ["info", "program.ended"],
    ]);
    expect(first[0]).toMatchObject({
      command: "call",
      node: process.version,
      files: { project: join(line.folder, "handrail.yaml") },
      settings: { tools: { preset: "coding" }, policy: { commands: { deny: ["rm"] } } },
    });
    expect(first[1]).toMatchObject({ name: "read", input: { path: "README.md" } });
    expect(first[2]).toMatchObject({ decision: { verdict: "allow" }, effects: [{ kind: "read", path: "README.md" }] });
    expect(first[3]).toMatchObject({ status: "ok", ms: expect.any(Number) as number });
    for (const { time } of first) expect(new Date(time).toISOString()).toBe(time);

    await line.here(["call", "bash", '{"command":"rm x"}', "--log-file", file]);
    const second = linesOf(file);
    expect(second.slice(0, first.length)).toEqual(first);
    expect(second.slice(first.length)).toMatchObject([
      { what: "program.started" },
      { what: "call.started" },
      { level: "warn", what: "call.finished", status: "denied", error: expect.stringContaining("rule rm") as string },
      { what: "program.ended", code: 1 },
    ]);
  });

  test.each([
    [["tools"], 0],
    [["policy", "check", "--path", "README.md"], 0],
    [["policy", "grants"], 0],
    [["jobs"], 0],
    [["trust", "--list"], 0],
    [["doctor"], 0],
    [["tools", "--preset", "nope"], 2],
  ] as const)("of %j has its beginning and its end", async (args, code) => {
    const line = await commandLine();
    const file = newFile();
    expect((await line.here([...args, "--log-file", file])).code).toBe(code);
    const lines = linesOf(file);
    expect(lines[0]?.what).toBe("program.started");
    expect(lines.at(-1)).toMatchObject({ what: "program.ended", code });
    const failed = lines.find(({ what }) => what === "program.failed")?.["message"];
    if (code === 0) expect(failed).toBeUndefined();
    else expect(failed).toContain("argument 'nope' is invalid");
  });

  test("of handrail mcp contains errors outside calls", async () => {
    const line = await commandLine();
    const file = newFile();
    const { stdout } = await line.here(["mcp", "--log-file", file], {}, { input: "garbage\n" });
    expect(stdout).toContain("-32700");
    expect(linesOf(file)).toMatchObject([
      { what: "program.started", command: "mcp" },
      { level: "warn", what: "mcp.failed", message: expect.stringContaining("not JSON") as string },
      { what: "program.ended" },
    ]);
  });

  test("contains what the record could not keep", async () => {
    const line = await commandLine();
    writeFileSync(join(line.stateHome, "handrail"), "in the place of the folder");
    const file = newFile();
    await line.here(["call", "write", '{"path":"new.txt","content":"x"}', "--yes", "--log-file", file]);
    const failed = linesOf(file).find(({ what }) => what === "store.failed");
    expect(failed).toMatchObject({ level: "error", message: expect.stringContaining(line.stateHome) as string });
  });

  test("contains no secrets, and no line that is too long", async () => {
    const line = await commandLine();
    const file = newFile();
    const big = JSON.stringify({ path: "big.txt", content: "0123456789".repeat(10_000) });
    for (const args of [
      ["call", "bash", '{"command":"echo $API_TOKEN correct-horse-battery-1"}', "--yes"],
      ["tools", "--preset", "correct-horse-battery-1"],
      ["call", "write", big, "--yes"],
    ])
      await line.here([...args, "--log-file", file], { API_TOKEN: "correct-horse-battery-1" });
    const text = readFileSync(file, "utf8");
    expect(text).not.toContain("correct-horse-battery-1");
    expect(text).toContain("[masked: API_TOKEN]");
    expect(linesOf(file).filter(({ what }) => what === "program.ended")).toHaveLength(3);
    for (const each of text.split("\n")) expect(each.length).toBeLessThan(60_000);
  });

  test("that cannot be written is an error that names the file, and nothing runs", async () => {
    const line = await commandLine();
    const folder = temporaryFolder();
    execFileSync("mkfifo", [join(folder, "pipe")]);
    for (const [file, problem] of [
      [join(folder, "none", "log"), "ENOENT"],
      [folder, "EISDIR"],
      [join(folder, "pipe"), "ENXIO"],
      ["/dev/null", "it is not a regular file"],
    ] as const) {
      const input = '{"path":"new.txt","content":"x"}';
      const { code, stdout, stderr } = await line.here(["call", "write", input, "--yes", "--log-file", file]);
      expect({ code, stdout }).toEqual({ code: 2, stdout: "" });
      expect(stderr).toContain(`handrail: the log file ${file} cannot be written: ${problem}`);
    }
    expect(existsSync(join(line.folder, "new.txt"))).toBe(false);
  });

  test("that becomes unwritable later has no effect", async () => {
    const line = await commandLine({ "own.yaml": "store: memory\n" });
    const file = newFile();
    // Limits files to one block of 1,024 bytes. The signal for exceeding it is ignored, as in a shell script that does
    // so.
    const { code, stdout, stderr } = await line.shell(
      `trap '' XFSZ; ulimit -f 1; handrail call read '{"path":"README.md"}' --config own.yaml --log-file ${file}`,
    );
    expect({ code, stdout, stderr }).toEqual({ code: 0, stdout: "# Read me\n", stderr: "" });
    expect(statSync(file).size).toBeLessThanOrEqual(1_024);
  });

  test("cannot be read or changed by a tool", async () => {
    const line = await commandLine();
    const run = (tool: string, input: object) =>
      line.here(["call", tool, JSON.stringify(input), "--yes", "--log-file", "log"]);
    for (const [tool, input] of [
      ["read", { path: "log" }],
      ["write", { path: "log", content: "" }],
      ["bash", { command: "cat log" }],
    ] as const) {
      expect((await run(tool, input)).stdout).toContain("forbidden_paths has");
    }
    expect(linesOf(join(line.folder, "log")).filter(({ what }) => what === "call.finished")).toHaveLength(3);
  });
});

describe("log_file", () => {
  test("in the user's file does the same, and --log-file overrides it", async () => {
    const line = await commandLine();
    mkdirSync(join(line.configHome, "handrail"));
    writeFileSync(join(line.configHome, "handrail", "config.yaml"), "log_file: own.jsonl\n");
    const own = join(line.configHome, "handrail", "own.jsonl");
    expect((await line.here(["tools"])).code).toBe(0);
    expect(linesOf(own).map(({ what }) => what)).toEqual(["program.started", "program.ended"]);
    const named = newFile();
    await line.here(["tools", "--log-file", named]);
    expect(linesOf(named)).toHaveLength(2);
    expect(linesOf(own)).toHaveLength(2);
  });

  test("in a project's file is a warning, and no file is written", async () => {
    const line = await commandLine({ "handrail.yaml": "log_file: ./log.jsonl\n" });
    const { code, stderr } = await line.here(["tools"]);
    expect(code).toBe(0);
    expect(stderr).toContain("handrail.yaml:1:11: log_file: a project cannot set this.");
    expect(existsSync(join(line.folder, "log.jsonl"))).toBe(false);
  });
});
