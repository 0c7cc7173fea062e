import { createHash } from "node:crypto";
import { mkdir, readFile, readdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import { temporaryFolder } from "../support/workspace.ts";
import { commandLine } from "./program.ts";

/** The program, with a home folder of its own, and a hook's event about a call. */
async function guarded(client: string, file: string, before?: string) {
  const line = await commandLine({ "a.txt": "one\n" });
  const home = temporaryFolder();
  await mkdir(join(home, file, ".."), { recursive: true });
  if (before !== undefined) await writeFile(join(home, file), before);
  const shell = (script: string) => line.shell(`export HOME='${home}'\n${script}`);
  // The process that waits for further events.
  const waiting = `grep -lsz 'XDG_STATE_HOME=${line.stateHome}' /proc/[0-9]*/environ | cut -d/ -f3`;
  onTestFinished(() => shell(`kill $(${waiting}) 2>/dev/null || true`).then(() => undefined));
  const text = () => readFile(join(home, file), "utf8");
  const guard = (command: string) => shell(`handrail guard ${command} ${client} --yes`);
  let id = 0;
  /** Sends an event of Claude Code to the command that was installed. */
  const hook = async (name: string, tool: string, input: object, same = (id += 1)) => {
    const installed = JSON.parse(await text()) as Installed;
    const command = installed.hooks["PreToolUse"]?.at(-1)?.hooks[0]?.command ?? "";
    const about = { session_id: "s", cwd: line.folder, hook_event_name: name, tool_name: tool, tool_input: input };
    const event = JSON.stringify({ ...about, tool_use_id: `t${same}`, tool_response: "done" });
    return { ...(await shell(`printf %s '${event.replaceAll("'", "'\\''")}' | { ${command}; }`)), same };
  };
  return { line, home, shell, text, guard, hook };
}

interface Installed {
  readonly hooks: { readonly [event: string]: readonly { readonly hooks: readonly { readonly command: string }[] }[] };
}

const OWN = {
  model: "opus",
  hooks: { PreToolUse: [{ matcher: "Bash", hooks: [{ type: "command", command: "mine" }] }] },
};
const CLAUDE = ".claude/settings.json";

describe("handrail guard", () => {
  test("adds its hook beside those that are there, keeps a copy, and takes it out again", async () => {
    const before = JSON.stringify(OWN);
    const { guard, text, home, shell } = await guarded("claude-code", CLAUDE, before);
    expect(await guard("install")).toMatchObject({ code: 0, stderr: "" });
    const installed = JSON.parse(await text()) as typeof OWN & Installed;
    expect(installed.model).toBe("opus");
    expect(installed.hooks.PreToolUse[0]).toEqual(OWN.hooks.PreToolUse[0]);
    expect(Object.keys(installed.hooks).sort()).toEqual([
      "PostToolUse",
      "PostToolUseFailure",
      "PreToolUse",
      "UserPromptSubmit",
    ]);
    const copies = (await readdir(join(home, ".claude"))).filter((name) => name !== "settings.json");
    expect(await readFile(join(home, ".claude", copies[0] ?? ""), "utf8")).toBe(before);
    expect((await guard("install")).stdout).toContain("has the guard already");
    expect((await shell("handrail guard list")).stdout).toMatch(/claude-code +.*settings\.json\ncodex +not guarded\n/);
    expect(await guard("remove")).toMatchObject({ code: 0, stderr: "" });
    expect(JSON.parse(await text())).toEqual(OWN);
  });

  test("keeps comments, and does not touch a file with a mistake", async () => {
    const commented = await guarded("gemini", ".gemini/settings.json", '{\n  // mine\n  "model": "x"\n}\n');
    expect(await commented.guard("install")).toMatchObject({ code: 0 });
    expect(await commented.text()).toContain('  // mine\n  "model": "x"\n');
    const faulty = await guarded("gemini", ".gemini/settings.json", "{ mine }");
    const { code, stderr } = await faulty.guard("install");
    expect(code).toBe(2);
    expect(stderr).toContain("settings.json: line 1 is not JSON");
    expect(await faulty.text()).toBe("{ mine }");
  });

  test("guard test shows for each client that its hook judges", async () => {
    const { shell } = await guarded("claude-code", "x");
    const each = "handrail guard install $client --yes >/dev/null && handrail guard test $client";
    const { stdout } = await shell(`for client in claude-code gemini cursor opencode; do ${each}; done`);
    expect(
      stdout.match(/^echo hello {3}allowed(, in the sandbox)?\nrm -rf \/ {5}denied\nThe guard works\.\n/gm),
    ).toHaveLength(4);
  });

  test("guard test says that Codex does not run hooks which nobody has trusted there", async () => {
    const { guard, home, text } = await guarded("codex", ".codex/hooks.json");
    await guard("install");
    const untrusted = await guard("test");
    expect(untrusted).toMatchObject({ code: 1, stdout: expect.stringContaining("PreToolUse: not trusted yet") });
    expect(untrusted.stdout).not.toContain("The guard works");
    const { hooks } = JSON.parse(await text()) as Installed;
    const names = { PreToolUse: "pre_tool_use", PostToolUse: "post_tool_use", UserPromptSubmit: "user_prompt_submit" };
    const config = (change: string) =>
      Object.entries(names).map(([event, name]) => {
        const command = `${hooks[event]?.[0]?.hooks[0]?.command}${change}`;
        const hook = { async: false, command, timeout: 600, type: "command" };
        const hash = createHash("sha256").update(JSON.stringify({ event_name: name, hooks: [hook] }));
        const key = JSON.stringify(`${home}/.codex/hooks.json:${name}:0:0`);
        return `[hooks.state.${key}]\ntrusted_hash = "sha256:${hash.digest("hex")}"\n`;
      });
    await writeFile(join(home, ".codex/config.toml"), config("").join("\n"));
    expect(await guard("test")).toMatchObject({ code: 0, stdout: expect.stringContaining("The guard works.") });
    await writeFile(join(home, ".codex/config.toml"), config(" ").join("\n"));
    expect((await guard("test")).stdout).toContain("PreToolUse: changed since it was trusted");
  });
});

describe("handrail hook", () => {
  test("a change that the client made can be undone, and the command it contains runs once", async () => {
    const { guard, hook, shell, line } = await guarded("claude-code", CLAUDE);
    await guard("install");
    const write = { file_path: join(line.folder, "a.txt"), content: "two\n" };
    const { same, stdout } = await hook("PreToolUse", "Write", write);
    expect(JSON.parse(stdout)).toMatchObject({ hookSpecificOutput: { permissionDecision: "allow" } });
    await writeFile(write.file_path, write.content);
    await hook("PostToolUse", "Write", write, same);
    await expect.poll(async () => (await shell("handrail undo --yes")).stdout).toContain("1 path restored");
    expect(await readFile(write.file_path, "utf8")).toBe("one\n");

    const answer = JSON.parse((await hook("PreToolUse", "Bash", { command: "cat a.txt; exit 3" })).stdout) as {
      readonly hookSpecificOutput: { readonly updatedInput?: { readonly command: string } };
    };
    const { command = "" } = answer.hookSpecificOutput.updatedInput ?? {};
    if (command === "") return; // there is no sandbox here: `guard test` has shown it
    expect(command).toContain("# cat a.txt; exit 3");
    expect(await shell(command)).toMatchObject({ code: 3, stdout: "one\n" });
    expect(await shell(command)).toMatchObject({ code: 2, stderr: expect.stringContaining("was used or is too old") });
  });

  test("calls that begin together are one project's: what each of them changed is undone", async () => {
    const { guard, hook, shell, line } = await guarded("claude-code", CLAUDE);
    await guard("install");
    const writes = ["a.txt", "b.txt", "c.txt"].map((name) => ({
      file_path: join(line.folder, name),
      content: "new\n",
    }));
    const begun = await Promise.all(writes.map((input) => hook("PreToolUse", "Write", input)));
    await Promise.all(writes.map(({ file_path, content }) => writeFile(file_path, content)));
    await Promise.all(writes.map((input, at) => hook("PostToolUse", "Write", input, begun[at]?.same)));
    await expect.poll(async () => (await shell("handrail undo --yes")).stdout).toContain("3 paths restored");
  });

  test("a command that was approved for the sandbox does not run without it", async () => {
    const { guard, hook, shell, line } = await guarded("claude-code", CLAUDE);
    await guard("install");
    const { stdout } = await hook("PreToolUse", "Bash", { command: "touch ran" });
    const [command = ""] = /(?<="command":")[^"]*hook run[^"]*/.exec(stdout) ?? [];
    if (command === "") return; // there is no sandbox here
    const inner = `bwrap --unshare-user --disable-userns --dev-bind / / -- sh -c '${command.replaceAll("'", "'\\''")}'`;
    const { code, stdout: out } = await shell(inner);
    expect(code).not.toBe(0);
    expect(out).toContain("sandbox");
    expect(await readdir(line.folder)).not.toContain("ran");
  });

  test("blocks the call when an event is not understood, or Handrail is gone", async () => {
    const { guard, line, shell, text } = await guarded("codex", ".codex/hooks.json");
    await guard("install");
    expect(await line.run(["hook", "codex"], "not JSON")).toMatchObject({
      code: 2,
      stdout: "",
      stderr: expect.stringContaining("so it is blocked: expected an event as a JSON object on stdin"),
    });
    const [command = ""] = /(?<="command": ").*(?=",)/.exec(await text()) ?? [];
    expect(await shell(`{ ${command.replace("cli.js", "gone.js")}; } 2>/dev/null`)).toMatchObject({ code: 2 });
  });

  test("opencode's plugin throws for what is denied, and runs what was changed", async () => {
    const { guard, home, line } = await guarded("opencode", ".config/opencode/x");
    await guard("install");
    const folder = line.configHome;
    const [file = ""] = await readdir(join(folder, "opencode/plugins"));
    expect(home).not.toBe(folder);
    vi.stubEnv("XDG_STATE_HOME", line.stateHome); // the plugin starts the hook with this process's variables
    vi.stubEnv("XDG_CONFIG_HOME", folder);
    onTestFinished(() => void vi.unstubAllEnvs());
    const { default: plugin } = (await import(pathToFileURL(join(folder, "opencode/plugins", file)).href)) as {
      readonly default: {
        server(about: object): Promise<{ readonly [name: string]: (a: object, b: object) => Promise<void> }>;
      };
    };
    const before = (await plugin.server({ directory: line.folder, worktree: "/" }))["tool.execute.before"];
    const call = (command: string) => {
      const args = { command };
      return before?.({ tool: "bash", sessionID: "s", callID: command }, { args }).then(() => args.command);
    };
    await expect(call("rm -rf /")).rejects.toThrow("Handrail: ");
    expect(await call("echo hello")).toMatch(/echo hello$/);
  });

  /** The answer of the hook to a call. */
  const answerOf = (stdout: string) =>
    (JSON.parse(stdout) as { readonly hookSpecificOutput: Answer }).hookSpecificOutput;
  interface Answer {
    readonly permissionDecision: string;
    readonly permissionDecisionReason?: string;
    readonly updatedInput?: { readonly command: string };
  }

  test("the client's own tools work on the machine: its /tmp is not the sandbox's", async () => {
    const { guard, hook } = await guarded("claude-code", CLAUDE);
    await guard("install");
    for (const [tool, input] of [
      ["Write", { file_path: "/tmp/handrail-outside.txt", content: "x" }],
      ["Read", { file_path: "/var/tmp/handrail-outside.txt" }],
      ["Grep", { pattern: "x", path: "/tmp" }],
    ] as const)
      expect(answerOf((await hook("PreToolUse", tool, input)).stdout)).toMatchObject({ permissionDecision: "deny" });
  });

  test("the folder in which a command ends is the next one's, or the model is told that it is not", async () => {
    const { guard, hook, shell, line } = await guarded("claude-code", CLAUDE);
    await guard("install");
    await mkdir(join(line.folder, "sub"));
    const after = async (command: string) => {
      const { updatedInput } = answerOf((await hook("PreToolUse", "Bash", { command })).stdout);
      if (updatedInput === undefined) return undefined; // there is no sandbox here, and it is asked about
      const { stdout, code } = await shell(`cd '${line.folder}'\n${updatedInput.command}\necho "$?" && pwd`);
      return { code, lines: stdout.trim().split("\n") };
    };
    expect((await after("cd sub && echo ran; exit 3"))?.lines ?? ["ran", "3", `${line.folder}/sub`]).toEqual([
      ...["ran", "3", `${line.folder}/sub`],
    ]);
    expect((await after("(cd sub && echo ran)"))?.lines ?? ["ran", "0", line.folder]).toEqual([
      "ran",
      "0",
      line.folder,
    ]);
    const away = await after("cd / && echo ran");
    if (away === undefined) return;
    expect(away.lines.at(-1)).toBe(line.folder);
    expect(away.lines.join()).toContain("the folder does not change");
  });

  test("the output says that the sandbox has no network, and how to ask for a run outside it", async () => {
    const { guard, hook, shell } = await guarded("claude-code", CLAUDE);
    await guard("install");
    const lookUp = { command: "getent hosts example.com || { echo 'could not resolve host: example.com'; exit 6; }" };
    const { permissionDecision, updatedInput } = answerOf((await hook("PreToolUse", "Bash", lookUp)).stdout);
    if (permissionDecision !== "allow") return; // there is no sandbox here
    const { code, stdout } = await shell(updatedInput?.command ?? "");
    expect(code).toBe(6);
    expect(stdout).toContain(
      "[Handrail: The sandbox in which this ran has no network. If the command needs this, run it",
    );
    expect(stdout).toContain("again with dangerouslyDisableSandbox: true: a person is asked.]");
    const outside = answerOf((await hook("PreToolUse", "Bash", { ...lookUp, dangerouslyDisableSandbox: true })).stdout);
    expect(outside).toMatchObject({ permissionDecision: "ask" });
  });

  test("without a sandbox, what runs unasked runs as a command of ours does", async () => {
    const { guard, hook, shell, line } = await guarded("claude-code", CLAUDE);
    await mkdir(join(line.configHome, "handrail"), { recursive: true });
    await writeFile(join(line.configHome, "handrail/config.yaml"), "policy:\n  sandbox: off\n");
    await guard("install");
    const { permissionDecision, updatedInput } = answerOf(
      (await hook("PreToolUse", "Bash", { command: "cat a.txt" })).stdout,
    );
    expect(permissionDecision).toBe("allow");
    expect(updatedInput?.command).toContain(" hook run ");
    // The client's shell has its own programs, functions and folders.
    await mkdir(join(line.folder, "bin"));
    await writeFile(join(line.folder, "bin/cat"), "#!/bin/sh\necho planted\n", { mode: 0o755 });
    const there = `cd '${line.folder}'; PATH="$PWD/bin:$PATH"; cat() { echo function; }; ${updatedInput?.command}`;
    expect(await shell(there)).toMatchObject({ code: 0, stdout: "one\n" });
  });

  test("gemini -p is never asked: nobody could answer there", async () => {
    const { guard, text, shell, line } = await guarded("gemini", ".gemini/settings.json");
    await guard("install");
    const { hooks } = JSON.parse(await text()) as Installed;
    const command = hooks["BeforeTool"]?.[0]?.hooks[0]?.command ?? "";
    const about = { session_id: "s", cwd: line.folder, hook_event_name: "BeforeTool", tool_name: "read_file" };
    const event = JSON.stringify({ ...about, tool_input: { file_path: ".env" } });
    await writeFile(join(line.folder, ".env"), "KEY=1\n");
    const { stdout } = await shell(`printf %s '${event}' | { ${command}; }`);
    expect(JSON.parse(stdout)).toMatchObject({
      decision: "deny",
      reason: expect.stringContaining("A person has been asked"),
    });
  });
});
