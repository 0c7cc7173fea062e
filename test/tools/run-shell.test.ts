import { existsSync } from "node:fs";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { asText } from "../../src/core/call/result.ts";
import { runShell } from "../../src/tools/run-shell.ts";
import { isAlive, until } from "../support/until.ts";
import { toolsOn } from "./tools.ts";

const tools = await toolsOn({}, { preset: "operator" });
const { text, call, folder } = tools;
const run = (command: string, more: object = {}) => text("run_shell", { command, ...more });

describe("run_shell returns", () => {
  test("the exit code and both streams", async () => {
    expect(await run("printf '512M\\t/var\\n'")).toBe("exit code: 0\nstdout:\n512M\t/var\nstderr:\n");
    expect(await run("echo out; echo err >&2; exit 7")).toBe("exit code: 7\nstdout:\nout\nstderr:\nerr");
    expect(await run("true")).toBe("exit code: 0\nstdout:\n\nstderr:\n");
    expect(await call("run_shell", { command: "exit 3" })).toMatchObject({
      status: "ok",
      data: { stdout: "", stderr: "", exit_code: 3 },
    });
  });

  test("the exit code of a signal as a shell reports it", async () => {
    expect(await run("kill -KILL $$")).toMatch(/^exit code: 137\n/);
  });

  test("the first 4,000 characters of each stream, in whole characters", async () => {
    const said = await run(`printf 'ä%.0s' $(seq 4001); printf '😀%.0s' $(seq 9000) >&2`);
    expect(said).toBe(
      `exit code: 0\nstdout:\n${"ä".repeat(4_000)}...[truncated]\nstderr:\n${"😀".repeat(4_000)}...[truncated]`,
    );
    expect(await run("printf 'ä%.0s' $(seq 4000)")).toBe(`exit code: 0\nstdout:\n${"ä".repeat(4_000)}\nstderr:\n`);
  });

  test("bytes that are not UTF-8 as replacement characters", async () => {
    expect(await run("printf 'a\\377b'")).toBe("exit code: 0\nstdout:\na\ufffdb\nstderr:\n");
  });
});

