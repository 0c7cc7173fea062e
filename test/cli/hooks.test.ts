import { chmod, mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { requireProgram } from "../support/here.ts";
import { temporaryFolder } from "../support/workspace.ts";
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
    expect(await line.here(READ)).toMatchObject({ code: 1, stdout: "here\n" });
    const other = await line.here(["call", "time", "{}"]);
    expect(other.stderr).not.toContain("here");
  });

  test("whose program lies where a model writes need trust, and block calls when it changes", async () => {
    const line = await withHooks(hooksOf('"$CLAUDE_PROJECT_DIR"/check.sh'), { "check.sh": CHECK });
    const program = join(line.folder, "check.sh");
    await chmod(program, 0o755);
    expect((await line.here(READ)).stdout).toMatch(/check\.sh lies where a model can write, and is not trusted/);
    const doctor = await line.here(["doctor"]);
    expect(doctor.stdout + doctor.stderr).toMatch(/PreToolUse: "\$CLAUDE_PROJECT_DIR"\/check\.sh is not started/);
    expect(await trust(line)).toMatch(/hook:PreToolUse .*check\.sh runs .*check\.sh/);
    expect(await line.here(READ)).toMatchObject({ code: 1, stdout: "the check says no\n" });
    expect(await line.here(["call", "bash", '{"command":"echo fine"}'])).toMatchObject({ code: 0, stdout: "fine\n" });
    await writeFile(program, "#!/bin/sh\nexit 0\n");
    expect((await line.here(READ)).stdout).toMatch(/check\.sh .*has changed since you trusted it/s);
  });

  test.each(["env A=1 timeout 5 ./bin/check.sh", 'sh -c "./bin/check.sh < /dev/null"', "cd bin && ./check.sh"])(
    "whose program is inside another command need trust too: %s",
    async (command) => {
      const line = await withHooks(hooksOf(command), { "bin/check.sh": CHECK });
      expect((await line.here(READ)).stdout).toMatch(/check\.sh lies where a model can write, and is not trusted/);
    },
  );

  test("that run code of the workspace are trusted by name, each by itself", async () => {
    requireProgram("make");
    const line = await withHooks(hooksOf("cat > /dev/null; make -s one && make -s two"), {
      Makefile: "one:\n\t@:\ntwo:\n\t@echo made >&2; exit 2\n",
    });
    expect((await line.here(READ)).stdout).toContain("outside the sandbox, and is not trusted");
    expect(await trust(line)).toMatch(/starts make -s one in the workspace, OUTSIDE[^]*starts make -s two/);
    expect(await line.here(READ)).toMatchObject({ code: 1, stdout: expect.stringContaining("made") });
  });

  test("of a project have no effect until the file is trusted, and add to the user's", async () => {
    const line = await withHooks(hooksOf("echo mine >&2; exit 1"), {
      "handrail.yaml": hooksOf("echo of the project >&2; exit 2"),
    });
    const before = await line.here(READ);
    expect(before).toMatchObject({ code: 0, stdout: "text\n" });
    expect(before.stderr).toMatch(/have no effect: hooks\. See: handrail trust\n[^]*exit code 1: mine/);
    expect(await trust(line)).toContain("hooks: hooks that run OUTSIDE the sandbox, as you: PreToolUse: echo of the");
    expect(await line.here(READ)).toMatchObject({
      code: 1,
      stdout: "of the project\n",
      stderr: expect.stringContaining("mine"),
    });
  });

  test("that cannot work are errors of the file, and doctor finds missing programs", async () => {
    const wrong = await withHooks(
      "hooks:\n  PreToolUsed: []\n  Stop:\n    - matcher: '('\n      hooks: [{ type: http, url: https://x.example }, { type: prompt, command: x }, { type: command }]\n",
    );
    const { stderr } = await wrong.here(["tools"]);
    expect(stderr).toMatch(/PreToolUsed/);
    expect(stderr).toMatch(
      /hooks\[0\]\.type: expected "command", got "http"\. A hook is a program; for a URL, write a comm/,
    );
    expect(stderr).toMatch(/hooks\[1\]\.type: expected "command", got "prompt"/);
    expect(stderr).toMatch(/hooks\[2\]: .*command/);
    const missing = await withHooks(hooksOf("no-such-program --check | cat"));
    const doctor = await missing.here(["doctor"]);
    expect(doctor.stdout + doctor.stderr).toContain("PreToolUse: there is no program no-such-program");
  });

  test("of the published kinds run as they are, from the settings of Claude Code", async () => {
    requireProgram("jq");
    requireProgram("python3");
    const validator =
      "import json, sys\nevent = json.load(sys.stdin)\n" +
      'words = event.get("tool_input", {}).get("command", "").split()\n' +
      'if event.get("tool_name") == "Bash" and words[:1] == ["grep"]:\n' +
      '    print("Use rg instead of grep", file=sys.stderr)\n    sys.exit(2)\n';
    const protect =
      "#!/bin/bash\nFILE=$(jq -r '.tool_input.file_path // empty')\nfor pattern in .env package-lock.json .git/; do\n" +
      '  if [[ "$FILE" == *"$pattern"* ]]; then echo "Blocked: $FILE matches $pattern" >&2; exit 2; fi\ndone\nexit 0\n';
    const docs =
      "import json, sys\nevent = json.load(sys.stdin)\n" +
      'if event["tool_input"]["command"].endswith(".md"):\n' +
      '    print(json.dumps({"hookSpecificOutput": {"hookEventName": "PreToolUse", "permissionDecision": "allow",\n' +
      '        "permissionDecisionReason": "documentation"}, "suppressOutput": True}))\n';
    const hook = (command: string) => ({ hooks: [{ type: "command", command }] });
    const settings = {
      PreToolUse: [
        { matcher: "Bash", ...hook("python3 ~/.claude/hooks/validate.py") },
        {
          matcher: "Bash",
          ...hook(`jq -r '"\\(.tool_input.command) - \\(.tool_input.description // "none")"' >> ~/log.txt`),
        },
        { matcher: "Edit|Write", ...hook("$HOME/.claude/hooks/protect.sh") },
        { matcher: "Bash", ...hook("python3 ~/.claude/hooks/docs.py") },
      ],
      PostToolUse: [
        { matcher: "Edit|MultiEdit|Write", ...hook("jq -r '.tool_input.file_path' | xargs sed -i 's/ *$//'") },
      ],
    };
    const line = await withHooks(JSON.stringify({ policy: { sandbox: "off" }, hooks: settings }));
    const home = temporaryFolder();
    await mkdir(join(home, ".claude/hooks"), { recursive: true });
    const files = { "validate.py": validator, "protect.sh": protect, "docs.py": docs };
    for (const [name, text] of Object.entries(files))
      await writeFile(join(home, ".claude/hooks", name), text, { mode: 0o755 });
    const call = (tool: string, input: object) =>
      line.shell(`HOME='${home}' handrail call ${tool} '${JSON.stringify(input)}'`);
    expect((await call("bash", { command: "grep text forbidden.txt" })).stdout).toBe("Use rg instead of grep\n");
    expect((await call("bash", { command: "echo fine" })).stdout).toBe("fine\n");
    expect(await readFile(join(home, "log.txt"), "utf8")).toBe("grep text forbidden.txt - none\necho fine - none\n");
    const locked = await call("write", { path: "package-lock.json", content: "{}" });
    expect(locked.stdout).toMatch(/^Blocked: .*package-lock\.json matches package-lock\.json\n$/);
    expect((await call("bash", { command: "touch notes.txt" })).code).toBe(1); // a person would be asked
    expect((await call("bash", { command: "touch notes.md" })).code).toBe(0);
    expect((await call("write", { path: "notes.md", content: "a   \nb\n" })).code).toBe(0);
    expect(await readFile(join(line.folder, "notes.md"), "utf8")).toBe("a\nb\n");
  });
});
