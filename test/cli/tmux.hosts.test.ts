// The built program, and a toolkit, with a shared terminal.
import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, realpathSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { Client } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { projectRoot } from "../../scripts/lib/project.mjs";
import { asText } from "../../src/core/call/result.ts";
import { quoteWord, quoteWords } from "../../src/core/util/quote.ts";
import { joinIn, tmuxProblem } from "../machine/tmux-server.ts";
import { mustBeHere } from "../support/here.ts";
import { until } from "../support/until.ts";
import { temporaryFolder, toolkitWith } from "../support/workspace.ts";
import { type CommandLine, PROGRAM, commandLine } from "./program.ts";

const problem = tmuxProblem();
mustBeHere("the command line in tmux", problem);

describe.skipIf(problem !== undefined)("in tmux", () => {
  let line: CommandLine;
  /** Runs a tmux command as a person would, on the same server. */
  const tmux = (...words: readonly string[]) => execFileSync("tmux", ["-u", ...words], { encoding: "utf8" }).trimEnd();

  beforeAll(async () => {
    // A separate server without configuration; that of the user who runs the tests is not touched.
    process.env["TMUX_TMPDIR"] = join(temporaryFolder(), "tmux");
    mkdirSync(process.env["TMUX_TMPDIR"], { mode: 0o700 });
    delete process.env["TMUX"];
    delete process.env["TMUX_PANE"];
    tmux("-f", "/dev/null", "new-session", "-d", "-s", "keep", "-x", "200", "-y", "50", "bash --norc");
    line = await commandLine();
  });
  afterAll(() => void tmux("kill-server"));

  test("a model answers no question, neither with keys nor with a script that hides the command", async () => {
    const workDir = temporaryFolder();
    writeFileSync(join(workDir, "x.sh"), `exec ${quoteWords([process.execPath, PROGRAM])} approvals answer q once\n`);
    const toolkit = await toolkitWith({
      terminal: "answers",
      preset: "operator",
      workDir,
      policy: { autonomy: "full" },
    });
    const call = (name: string, input: object) => toolkit.call({ name, input });
    expect(asText(await call("run_shell", { command: "sh x.sh" }))).toContain(
      "`handrail approvals answer` is for people",
    );
    const keys = { literal_text: "handrail approvals answer q once", enter: true };
    expect(await call("send-keys", keys)).toMatchObject({ status: "denied", by: "policy" });
  });

  test("a toolkit of the preset operator runs commands, leaves them running, looks and stops", async () => {
    const toolkit = await toolkitWith({
      terminal: "operator",
      preset: "operator",
      workDir: temporaryFolder(),
      policy: { autonomy: "full" },
      approver: async () => ({ answer: "once" }),
    });
    const call = async (name: string, input: object) => asText(await toolkit.call({ name, input }));
    expect(await call("run_shell", { command: "echo out; echo err >&2; exit 3" })).toBe(
      "exit code: 3\nstdout:\nout\nstderr:\nerr",
    );
    const said = await call("run_shell", { command: "echo up; exec sleep 1000", wait: false });
    const [, pane = ""] = /dispatched to tmux pane (%\d+)/.exec(said) ?? [];
    await until("it is seen", async () => /^up$/m.test(await call("capture-pane", { target: pane })));
    expect(tmux("display-message", "-p", "-t", pane, "#{session_name}")).toBe("operator");
    expect(await call("send-keys", { target: pane, keys: ["C-c"] })).toBe(`sent keys to tmux pane ${pane}`);
    expect(await call("run_shell", { command: "echo next" })).toContain("exit code: 0\nstdout:\nnext");
  });

  test("with a single call, people are told that it waits for input, and where to answer", async () => {
    const toolkit = await toolkitWith({
      terminal: "asked",
      lifetime: "call",
      preset: "operator",
      workDir: temporaryFolder(),
      policy: { autonomy: "full" },
    });
    const said: string[] = [];
    const result = await toolkit.call(
      { name: "run_shell", input: { command: "read answer; echo got $answer" } },
      {
        onEvent(event) {
          const message = event.type === "call.updated" ? (event.update.displayMessage ?? "") : "";
          if (message === "") return;
          said.push(message);
          const [, pane = ""] = /in pane (%\d+): tmux -S \S+ attach -t asked$/.exec(message) ?? [];
          tmux("send-keys", "-t", pane, "yes", "Enter");
        },
      },
    );
    expect(asText(result)).toContain("exit code: 0\nstdout:\ngot yes");
    expect(said).toHaveLength(1);
  });

  test("with --tmux nothing is typed into a person's session called handrail; the printed line attaches", async () => {
    tmux("new-session", "-d", "-s", "handrail", "-x", "90", "-y", "10", "bash --norc");
    const { code, stdout, stderr } = await line.run([
      "call",
      "bash",
      JSON.stringify({ command: "echo typed" }),
      "--tmux",
    ]);
    expect({ code, stdout }).toEqual({ code: 0, stdout: "typed\n" });
    expect(tmux("capture-pane", "-p", "-t", "=handrail:")).not.toContain("typed");
    const [, attach = ""] = /to watch the commands and to type: (tmux -S \S+ attach -t handrail)$/m.exec(stderr) ?? [];
    const person = joinIn({ terminal: { attach } });
    try {
      await person.sees("echo typed");
    } finally {
      person.leaves();
      execFileSync("sh", ["-c", attach.replace(/attach .*/, "kill-server")]);
    }
  });

  test("the pane is one shell: the folder and exported variables hold for the next command and for the person there", async () => {
    const workDir = realpathSync(temporaryFolder());
    for (const name of ["one", "two", "it's a folder"]) mkdirSync(join(workDir, name));
    const secret = realpathSync(temporaryFolder());
    const toolkit = await toolkitWith({
      ...{ terminal: "shell", preset: "operator", workDir },
      policy: { autonomy: "full", forbiddenPaths: [secret] },
    });
    const run = async (command: string) => asText(await toolkit.call({ name: "run_shell", input: { command } }));
    const out = async (command: string) => /^stdout:\n([^]*?)\nstderr:/m.exec(await run(command))?.[1];
    const types = (typed: string) => {
      tmux("send-keys", "-t", "=shell:", "-l", ` ${typed}`);
      tmux("send-keys", "-t", "=shell:", "Enter");
    };
    const folder = () => tmux("display-message", "-p", "-t", "=shell:", "#{pane_current_path}");

    expect(await out("pwd")).toBe(workDir);
    expect(await run("cd one && export A='it'\\''s' B=\"$(printf 'x\\ny')\" LD_PRELOAD= && C=3 && set -e")).toContain(
      "exit code: 0",
    );
    expect(await out('pwd; printf \'%s,\' "$A" "$B" "$C" "${LD_PRELOAD-unset}"; case $- in *e*) echo e;; esac')).toBe(
      `${join(workDir, "one")}\nit's,x\ny,,unset,`,
    );
    // The person at the pane has them too, and a command that they type runs in the folder.
    types('echo "at $PWD with $A" >../seen');
    const seen = join(workDir, "seen");
    await until("the person's command has run", () => existsSync(seen) && readFileSync(seen, "utf8").endsWith("\n"));
    expect(readFileSync(seen, "utf8")).toBe(`at ${join(workDir, "one")} with it's\n`);

    types('cd "../it\'s a folder"');
    await until("the person has changed the folder", () => folder() === join(workDir, "it's a folder"));
    expect(await out("pwd")).toBe(join(workDir, "it's a folder"));
    // A plain command is rewritten: no variable of the pane has an effect on it.
    expect(await run("export TZ=Asia/Tokyo")).toContain("exit code: 0");
    expect(await out('echo "$TZ"')).toBe("Asia/Tokyo");
    expect(await out("date +%Z")).not.toMatch(/JST|Asia/);
    expect(await run("unset A; cd ../two; exit 7")).toContain("exit code: 7");
    expect(await out('basename "$PWD"; echo "${A-gone}"')).toBe("two\ngone");

    // What is judged is the folder in which the command would run.
    types(`cd ${secret}`);
    await until("the person is elsewhere", () => folder() === secret);
    expect(await run("ls")).toContain("Path blocked by security policy");
    types(`cd ${workDir}`);
    await until("the person is back", () => folder() === workDir);
    expect(await toolkit.call({ name: "run_shell", input: { command: "echo a >relative.txt" } })).toMatchObject({
      status: "ok",
    });
    expect(existsSync(join(workDir, "relative.txt"))).toBe(true);
    await toolkit.close();
  });

  test("toolkits with other state folders share no screen; those with one share it", async () => {
    const stateDir = temporaryFolder();
    const sockets = new Set<string>();
    onTestFinished(() => sockets.forEach((socket) => tmux("-S", socket, "kill-server")));
    const attach = async (state: string) => {
      const { backend } = await toolkitWith({ terminal: true, workDir: temporaryFolder(), stateDir: state });
      await backend.terminal?.capture();
      sockets.add(/-S (\S+)/.exec(backend.terminal?.attach ?? "")?.[1] ?? "");
      return backend.terminal?.attach;
    };
    const first = await attach(stateDir);
    expect(first).toMatch(/ -S \S+\/handrail-\w{10} attach -t handrail$/);
    expect(await attach(temporaryFolder())).not.toBe(first);
    expect(await attach(stateDir)).toBe(first);
  });

  test("handrail call --tmux-session works in that session, which stays", async () => {
    const input = JSON.stringify({ command: "echo $((6 * 7)); exit 5" });
    const { code, stdout, stderr } = await line.run([
      "call",
      "run_shell",
      input,
      "--yes",
      "--tmux-session",
      "called",
      "--preset",
      "operator",
    ]);
    expect({ code, stderr }).toEqual({ code: 0, stderr: expect.stringMatching(/^handrail: to watch .* -t called\n$/) });
    expect(stdout).toContain("exit code: 5\nstdout:\n42\n");
    expect(tmux("capture-pane", "-p", "-t", "=called:")).toMatch(/[#$%>] echo \$\(\(6 \* 7\)\); exit 5\n42$/m);
    const look = await line.run(["call", "capture-pane", "{}", "--tmux-session", "called", "--preset", "operator"]);
    expect(look.stdout).toContain("exit 5\n42\n");
  });

  test("changes of the terminal are reported to the caller and to the model", async () => {
    const notices: string[] = [];
    const toolkit = await toolkitWith({
      terminal: "noticed",
      policy: { autonomy: "full" },
      onNotice: (text) => notices.push(text),
    });
    const echo = () => toolkit.call({ name: "bash", input: { command: "echo hi" } });
    expect(asText(await echo())).toBe("hi\n");
    expect(notices).toEqual([]);
    tmux("kill-session", "-t", "=noticed");
    const text = asText(await echo());
    expect(notices).toEqual([expect.stringMatching(/^The tmux session had ended and was created again/)]);
    expect(text).toContain(notices[0]);
  });

  test("nothing keeps the program alive after its one call", async () => {
    const script = `
      const { createToolkit } = await import(${JSON.stringify(pathToFileURL(join(projectRoot, "dist", "index.js")).href)});
      const toolkit = await createToolkit({ terminal: "brief", policy: { autonomy: "full" }, lifetime: "call" });
      const { status } = await toolkit.call({ name: "bash", input: { command: "echo done" } });
      await toolkit.close();
      console.log(status, process.getActiveResourcesInfo().filter((name) => name === "Timeout"));`;
    const { code, stdout } = await line.shell(quoteWords([process.execPath, "--input-type=module", "-e", script]));
    expect({ code, stdout }).toEqual({ code: 0, stdout: "ok []\n" });
  });

  test("inside a pane its tools are offered, and use that pane; outside they are not", async () => {
    const outside = await line.run(["tools", "--preset", "operator"]);
    expect(outside.stdout).not.toMatch(/capture-pane|send-keys/);
    const pane = tmux("new-window", "-d", "-P", "-F", "#{pane_id}", "-t", "=keep:", "bash --norc");
    const variables = `XDG_STATE_HOME=${quoteWord(line.stateHome)} XDG_CONFIG_HOME=${quoteWord(line.configHome)}`;
    const handrail = `${variables} ${quoteWords([process.execPath, PROGRAM])}`;
    const script = join(line.folder, "inside");
    writeFileSync(
      script,
      `cd ${quoteWord(line.folder)}\n${handrail} tools --preset operator >tools\necho marked-$((1 + 1))\n${handrail} call capture-pane '{}' --preset operator >looked 2>&1\n: >done\n`,
    );
    tmux("send-keys", "-t", pane, "-l", `sh ${script}`);
    tmux("send-keys", "-t", pane, "Enter");
    await until("it is done", () => existsSync(join(line.folder, "done")), 25_000);
    expect(readFileSync(join(line.folder, "tools"), "utf8")).toMatch(/capture-pane[^]*send-keys/);
    expect(readFileSync(join(line.folder, "looked"), "utf8")).toContain("marked-2");
  });

  test("a command that is left running is never typed into the pane in which Handrail runs, but into a window beside it", async () => {
    tmux("new-session", "-d", "-s", "mine", "-x", "200", "-y", "50", "bash --norc");
    const pane = tmux("display-message", "-p", "-t", "=mine:", "#{pane_id}");
    const [socketPath = ""] = tmux("display-message", "-p", "#{socket_path}").split(",");
    const toolkit = await toolkitWith({
      terminal: { id: pane, socketPath },
      preset: "operator",
      policy: { autonomy: "full" },
      approver: async () => ({ answer: "once" }),
    });
    const call = async (name: string, input: object) => asText(await toolkit.call({ name, input }));
    tmux("send-keys", "-t", pane, "cat", "Enter"); // reads lines, as a chat does
    const said = await call("run_shell", { command: "echo left-$((1 + 1)); exec sleep 1000", wait: false });
    expect(said).toMatch(/dispatched to tmux pane %\d+; .* People see it in the window handrail of this session\.$/);
    await until("it is seen", async () => /^left-2$/m.test(await call("capture-pane", {})));
    expect(tmux("capture-pane", "-p", "-t", pane)).not.toMatch(/handrail|left/);
    expect(tmux("list-windows", "-t", "=mine:", "-F", "#{window_name} #{window_active}")).toMatch(/ 1\nhandrail 0$/);
    expect(await call("send-keys", { keys: ["C-c"] })).not.toBe(`sent keys to tmux pane ${pane}`);
    const again = await call("run_shell", { command: "echo again", wait: false });
    expect(/%\d+/.exec(again)).toEqual(expect.arrayContaining([/%\d+/.exec(said)?.[0]]));
    tmux("kill-session", "-t", "=mine:");
  });

  test("an agent's commands are visible to people", async () => {
    const { code, stdout } = await line.run(["run", "Look", "--model", "demo", "--yes", "--tmux-session", "agent"]);
    expect({ code, stdout }).toMatchObject({ code: 0, stdout: expect.stringContaining("README.md begins: # Read me") });
    expect(tmux("capture-pane", "-p", "-t", "=agent:")).toMatch(/ls.*\n(.*\n)*README\.md/);
  });

  test("handrail mcp --tmux offers them to a client, and commands are visible to people", async () => {
    const client = new Client({ name: "test", version: "1" });
    const words = [PROGRAM, "mcp", "--tmux-session", "served", "--preset", "operator", "--autonomy", "full"];
    await client.connect(
      new StdioClientTransport({
        command: process.execPath,
        args: words,
        cwd: line.folder,
        env: { ...process.env, XDG_STATE_HOME: line.stateHome, XDG_CONFIG_HOME: line.configHome },
      }),
    );
    try {
      const names = (await client.listTools()).tools.map(({ name }) => name);
      expect(names).toEqual(expect.arrayContaining(["run_shell", "capture-pane", "send-keys"]));
      const result = await client.callTool({ name: "run_shell", arguments: { command: "echo served" } });
      expect(JSON.stringify(result.content)).toContain("exit code: 0\\nstdout:\\nserved");
      expect(tmux("capture-pane", "-p", "-t", "=served:")).toMatch(/ echo served\nserved$/m);
    } finally {
      await client.close();
    }
  });

  test("handrail doctor --tmux checks the terminal on its own server, and leaves nothing behind", async () => {
    const sockets = temporaryFolder();
    const { code, stdout } = await line.shell(
      `export TMUX_TMPDIR=${sockets}; handrail doctor --tmux; echo "left: $(find ${sockets} -type s)"`,
    );
    expect(stdout).toMatch(/^ok {7}tmux {11}tmux .*--tmux$/m);
    expect(stdout).toMatch(/^ok {7}work folder {4}tmux\(local\) answers in .*; tools work in .*, commands run in /m);
    expect({ code, left: stdout.split("\n").slice(-2) }).toEqual({ code: 0, left: ["left: ", ""] });
  });
});
