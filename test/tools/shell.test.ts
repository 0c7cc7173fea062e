import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { asOutcome } from "../../src/core/call/result.ts";
import type { CheckedCall } from "../../src/core/contract/call.ts";
import { temporaryFolder, toolkitWith } from "../support/workspace.ts";
import { toolsOn } from "./tools.ts";

const preset = { preset: "default" } as const;

describe("shell of the preset default", () => {
  test("returns stdout, or stderr, or both with headings", async () => {
    const { call } = await toolsOn({}, preset);
    const output = async (command: string) => asOutcome(await call("shell", { command }));
    expect(await output("echo out")).toEqual({ success: true, output: "out\n", error: null });
    expect(await output("echo err >&2")).toEqual({ success: true, output: "err\n", error: null });
    expect(await output("echo err >&2; echo out")).toEqual({
      success: true,
      output: "stdout:\nout\n\n\nstderr:\nerr\n",
      error: null,
    });
    expect(await output("true")).toEqual({ success: true, output: "", error: null });
  });

  test("an exit code that is not 0 is a failure with the output", async () => {
    const { call, text } = await toolsOn({}, preset);
    const result = await call("shell", { command: "echo before; exit 3" });
    expect(asOutcome(result)).toEqual({ success: false, output: "before\n", error: "Exit code: 3" });
    expect(result).toMatchObject({ data: { stdout: "before\n", stderr: "", exit_code: 3 } });
    expect(await text("shell", { command: "kill -9 $$" })).toBe("Tool error: Killed by signal: SIGKILL");
  });

  test.each([
    ["cmd", { cmd: "echo 1" }],
    ["script", { script: "echo 1" }],
    ["shell_command", { shell_command: "echo 1" }],
    ["command_line", { command_line: "echo 1" }],
    ["bash", { bash: "echo 1" }],
    ["sh", { sh: "echo 1" }],
    ["input", { input: "echo 1" }],
    ["a bare string", "echo 1"],
    ["spaces around it", { command: "  echo 1\n" }],
  ])("takes the command as %s", async (_, input) => {
    const { text } = await toolsOn({}, preset);
    expect(await text("shell", input)).toBe("1\n");
  });

  test("is told to models in a sentence", async () => {
    const { toolkit } = await toolsOn({}, preset);
    const [told] = toolkit.definitions("json") ?? [];
    expect(told).toMatchObject({ name: "shell", description: "Execute a shell command in the workspace directory" });
  });

  test("without a command says what is missing", async () => {
    const { text } = await toolsOn({}, preset);
    expect(await text("shell", {})).toBe('validation error: missing required parameter "command"');
  });

  test("approved: true only asks: a person must approve, and without one it does not run", async () => {
    const asked: CheckedCall[] = [];
    const policy = { autonomy: "supervised" } as const;
    const input = { command: "touch made", approved: true };
    const refused = await toolkitWith({ ...preset, policy, workDir: temporaryFolder() });
    expect(await refused.call({ name: "shell", input })).toMatchObject({ status: "denied", by: "nobody" });
    const approved = await toolsOn(
      {},
      {
        ...preset,
        policy,
        approver: async (call) => {
          asked.push(call);
          return { answer: "refuse" };
        },
      },
    );
    expect(await approved.text("shell", input)).toBe("Command execution denied by user.");
    expect(asked).toHaveLength(1);
  });

  test("each stream shows its first megabyte, and the rest is saved", async () => {
    const { text, call } = await toolsOn({}, { ...preset, tools: [] });
    const shown = await text("shell", { command: "head -c 2000000 /dev/zero | tr '\\0' x; echo small >&2" });
    expect(shown).toMatch(
      /^stdout:\nx{1048576}\n\[Output truncated at 1MB\. Full output saved to: output:\/\/\w+\]\n\nstderr:\nsmall\n$/,
    );
    const id = /output:\/\/(\w+)/.exec(shown)?.[0];
    expect(await call("file_read", { path: id, offset: 1, limit: 1 })).toMatchObject({ status: "ok" });
  });

  test("is stopped after its timeout, and says so", async () => {
    const { text } = await toolsOn({}, { ...preset, toolOptions: { shell: { timeout: 0.3 } } });
    expect(await text("shell", { command: "echo before; sleep 600" })).toBe(
      "Tool error: Execution failed: the command did not finish within 0.3 s and was stopped\nbefore\n",
    );
  });
});

test("file_write and file_read write and read, with the seed's words", async () => {
  const { folder, text } = await toolsOn({}, preset);
  expect(await text("file_write", { path: "new/a.txt", content: "häh\n" })).toBe("Wrote 5 bytes to new/a.txt");
  expect(await readFile(join(folder, "new/a.txt"), "utf8")).toBe("häh\n");
  expect(await text("file_read", { path: "new/a.txt" })).toBe("häh\n");
  expect(await text("file_read", { path: "none.txt" })).toMatch(
    /^Tool error: File not found: .*none\.txt\nLook for it with shell\.$/,
  );
});

test("the default preset has these three tools, and the preset all has none twice", async () => {
  const { toolkit } = await toolsOn({}, preset);
  expect([...toolkit.tools.keys()]).toEqual(["shell", "file_read", "file_write"]);
  const { toolkit: all } = await toolsOn();
  expect([...all.tools.keys()]).not.toContain("file_read");
});

describe("the presets default and assistant refuse and fail with the seed's words, and then ours", () => {
  const readonly = { autonomy: "readonly" } as const;
  const supervised = { autonomy: "supervised" } as const;
  const full = { autonomy: "full" } as const;

  test.each([
    ["file_read", { path: "/etc/passwd" }, full, "Path not allowed by security policy: /etc/passwd (forbidden_paths"],
    ["file_read", { path: "/srv/a" }, full, "Path not allowed by security policy: /srv/a is outside the workspace"],
    ["file_read", { path: "sub" }, full, "Failed to read file: This is a folder, not a file: "],
    ["file_write", { path: "/etc/a", content: "" }, full, "Path not allowed: /etc/a (forbidden_paths"],
    ["file_write", { path: "../a", content: "" }, full, "Path not allowed: ../a "],
    ["file_write", { path: "sub", content: "" }, full, "Failed to write file: "],
    ["file_write", { path: "a", content: "" }, readonly, "Read-only mode: cannot write files"],
    ["shell", { command: "touch a" }, readonly, "Read-only mode: cannot perform 'run a command'"],
    ["shell", { command: "cat /etc/passwd" }, full, "Security policy violation: Forbidden path: /etc/passwd"],
    ["shell", { command: "sudo ls" }, full, "Security policy violation: High-risk commands are blocked"],
    ["shell", { command: "npm test" }, supervised, "Security policy violation: Medium-risk command requires approval"],
    [
      "shell",
      { command: "make" },
      { commands: { only: ["ls"] } },
      "Security policy violation: Command not in allowlist",
    ],
  ] as const)("%s %j with %j: %s", async (name, input, policy, words) => {
    for (const each of ["default", "assistant"]) {
      const { call } = await toolsOn({ "sub/a.txt": "" }, { preset: each, policy });
      expect(asOutcome(await call(name, input)).error?.slice(0, words.length)).toBe(words);
    }
  });

  test("the words of a person who refuses stay as they are", async () => {
    const approver = async () => ({ answer: "refuse", reason: "Not now." }) as const;
    const { text } = await toolsOn({}, { ...preset, policy: supervised, approver });
    expect(await text("shell", { command: "npm test" })).toBe("Command execution denied by user. Not now.");
  });
});
