import { execFileSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { local } from "../../src/machine/local/backend.ts";
import { paneTerminal } from "../../src/machine/tmux/pane-terminal.ts";
import { tmux } from "../../src/machine/tmux/tmux.ts";
import { mustBeHere } from "../support/here.ts";
import { until } from "../support/until.ts";
import { sh, testServer, textOf, tmuxProblem } from "./tmux-server.ts";

mustBeHere("tmux", tmuxProblem());

describe.skipIf(tmuxProblem() !== undefined)("tmux when something goes wrong", () => {
  const server = testServer();
  const inner = () => local({ workDir: server.folder, outputFolder: `${server.folder}/outputs` });

  test("a closed pane is replaced with a notice; its command has ended with its output so far", async () => {
    const backend = await server.open({ session: "pane" });
    for (const stdin of ["closed", "terminal"] as const) {
      const process = await backend.spawn({ argv: ["sh", "-c", "echo ready; exec sleep 1000"], stdin });
      await process.output.grown(0);
      const pane = process.place?.replace("pane ", "") ?? "";
      // the session must not end with its last pane
      await server.run("new-window", "-d", "-t", "=pane:", "sleep 1000");
      await server.run("kill-pane", "-t", pane);
      expect(await process.exit).toEqual({ how: "exited", code: 129 });
      expect(await textOf(process)).toBe("ready\n");
      expect(await sh(backend, "echo next")).toBe("next\n (0)");
      expect(backend.notices?.().join()).toMatch(
        new RegExp(`^Pane ${pane} was closed; commands are typed into pane %\\d+ now\\.$`),
      );
    }
  });

  test("a dead shell is replaced", async () => {
    const backend = await server.open({ session: "shell" });
    await sh(backend, "true");
    const pid = await server.run("display-message", "-p", "-t", "=shell:", "#{pane_pid}");
    execFileSync("kill", ["-9", pid]);
    expect(await sh(backend, "echo next")).toBe("next\n (0)");
    expect(backend.notices?.()).toHaveLength(1);
  });

  test("changes that a command makes to its shell do not reach the person's", async () => {
    const backend = await server.open({ session: "own" });
    for (const script of [
      "exit 7",
      "exec true",
      "set -e; false",
      "kill -9 $$",
      "trap '' INT; cd /; PS1=x",
      "kill -9 0",
    ]) {
      await sh(backend, script);
    }
    expect(await sh(backend, "echo still")).toBe("still\n (0)");
    expect(backend.notices?.()).toEqual([]);
  });

  test("a command is stopped even if its watcher is killed at the same time", async () => {
    const backend = await server.open({ session: "watched" });
    const process = await backend.spawn({ argv: ["sh", "-c", "trap '' TERM; echo deaf; while :; do sleep 1; done"] });
    await process.output.grown(0);
    const folder = await server.run("show-options", "-p", "-v", "-t", "=watched:", "@handrail");
    const killing = process.kill();
    await until("it is being stopped", () => existsSync(`${folder}/1.d/stopped`));
    execFileSync("kill", ["-9", "--", `-${readFileSync(`${folder}/helper`, "utf8").trim()}`]);
    await killing;
    expect(await process.exit).toEqual({ how: "signaled", signal: "SIGKILL" });
    expect(await sh(backend, "echo next")).toBe("next\n (0)");
  });

  test("a killed server is started again with a notice", async () => {
    const other = testSocket();
    const backend = await tmux(await inner(), { socket: other, shell: "bash --norc" });
    try {
      const process = await backend.spawn({ argv: ["sh", "-c", "echo ready; exec sleep 1000"] });
      await process.output.grown(0);
      execFileSync("tmux", ["-L", other, "kill-server"]);
      expect(await process.exit).toEqual({ how: "exited", code: 129 });
      expect(await sh(backend, "echo next")).toBe("next\n (0)");
      expect(backend.notices?.().join()).toMatch(
        /^The tmux session had ended and was created again; commands are typed into pane %\d+ now\.$/,
      );
    } finally {
      await backend.close();
      execFileSync("tmux", ["-L", other, "kill-server"]);
    }
  });

  test("when the held-open shell is killed, another one replaces it", async () => {
    const backend = await server.open({ session: "held" });
    const running = await backend.spawn({ argv: ["sh", "-c", "echo ready; read line; exit 5"], stdin: "terminal" });
    await running.output.grown(0);
    const folder = await server.run("display-message", "-p", "-t", "=held:", "#{@handrail}");
    process.kill(Number(readFileSync(`${folder}/helper`, "utf8")), "SIGKILL");
    await backend.terminal?.sendKeys({ enter: true });
    expect(await running.exit).toEqual({ how: "exited", code: 5 });
    expect(await sh(backend, "echo next")).toBe("next\n (0)");
    expect(backend.notices?.()).toEqual([]);
  });

  test("a later backend finds the session and its pane; closing leaves both, and no files", async () => {
    const first = await server.open({ session: "later" });
    const process = await first.spawn({ argv: ["true"] });
    await process.exit;
    await first.close();
    const second = await server.open({ session: "later" });
    const again = await second.spawn({ argv: ["true"] });
    expect(again.place).toBe(process.place);
    const beside = await server.open({ session: "later" });
    const own = await beside.spawn({ argv: ["true"] });
    expect(own.place).not.toBe(process.place);
    await Promise.all([again.exit, own.exit]);
    const owners = async () => (await server.run("list-panes", "-s", "-t", "=later", "-F", "#{@handrail}")).split("\n");
    const folders = await owners();
    expect(folders.map((folder) => existsSync(folder))).toEqual([true, true]);
    await Promise.all([second.close(), beside.close()]);
    expect(folders.map((folder) => existsSync(folder))).toEqual([false, false]);
    expect(await owners()).toEqual(["free", "free"]);
  });

  test("without tmux on the target, or with an invalid name, it reports what is missing", async () => {
    const bare = await inner();
    const none = {
      ...bare,
      spawn: (command: Parameters<typeof bare.spawn>[0]) => bare.spawn({ ...command, env: { PATH: "/none" } }),
    };
    await expect(tmux(none)).rejects.toThrow(/no such program|no tmux/);
    await expect(tmux(bare, { session: "a:b" })).rejects.toThrow("letters, digits");
    await bare.close();
  });

  test("a capture has the requested parts; a missing pane or key is named", async () => {
    const backend = await server.open({ session: "look" });
    const { terminal } = backend;
    await sh(backend, "printf '\\033[31mred\\033[m and 漢字   \\n'; printf '%0300d\\n' 0");
    const plain = await terminal?.capture({ includeAlternateScreen: true });
    expect(plain?.text).toContain("\nred and 漢字\n");
    expect(plain?.text).toContain("0".repeat(300));
    expect(plain?.noAlternateScreen).toBe(true);
    const asIs = await terminal?.capture({
      includeEscapeSequences: true,
      preserveTrailingSpaces: true,
      joinWrappedLines: false,
    });
    expect(asIs?.text).toContain("[31mred");
    expect(asIs?.text).not.toContain("0".repeat(300));
    await expect(terminal?.capture({ target: "%999" })).rejects.toThrow(/no tmux pane "%999"/);
    await expect(terminal?.sendKeys({ target: "nowhere:9", text: "x" })).rejects.toThrow(/no tmux pane "nowhere:9"/);
    await expect(terminal?.sendKeys({ keys: ["Foo"] })).rejects.toThrow(/no key "Foo"/);
    expect(terminal?.attach).toBe(
      `tmux -S ${await server.run("display-message", "-p", "#{socket_path}")} attach -t look`,
    );
  });

  test("text of 50,000 characters is typed whole", async () => {
    const backend = await server.open({ session: "long" });
    const lines = Array.from({ length: 1_000 }, (_, index) => `${index} '"$\` ${"漢x".repeat(20)}\n`).join("");
    const process = await backend.spawn({ argv: ["sh", "-c", "echo ready; cat"], stdin: "terminal" });
    await process.output.grown(0);
    await backend.terminal?.sendKeys({ text: lines, keys: ["C-d"] });
    expect(await process.exit).toEqual({ how: "exited", code: 0 });
    expect(await textOf(process)).toBe(`ready\n${lines}`);
  });

  test("a person's pane is captured and typed into; commands get a window beside it, which is the default from then on", async () => {
    const socketPath = await server.run("display-message", "-p", "#{socket_path}");
    const pane = await server.run("new-window", "-d", "-P", "-F", "#{pane_id}", "-t", "=keep:", "bash --norc");
    const backend = await inner();
    const terminal = await paneTerminal(backend, pane, { socketPath });
    expect(await terminal.sendKeys({ text: "echo typed-$((1 + 1))", enter: true })).toEqual({ pane });
    await until("it is shown", async () => (await terminal.capture()).text.includes("\ntyped-2\n"));
    await terminal.sendKeys({ text: "rm -rf /nothing --half" });
    const dispatch = async () => terminal.dispatch({ argv: ["sh", "-c", "pwd\nexit 3"], cwd: "/" });
    const window = await dispatch();
    expect(window).toEqual({ pane: expect.stringMatching(/^%\d+$/), window: "handrail" });
    expect(window.pane).not.toBe(pane);
    await until("it is shown", async () => /pwd\nexit 3\n\/\n/.test((await terminal.capture()).text));
    expect(await terminal.sendKeys({ text: "rm -rf /nothing --half" })).toEqual({ pane: window.pane });
    expect(await dispatch()).toEqual(window);
    await until("it is shown", async () => /(\/\n[^]*){2}/.test((await terminal.capture()).text));
    expect((await terminal.capture({ target: pane })).text).toContain("--half");
    await server.run("kill-pane", "-t", window.pane);
    expect((await terminal.capture()).pane).toBe(pane);
    await expect(paneTerminal(backend, "%999", { socketPath })).rejects.toThrow(/no tmux pane/);
    await backend.close();
  });
});

function testSocket(): string {
  return `handrail-test-${process.pid}`;
}
