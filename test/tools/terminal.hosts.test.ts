import { readFile, readdir } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, describe, expect, test } from "vitest";
import type { Backend } from "../../src/core/contract/backend.ts";
import { asText } from "../../src/core/call/result.ts";
import { describeCall } from "../../src/policy/describe.ts";
import { countCharacters } from "../../src/core/output/measure.ts";
import { mustBeHere } from "../support/here.ts";
import { until } from "../support/until.ts";
import { type TerminalTools, terminalTools } from "../support/terminal-tools.ts";
import { testServer, tmuxProblem } from "../machine/tmux-server.ts";

const problem = tmuxProblem();
mustBeHere("tmux", problem);
const server = testServer();
const opened: TerminalTools[] = [];
afterAll(async () => {
  for (const tools of opened) await tools.close();
});

let opening: Promise<unknown> = Promise.resolve();

/**
 * Opens tools on their own session, so that concurrent tests do not type into each other's panes. Sessions are created
 * one after another: tmux rejects many simultaneous clients.
 */
async function inTerminal(session: string, options: Parameters<typeof terminalTools>[1] = {}) {
  const before = opening;
  const open = async (): Promise<Backend> => {
    await before.catch(() => undefined);
    const made = await server.open({ session });
    await made.terminal?.capture();
    return made;
  };
  const ready = open();
  opening = ready;
  const backend = await ready;
  const tools = terminalTools(backend, options);
  opened.push(tools);
  const screen = async () => (await backend.terminal?.capture())?.text ?? "";
  return { ...tools, backend, screen, at: (name: string) => join(server.folder, name) };
}

const contentOf = (path: string) => readFile(path, "utf8").catch(() => "");

