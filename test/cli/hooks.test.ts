import { chmod, mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { type CommandLine, commandLine } from "./program.ts";

const CHECK = "#!/bin/sh\ngrep -q forbidden && { echo 'the check says no' >&2; exit 2; }\nexit 0\n";
const hooksOf = (command: string, event = "PreToolUse") =>
  `hooks:\n  ${event}:\n    - matcher: Read|Bash\n      hooks: [{ type: command, command: '${command}' }]\n`;
const READ = ["call", "read", '{"path":"forbidden.txt"}'];

async function withHooks(own: string, files: { readonly [path: string]: string } = {}): Promise<CommandLine> {
  const line = await commandLine({ "forbidden.txt": "text\n", ...files });
  await mkdir(join(line.configHome, "handrail"), { recursive: true });
  await writeFile(join(line.configHome, "handrail/config.yaml"), own);
  return line;
}

async function trust(line: CommandLine): Promise<string> {
  const terminal = line.terminal("handrail trust");
  await terminal.shows("[y/N] ");
  terminal.type("y\r");
  expect(await terminal.ended).toBe(0);
  return terminal.screen();
}

describe("hooks of the configuration", () => {
  test("run from the user's own file; a variable in a command stays for its shell", async () => {
    const line = await withHooks(hooksOf('test "${CLAUDE_PROJECT_DIR}" = "$PWD" && { echo here >&2; exit 2; }'));
    expect(await line.run(READ)).toMatchObject({ code: 1, stdout: "here\n" });
    const other = await line.run(["call", "time", "{}"]);
    expect(other.stderr).not.toContain("here");
  });

  test("whose program lies where a model writes need trust, and block calls when it changes", async () => {
    const line = await withHooks(hooksOf('"$CLAUDE_PROJECT_DIR"/check.sh'), { "check.sh": CHECK });
    const program = join(line.folder, "check.sh");
    await chmod(program, 0o755);
    expect((await line.run(READ)).stdout).toMatch(/check\.sh lies where a model can write, and is not trusted/);
    const doctor = await line.here(["doctor"]);
    expect(doctor.stdout + doctor.stderr).toMatch(/PreToolUse: "\$CLAUDE_PROJECT_DIR"\/check\.sh is not started/);
    expect(await trust(line)).toMatch(/hook:PreToolUse .*check\.sh runs .*check\.sh/);
    expect(await line.run(READ)).toMatchObject({ code: 1, stdout: "the check says no\n" });
    expect(await line.run(["call", "bash", '{"command":"echo fine"}'])).toMatchObject({ code: 0, stdout: "fine\n" });
    await writeFile(program, "#!/bin/sh\nexit 0\n");
    expect((await line.run(READ)).stdout).toMatch(/check\.sh .*has changed since you trusted it/s);
  });

  test("that run code of the workspace are trusted by name, each by itself", async () => {
    const line = await withHooks(hooksOf("cat > /dev/null; make -s one && make -s two"), {
      Makefile: "one:\n\t@:\ntwo:\n\t@echo made >&2; exit 2\n",
    });
    expect((await line.run(READ)).stdout).toContain("outside the sandbox, and is not trusted");
    expect(await trust(line)).toMatch(/starts make -s one in the workspace, OUTSIDE[^]*starts make -s two/);
    expect(await line.run(READ)).toMatchObject({ code: 1, stdout: expect.stringContaining("made") });
  });

  test("of a project have no effect until the file is trusted, and add to the user's", async () => {
    const line = await withHooks(hooksOf("echo mine >&2; exit 1"), {
      "handrail.yaml": hooksOf("echo of the project >&2; exit 2"),
    });
    const before = await line.run(READ);
    expect(before).toMatchObject({ code: 0, stdout: "text\n" });
    expect(before.stderr).toMatch(/have no effect: hooks\. See: handrail trust\n[^]*exit code 1: mine/);
    expect(await trust(line)).toContain("hooks: hooks that run OUTSIDE the sandbox, as you: PreToolUse: echo of the");
    expect(await line.run(READ)).toMatchObject({
      code: 1,
      stdout: "of the project\n",
      stderr: expect.stringContaining("mine"),
    });
  });

  test("that cannot work are errors of the file, and doctor finds missing programs", async () => {
    const wrong = await withHooks(
      "hooks:\n  PreToolUsed: []\n  Stop:\n    - matcher: '('\n      hooks: [{ type: http }, { type: prompt }]\n",
    );
    const { stderr } = await wrong.here(["tools"]);
    expect(stderr).toMatch(/PreToolUsed/);
    expect(stderr).toMatch(/one of command, http/);
    const missing = await withHooks(hooksOf("no-such-program --check | cat"));
    const doctor = await missing.here(["doctor"]);
    expect(doctor.stdout + doctor.stderr).toContain("PreToolUse: there is no program no-such-program");
  });
});
