import { describe, expect, test } from "vitest";
import { containmentProblem } from "../policy/oracle.ts";
import { mustBeHere } from "../support/here.ts";
import { commandLine } from "./program.ts";

const { folder, run, here, terminal } = await commandLine();

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
    ["a command", ["--command", "npm test", "--sandbox", "off"], "ask"],
    ["a command with full autonomy", ["--command", "npm test", "--autonomy", "full"], "allow"],
    ["a command in read-only mode", ["--command", "npm test", "--autonomy", "readonly", "--sandbox", "off"], "deny"],
    ["a URL", ["--url", "https://nodejs.org/"], "allow"],
  ] as const)("judges %s", async ([, args, verdict]) => {
    const { code, stdout, stderr } = await here(["policy", "check", ...args]);
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
    expect(stdout).toMatch(/^\{.*\}\n$/);
    const answer = JSON.parse(stdout) as Answer;
    const parts = args[0] === "--command" && verdict !== "deny" ? ["parts"] : []; // the part of the script that decided
    expect(Object.keys(answer)).toEqual(["verdict", "risk", "rule", "reason", ...parts]);
    expect(answer.verdict).toBe(verdict);
    expect(["low", "medium", "high"]).toContain(answer.risk);
    if (verdict !== "allow") expect(answer.reason).toMatch(/\w/);
  });

  test("judges by the given working directory", async () => {
    const { stdout } = await here([
      "policy",
      "check",
      "--path",
      folder,
      "--work-dir",
      `${folder}/.git`,
      "--sandbox",
      "off",
    ]);
    expect(JSON.parse(stdout)).toMatchObject({ verdict: "deny" });
  });

  test("asks nobody and runs nothing", async () => {
    const { stdout } = await here(["policy", "check", "--command", "touch made.txt", "--yes", "--sandbox", "off"]);
    expect(JSON.parse(stdout)).toMatchObject({ verdict: "ask" });
    expect(await here(["call", "read", '{"path":"made.txt"}'])).toMatchObject({ code: 1 });
  });
});

describe("handrail policy check, for people", () => {
  test("shows on a terminal what runs, what is asked about and what a longer approval would allow", async () => {
    const { screen, raw, ended } = terminal(
      "handrail policy check --sandbox off --command 'git status && npm test | tail -5'",
    );
    expect(await ended).toBe(0);
    expect(screen()).toBe(
      [
        "Run: git status && npm test | tail -5",
        "",
        "Needs approval: a person is asked. (medium risk, rule require_approval_for_medium_risk)",
        "Medium-risk command requires approval: `npm test` (runs a script of the project)",
        "",
        "Parts:",
        "  runs     git status",
        "           low risk, plain",
        "  asked    npm test",
        "           medium risk, require_approval_for_medium_risk: " +
          "Medium-risk command requires approval: `npm test` (runs a script of the project)",
        "  runs     tail -5",
        "           low risk, plain",
        "",
        'The answer "session" would allow exactly this, in this workspace:',
        "  npm test",
        "",
        "What would be accepted:",
        "  an approval, or --yes",
        "  your own rule in policy.commands.allow that names the command, written plainly",
        "  --autonomy full",
        "  policy.require_approval_for_medium_risk: false",
        "",
      ].join("\n"),
    );
    expect(raw()).toContain("\x1b[33mNeeds approval");
  });

  test("is without colours if NO_COLOR is set, and JSON with --json", async () => {
    const plain = terminal("handrail policy check --sandbox off --command 'sudo ls'", { NO_COLOR: "1" });
    await plain.ended;
    expect(plain.screen()).toMatch(
      /^Run: sudo ls\n\nRefused: it does not run, and nobody is asked\. \(high risk, rule block_high/,
    );
    expect(plain.raw()).not.toContain("\x1b[");
    const json = terminal("handrail policy check --json --sandbox off --command 'sudo ls'");
    await json.ended;
    expect(JSON.parse(json.screen())).toMatchObject({ verdict: "deny", rule: "block_high_risk_commands" });
  });

  test.for([
    [
      "a command that runs",
      ["--command", "ls", "--sandbox", "off"],
      /^Run: ls\n\nRuns: nobody is asked\. \(low risk, rule plain\)\n$/,
    ],
    [
      "a path",
      ["--path", ".env", "--op", "write"],
      /^Write: \.env\n\nNeeds approval:.*rule sensitive_files.*allow exactly this, in this workspace:\n {2}Write: \.env \(\/.*\/\.env\)\n/s,
    ],
    [
      "a path outside",
      ["--path", "/opt/x"],
      /^Read: \/opt\/x\n\nRefused:.*What would be accepted:\n {2}a path.*\n {2}its folder in policy\.allowed_roots/s,
    ],
    [
      "what is refused, without an answer that nobody asks for",
      ["--autonomy", "readonly", "--sandbox", "off", "--command", "npm test"],
      /^Run: npm test\n\nRefused: .*rule autonomy\)\n.*\n\nWhat would be accepted:\n {2}an autonomy \(--autonomy\)[^\n]*\n$/s,
    ],
    ["a URL", ["--url", "https://nodejs.org/"], /^GET: https:\/\/nodejs\.org\/\n\nRuns: nobody is asked\./],
    ["what nothing allows", ["--url", "http://169.254.169.254/"], /^GET: .*\n\nRefused: /],
  ] as const)("explains %s with --explain, without colours where there is no terminal", async ([, args, text]) => {
    const { code, stdout, stderr } = await here(["policy", "check", "--explain", ...args]);
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
    expect(stdout).toMatch(text);
    expect(stdout).not.toContain("\x1b");
    expect(stdout).not.toContain("undefined");
  });

  test("makes invisible characters of a script visible, and omits the middle of a long one", async () => {
    const hidden = `printf 'a\u202e\x1b[2J' 'b'; npm test ${"x".repeat(5_000)}`;
    const { stdout } = await here(["policy", "check", "--explain", "--command", hidden]);
    expect(stdout).toContain("\\u202e\\x1b[2J");
    expect(stdout).not.toMatch(/[\x00-\x09\x0b-\x1f\u202e]/);
    expect(stdout).toMatch(/\[…\d+ characters…\]/);
    expect(Math.max(...stdout.split("\n").map((line) => line.length))).toBeLessThan(2_200);
  });

  const problem = containmentProblem();
  mustBeHere("the sandbox", problem);
  test.skipIf(problem !== undefined)("shows where a command would run, if there is a sandbox", async () => {
    const { stdout } = await here(["policy", "check", "--explain", "--command", "npm test"]);
    expect(stdout).toBe(
      "Run: npm test\n\nRuns: nobody is asked. (medium risk, rule sandbox)\nIt runs in the sandbox: it can write " +
        "only the workspace; it has no network.\n",
    );
    const asked = await here(["policy", "check", "--explain", "--command", "sudo ls"]);
    expect(asked.stdout).toMatch(/^Run: sudo ls\n\nNeeds approval: .*\nIt runs in the sandbox: /s);
    const look = await here(["policy", "check", "--explain", "--autonomy", "readonly", "--command", "npm test"]);
    expect(look.stdout).toContain("It runs in the sandbox: it can write nothing; it has no network.");
  });

  test("names only some of very many parts", async () => {
    const { stdout } = await here([
      "policy",
      "check",
      "--explain",
      "--sandbox",
      "off",
      "--command",
      "npm test; ".repeat(100),
    ]);
    expect(stdout).toContain("\n  and 60 more\n");
  });

  test.for([
    [["--explain", "--json", "--command", "ls"], "policy check: expected --json or --explain, not both"],
    [["--explain", "--batch"], "policy check: --batch answers in JSON; leave --explain out"],
  ] as const)("%j is an error", async ([args, message]) => {
    expect(await here(["policy", "check", ...args])).toMatchObject({
      code: 2,
      stdout: "",
      stderr: `handrail: ${message}\n`,
    });
  });
});

