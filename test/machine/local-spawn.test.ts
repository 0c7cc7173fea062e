// Cases of this machine only. suite-local.test.ts runs the backend suite.
import { createHash } from "node:crypto";
import { existsSync, mkdirSync, readFileSync, readdirSync, readlinkSync, writeFileSync } from "node:fs";
import { type FileHandle, mkdir, open, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { local } from "../../src/machine/local/backend.ts";
import { TOOLCHAINS } from "../../src/machine/local/environment.ts";
import type { Backend, Command, Exit, OutputLog } from "../../src/core/contract/backend.ts";
import { failureOf } from "../support/failing.ts";
import { isAlive, until } from "../support/until.ts";
import { temporaryFolder } from "../support/workspace.ts";

let folder: string;
let backend: Backend;
beforeEach(async () => {
  folder = temporaryFolder();
  mkdirSync(join(folder, "ws"));
  backend = await local({
    workDir: join(folder, "ws"),
    home: join(folder, "home"),
    outputFolder: join(folder, "outputs"),
  });
});
afterEach(() => backend.close());

const at = (path: string) => join(folder, "ws", path);
const bash = (script: string): Command["argv"] => ["bash", "--noprofile", "--norc", "-c", script];
const whole = async (log: OutputLog) => Buffer.from(await log.read(0, log.kept));
const text = async (log: OutputLog) => (await whole(log)).toString();

/** Runs a script to its end. */
async function run(
  script: string,
  options: Omit<Command, "argv"> = {},
): Promise<{ exit: Exit; output: string; errors: string | undefined }> {
  const child = await backend.spawn({ argv: bash(script), ...options });
  const exit = await child.exit;
  const ended = { exit, output: await text(child.output), errors: child.errors && (await text(child.errors)) };
  await Promise.all([child.output.dispose(), child.errors?.dispose()]);
  return ended;
}

/** Returns the process ids that a script has written to `pids`, one per line, once there are this many. */
async function pidsOf(count: number): Promise<readonly number[]> {
  const read = () =>
    existsSync(at("pids")) ? readFileSync(at("pids"), "utf8").split("\n").slice(0, -1).map(Number) : [];
  await until(`${count} processes have said that they run`, () => read().length >= count);
  return read();
}

/** Counts our own open file descriptors. */
const descriptors = () => readdirSync("/proc/self/fd").length;

describe("how a process ends", () => {
  test.each(["TERM", "KILL", "HUP", "INT", "PIPE", "SEGV", "ABRT", "USR1"])(
    "SIG%s is reported by name",
    async (signal) => {
      expect((await run(`ulimit -c 0; echo before; kill -${signal} $$; sleep 1000`)).exit).toEqual({
        how: "signaled",
        signal: `SIG${signal}`,
      });
    },
  );
});

describe("what cannot be started", () => {
  test.each<[string, Command, RegExp]>([
    [
      "a program that is not there",
      { argv: ["no-such-program-at-all"] },
      /^cannot start no-such-program-at-all: no such program on the PATH$/,
    ],
    ["a path that is not there", { argv: ["./none"] }, /^cannot start \.\/none: no such file/],
    ["a folder that is not there", { argv: ["true"], cwd: "none" }, /^cannot start true: there is no folder .*\/none$/],
    ["a folder that is a file", { argv: ["true"], cwd: "file" }, /^cannot start true: /],
    ["a file that is not executable", { argv: ["./file"] }, /^cannot start \.\/file: it is not executable/],
    ["a folder in place of a file", { argv: ["./folder"] }, /^cannot start \.\/folder: it is a folder$/],
    ["no name at all", { argv: [""] }, /^cannot start : /],
    ["a NUL byte in an argument", { argv: ["echo", "a\0b"] }, /^cannot start echo: .*null bytes/],
    ["a NUL byte in a variable", { argv: ["echo"], env: { A: "a\0b" } }, /^cannot start echo: .*null bytes/],
    [
      "arguments that are too long",
      { argv: ["echo", "x".repeat(3_000_000)] },
      /^cannot start echo: its arguments are too long; write them to a file$/,
    ],
  ])("%s is a failure that says so, and nothing stays open", async (_, command, message) => {
    await writeFile(at("file"), "no program");
    await mkdir(at("folder"), { recursive: true });
    await (
      await backend.spawn({ argv: ["true"] })
    ).exit; // the first makes the pipes' folder
    const before = descriptors();
    expect(await failureOf(backend.spawn(command))).toMatch(message);
    await until("its pipes are closed", () => descriptors() <= before);
  });

  test("a command that was stopped before it started never runs", async () => {
    for (let round = 0; round < 5; round++) {
      expect(await failureOf(backend.spawn({ argv: bash("touch ran"), signal: AbortSignal.abort() }))).toMatch(
        /^bash was stopped before it was started$/,
      );
    }
    expect(existsSync(at("ran"))).toBe(false);
  });

  test("a closed backend starts nothing", async () => {
    await backend.close();
    expect(await failureOf(backend.spawn({ argv: ["true"] }))).toMatch("the backend is closed");
  });
});

describe("stdin", () => {
  test("is at its end at once when closed, and cannot be written to", async () => {
    const child = await backend.spawn({ argv: bash("cat; read x; echo $?; wc -c </dev/stdin") });
    expect(await failureOf(child.write("x"))).toMatch("started with stdin closed");
    await child.endInput();
    expect(await child.exit).toEqual({ how: "exited", code: 0 });
    expect((await text(child.output)).split(/\s+/)).toEqual(["1", "0", ""]);
  });

  test("writing after the end, or to a process that has ended, fails", async () => {
    const reading = await backend.spawn({ argv: ["cat"], stdin: "pipe" });
    await reading.endInput();
    expect(await failureOf(reading.write("late"))).toMatch("no longer reads its stdin");
    await reading.endInput();
    const ended = await backend.spawn({ argv: ["true"], stdin: "pipe" });
    await ended.exit;
    expect(await failureOf(ended.write("late"))).toMatch("no longer reads its stdin");
    await ended.endInput();
    expect(await ended.exit).toEqual({ how: "exited", code: 0 });
  });

  test("writing more than a process reads waits, and fails when the process is killed", async () => {
    const child = await backend.spawn({ argv: ["sleep", "1000"], stdin: "pipe" });
    const writing = failureOf(child.write("x".repeat(2_000_000)));
    await child.kill();
    expect(await writing).toContain("no longer reads its stdin");
  });
});

describe("output", () => {
  test("merged streams keep their order, split streams are separate", async () => {
    const script = "for i in $(seq 1 200); do echo out $i; echo err $i >&2; done";
    const numbers = Array.from({ length: 200 }, (_, index) => index + 1);
    const merged = await run(script);
    expect(merged.output).toBe(numbers.map((n) => `out ${n}\nerr ${n}\n`).join(""));
    expect(merged.errors).toBeUndefined();
    const split = await run(script, { streams: "split" });
    expect(split.output).toBe(numbers.map((n) => `out ${n}\n`).join(""));
    expect(split.errors).toBe(numbers.map((n) => `err ${n}\n`).join(""));
  });

  test("its files can be opened by name", async () => {
    const script =
      "echo 1; echo 2 >/dev/stdout; echo 3 | tee /dev/stderr; echo 4 >/dev/fd/1; echo 5 >/proc/self/fd/2; echo 6 >>/dev/stdout; echo 7";
    expect((await run(script)).output).toBe("1\n2\n3\n3\n4\n5\n6\n7\n");
    const split = await run("echo out >/dev/stdout; echo err >/dev/stderr; echo both | tee /dev/stderr", {
      streams: "split",
    });
    expect([split.output, split.errors]).toEqual(["out\nboth\n", "err\nboth\n"]);
  });

  test("fifty megabytes of binary data arrive complete, on either stream", async () => {
    const block = Buffer.from(Uint8Array.from({ length: 1_000_003 }, (_, index) => (index * 7 + (index >> 9)) & 255));
    await writeFile(at("block"), block);
    const hash = createHash("sha256");
    for (let times = 0; times < 50; times++) hash.update(block);
    const expected = hash.digest("hex");
    for (const redirect of ["", ">&2"]) {
      const child = await backend.spawn({
        argv: bash(`for i in $(seq 50); do cat block; done ${redirect}`),
        streams: "split",
      });
      expect(await child.exit).toEqual({ how: "exited", code: 0 });
      const log = redirect === "" ? child.output : child.errors!;
      expect({ size: log.size, kept: log.kept }).toEqual({ size: 50 * block.length, kept: 50 * block.length });
      const seen = createHash("sha256");
      for (let start = 0; start < log.kept; start += 4_000_000) seen.update(await log.read(start, start + 4_000_000));
      expect(seen.digest("hex")).toBe(expected);
      expect(Buffer.from(await log.tail(10)).equals(block.subarray(-10))).toBe(true);
      await Promise.all([child.output.dispose(), child.errors?.dispose()]);
    }
  });

  test("on a slow disk nothing of what was written before the end is lost", async () => {
    const size = 4 * 1_048_576 + 60_000;
    const handle = await open(join(folder, "any"), "w");
    const prototype = Object.getPrototypeOf(handle) as Pick<FileHandle, "writev">;
    await handle.close();
    const { writev } = prototype;
    let go = () => {};
    let asked = () => {};
    const gate = new Promise<void>((resolve) => (go = resolve));
    const writing = new Promise<void>((resolve) => (asked = resolve));
    prototype.writev = async function slow(this: FileHandle, ...args: Parameters<FileHandle["writev"]>) {
      asked();
      await gate;
      return writev.apply(this, args);
    } as FileHandle["writev"];
    try {
      const child = await backend.spawn({ argv: bash(`head -c ${size - 4} /dev/zero; echo END`) });
      await writing;
      setTimeout(go, 200); // much longer than silence is waited for
      expect(await child.exit).toEqual({ how: "exited", code: 0 });
      expect(child.output.size).toBe(size);
      expect(Buffer.from(await child.output.tail(4)).toString()).toBe("END\n");
      await child.output.dispose();
    } finally {
      prototype.writev = writev;
      go();
    }
  });

  test("a busy program reads it all the same", async () => {
    const busy = setInterval(() => {
      for (const end = performance.now() + 30; performance.now() < end;);
    }, 1);
    try {
      for (let round = 0; round < 10; round++)
        expect((await run("head -c 60000 /dev/zero; printf END")).output.length).toBe(60_003);
    } finally {
      clearInterval(busy);
    }
  });

  test("it can be followed from the beginning while it grows, and ends with the process", async () => {
    const child = await backend.spawn({ argv: bash("echo one; while [ ! -e go ]; do sleep 0.01; done; echo two") });
    let seen = "";
    for await (const chunk of child.output.follow()) {
      seen += Buffer.from(chunk).toString();
      if (seen === "one\n") await writeFile(at("go"), "");
    }
    expect(seen).toBe("one\ntwo\n");
  });

  test("a background child does not delay the call; what it has written until then is included", async () => {
    const { exit, output } = await run("sleep 1000 & echo $! >pids; echo started");
    const [pid] = await pidsOf(1);
    expect({ exit, output }).toEqual({ exit: { how: "exited", code: 0 }, output: "started\n" });
    expect(await isAlive(pid!)).toBe(true);
    await backend.close();
    expect(await isAlive(pid!)).toBe(false);
  });

  test("a background child may continue to write after its command has ended, and is not killed", async () => {
    const { exit } = await run("(i=0; while :; do echo $((i += 1)); echo x >>beats; sleep 0.01; done) & echo $! >pids");
    expect(exit).toEqual({ how: "exited", code: 0 });
    const beats = () => (existsSync(at("beats")) ? readFileSync(at("beats")).length : 0);
    const before = beats();
    await until("it has written some more", () => beats() > before + 40);
    expect(await isAlive((await pidsOf(1))[0]!)).toBe(true);
  });

  test("a background child that floods us after its command has ended is eventually cut off", async () => {
    const { exit } = await run("yes & echo $! >pids");
    expect(exit).toEqual({ how: "exited", code: 0 });
    const [pid] = await pidsOf(1);
    await until("its pipe was closed and it has ended", async () => !(await isAlive(pid!)), 25_000);
  });

  test("a background child that writes endlessly does not delay the call either", async () => {
    for (const writer of ["yes", "while :; do echo y; sleep 0.002; done"]) {
      const { exit, output } = await run(`echo before; (${writer}) & echo after`);
      expect(exit).toEqual({ how: "exited", code: 0 });
      expect(output).toMatch(/^before$/m);
      expect(output).toMatch(/^after$/m);
    }
  });
});

describe("what a process gets", () => {
  const SECRETS = {
    OPENAI_API_KEY: "sk-secret",
    AWS_SECRET_ACCESS_KEY: "secret",
    GITHUB_TOKEN: "secret",
    SSH_AUTH_SOCK: "/tmp/agent",
    NODE_OPTIONS: "--require=/tmp/evil.js",
    LD_PRELOAD: "/tmp/evil.so",
    LD_LIBRARY_PATH: "/tmp",
    BASH_ENV: "/tmp/evil.sh",
    ENV: "/tmp/evil.sh",
    GIT_SSH_COMMAND: "evil",
    PROMPT_COMMAND: "evil",
    PYTHONPATH: "/tmp",
    IFS: "x",
    "BASH_FUNC_ls%%": "() { evil; }",
    HANDRAIL_PROCESS: "forged",
  };
  const before = { ...process.env };
  afterEach(() => {
    for (const name of Object.keys(process.env)) if (!(name in before)) delete process.env[name];
    Object.assign(process.env, before);
  });

  const environmentOf = async (options: Partial<Command> = {}) => {
    const child = await backend.spawn({ argv: ["env", "-0"], ...options });
    await child.exit;
    const entries = (await text(child.output)).split("\0").slice(0, -1);
    return Object.fromEntries(
      entries.map((entry) => [entry.slice(0, entry.indexOf("=")), entry.slice(entry.indexOf("=") + 1)]),
    );
  };

  test("of our environment only the harmless variables, and no secrets", async () => {
    Object.assign(process.env, SECRETS, { LANG: "C.UTF-8", LC_TIME: "C", TZ: "Asia/Tokyo", TERM: "dumb" });
    const { HANDRAIL_PROCESS: mark, ...environment } = await environmentOf();
    const allowed = [
      /^(PATH|HOME|TERM|LANG|LC_\w+|USER|LOGNAME|SHELL|TMPDIR|TZ|PAGER|GIT_PAGER|MANPAGER|GIT_TERMINAL_PROMPT)$/,
      /^(HANDRAIL_NO_EDITOR|EDITOR|VISUAL|GIT_EDITOR|GIT_SEQUENCE_EDITOR)$/,
    ];
    expect(
      Object.keys(environment).filter((name) => !TOOLCHAINS.has(name) && !allowed.some((names) => names.test(name))),
    ).toEqual([]);
    expect(environment).toMatchObject({
      HOME: join(folder, "home"),
      LANG: "C.UTF-8",
      LC_TIME: "C",
      TZ: "Asia/Tokyo",
      TERM: "dumb",
      // Nobody is there to press keys or type passwords.
      PAGER: "cat",
      GIT_PAGER: "cat",
      GIT_TERMINAL_PROMPT: "0",
    });
    expect(mark).not.toBe("forged");
    expect(JSON.stringify(environment)).not.toContain("secret");
  });

  test("what toolchains need is passed on, without what may hold a secret", async () => {
    const passed = { JAVA_HOME: "/opt/jdk", VIRTUAL_ENV: "/ws/.venv", CC: "clang", GOPATH: "/go" };
    Object.assign(process.env, passed, { NPM_TOKEN: "secret", CARGO_REGISTRY_TOKEN: "secret", NODE_OPTIONS: "--x" });
    const environment = await environmentOf();
    expect(environment).toMatchObject(passed);
    expect(Object.keys(environment)).not.toContain("NODE_OPTIONS");
    expect(JSON.stringify(environment)).not.toContain("secret");
  });

  test("no exported functions of ours, and no start-up files", async () => {
    writeFileSync(at("evil.sh"), "echo evil");
    Object.assign(process.env, { "BASH_FUNC_ls%%": "() { echo evil; }", BASH_ENV: at("evil.sh"), ENV: at("evil.sh") });
    expect((await run("ls | wc -l; type -t ls")).output).toMatch(/^\s*1\nfile\n$/);
  });

  test("git that opens an editor fails at once with a sentence; one that the command chose is used", async () => {
    const git = "git -c user.email=a@b.c -c user.name=n";
    await run(
      `git init -q; git config core.editor "touch opened"; for n in 1 2 3; do ${git} commit -qm $n --allow-empty; done`,
    );
    for (const opening of [
      "commit --amend --allow-empty",
      "commit --allow-empty",
      "rebase -i --root",
      "tag -a v1",
      "notes add",
    ])
      expect((await run(`${git} ${opening}`)).output, opening).toMatch(/No editor can be used here, .*GIT_EDITOR=true/);
    for (const chosen of [
      `${git} -c core.editor=true commit --amend --allow-empty`,
      `EDITOR=true ${git} commit --amend --allow-empty`,
      `GIT_EDITOR=true ${git} rebase -i --root`,
      `GIT_SEQUENCE_EDITOR='sed -i 1d' ${git} rebase -i --root`,
      `${git} -c sequence.editor='sed -i 1d' rebase -i --root`,
    ])
      expect(await run(chosen), chosen).toMatchObject({ exit: { how: "exited", code: 0 } });
    expect((await run("git log --format=%s; ls -A")).output).toBe("3\n.git\n");
  });

  test("a PATH without relative or empty folders", async () => {
    for (const [path, expected] of [
      [`.:${before["PATH"]}::bin:../x:`, before["PATH"]],
      [".", "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"],
      ["", "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"],
    ] as const) {
      process.env["PATH"] = path;
      expect((await environmentOf({ argv: ["/usr/bin/env", "-0"] }))["PATH"]).toBe(expected);
    }
  });

  test("the variables that the command adds, and those that are passed on request", async () => {
    Object.assign(process.env, SECRETS);
    expect(await environmentOf({ env: { CI: "1", LANG: "de_DE.UTF-8" } })).toMatchObject({
      CI: "1",
      LANG: "de_DE.UTF-8",
    });
    const passing = await local({ workDir: folder, outputFolder: folder, passEnv: ["GITHUB_TOKEN"] });
    const child = await passing.spawn({ argv: bash("echo $GITHUB_TOKEN $OPENAI_API_KEY") });
    await child.exit;
    expect(await text(child.output)).toBe("secret\n");
    await passing.close();
  });

  test("the working directory, or the requested folder, by its real path", async () => {
    mkdirSync(at("sub"));
    expect((await run("pwd")).output).toBe(`${at("")}\n`.replace("/\n", "\n"));
    expect((await run("pwd -P", { cwd: "sub" })).output).toBe(`${at("sub")}\n`);
    expect((await run("pwd", { cwd: at("sub/../sub") })).output).toBe(`${at("sub")}\n`);
  });

  test("no terminal: neither as a stream nor to open", async () => {
    const { output } = await run(
      "test -t 0 || test -t 1 || test -t 2 || echo none; (: </dev/tty) 2>/dev/null || echo cannot; ps -o tty= -p $$",
    );
    expect(output).toBe("none\ncannot\n?\n");
  });

  test("none of our file descriptors besides its three streams", async () => {
    const ours = await open(join(folder, "ours"), "w");
    // What we ourselves were started with goes on to everyone: O_CLOEXEC (0o2000000) is not set on it.
    const flags = (fd: string) =>
      existsSync(`/proc/self/fdinfo/${fd}`) ? readFileSync(`/proc/self/fdinfo/${fd}`, "utf8") : "";
    const inherited = readdirSync("/proc/self/fd").filter(
      (fd) => (parseInt(/^flags:\s*(\d+)/m.exec(flags(fd))?.[1] ?? "2000000", 8) & 0o2000000) === 0,
    );
    expect(inherited).not.toContain(String(ours.fd));
    for (const streams of ["merged", "split"] as const) {
      for (const stdin of ["closed", "pipe"] as const) {
        const child = await backend.spawn({ argv: ["sh", "-c", "ls /proc/$$/fd"], streams, stdin });
        await child.exit;
        const listed = (await text(child.output)).trim().split("\n");
        expect(listed.slice(0, 3)).toEqual(["0", "1", "2"]);
        expect(listed.slice(3).filter((fd) => !inherited.includes(fd))).toEqual([]);
      }
    }
    await ours.close();
  });

  test("and no new file descriptors in our process", async () => {
    await run("true", { streams: "split" });
    const count = descriptors();
    for (let round = 0; round < 20; round++) {
      const child = await backend.spawn({
        argv: ["echo", "x"],
        streams: "split",
        stdin: round % 2 === 0 ? "pipe" : "closed",
      });
      await child.exit;
    }
    await expect.poll(descriptors).toBeLessThanOrEqual(count);
  });

  test("no output file that others can find", async () => {
    const child = await backend.spawn({ argv: bash("readlink /proc/$$/fd/1; exec sleep 1000") });
    await until("it has said where it writes", async () => (await text(child.output)) !== "");
    await expect.poll(() => readlinkSync(`/proc/${child.id}/fd/1`)).toMatch(/\(deleted\)$/);
    await child.kill();
  });
});

describe("stopping", () => {
  /** Ways to get away from a shell that is stopped. Each writes the id of what it leaves running into `pids`. */
  const ESCAPES: readonly [string, string][] = [
    ["in the foreground", "sh -c 'echo $$ >>pids; exec sleep 1000'"],
    ["in the background", "sleep 1000 & echo $! >>pids"],
    ["with nohup", "nohup sh -c 'echo $$ >>pids; exec sleep 1000' >/dev/null 2>&1 &"],
    ["with setsid", "setsid sh -c 'echo $$ >>pids; exec sleep 1000' &"],
    ["with a double fork", "(setsid sh -c '(sh -c \"echo \\$\\$ >>pids; exec sleep 1000\" &)' &) &"],
    ["with disown", "sleep 1000 & echo $! >>pids; disown"],
    ["with job control", "set -m; sleep 1000 & echo $! >>pids"],
    ["deaf to TERM", "sh -c 'trap \"\" TERM; echo $$ >>pids; while :; do sleep 1000; done' &"],
    [
      "deaf to TERM and with setsid",
      "setsid sh -c 'trap \"\" TERM INT HUP; echo $$ >>pids; while :; do sleep 1000; done' >/dev/null 2>&1 </dev/null &",
    ],
  ];

  test.each(ESCAPES)("an abort ends all started processes %s", async (_, escape) => {
    const controller = new AbortController();
    const child = await backend.spawn({
      argv: bash(`${escape}\necho $$ >>pids; sleep 1000`),
      signal: controller.signal,
    });
    await pidsWhenTwo(escape);
    controller.abort();
    expect(await child.exit).toEqual({ how: "aborted" });
    for (const pid of await pidsOf(1)) expect(await isAlive(pid)).toBe(false);
  });

  test.each(ESCAPES.slice(1))("closing the backend ends what a command has left %s", async (_, escape) => {
    const { exit } = await run(`${escape}\nexit 0`);
    expect(exit).toEqual({ how: "exited", code: 0 });
    const pids = await pidsOf(1);
    for (const pid of pids) expect(await isAlive(pid)).toBe(true);
    await backend.close();
    for (const pid of pids) expect(await isAlive(pid)).toBe(false);
  });

  /** The first of the list never gets to its second line. */
  const pidsWhenTwo = (escape: string) => pidsOf(escape.startsWith("sh -c 'echo") ? 1 : 2);

  test("a timeout longer than timers allow does not fire at once", async () => {
    for (const timeoutMs of [2 ** 31, 1e12, Infinity]) {
      expect((await run("sleep 0.05; echo done", { timeoutMs })).output).toBe("done\n");
    }
  });

  test("closing the backend stops running processes, and may be called twice", async () => {
    const children = await Promise.all(
      Array.from({ length: 5 }, () =>
        backend.spawn({ argv: bash("trap '' TERM; while :; do sleep 0.1; done & wait") }),
      ),
    );
    await Promise.all([backend.close(), backend.close()]);
    await backend.close();
    for (const child of children) {
      expect(await isAlive(Number(child.id))).toBe(false);
      expect((await child.exit).how).toBe("signaled");
    }
  });

  test("a program whose last act is close() stays until all processes are gone", async () => {
    const script = `
      import { local } from ${JSON.stringify(new URL("../../dist/index.js", import.meta.url).href)};
      const backend = await local({ workDir: ".", outputFolder: "." });
      const child = await backend.spawn({ argv: ["bash", "-c", ${JSON.stringify(ESCAPES.at(-1)![1])}] });
      await child.exit;
      const { existsSync, readFileSync } = await import("node:fs");
      while (!existsSync("pids") || readFileSync("pids", "utf8") === "") await new Promise((resolve) => setTimeout(resolve, 10));
      await backend.close();
      console.log("closed");`;
    await writeFile(at("program.mjs"), script);
    expect(existsSync(fileURLToPath(new URL("../../dist/index.js", import.meta.url)))).toBe(true);
    const { exit, output } = await run(`${JSON.stringify(process.execPath)} program.mjs`);
    expect({ exit, output }).toEqual({ exit: { how: "exited", code: 0 }, output: "closed\n" });
    for (const pid of await pidsOf(1)) expect(await isAlive(pid)).toBe(false);
  });
});