describe("run_shell waits", () => {
  test.each([[0.2], ["200ms"], ["0.2"], ["0.2s"], [" 0.2 S "]])(
    "as long as %j says, and then stops the command with all it started",
    async (wait) => {
      const name = `pid-${JSON.stringify(wait).replaceAll(/\W/g, "-")}`;
      const result = await call("run_shell", {
        command: `echo begun; setsid sleep 1000 & echo $! >${name}; wait`,
        wait,
      });
      expect(asText(result)).toMatch(/^Tool error: the command did not finish within 0\.2 s and was stopped\n/);
      expect(asText(result)).toContain("stdout:\nbegun\nstderr:\n");
      const pid = Number(await readFile(join(folder, name), "utf8"));
      expect(pid).toBeGreaterThan(0);
      await until("what it started is gone", async () => !(await isAlive(pid)));
    },
  );

  test("not at all for 0 seconds", async () => {
    for (const wait of [0, "0", "0s", "0ms"]) {
      expect(await run("exec sleep 1000", { wait })).toMatch(
        /^Tool error: the command did not finish within 0 s and was stopped/,
      );
    }
  });

  test.each([["true"], [true], ["2d"], ["1h"], ["10m"], ["30s"], [500], ["500"], [1e12], ["99999d"], [undefined]])(
    "no longer than it takes, with %j",
    async (wait) => {
      expect(await run("echo done", wait === undefined ? {} : { wait })).toMatch(
        /^exit code: 0\nstdout:\ndone\nstderr:\n(\n\[wait is in seconds: |$)/,
      );
    },
  );

  test.each(["soon", "", "10 minutes", "-1s", "1w", "1h30m", "s", "1e3"])(
    "for no %j, and then nothing has run",
    async (wait) => {
      expect(await run("touch ran", { wait })).toBe(
        "Tool error: invalid wait duration; use forms like 30s, 10m, 1h, 500ms",
      );
      expect(existsSync(join(folder, "ran"))).toBe(false);
    },
  );

  test("with wait=false only in a terminal", async () => {
    for (const wait of [false, "false"]) {
      expect(await run("touch ran", { wait })).toBe(
        "Tool error: run_shell wait=false requires a tmux-backed execution target",
      );
    }
    expect(existsSync(join(folder, "ran"))).toBe(false);
  });

  test("with wait=false outside the sandbox, as the policy sees", () => {
    const { effects } = runShell({ terminal: true, sandboxed: true });
    expect(effects({ command: "make", wait: false })).toEqual([
      { kind: "exec", command: "make", lifetime: "detached", within: "none", inPane: true },
    ]);
    expect(effects({ command: "make" })).toEqual([{ kind: "exec", command: "make", inPane: true }]);
  });

  test("without a question about a command that does not run", async () => {
    let asked = 0;
    const { text: said } = await toolsOn(
      {},
      {
        tools: [runShell()],
        policy: { shellConfirm: true },
        approver: async () => {
          asked++;
          return { answer: "refuse" };
        },
      },
    );
    expect(await said("run_shell", { command: "ls", wait: "soon" })).toContain("invalid wait duration");
    expect(await said("run_shell", { command: "ls", wait: false })).toContain("requires a tmux-backed");
    expect(asked).toBe(0);
    expect(await said("run_shell", { command: "ls" })).toBe("Command execution denied by user.");
    expect(asked).toBe(1);
  });
});

test("run_shell accepts the spellings that models use", async () => {
  const expected = "exit code: 0\nstdout:\nhi\nstderr:\n";
  for (const input of [
    "echo hi",
    { cmd: "echo hi" },
    { script: "echo hi" },
    { shell_command: "echo hi", timeout: 5 },
  ]) {
    expect(await text("run_shell", input)).toBe(expected);
  }
});

test("a call that is stopped stops the command", async () => {
  const controller = new AbortController();
  const running = tools.toolkit.call(
    { name: "run_shell", input: { command: "echo $$ >stopped.pid; exec sleep 1000" } },
    { signal: controller.signal },
  );
  await until("it runs", async () =>
    (await readFile(join(folder, "stopped.pid"), "utf8").catch(() => "")).endsWith("\n"),
  );
  controller.abort();
  expect((await running).status).toBe("aborted");
  const pid = Number(await readFile(join(folder, "stopped.pid"), "utf8"));
  await until("it is gone", async () => !(await isAlive(pid)));
});

describe("read_file and write_file", () => {
  test("say how many bytes were written and what was cut", async () => {
    const own = await toolsOn({}, { preset: "operator", policy: { autonomy: "full" } });
    expect(await own.text("write_file", { path: "deep/er/out.txt", content: "hello wörld\n" })).toBe(
      "Wrote 13 bytes to deep/er/out.txt",
    );
    expect(await readFile(join(own.folder, "deep/er/out.txt"), "utf8")).toBe("hello wörld\n");
    expect(await own.text("read_file", { path: "deep/er/out.txt" })).toBe("hello wörld\n");
    expect(await own.text("read_file", "deep/er/out.txt")).toBe("hello wörld\n");
    expect(await own.text("read_file", { path: "nothing.txt" })).toMatch(/^Tool error: /);
    await writeFile(join(own.folder, "long.txt"), `${"😀".repeat(8_000)}x`);
    expect(await own.text("read_file", { path: "long.txt" })).toBe(`${"😀".repeat(8_000)}...[truncated]`);
    await writeFile(join(own.folder, "full.txt"), "ä".repeat(8_000));
    expect(await own.text("read_file", { path: "full.txt" })).toBe("ä".repeat(8_000));
    await writeFile(join(own.folder, "huge.txt"), "line\n".repeat(400_000));
    expect(await own.text("read_file", { path: "huge.txt" })).toBe(`${"line\n".repeat(1_600)}...[truncated]`);
    await writeFile(join(own.folder, "image.png"), Buffer.from("89504e470d0a1a0a0000000d49484452", "hex"));
    expect(await own.text("read_file", { path: "image.png" })).toMatch(/^Tool error: Not text: image\.png is /);
  });

  test("share what was seen: a file that has changed is not overwritten", async () => {
    const own = await toolsOn({ "a.txt": "one\n" }, { preset: "operator", policy: { autonomy: "full" } });
    await own.text("read_file", { path: "a.txt" });
    await writeFile(join(own.folder, "a.txt"), "a person's\n");
    const refused = await own.text("write_file", { path: "a.txt", content: "two\n" });
    expect(refused).toMatch(/^Tool error: a\.txt has changed since you last read it/);
    expect(await readFile(join(own.folder, "a.txt"), "utf8")).toBe("a person's\n");
  });
});