describe.skipIf(problem !== undefined)(
  `in a live terminal${problem === undefined ? "" : ` (${problem})`}`,
  { concurrent: true },
  () => {
    test("a command runs in the pane, and its two streams are returned separately", async () => {
      const { text, screen } = await inTerminal("streams");
      expect(await text("run_shell", "printf 'a\\tb\\n'; echo oops >&2; exit 3")).toBe(
        "exit code: 3\nstdout:\na\tb\nstderr:\noops",
      );
      expect(await text("bash", "echo merged; echo too >&2")).toBe("merged\ntoo\n");
      expect(await screen()).toContain("merged");
    });

    test("wait=false types a command and returns; its output is visible, and C-c ends it", async () => {
      const { text, at } = await inTerminal("dispatched");
      const said = await text("run_shell", {
        command:
          "echo begun-$((40+2)); trap 'echo interrupted; exit 1' INT; echo $$ >dispatched.pid; while :; do sleep 0.05; done",
        wait: false,
      });
      expect(said).toMatch(
        /^command dispatched to tmux pane %\d+; still running in background\. Use capture-pane \(optionally with delay\) to poll output\.$/,
      );
      await until("it runs", async () => (await contentOf(at("dispatched.pid"))).endsWith("\n"));
      await until("it is seen", async () => (await text("capture-pane", {})).includes("begun-42"));
      expect(await text("send-keys", { keys: ["C-c"] })).toMatch(/^sent keys to tmux pane %\d+$/);
      await until("it was interrupted", async () => (await text("capture-pane", {})).includes("interrupted"));
    });

    test("a command that exceeds its timeout continues as a job, which can be viewed and stopped", async () => {
      const { text, call, events, host } = await inTerminal("late");
      const command = "echo out; echo err >&2; exec sleep 1000";
      const result = await call("run_shell", { command, wait: "500ms" });
      const said = asText(result);
      expect(said).toMatch(
        /^still running\nstdout:\nout\nstderr:\nerr\n\[The command is still running after 0\.5 s\. It continues in tmux pane (%\d+) as job 1\. Look at it with capture-pane \(\{"target": "\1"\}, optionally with delay\)\. Stop it with send-keys /,
      );
      expect(result).toMatchObject({
        status: "ok",
        data: { job: "1", why: "timeout", stdout: "out\n", stderr: "err\n" },
      });
      const job = await host.jobs.get("1");
      expect(job).toMatchObject({ command, ended: undefined, lifetime: "toolkit" });
      expect(await text("read", { path: "output://job-1" })).toContain("out");
      expect(await text("read", { path: "output://job-1-errors" })).toContain("err");
      let told = await text("send-keys", { keys: ["C-c"], target: /%\d+/.exec(said)?.[0] });
      await job?.process.exit;
      await until("its end is told", async () =>
        (told += await text("time", {})).includes("[Job 1 has ended: echo out; "),
      );
      const all = await events();
      expect(all.filter(({ type }) => type === "job.started" || type === "job.ended").map(({ type }) => type)).toEqual([
        "job.started",
        "job.ended",
      ]);
    });

    test("bash does the same, and the jobs tool lists the job", async () => {
      const { text } = await inTerminal("bash-late");
      const said = await text("bash", { command: "echo first; sleep 0.6; echo second; exec sleep 1000", timeout: 0.4 });
      expect(said).toMatch(
        /^first\n\n?\[The command is still running after 0\.4 s\. It continues in tmux pane %\d+ as job 1\./,
      );
      await until("it goes on", async () =>
        (await text("jobs", { action: "output", id: "1", offset: 1 })).includes("second"),
      );
      expect(await text("jobs", { action: "kill", id: "1" })).toMatch(/\[Job 1: (Killed by SIG|Exit code)/);
    });

    test("a job says which pane it is in", async () => {
      const { text, call, screen } = await inTerminal("job");
      const said = await text("bash", { command: "echo of-a-job; exec sleep 1000", background: true });
      const pane = /^Job 1 was started in tmux pane (%\d+) \(process \d+\)\./.exec(said)?.[1];
      await until("it is seen there", async () => (await text("capture-pane", { target: pane })).includes("of-a-job"));
      expect(await screen()).not.toContain("of-a-job");
      expect(await call("jobs", { action: "kill", id: "1" })).toMatchObject({ status: "ok" });
    });

    test("a command that waits for input is shown with its screen, answered by send-keys, and its end reported", async () => {
      const { text, host } = await inTerminal("asks");
      const said = await text("run_shell", {
        command: "printf 'Proceed? ' >/dev/tty; read answer; echo \"got $answer\"",
      });
      expect(said).toMatch(
        /^still running\nstdout:\n\nstderr:\n\nThe last lines of the screen:\n[^]*Proceed\?\n\[The command waits for input in tmux pane /,
      );
      expect(said).toMatch(/tmux -S \S+ attach -t asks/);
      const pane = /in tmux pane (%\d+)/.exec(said)?.[1];
      expect(await text("jobs", { action: "write", id: "1", text: "yes\n" })).toContain(
        `Tool error: job 1 reads from its terminal, tmux pane ${pane}, not from stdin`,
      );
      const sent = await text("send-keys", { target: pane, literal_text: "yes", enter: true });
      expect(sent.split("\n")[0]).toBe(`sent keys to tmux pane ${pane}`); // its end may be reported already
      expect(await (await host.jobs.get("1"))?.process.exit).toEqual({ how: "exited", code: 0 });
      expect(await text("read", { path: "output://job-1" })).toMatch(/^got yes\n/);
    });

    test("in a process for one call, a command that exceeds its timeout is stopped", async () => {
      const { text, at } = await inTerminal("once", { lifetime: "call" });
      const said = await text("run_shell", {
        command: "trap 'echo ended >ended.txt; exit' TERM; while :; do sleep 0.05; done",
        wait: 0.5,
      });
      expect(said).toMatch(/^Tool error: the command did not finish within 0\.5 s and was stopped/);
      expect(await contentOf(at("ended.txt"))).toBe("ended\n");
    });

    test("a stopped call stops its command, but not a job that it has left", async () => {
      const { call, host } = await inTerminal("stopped");
      const controller = new AbortController();
      const left = await call("run_shell", { command: "exec sleep 1000", wait: "200ms" }, controller.signal);
      expect(left).toMatchObject({ status: "ok", data: { job: "1" } });
      controller.abort();
      const second = new AbortController();
      const running = call("run_shell", { command: "echo go >stopped.begun; exec sleep 1000" }, second.signal);
      await until("it runs", async () => (await contentOf(join(server.folder, "stopped.begun"))) !== "");
      second.abort();
      expect((await running).status).toBe("aborted");
      expect((await host.jobs.get("1"))?.ended).toBeUndefined();
      expect(await host.jobs.list()).toHaveLength(1);
    });
  },
);

describe.skipIf(problem !== undefined)("capture-pane", { concurrent: true }, () => {
  test("shows the end of a long history, and how much is omitted", async () => {
    const { text } = await inTerminal("history");
    await text("run_shell", "seq 1 3000");
    let said = "";
    // tmux may still be reading from the terminal when the command has ended.
    await until("the last line is seen", async () => {
      said = await text("capture-pane", { start: "-" });
      return said.includes("\n3000\n");
    });
    const [, left] = /^\[truncated (\d+) chars from start\]\n/.exec(said) ?? [];
    expect(Number(left)).toBeGreaterThan(1_000);
    expect(countCharacters(said.slice(said.indexOf("\n") + 1))).toBe(8_000);
    expect(said).not.toContain("\n1000\n");
    expect(await text("capture-pane", { start: -3, end: 0 })).not.toContain("truncated");
  });

  test('shows from "-", the beginning of the history, to "-", the end of the screen', async () => {
    const { text } = await inTerminal("dashes");
    await text("run_shell", "seq 1 200");
    await until("the last line is seen", async () => (await text("capture-pane", {})).includes("\n200\n"));
    const screen = await text("capture-pane", { end: "-" });
    expect(await text("capture-pane", {})).toBe(screen);
    expect(screen).not.toContain("\n20\n");
    const all = await text("capture-pane", { start: "-", end: "-" });
    expect(all).toContain("\n1\n2\n3\n");
    expect(all.endsWith(screen)).toBe(true);
  });

  test("cuts no character in two", async () => {
    const { text } = await inTerminal("wide");
    await text("run_shell", `for i in $(seq 200); do printf '😀%.0s' $(seq 60); echo; done`);
    const said = await text("capture-pane", { start: "-" });
    expect(said).toMatch(/^\[truncated \d+ chars from start\]\n/);
    expect(said).not.toMatch(/\p{Surrogate}|\ufffd/u);
  });

  test("joins wrapped lines, keeps spaces, and shows colours and control characters by its flags", async () => {
    const { text } = await inTerminal("flags");
    await text("run_shell", "printf 'x%.0s' $(seq 300); echo; printf '\\033[31mred\\033[0m tail   \\n'");
    const long = "x".repeat(300);
    expect(await text("capture-pane", {})).toContain(long);
    expect(await text("capture-pane", { join_wrapped_lines: false })).not.toContain(long);
    expect(await text("capture-pane", {})).toMatch(/^red tail$/m);
    expect(await text("capture-pane", { preserve_trailing_spaces: true })).toMatch(/^red tail {3}/m);
    expect(await text("capture-pane", { include_escape_sequences: true })).toContain("\u001b[31mred");
    expect(await text("capture-pane", { include_escape_sequences: true, escape_non_printable: true })).toContain(
      "\\033[31mred",
    );
    expect(await text("capture-pane", { start: "0", end: "0" })).not.toMatch(/^red/m);
  });

  test("shows the alternate screen, or reports that there is none", async () => {
    const { text } = await inTerminal("alternate");
    await text("run_shell", "echo main-screen");
    const notice = "[no alternate screen is active; this is the main one]";
    expect(await text("capture-pane", { include_alternate_screen: true })).toMatch(/main-screen[^]*\n\[no alternate/);
    await text("run_shell", { command: "printf '\\033[?1049h'; echo full-screen; read answer", wait: "10s" });
    expect(await text("capture-pane", {})).toContain("full-screen");
    const beneath = await text("capture-pane", { include_alternate_screen: true });
    expect(beneath).toContain("main-screen");
    expect(beneath).not.toContain(notice);
  });

  test("waits for its delay, but not after the call is stopped", async () => {
    const { text, call } = await inTerminal("delays");
    const [shown] = await Promise.all([text("capture-pane", { delay: "1s" }), text("run_shell", "echo later")]);
    expect(shown).toContain("later");
    const controller = new AbortController();
    const waiting = call("capture-pane", { delay: "1h" }, controller.signal);
    controller.abort();
    expect((await waiting).status).toBe("aborted");
  });

  test.each([
    [{ delay: "2s", delay_ms: 5 }, "Tool error: provide either delay or delay_ms, not both"],
    [{ delay: "soon" }, "Tool error: invalid delay; use forms like 500ms, 2s, 1m, 1h"],
    [{ delay: "1d" }, "Tool error: invalid delay; use forms like 500ms, 2s, 1m, 1h"],
  ])("refuses %j", async (input, message) => {
    const { text } = await inTerminal("refuses");
    expect(await text("capture-pane", input)).toBe(message);
    expect(await text("send-keys", { keys: ["q"], ...input })).toBe(message);
  });

  test("reports a missing pane", async () => {
    const { text } = await inTerminal("nowhere");
    expect(await text("capture-pane", { target: "%999" })).toMatch(/^Tool error: .*%999/);
    expect(await text("send-keys", { target: "%999", keys: ["C-c"] })).toMatch(/^Tool error: .*%999/);
  });
});

describe.skipIf(problem !== undefined)("send-keys", { concurrent: true }, () => {
  test("types the text, then the keys, then Enter", async () => {
    const { text, at } = await inTerminal("order");
    await text("run_shell", "true"); // the prompt is there
    await text("send-keys", {
      literal_text: "echo ab; echo 'ä 😀 $HOME' >typed.txt",
      keys: ["Home", "End", "Space", "#"],
      enter: true,
    });
    await until("it has run", async () => (await contentOf(at("typed.txt"))) !== "");
    expect(await contentOf(at("typed.txt"))).toBe("ä 😀 $HOME\n");
    expect(await text("send-keys", { keys: "C-l" })).toMatch(/^sent keys to tmux pane %\d+$/);
  });

  test("presses Enter for a line end in the text", async () => {
    const { text, at } = await inTerminal("lines");
    await text("run_shell", "true");
    await text("send-keys", { literal_text: "echo one >lines.txt\necho two >>lines.txt\n" });
    await until("both have run", async () => (await contentOf(at("lines.txt"))).length >= 8);
    expect(await contentOf(at("lines.txt"))).toBe("one\ntwo\n");
  });

  test("with nothing to send says what it needs", async () => {
    const { text } = await inTerminal("nothing");
    for (const input of [{}, { literal_text: "" }, { keys: [] }, { enter: false }, { delay: "1h" }]) {
      expect(await text("send-keys", input)).toBe(
        "Tool error: send-keys requires at least one of: keys, literal_text, or enter=true",
      );
    }
  });

  test("takes no control characters in its text: they are keys", async () => {
    const { text, screen } = await inTerminal("controls");
    await text("run_shell", "true");
    for (const [control, key] of [
      ["\u0003", "C-c"],
      ["\u001b", "Escape"],
      ["\u007f", "BSpace"],
    ]) {
      expect(await text("send-keys", { literal_text: `half${control}` })).toMatch(
        new RegExp(`^Tool error: literal_text contains a control character, the key ${key}\\b`),
      );
    }
    expect(await screen()).not.toContain("half");
  });

  test("asks about a line end when the effect of the keys before it is visible, and never twice", async () => {
    const asked: string[] = [];
    const { text, at } = await inTerminal("recalled", {
      policy: {},
      approver: async (call, { reason }) => {
        asked.push(`${describeCall(call)} / ${reason ?? ""}`);
        return { answer: "once" };
      },
    });
    await text("send-keys", { literal_text: "echo again >>again.txt", enter: true });
    await until("it has run", async () => (await contentOf(at("again.txt"))) === "again\n");
    asked.length = 0;
    await text("send-keys", { keys: ["Up", "Enter"] });
    await until("it has run again", async () => (await contentOf(at("again.txt"))) === "again\nagain\n");
    expect(asked).toEqual([
      expect.stringMatching(/^Type: \[Enter\] \/ .* The last line there is ".*echo again >>again\.txt"$/),
    ]);
  });

  test("what is typed after a delay is judged then", async () => {
    const { text, backend, at } = await inTerminal("later", {
      policy: { autonomy: "full", commands: { deny: ["touch *"] } },
    });
    await text("run_shell", "true");
    const later = text("send-keys", { enter: true, delay: "2s" });
    await backend.terminal?.sendKeys({ text: "touch later" });
    expect(await later).toMatch(/judged like a command together with the text already on the line/);
    expect(await text("send-keys", { keys: ["C-c"] })).toMatch(/^sent keys/);
    await text("run_shell", "true");
    expect(await readdir(at("."))).not.toContain("later");
  });

  test("refuses keys that tmux does not have, and types nothing", async () => {
    const { text, screen } = await inTerminal("unknown");
    await text("run_shell", "true");
    expect(await text("send-keys", { literal_text: "half", keys: ["NoSuchKey"] })).toMatch(/^Tool error: .*NoSuchKey/);
    expect(await screen()).not.toContain("half");
  });
});
