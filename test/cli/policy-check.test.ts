import { describe, expect, test } from "vitest";
import { commandLine } from "./program.ts";

const { folder, run } = await commandLine();

interface Answer {
  readonly id?: unknown;
  readonly verdict: string;
  readonly risk: string;
  readonly rule: string | null;
  readonly reason: string | null;
}

describe("handrail policy check", () => {
  test.for([
    ["a file of the workspace", ["--path", "README.md"], "allow"],
    ["writing one", ["--path", "README.md", "--op", "write"], "allow"],
    ["standing in the workspace", ["--path", ".", "--op", "cwd"], "allow"],
    ["a system file", ["--path", "/etc/passwd"], "deny"],
    ["a key", ["--path", "~/.ssh/id_ed25519"], "deny"],
    ["a command", ["--command", "npm test"], "ask"],
    ["a command with full autonomy", ["--command", "npm test", "--autonomy", "full"], "allow"],
    ["a command in read-only mode", ["--command", "npm test", "--autonomy", "readonly"], "deny"],
    ["a URL", ["--url", "https://example.org/"], "ask"],
  ] as const)("judges %s", async ([, args, verdict]) => {
    const { code, stdout, stderr } = await run(["policy", "check", ...args]);
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
    expect(stdout).toMatch(/^\{.*\}\n$/);
    const answer = JSON.parse(stdout) as Answer;
    const parts = args[0] === "--command" && verdict !== "deny" ? ["parts"] : []; // which part of the script decided
    expect(Object.keys(answer)).toEqual(["verdict", "risk", "rule", "reason", ...parts]);
    expect(answer.verdict).toBe(verdict);
    expect(["low", "medium", "high"]).toContain(answer.risk);
    if (verdict !== "allow") expect(answer.reason).toMatch(/\w/);
  });

  test("judges by the folder it is told to work in", async () => {
    const { stdout } = await run(["policy", "check", "--path", folder, "--work-dir", `${folder}/.git`]);
    expect(JSON.parse(stdout)).toMatchObject({ verdict: "deny" });
  });

  test("asks nobody and runs nothing", async () => {
    const { stdout } = await run(["policy", "check", "--command", "touch made.txt", "--yes"]);
    expect(JSON.parse(stdout)).toMatchObject({ verdict: "ask" });
    expect(await run(["call", "read", '{"path":"made.txt"}'])).toMatchObject({ code: 1 });
  });
});

describe("handrail policy check --batch", () => {
  test("answers each line with its id, in order", async () => {
    const { code, answers } = await batch([
      { id: 1, area: "path", input: "README.md" },
      { id: "two", area: "path", input: "/etc/passwd", op: "write" },
      { id: null, area: "shell", input: "npm test" },
      { area: "url", input: "https://example.org/" },
      { id: { any: ["json"] }, area: "path", input: ".", op: "cwd" },
    ]);
    expect(code).toBe(0);
    expect(answers.map(({ id, verdict }) => [id, verdict])).toEqual([
      [1, "allow"],
      ["two", "deny"],
      [null, "ask"],
      [null, "ask"],
      [{ any: ["json"] }, "allow"],
    ]);
    for (const answer of answers) expect(Object.keys(answer)).toEqual(["id", "verdict", "risk", "rule", "reason"]);
  });

  test("answers lines that are wrong too, goes on, and exits with 2", async () => {
    const lines = [
      "not json",
      '{"id":1,"area":"path","input":"README.md"}',
      "[]",
      "7",
      "null",
      '{"id":2,"area":"moon","input":"x"}',
      '{"id":3,"area":"path"}',
      '{"id":4,"area":"path","input":"x","op":"eat"}',
      '{"id":5,"area":"path","input":["x"]}',
    ];
    const { code, stderr, answers } = await batch(lines.join("\n"));
    expect({ code, stderr }).toEqual({ code: 2, stderr: "" });
    expect(answers.map(({ id, verdict, rule, reason }) => [id, verdict, rule, reason])).toEqual([
      [null, "deny", "input", expect.stringMatching(/^line 1: Unexpected token 'o' at line 1 column 2/)],
      [1, "allow", "workspace", null],
      [null, "deny", "input", 'line 3: expected an object {"id","area","input","op"?}'],
      [null, "deny", "input", 'line 4: expected an object {"id","area","input","op"?}'],
      [null, "deny", "input", 'line 5: expected an object {"id","area","input","op"?}'],
      [2, "deny", "input", 'line 6: "area": expected "shell", "path" or "url"'],
      [3, "deny", "input", 'line 7: "input": expected a string'],
      [4, "deny", "input", 'line 8: "op": expected "read", "write" or "cwd"'],
      [5, "deny", "input", 'line 9: "input": expected a string'],
    ]);
  });

  test("takes a line separator (U+2028) inside a string, CRLF lines, blank lines and no final newline", async () => {
    const { code, answers } = await batch(
      '{"id":1,"area":"shell","input":"echo \u2028 \u2029"}\r\n\r\n  \n{"id":"\u2028","area":"path","input":"READ\\u2028ME"}\r\n{"id":3,"area":"path","input":"é"}',
    );
    expect(code).toBe(0);
    expect(answers.map(({ id }) => id)).toEqual([1, "\u2028", 3]);
  });

  test("takes characters that lie across two reads, and lines of almost a megabyte", async () => {
    const input = "文".repeat(340_000);
    const { code, answers } = await batch([
      { id: 1, area: "shell", input },
      { id: 2, area: "path", input: "README.md" },
    ]);
    expect(code).toBe(0);
    expect(answers.map(({ id, verdict }) => [id, verdict])).toEqual([
      [1, expect.stringMatching(/^(ask|deny)$/)],
      [2, "allow"],
    ]);
  });

  test("refuses a longer line with a sentence", async () => {
    const { code, stderr } = await run(
      ["policy", "check", "--batch"],
      `{"id":1,"area":"shell","input":"${"x".repeat(1_100_000)}"}`,
    );
    expect(code).toBe(2);
    expect(stderr).toBe("handrail: policy check --batch: a line is longer than 1048576 bytes\n");
  });

  test("has no answer to no lines", async () => {
    expect(await run(["policy", "check", "--batch"], "")).toEqual({ code: 0, signal: null, stdout: "", stderr: "" });
    expect(await run(["policy", "check", "--batch"], "\n\n")).toEqual({
      code: 0,
      signal: null,
      stdout: "",
      stderr: "",
    });
  });
});

async function batch(
  lines: string | readonly object[],
): Promise<{ code: number | null; stderr: string; answers: readonly Answer[] }> {
  const input = typeof lines === "string" ? lines : lines.map((line) => `${JSON.stringify(line)}\n`).join("");
  const { code, stdout, stderr } = await run(["policy", "check", "--batch"], input);
  return {
    code,
    stderr,
    answers:
      stdout === ""
        ? []
        : stdout
            .trimEnd()
            .split("\n")
            .map((line) => JSON.parse(line) as Answer),
  };
}
