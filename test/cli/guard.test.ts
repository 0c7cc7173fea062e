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
    const { shell } = await guarded("codex", "x");
    const each = "handrail guard install $client --yes >/dev/null && handrail guard test $client";
    const { stdout } = await shell(`for client in claude-code codex gemini cursor opencode; do ${each}; done`);
    expect(
      stdout.match(/^echo hello {3}allowed(, in the sandbox)?\nrm -rf \/ {5}denied\nThe guard works\.\n/gm),
    ).toHaveLength(5);
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
});