describe("handrail policy check --batch", () => {
  test("answers each line with its id, in order", async () => {
    const { code, answers } = await batch([
      { id: 1, area: "path", input: "README.md" },
      { id: "two", area: "path", input: "/etc/passwd", op: "write" },
      { id: null, area: "shell", input: "npm test" },
      { area: "url", input: "https://nodejs.org/" },
      { id: { any: ["json"] }, area: "path", input: ".", op: "cwd" },
    ]);
    expect(code).toBe(0);
    expect(answers.map(({ id, verdict }) => [id, verdict])).toEqual([
      [1, "allow"],
      ["two", "deny"],
      [null, "ask"],
      [null, "allow"],
      [{ any: ["json"] }, "allow"],
    ]);
    for (const answer of answers) expect(Object.keys(answer)).toEqual(["id", "verdict", "risk", "rule", "reason"]);
  });

  test("answers invalid lines too, continues, and exits with 2", async () => {
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

  test("accepts a line separator (U+2028) in a string, CRLF, blank lines and no final newline", async () => {
    const { code, answers } = await batch(
      '{"id":1,"area":"shell","input":"echo \u2028 \u2029"}\r\n\r\n  \n{"id":"\u2028","area":"path","input":"READ\\u2028ME"}\r\n{"id":3,"area":"path","input":"é"}',
    );
    expect(code).toBe(0);
    expect(answers.map(({ id }) => id)).toEqual([1, "\u2028", 3]);
  });

  test("accepts characters split across two reads, and lines of almost a megabyte", async () => {
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
    expect(stderr).toBe("handrail: a line of stdin is longer than 1048576 bytes\n");
  });

  test("prints nothing for no lines", async () => {
    expect(await here(["policy", "check", "--batch"])).toEqual({ code: 0, signal: null, stdout: "", stderr: "" });
    expect(await here(["policy", "check", "--batch"], {}, { input: "\n\n" })).toEqual({
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
  const { code, stdout, stderr } = await here(["policy", "check", "--batch", "--sandbox", "off"], {}, { input });
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
