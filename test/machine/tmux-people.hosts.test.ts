import { spawn } from "node:child_process";
import { readFile } from "node:fs/promises";
import { afterAll, describe, expect, test } from "vitest";
import type { Backend } from "../../src/core/contract/backend.ts";
import { installedOf, mustBeHere } from "../support/here.ts";
import { until } from "../support/until.ts";
import { sh, testServer, textOf, tmuxProblem } from "./tmux-server.ts";

mustBeHere("tmux", tmuxProblem());

const SHELLS = installedOf(["bash --norc", "dash", "busybox sh", "zsh -f"]);

/** Never fires. */
const never = new AbortController().signal;

describe.skipIf(tmuxProblem() !== undefined)("commands in a pane that people share", () => {
  const server = testServer();
  const screen = async (backend: Backend, target?: string) =>
    (await terminalOf(backend).capture({ start: "-", ...(target !== undefined && { target }) })).text;

  for (const shell of SHELLS) {
    test(`with ${shell} in it, commands appear after its prompt as if typed, and their results are exact`, async () => {
      const backend = await server.open({ shell, session: `shell-${shell.replace(/\W/g, "")}` });
      expect(await sh(backend, "echo one; exit 3")).toBe("one\n (3)");
      expect(await sh(backend, "set -e\nprintf 'a\\tb\\r\\n漢字'\nfalse\necho no")).toBe("a\tb\r\n漢字 (1)");
      expect(await sh(backend, "exec sh -c 'exit 255'")).toBe(" (255)");
      await until("the prompt is back", async () => /exit 255'\n.*[#$%>] *$/.test((await screen(backend)).trimEnd()));
      const shown = await screen(backend);
      expect(shown).toMatch(/[#$%] echo one; exit 3\none\n/);
      expect(shown).toMatch(/[#$%] set -e\nprintf 'a\\tb\\r\\n漢字'\nfalse\necho no\na {7}b\n漢字/);
      expect(shown).not.toContain("handrail.");
      expect(backend.notices?.()).toEqual([]);
      await backend.close();
    });
  }

  test("text that a person has half typed is put away, and copy mode is left", async () => {
    const backend = await server.open({ session: "half" });
    await sh(backend, "seq 300");
    const { pane } = await terminalOf(backend).sendKeys({ text: "rm -rf /nothing --half" });
    expect(await sh(backend, "echo clean")).toBe("clean\n (0)");
    await server.run("copy-mode", "-t", pane);
    expect(await sh(backend, "echo scrolled")).toBe("scrolled\n (0)");
    expect(await screen(backend)).toMatch(/[#$] echo clean\nclean\n.*[#$] echo scrolled\nscrolled\n/);
    expect(backend.notices?.()).toEqual([]);
  });

  test.each(SHELLS.filter((shell) => /^(?:bash|zsh)/.test(shell)).map((shell) => `${shell} -o vi`))(
    "with %s in it, what a person has half typed and left by Escape is put away",
    async (shell) => {
      const backend = await server.open({ shell, session: `vi-${shell.slice(0, 3)}` });
      await sh(backend, "true");
      for (const text of ["rm -rf /nothing --half", "x", ""]) {
        const { pane } = await terminalOf(backend).sendKeys({ text, keys: ["Escape"] });
        const process = await backend.spawn({ argv: ["echo", "clean"] });
        expect(await process.exit).toEqual({ how: "exited", code: 0 });
        expect(process.place).toBe(`pane ${pane}`);
      }
      expect(backend.notices?.()).toEqual([]);
    },
  );

  test.each(SHELLS)("with %s in it, answers of the terminal do not become part of the next command", async (shell) => {
    const backend = await server.open({ shell, session: `answers-${shell.replace(/\W/g, "")}` });
    for (let round = 0; round < 5; round++) {
      await sh(backend, "printf '\\033[6n\\033[c'");
      expect(await sh(backend, "cat; echo next")).toBe("next\n (0)");
    }
    expect(backend.notices?.()).toEqual([]);
  });

  test("the bell does not ring for a command", async () => {
    const backend = await server.open({ session: "bell" });
    await sh(backend, "true");
    const { pane } = await terminalOf(backend).sendKeys({ text: "half" });
    await server.run("pipe-pane", "-t", pane, `exec cat >${server.folder}/piped`);
    for (let round = 0; round < 3; round++) await sh(backend, `echo round ${round}`);
    await sh(backend, "printf 'rung\\a'");
    const piped = () => readFile(`${server.folder}/piped`, "latin1").catch(() => "");
    await until("all of it is there", async () => (await piped()).includes("rung\u0007"));
    expect((await piped()).split("\u0007")).toHaveLength(2);
  });

  test("when a person uses the pane, commands go to another pane, with a notice", async () => {
    const backend = await server.open({ session: "busy" });
    expect(await sh(backend, "echo first")).toBe("first\n (0)");
    const { pane } = await terminalOf(backend).sendKeys({ text: "sleep 1000", enter: true });
    await until(
      "it runs",
      async () => (await server.run("display-message", "-p", "-t", pane, "#{pane_current_command}")) === "sleep",
    );
    const process = await backend.spawn({ argv: ["echo", "elsewhere"] });
    expect(await process.exit).toEqual({ how: "exited", code: 0 });
    expect(await textOf(process)).toBe("elsewhere\n");
    expect(process.place).not.toBe(`pane ${pane}`);
    expect(backend.notices?.()).toEqual([
      `Pane ${pane} is busy (sleep runs in it); commands are typed into ${process.place} now.`,
    ]);
    expect(await server.run("display-message", "-p", "-t", pane, "#{pane_current_command}")).toBe("sleep");
  });

  test("when the shell itself reads what is typed, the command is typed again, and then in another pane", async () => {
    const backend = await server.open({ session: "reads" });
    await sh(backend, "true");
    const { pane } = await terminalOf(backend).sendKeys({ text: "read line", enter: true });
    await until("it is typed", async () => (await screen(backend)).includes("read line"));
    const again = await backend.spawn({ argv: ["echo", "here"] });
    expect(await again.exit).toEqual({ how: "exited", code: 0 });
    expect(again.place).toBe(`pane ${pane}`);
    expect(backend.notices?.()).toEqual([]);
    await terminalOf(backend).sendKeys({ text: "while read line; do :; done", enter: true });
    await until("it is typed", async () => (await screen(backend)).includes("do :; done\n"));
    const process = await backend.spawn({ argv: ["echo", "there"] });
    expect(await process.exit).toEqual({ how: "exited", code: 0 });
    expect(await textOf(process)).toBe("there\n");
    expect(process.place).not.toBe(`pane ${pane}`);
    expect(backend.notices?.().join()).toContain(`Pane ${pane} did not accept a command`);
  });

  test("a second client that types and resizes to 20 columns changes no results", async () => {
    const backend = await server.open({ session: "second" });
    await sh(backend, "true");
    const client = spawn(
      "script",
      ["-qfc", `stty cols 20 rows 10; exec tmux -u -L ${server.socket} attach -t second`, "/dev/null"],
      { env: { ...process.env, TERM: "xterm-256color" }, stdio: ["pipe", "ignore", "ignore"] },
    );
    afterAll(() => client.kill("SIGKILL"));
    await until(
      "it is attached, and the window is small",
      async () => (await server.run("display-message", "-p", "-t", "second:0", "#{window_width}")) === "20",
    );
    const long = "x".repeat(300);
    const running = sh(backend, `i=0; while [ $i -lt 40 ]; do echo $i ${long}; i=$((i + 1)); sleep 0.01; done; exit 9`);
    for (const text of ["hello", "\u001b[A", "\t", "ls\n"]) client.stdin.write(text);
    expect(await running).toBe(`${Array.from({ length: 40 }, (_, index) => `${index} ${long}\n`).join("")} (9)`);
    for (let round = 0; round < 5; round++) {
      client.stdin.write(`w${round}`);
      expect(await sh(backend, `echo ${round} ${long}`)).toBe(`${round} ${long}\n (0)`);
    }
  });

  test("a typed Ctrl-C ends a command, with and without a terminal, and the next one runs", async () => {
    const backend = await server.open({ session: "interrupt" });
    for (const stdin of ["closed", "terminal", "pipe"] as const) {
      const process = await backend.spawn({ argv: ["sh", "-c", "echo ready; exec sleep 1000"], stdin });
      await process.output.grown(0);
      await terminalOf(backend).sendKeys({ keys: ["C-c"] });
      expect(await process.exit).toEqual({ how: "exited", code: 130 });
      expect(await textOf(process)).toBe("ready\n");
    }
    expect(await sh(backend, "echo next")).toBe("next\n (0)");
  });

  test("a command that waits for a person is reported and answered by typing, a working one is not", async () => {
    const backend = await server.open({ session: "asks" });
    const question = { argv: ["sh", "-c", "printf 'name? '; read name; echo hello $name"], stdin: "terminal" } as const;
    const asking = await backend.spawn(question);
    expect(await asking.awaitsInput?.(never)).toBe(true);
    expect(await textOf(asking)).toBe("name? ");
    await terminalOf(backend).sendKeys({ text: "Ada", enter: true });
    expect(await asking.exit).toEqual({ how: "exited", code: 0 });
    expect(await textOf(asking)).toBe("name? hello Ada\n");
    const secret = await backend.spawn({
      argv: ["bash", "-c", "read -rsp 'Password: ' it; echo ${#it}"],
      stdin: "terminal",
    });
    expect(await secret.awaitsInput?.(never)).toBe(true);
    await secret.write("12345\n");
    expect(await secret.exit).toEqual({ how: "exited", code: 0 });
    expect(await textOf(secret)).toMatch(/^Password: .*5\n$/s);
    const working = await backend.spawn({ argv: ["sleep", "2.5"], stdin: "terminal" });
    expect(await working.awaitsInput?.(never)).toBe(false);
  });

  test("a background child keeps writing to the pane, and delays neither the call nor the prompt", async () => {
    const backend = await server.open({ session: "background" });
    const script = `(while [ ! -e ${server.folder}/go ]; do sleep 0.05; done; echo from behind) & echo front`;
    expect(await sh(backend, script)).toBe("front\n (0)");
    expect(await sh(backend, `: >${server.folder}/go`)).toBe(" (0)");
    await until("it is seen", async () => /from behind$/m.test(await screen(backend)));
  });

  test("twelve at once each have a pane, and their own panes are gone when they end", async () => {
    const backend = await server.open({ session: "twelve" });
    const all = await Promise.all(
      Array.from({ length: 12 }, (_, index) =>
        backend.spawn({ argv: ["sh", "-c", `echo ${index}; sleep 0.3; exit ${index}`] }),
      ),
    );
    expect(new Set(all.map(({ place }) => place)).size).toBe(12);
    expect(await Promise.all(all.map(async ({ exit }) => exit))).toEqual(
      all.map((_, code) => ({ how: "exited", code })),
    );
    await until(
      "one pane is left",
      async () => (await server.run("list-panes", "-s", "-t", "=twelve")).split("\n").length === 1,
    );
  });

  test("a job has its own window with its name", async () => {
    const backend = await server.open({ session: "jobs" });
    const job = await backend.spawn({ argv: ["sh", "-c", "echo up; exec sleep 1000"], lifetime: "toolkit" });
    await job.output.grown(0);
    expect(await server.run("list-windows", "-t", "=jobs", "-F", "#{window_name}")).toBe("handrail\njob-1");
    expect(job.place).toMatch(/^pane %\d+$/);
    await job.kill();
    expect(await job.exit).toEqual({ how: "signaled", signal: "SIGTERM" });
    await until(
      "it is gone",
      async () => (await server.run("list-windows", "-t", "=jobs", "-F", "#{window_name}")) === "handrail",
    );
  });

  test("a dispatched command has the terminal, keeps its pane, and outlives the backend", async () => {
    const backend = await server.open({ session: "dispatched" });
    const { pane } = await terminalOf(backend).dispatch({
      argv: ["sh", "-c", "[ -t 1 ] && echo a terminal; read answer; echo got $answer; exec sleep 1000"],
    });
    expect(await sh(backend, "echo beside")).toBe("beside\n (0)");
    expect(backend.notices?.()).toEqual([
      expect.stringContaining(
        `Pane ${pane} is busy ([ -t 1 ] && echo a terminal; read answer; echo got $answer;… runs in it)`,
      ),
    ]);
    await terminalOf(backend).sendKeys({ target: pane, text: "yes\n" });
    await until("it has answered", async () => (await screen(backend, pane)).includes("got yes"));
    expect(await screen(backend, pane)).toContain("\na terminal\n");
    await backend.close();
    expect(await server.run("display-message", "-p", "-t", pane, "#{pane_current_command}")).not.toBe("bash");
  });
});

function terminalOf({ terminal }: Backend): NonNullable<Backend["terminal"]> {
  if (terminal === undefined) throw new Error("expected a terminal");
  return terminal;
}
