import { mkdir, readFile, readdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { until } from "../support/until.ts";
import { type CommandLine, type Terminal, commandLine as newCommandLine } from "./program.ts";

/** A command line that asks about every command. */
async function commandLine(files: { readonly [path: string]: string | Uint8Array } = {}): Promise<CommandLine> {
  const line = await newCommandLine(files);
  await mkdir(join(line.configHome, "handrail"), { recursive: true });
  await writeFile(
    join(line.configHome, "handrail", "config.yaml"),
    "policy: { shell_confirm: true, block_high_risk_commands: false, sandbox: off }\n",
  );
  return line;
}

const QUESTION = "Run: echo ran [y/N/s/a] ";
/** Writes the result to a file, so that only the question is on the screen. */
const CALL = `handrail call bash '{"command":"echo ran"}' > result.txt`;

describe("a person at the terminal", () => {
  test("refuses with No", async () => {
    const line = await commandLine();
    const terminal = await asked(line, CALL, QUESTION);
    terminal.type("No\r");
    expect(await terminal.ended).toBe(1);
    expect(await readFile(join(line.folder, "result.txt"), "utf8")).toBe("Command execution denied by user.\n");
  });

  test("is asked again until the answer is one", async () => {
    const line = await commandLine();
    const terminal = await asked(line, CALL, QUESTION);
    terminal.type("maybe\r");
    await until("it is asked again", () => questionsOn(terminal, QUESTION) === 2);
    expect(terminal.screen()).toContain("Expected y, s, a or n, got maybe.");
    terminal.type("yep\r");
    await until("it is asked again", () => questionsOn(terminal, QUESTION) === 3);
    terminal.type(" YES \r");
    expect(await terminal.ended).toBe(0);
    expect(await readFile(join(line.folder, "result.txt"), "utf8")).toBe("ran\n");
  });

  test.for(["y\r", "s"])("does not answer with %j typed before the question appeared", async (early) => {
    const line = await commandLine();
    const terminal = line.terminal(`echo ready; until [ -e go ]; do sleep 0.02; done; ${CALL}`);
    await terminal.shows("ready");
    terminal.type(early);
    await terminal.shows(`ready\n${early.trim()}`);
    await writeFile(join(line.folder, "go"), "");
    await terminal.shows(QUESTION);
    terminal.type("\r");
    expect(await terminal.ended).toBe(1);
    expect(await readFile(join(line.folder, "result.txt"), "utf8")).toBe("Command execution denied by user.\n");
  });

  test("is asked when the arguments come from stdin, and the result goes into a pipe", async () => {
    const line = await commandLine();
    const script = `echo '{"command":"echo ran"}' | handrail call bash - | cat > result.txt`;
    const terminal = await asked(line, script, QUESTION);
    terminal.type("y\r");
    await terminal.ended;
    expect(await readFile(join(line.folder, "result.txt"), "utf8")).toBe("ran\n");
  });

  test("sees the question and then the result", async () => {
    const line = await commandLine();
    const terminal = await asked(line, `handrail call bash '{"command":"echo ran"}' 2> /dev/null`, QUESTION);
    terminal.type("y\r");
    expect(await terminal.ended).toBe(0);
    expect(terminal.screen()).toMatch(/Run: echo ran \[y\/N\/s\/a\] y\n+ran\n$/);
  });

  test("refuses with Ctrl-D", async () => {
    const line = await commandLine();
    const terminal = await asked(line, CALL, QUESTION);
    terminal.type("\x04");
    expect(await terminal.ended).toBe(1);
    expect(await readFile(join(line.folder, "result.txt"), "utf8")).toBe("Command execution denied by user.\n");
  });

  test("stops the call with Ctrl-C", async () => {
    const line = await commandLine();
    const terminal = await asked(line, CALL, QUESTION);
    terminal.type("\x03");
    expect(await terminal.ended).toBe(1);
    expect(await readFile(join(line.folder, "result.txt"), "utf8")).toBe("The call was stopped before it finished.\n");
    expect(terminal.screen()).not.toMatch(/Warning|Error|\bat /);
  });

  test("has a working terminal afterwards", async () => {
    const line = await commandLine();
    const terminal = line.terminal(`stty > before.txt; ${CALL}; stty > after.txt`);
    await terminal.shows(QUESTION);
    terminal.type("n\r");
    await terminal.ended;
    expect(await readFile(join(line.folder, "after.txt"), "utf8")).toBe(
      await readFile(join(line.folder, "before.txt"), "utf8"),
    );
  });

  test("is not asked about what --yes has answered, what is allowed, and what is denied", async () => {
    const line = await commandLine();
    for (const [words, code] of [
      [`bash '{"command":"echo ran"}' --yes`, 0],
      [`read '{"path":"README.md"}'`, 0],
      [`read '{"path":"/etc/passwd"}'`, 1],
    ] as const) {
      const terminal = line.terminal(`handrail call ${words}`);
      expect(await terminal.ended).toBe(code);
      expect(terminal.screen()).not.toContain("[y/N]");
    }
  });
});

describe("the question", () => {
  test("shows control characters of the command visibly, so that none can act on the terminal", async () => {
    const line = await commandLine({
      "call.json": JSON.stringify({ command: "echo \x1b[2K\x1b[1Aharmless \u202eecho\u202c \x07\r\x9b2J\u200b" }),
    });
    const terminal = await asked(line, "handrail call bash - < call.json > result.txt 2> /dev/null", " [y/N/s] ");
    expect(terminal.screen()).toContain(
      "Run: echo \\x1b[2K\\x1b[1Aharmless \\u202eecho\\u202c \\x07\\r\\x9b2J\\u200b [y/N/s] ",
    );
    const written = terminal.raw().replace("\x07", ""); // the bell that announces the question
    expect(written).not.toBe(terminal.raw());
    expect(written).not.toMatch(/\x1b\[2K|\x1b\[1A|\x07|\u202e|\x9b/);
    terminal.type("n\r");
    await terminal.ended;
  });

  test("comes before the progress of its command, of which nothing is drawn until it is answered", async () => {
    const line = await commandLine();
    const command = "printf 'wor%s\\n' king; until [ -e go ]; do sleep 0.02; done";
    await writeFile(join(line.folder, "call.json"), JSON.stringify({ command }));
    const terminal = await asked(line, "handrail call bash - < call.json > result.txt", " [y/N");
    expect(terminal.raw()).not.toMatch(/\x1b\[2m[^\x1b]/);
    terminal.type("y\r");
    await terminal.shows("working");
    expect(terminal.raw().indexOf("working")).toBeGreaterThan(terminal.raw().indexOf("[y/N"));
    await writeFile(join(line.folder, "go"), "");
    expect(await terminal.ended).toBe(0);
  });

  test("shows a script of a few lines as it is written", async () => {
    const line = await commandLine({ "call.json": JSON.stringify({ command: "cd sub\nrm -rf build" }) });
    const terminal = await asked(line, "handrail call bash - < call.json > result.txt", " [y/N/s] ");
    expect(terminal.screen()).toMatch(/Run: cd sub\nrm -rf build \[y\/N\/s\] $/);
    terminal.type("n\r");
    await terminal.ended;
  });

  test("shows a long script in one line with its middle cut, so that its beginning stays on the screen", async () => {
    const line = await commandLine({
      "long.json": JSON.stringify({ command: `rm -rf important${"\n".repeat(200)}echo harmless` }),
      "wide.json": JSON.stringify({ command: `rm -rf important; echo ${"x".repeat(10_000)}; echo harmless` }),
    });
    for (const file of ["long.json", "wide.json"]) {
      const terminal = await asked(
        line,
        `stty cols 4000; handrail call bash - < ${file} > result.txt`,
        " [y/N/v (view all)] ",
      );
      const question = terminal.screen().replace("\u0007", "").trimStart(); // it rings the bell
      expect(question).toMatch(/^(.*\n)?Run: rm -rf important.*echo harmless \[y\/N\/v \(view all\)\] $/);
      expect(question.length).toBeLessThan(2_500);
      terminal.type("n\r");
      await terminal.ended;
    }
  });

  test("shows the reason unless commands are simply always asked about", async () => {
    const line = await commandLine();
    const script = `handrail call write '{"path":".git/hooks/pre-commit","content":"x"}' > result.txt`;
    const terminal = await asked(line, script, " [y/N] ");
    expect(terminal.screen()).toMatch(
      /Writing \.git\/hooks\/pre-commit requires approval: .*\nNew file: \.git\/hooks\/pre-commit( \(.*\))?\n[^]*\n\+x\n[^]* \[y\/N\] $/,
    );
    terminal.type("n\r");
    expect(await terminal.ended).toBe(1);
    expect(await readFile(join(line.folder, "result.txt"), "utf8")).toBe("Call of write denied by user.\n");
    expect(await readdir(join(line.folder, ".git", "hooks"))).not.toContain("pre-commit");
  });
});

describe("an approval for longer", () => {
  test("with a is kept for other processes, is listed, and no longer applies once it is revoked", async () => {
    const line = await commandLine();
    const first = await asked(line, CALL, QUESTION);
    first.type("a\r");
    expect(await first.ended).toBe(0);
    const second = line.terminal(CALL);
    expect(await second.ended).toBe(0);
    expect(second.screen()).not.toContain("[y/N");
    const other = await asked(line, CALL.replace("echo ran", "echo ran twice"), "Run: echo ran twice [y/N/s/a] ");
    other.type("n\r");
    expect(await other.ended).toBe(1);
    const [grant, ...more] = JSON.parse((await line.here(["policy", "grants", "--json"])).stdout) as readonly {
      readonly [field: string]: unknown;
    }[];
    expect(more).toEqual([]);
    expect(grant).toMatchObject({ label: "echo ran", workspace: line.folder, until: null });
    const { stdout } = await line.here(["policy", "grants"]);
    expect(stdout).toMatch(/^[0-9a-f]{16} {2}echo ran\n {18}in \/.*, since \d{4}-\d\d-\d\d \d\d:\d\d:\d\d\n$/);
    expect(await line.here(["policy", "grants", "revoke", "0000000000000000"])).toMatchObject({ code: 2, stdout: "" });
    expect(await line.here(["policy", "grants", "revoke"])).toMatchObject({ code: 2, stdout: "" });
    expect(await line.here(["policy", "grants", "revoke", String(grant?.["id"])])).toMatchObject({ code: 0 });
    const third = await asked(line, CALL, QUESTION);
    third.type("s\r");
    expect(await third.ended).toBe(0);
    expect((await line.here(["policy", "grants"])).stdout).toBe("There are no permanent grants.\n");
    expect((await line.here(["policy", "grants", "revoke", "--all"])).stdout).toBe("0 revoked.\n");
  });
});

describe("during a call", () => {
  const working = `handrail call bash '{"command":"echo wor\\"\\"king; while [ ! -e go ]; do sleep 0.02; done; echo done"}' --yes > result.txt`;

  test("the last line of its output is shown on the terminal, dim, and removed at the end", async () => {
    const { folder, terminal: open } = await commandLine();
    const terminal = open(working);
    await terminal.shows("working");
    expect(terminal.raw()).toContain("\x1b[2mworking\x1b[22m");
    await open(`touch ${join(folder, "go")}`).ended;
    expect(await terminal.ended).toBe(0);
    expect(terminal.raw()).toMatch(/\r\x1b\[2K$/);
    expect(await readFile(join(folder, "result.txt"), "utf8")).toBe("working\ndone\n");
  });

  test("it is shown without colours if NO_COLOR is set", async () => {
    const { folder, terminal: open } = await commandLine();
    const terminal = open(working, { NO_COLOR: "1" });
    await terminal.shows("working");
    await open(`touch ${join(folder, "go")}`).ended;
    expect(await terminal.ended).toBe(0);
    expect(terminal.raw()).not.toMatch(/\x1b\[\d*m/);
  });

  test("a file's text cannot act on the terminal; another file gets it unchanged", async () => {
    const text = "\x1b]0;title\x07\x1b[31mred\x1b[0m\n";
    const line = await commandLine({ "odd.txt": text, "call.json": JSON.stringify({ path: "odd.txt" }) });
    const shown = line.terminal("handrail call read - < call.json 2> /dev/null");
    expect(await shown.ended).toBe(0);
    expect(shown.raw()).toContain("\\x1b]0;title\\x07\x1b[31mred\x1b[0m");
    const kept = line.terminal("handrail call read - < call.json > result.txt");
    expect(await kept.ended).toBe(0);
    expect(await readFile(join(line.folder, "result.txt"), "utf8")).toBe(text);
  });
});

async function asked(line: CommandLine, script: string, question: string): Promise<Terminal> {
  const terminal = line.terminal(script);
  await terminal.shows(question);
  return terminal;
}

function questionsOn(terminal: Terminal, question: string): number {
  return terminal.screen().split(question).length - 1;
}
