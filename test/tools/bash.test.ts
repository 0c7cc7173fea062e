import { execFileSync } from "node:child_process";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import type { ActivityEvent } from "../../src/core/contract/activity.ts";
import type { Backend } from "../../src/core/contract/backend.ts";
import type { ToolResult } from "../../src/core/contract/result.ts";
import { asText } from "../../src/core/call/result.ts";
import { local } from "../../src/machine/local/backend.ts";
import { createOutputLog } from "../../src/core/output/log.ts";
import { bash } from "../../src/tools/bash.ts";
import { read } from "../../src/tools/read.ts";
import { isAlive, until } from "../support/until.ts";
import { temporaryFolder, workspace } from "../support/workspace.ts";
import { type Tools, numberedLines, toolsOn } from "./tools.ts";

describe("the output of a command", () => {
  test("is the result, unchanged", async () => {
    const { call, text } = await toolsOn();
    expect(await text("bash", { command: "printf 'a\\n  b\\tc'" })).toBe("a\n  b\tc");
    expect(await call("bash", { command: "echo hello" })).toEqual({
      id: expect.any(String) as string,
      status: "ok",
      content: [{ type: "text", text: "hello\n" }],
      data: { output: "hello\n", exit_code: 0, signal: null },
    });
  });

  test("to stdout and stderr keeps its order", async () => {
    const { text } = await toolsOn();
    const command = "for i in $(seq 200); do echo out $i; echo err $i >&2; done";
    const expected = Array.from({ length: 200 }, (_, i) => `out ${i + 1}\nerr ${i + 1}\n`).join("");
    expect(await text("bash", { command })).toBe(expected);
  });

  test("that is empty is reported as such", async () => {
    const { text } = await toolsOn();
    expect(await text("bash", { command: "true" })).toBe("(no output)");
    expect(await text("bash", { command: "cd sub 2>/dev/null; :" })).toBe("(no output)");
  });

  test("to /dev/stdout, /dev/stderr and through tee arrives too", async () => {
    const { text } = await toolsOn();
    const command = "echo one > /dev/stdout; echo two > /dev/stderr; echo three | tee /dev/stderr";
    expect(await text("bash", { command })).toBe("one\ntwo\nthree\nthree\n");
  });

  test("is what a terminal would show at the end, and the saved output keeps all", async () => {
    const { text } = await toolsOn();
    expect(await text("bash", { command: "printf '\\033[31mred\\033[0m \\a é 文 \\360\\237\\230\\200\\n'" })).toBe(
      "red  é 文 \u{1f600}\n",
    );
    const frames = `echo first; i=0; while [ $i -lt 6000 ]; do printf '\\rframe %-90s%d' x $i; i=$((i+1)); done; echo; echo end`;
    const shown = `first\nframe x${" ".repeat(89)}5999\nend\n`;
    expect(await text("bash", { command: frames })).toBe(shown);
    await text("bash", { command: frames, background: true });
    expect(await text("jobs", { action: "wait", id: "1" })).toContain(shown);
    await text("bash", { command: "printf 'a\\rb\\nc\\rd\\n'", background: true });
    expect(await text("jobs", { action: "wait", id: "2" })).toMatch(/^b\nd\n\[/);
    expect(await text("jobs", { action: "output", id: "2", offset: 2, limit: 1 })).toMatch(/^d\n\[Lines 2-2/);
    expect(await text("read", { path: "output://job-1", offset: 2, limit: 1 })).toMatch(/frame x +0\rframe x +1\r/);
  });

  test("that is not text is shown as U+FFFD, at both ends and in the middle", async () => {
    const { text } = await toolsOn();
    expect(await text("bash", { command: "printf 'caf\\351'" })).toBe("caf\ufffd");
    expect(await text("bash", { command: "printf '\\200\\201x\\0y\\342\\202'" })).toBe("\ufffd\ufffdx\ufffdy\ufffd");
  });

  test("in binary becomes text that any model accepts, and valid JSON", async () => {
    const { folder, call } = await toolsOn();
    await writeFile(join(folder, "data.bin"), Buffer.from(Array.from({ length: 30_000 }, (_, i) => (i * 7919) % 256)));
    const result = await call("bash", { command: "cat data.bin" });
    expect(result.status).toBe("ok");
    const shown = asText(result);
    expect(shown).not.toContain("\0");
    expect(Buffer.from(shown).toString()).toBe(shown);
  });
});

describe("the exit status of a command", () => {
  test("is in the text when it is not exit code 0, and the call is still ok", async () => {
    const { call, text } = await toolsOn();
    expect(await text("bash", { command: "echo a; exit 3" })).toBe("a\n\nExit code: 3");
    expect(await text("bash", { command: "printf a; exit 3" })).toBe("a\n\nExit code: 3");
    expect(await text("bash", { command: "exit 1" })).toBe("Exit code: 1");
    expect(await text("bash", { command: "no-such-program-here" })).toMatch(
      /no-such-program-here: command not found\n\nExit code: 127$/,
    );
    const { text: whatever } = await toolsOn(
      {},
      { policy: { autonomy: "full" }, approver: async () => ({ answer: "once" }) },
    );
    expect(await whatever("bash", { command: "if then" })).toMatch(/syntax error[\s\S]*Exit code: 2$/);
    expect(await call("bash", { command: "exit 7" })).toMatchObject({
      status: "ok",
      data: { output: "", exit_code: 7, signal: null },
    });
  });

  test("is in the text when a signal killed it", async () => {
    const { call, text } = await toolsOn();
    expect(await text("bash", { command: "echo a; kill -KILL $$" })).toBe("a\n\nKilled by signal: SIGKILL");
    expect(await call("bash", { command: "kill -SEGV $$" })).toMatchObject({
      status: "ok",
      data: { exit_code: null, signal: "SIGSEGV" },
    });
  });

  test("is below the notice of a long output", async () => {
    const { text } = await toolsOn();
    expect(await text("bash", { command: "seq 3000; exit 4" })).toMatch(
      /\n3000\n\n\[Output truncated at 2000 lines\. Full output saved to: output:\/\/\w+\]\n\nExit code: 4$/,
    );
  });
});

describe("the environment of a command", () => {
  test("is in the working directory, each time", async () => {
    const { folder, text } = await toolsOn({ "sub/a.txt": "" });
    expect(await text("bash", { command: "cd sub; pwd" })).toBe(`${folder}/sub\n`);
    expect(await text("bash", { command: "pwd" })).toBe(`${folder}\n`);
  });

  test("has bash, no start-up files, no stdin and no terminal", async () => {
    const { text } = await toolsOn();
    expect(await text("bash", { command: 'a=(1 2); [[ ${#a[@]} == 2 ]] && echo "$BASH" | grep -c bash' })).toBe("1\n");
    expect(await text("bash", { command: "cat; read x || echo end of input" })).toBe("end of input\n");
    expect(
      await text("bash", { command: "(: < /dev/tty) 2>/dev/null || echo no terminal; [ -t 1 ] || echo no screen" }),
    ).toBe("no terminal\nno screen\n");
  });

  test("has no secrets of our environment, and what programs need", async () => {
    process.env["MY_API_KEY"] = "secret-4711";
    process.env["LD_PRELOAD_TEST"] = "secret-4711";
    const { text } = await toolsOn({}, { policy: { autonomy: "full", forbiddenPaths: [], allowedRoots: ["/proc"] } });
    const environment = await text("bash", { command: "env; cat /proc/self/environ | tr '\\0' '\\n'" });
    expect(environment).not.toContain("secret-4711");
    expect(environment).toMatch(/^PATH=\//m);
    expect(environment).toMatch(/^HOME=\//m);
    expect(await text("bash", { command: 'echo "[$MY_API_KEY]"' })).toBe("[]\n");
  });

  test.each([
    [
      "bash",
      "set -u; echo $SHOP_REGION",
      "has SHOP_REGION, but commands do not get it. The user passes it with policy",
    ],
    ["shell", "echo 'SHOP_REGION must be set' >&2; exit 1", "has SHOP_REGION, but commands do not get it"],
    [
      "run_shell",
      "echo 'The JAVA_HOME environment variable is not defined correctly'",
      "does not have JAVA_HOME either",
    ],
    ["bash", "echo 'OTHER is not set, CC is not set'", undefined],
  ])("%s: `%s` is told how a variable is passed that its output misses", async (tool, command, sentence) => {
    const env = { PATH: process.env["PATH"], HOME: process.env["HOME"], SHOP_REGION: "eu-4711", CC: "clang" };
    const { text } = await toolsOn({}, { env });
    const shown = await text(tool, { command });
    if (sentence === undefined) expect(shown).not.toContain("user's environment");
    else expect(shown).toContain(`[The user's environment ${sentence}`);
    expect(shown).not.toContain("eu-4711");
  });

  test.each([
    ["bash", "vim notes.txt"],
    ["shell", "cd . && nano +3 notes.txt"],
    ["run_shell", "vi"],
    ["bash", "sh -c 'top'"],
    ["bash", "env view -R notes.txt; echo done"],
  ])("%s: `%s` ends at once, with what to use", async (tool, command) => {
    const { text } = await toolsOn();
    expect(await text(tool, { command })).toMatch(
      /(vim?|nano|top|view) needs a terminal, .* Nothing was run\n(Change a file with edit, write, sed -i; look at it with read|Use top -b)/,
    );
  });

  test("commands that only name a full-screen program run", async () => {
    const { text } = await toolsOn();
    for (const command of [
      "which vim; command -v top; type nano; echo vim view top watch",
      "echo top >vim; cat vim; test -f view",
      "top() { echo mine; }; top",
      "vim --version; top -bn1; vim -es -c wq x.txt",
    ])
      expect(await text("bash", { command })).not.toContain("needs a terminal");
  });

  test("accepts any script as written: quotes, several lines, here-documents", async () => {
    const { text } = await toolsOn();
    const command = `x='it''s "fine"'\ncat <<'END'\n$x \\ \`y\` é\nEND\necho "$x" $((1+1))`;
    expect(await text("bash", { command })).toBe('$x \\ `y` é\nits "fine" 2\n');
    expect(await text("bash", { command: "-n" })).toMatch(/-n: (command not found|invalid option)|Exit code/);
  });

  test("a script too long for the system is refused with a hint", async () => {
    const { text } = await toolsOn({}, { policy: { autonomy: "full" }, approver: async () => ({ answer: "once" }) });
    expect(await text("bash", { command: `: ${"x".repeat(140_000)}` })).toBe(
      "Tool error: cannot start bash: its arguments are too long; write them to a file",
    );
  });
});

describe("a long output", () => {
  test("shows its end, and all of it is saved and can be read in full", async () => {
    const tools = await toolsOn();
    const shown = await tools.text("bash", { command: "seq 5000" });
    const [, tail, path = ""] =
      /^([\s\S]*)\n\[Output truncated at 2000 lines\. Full output saved to: (output:\/\/\w+)\]$/.exec(shown) ?? [];
    expect(tail).toBe(sequence(3_001, 5_000));
    expect(await savedOutput(tools, path)).toBe(sequence(1, 5_000));
  });

  test("over 50 KB is truncated at a line", async () => {
    const { text } = await toolsOn();
    const shown = await text("bash", { command: `for i in $(seq 1000); do printf '%099d\\n' $i; done` });
    const [tail = "", notice] = shown.split("\n\n");
    expect(notice).toMatch(/^\[Output truncated at 50KB\. Full output saved to: output:\/\/\w+\]$/);
    expect(tail.split("\n")).toHaveLength(512);
    expect(tail.split("\n")[0]).toBe("489".padStart(99, "0"));
  });

  test("of exactly the limit is shown whole", async () => {
    const { text } = await toolsOn();
    expect(await text("bash", { command: "seq 2000" })).toBe(sequence(1, 2_000));
    expect(await text("bash", { command: "head -c 51200 /dev/zero | tr '\\0' x" })).toBe("x".repeat(51_200));
  });

  test("of one line shows its end, in whole characters", async () => {
    const { text } = await toolsOn();
    const shown = await text("bash", { command: "printf x; head -c 100000 /dev/zero | sed 's/\\x00/é/g'" });
    expect(shown).toMatch(/^é+\n\[Output truncated at 50KB\. Full output saved to: output:\/\/\w+\]$/);
    expect(shown.lastIndexOf("é") + 1).toBe(25_600);
  });

  test("of a million lines is shown as fast, and its first and last lines can be read", async () => {
    const { text } = await toolsOn();
    const shown = await text("bash", { command: "seq 1000000" });
    expect(shown.startsWith("998001\n")).toBe(true);
    const path = /\n1000000\n\n\[Output truncated at 2000 lines\. Full output saved to: (output:\/\/\w+)\]$/.exec(
      shown,
    )?.[1];
    expect(await text("read", { path, limit: 1 })).toBe(
      "1\n\n[Showing lines 1-1 of 1000000. Use offset=2 to continue.]",
    );
    expect(await text("read", { path, offset: 1_000_000 })).toBe(
      "1000000\n\n[Showing lines 1000000-1000000 of 1000000.]",
    );
  });

  test("fits the limit that the tool was made with", async () => {
    const lines = await toolsOn({}, { tools: [bash({ limit: { lines: 2 } })] });
    expect(await lines.text("bash", { command: "seq 20" })).toMatch(/^19\n20\n\n\[Output truncated at 2 lines\. Full/);
    const characters = await toolsOn({}, { tools: [bash({ limit: { characters: 3 } })] });
    expect(await characters.text("bash", { command: "printf 'a%.0s' {1..100}; printf 'éé\\n'" })).toMatch(
      /^éé\n\n\[Output truncated at 3 characters\. Full/,
    );
  });

  test("of which only part could be kept says so", async () => {
    const folder = await workspace();
    const inner = await local({ workDir: folder, outputFolder: temporaryFolder() });
    const tools = await toolsOn({}, { tools: [bash(), read()], target: keepingAtMost(inner, 100_000) });
    const shown = await tools.text("bash", { command: "anything" });
    expect(shown).toMatch(
      /\n\[Output truncated .*: output:\/\/\w+\]\n\[Only the first 97\.7KB of 500KB were kept\. This is the end of that part\.\]$/,
    );
  });
});

test("people who watch a flood see how much of it was skipped", async () => {
  const inner = await local({ workDir: await workspace(), outputFolder: temporaryFolder() });
  const seen = async (cap: number) => {
    const { toolkit } = await toolsOn({}, { tools: [bash()], target: keepingAtMost(inner, cap) });
    const events: ActivityEvent[] = [];
    await toolkit.call({ name: "bash", input: { command: "x" } }, { onEvent: (event) => events.push(event) });
    return shownTo(events);
  };
  const newest = `${"x".repeat(99)}\n`.repeat(40); // whole lines of the newest 4 KB
  expect(await seen(1_000_000)).toBe(`\n[… 496.1KB of output skipped …]\n${newest}`);
  const dropped = "\n[… 402.3KB of output skipped …]\n"; // exceeds what is kept
  expect(await seen(100_000)).toBe(`\n[… 93.8KB of output skipped …]\n${newest}${dropped}`);
});

describe("a command that does not end", () => {
  test("is stopped after its timeout with all its processes, and its output is kept", async () => {
    const { folder, text } = await toolsOn();
    const command =
      "echo before; sleep 600 & echo $! > a.pid; setsid sleep 600 & echo $! > b.pid; echo $$ > c.pid; wait";
    expect(await text("bash", { command, timeout: 0.5 })).toBe(
      "Tool error: the command did not finish within 0.5 s and was stopped\n" +
        "Its output so far is below. Use a longer timeout, run less, or run it in the background.\n" +
        "before\n",
    );
    for (const file of ["a.pid", "b.pid", "c.pid"]) {
      expect(await isAlive(Number(await readFile(join(folder, file), "utf8")))).toBe(false);
    }
  });

  test("and wrote nothing is reported so", async () => {
    const { text } = await toolsOn();
    expect(await text("bash", { command: "sleep 600", timeout: 0.2 })).toBe(
      "Tool error: the command did not finish within 0.2 s and was stopped\nIt had written no output. Use a longer timeout, run less, or run it in the background.",
    );
  });

  test("and wrote a lot shows the end of its output, and the rest is saved", async () => {
    const { text } = await toolsOn();
    expect(await text("bash", { command: "seq 3000; sleep 600", timeout: 0.5 })).toMatch(
      /in the background\.\n1001\n[\s\S]*\n3000\n\n\[Output truncated at 2000 lines\. Full output saved to: output:\/\/\w+\]$/,
    );
  });

  test("needs a valid timeout", async () => {
    const { text } = await toolsOn();
    for (const timeout of [0, -1, 86_401, "soon"]) {
      expect(await text("bash", { command: "true", timeout })).toMatch(/^validation error: parameter "timeout": /);
    }
    expect(await text("bash", { command: "echo fine", timeout: "5" })).toBe("fine\n");
  });

  test("is stopped with the call, and its output is kept, also what it writes while it ends", async () => {
    const tools = await toolsOn();
    const command = "trap 'echo cleaned up; exit' TERM; echo $$ > shell.pid; echo ready; while :; do sleep 0.02; done";
    const result = await abortedAt(tools, "ready\n", { command });
    expect(result.status).toBe("aborted");
    // Bash may report that the sleep it waited for was terminated.
    expect(asText(result)).toMatch(/^The call was stopped before it finished\.\nready\n(Terminated\n)?cleaned up\n$/);
    expect(await isAlive(Number(await readFile(join(tools.folder, "shell.pid"), "utf8")))).toBe(false);
  });

  test("and ignores TERM is killed", async () => {
    const tools = await toolsOn();
    const command = "trap '' TERM; echo $$ > shell.pid; echo ready; while :; do sleep 0.02; done";
    expect(await abortedAt(tools, "ready\n", { command })).toMatchObject({ status: "aborted" });
    expect(await isAlive(Number(await readFile(join(tools.folder, "shell.pid"), "utf8")))).toBe(false);
  });

  test("but only its background child: the call ends, and the child ends with the toolkit", async () => {
    const { folder, text, toolkit } = await toolsOn();
    expect(await text("bash", { command: "sleep 600 & echo $! > child.pid; echo done" })).toBe("done\n");
    const child = Number(await readFile(join(folder, "child.pid"), "utf8"));
    await toolkit.close();
    expect(await isAlive(child)).toBe(false);
  });
});

describe("people who watch", () => {
  test("see the output while it comes, all of it, and nothing after the end", async () => {
    const { folder, toolkit } = await toolsOn();
    const events: ActivityEvent[] = [];
    const command = "echo one; sleep 0.01; echo two; while [ ! -e go ]; do sleep 0.02; done; printf three";
    const call = toolkit.call({ name: "bash", input: { command } }, { onEvent: (event) => events.push(event) });
    // The second line follows the first at once, and then there is nothing for long: it is shown all the same.
    await until("both lines were shown", () => shownTo(events) === "one\ntwo\n");
    execFileSync("touch", [join(folder, "go")]);
    expect(await call).toMatchObject({ status: "ok", data: { output: "one\ntwo\nthree" } });
    expect(shownTo(events)).toBe("one\ntwo\nthree");
    expect(events.at(-1)?.type).toBe("call.finished");
  });

  test("see the newest of a flood", async () => {
    const { toolkit } = await toolsOn();
    const events: ActivityEvent[] = [];
    await toolkit.call({ name: "bash", input: { command: "seq 100000" } }, { onEvent: (event) => events.push(event) });
    expect(shownTo(events).endsWith("\n99999\n100000\n")).toBe(true);
    expect(events.length).toBeLessThan(50);
  });
});

test("the argument is understood however a model writes it", async () => {
  const { text } = await toolsOn();
  for (const input of ["echo hi", '"echo hi"', { cmd: "echo hi" }, { script: "echo hi" }, '{"command":"echo hi"}']) {
    expect(await text("bash", input)).toBe("hi\n");
  }
  for (const name of ["execute_command", "run_command", "exec_command", "Bash"]) {
    expect(await text(name, { command: "echo hi" })).toBe("hi\n");
  }
  expect(await text("bash", { command: "" })).toMatch(/^validation error: parameter "command": /);
  expect(await text("bash", {})).toBe('validation error: missing required parameter "command"');
});

/** "1\n2\n…". */
function sequence(first: number, last: number): string {
  return numberedLines(last)
    .replaceAll("line ", "")
    .slice(first === 1 ? 0 : numberedLines(first - 1).replaceAll("line ", "").length);
}

async function savedOutput({ text }: Tools, path: string): Promise<string> {
  let whole = "";
  for (let offset: number | undefined = 1; offset !== undefined;) {
    const page: string = await text("read", { path, offset });
    const notice: RegExpExecArray | null = /\n\[Showing lines .*?(?:offset=(\d+) to continue\.)?\]$/.exec(page);
    whole += page.slice(0, notice?.index);
    offset = notice?.[1] === undefined ? undefined : Number(notice[1]);
  }
  return whole;
}

/** Stops the call as soon as people have been shown this. */
function abortedAt({ toolkit }: Tools, shown: string, input: object): Promise<ToolResult> {
  const controller = new AbortController();
  const events: ActivityEvent[] = [];
  const onEvent = (event: ActivityEvent) => {
    events.push(event);
    if (shownTo(events) === shown) controller.abort();
  };
  return toolkit.call({ name: "bash", input }, { signal: controller.signal, onEvent });
}

function shownTo(events: readonly ActivityEvent[]): string {
  return events.map((event) => (event.type === "call.updated" ? (event.update.output ?? "") : "")).join("");
}

/** A backend on which every command writes 500 KB, and keeps less of it. */
function keepingAtMost(inner: Backend, cap: number): Backend {
  return {
    name: "small",
    workDir: inner.workDir,
    home: inner.home,
    files: inner.files,
    async spawn() {
      const output = createOutputLog({ folder: temporaryFolder() });
      output.write(Buffer.alloc(Math.min(cap, 512_000), `${"x".repeat(99)}\n`));
      await output.end(Math.max(0, 512_000 - cap));
      return {
        id: "1",
        output,
        errors: undefined,
        exit: Promise.resolve({ how: "exited", code: 0 }),
        write: async () => undefined,
        endInput: async () => undefined,
        kill: async () => undefined,
      };
    },
    search: (query) => inner.search(query),
    find: (query) => inner.find(query),
    close: () => inner.close(),
  };
}
