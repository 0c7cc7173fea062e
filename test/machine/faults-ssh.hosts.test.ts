// Real faults of a remote host, and what a model reads about them.
import { execFileSync, spawn } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, readdirSync, statSync } from "node:fs";
import { join } from "node:path";
import { beforeAll, describe, expect, test } from "vitest";
import { type SshOptions, ssh } from "../../src/machine/ssh/ssh.ts";
import { mustBeHere } from "../support/here.ts";
import { type SshServer, type SshServerOptions, sshServer, sshdProblem } from "../support/sshd.ts";
import { until } from "../support/until.ts";
import { temporaryFolder } from "../support/workspace.ts";
import { type Hands, handsOn, processesHere, within, workingAgain } from "./elsewhere.ts";
import { LIBRARY } from "./program.ts";

const OPTIONS: SshServerOptions = { loginShell: "bash" };
const problem = sshdProblem(OPTIONS);
mustBeHere("an sshd whose connections fail", problem);

async function on({ target, configFile }: SshServer, options: Partial<SshOptions> = {}): Promise<Hands> {
  const backend = await ssh({
    target,
    configFile,
    outputFolder: temporaryFolder(),
    backOffMs: [0, 300, 1_000],
    ...options,
  });
  return handsOn(backend);
}

function ownerOf(path: string): number | undefined {
  return statSync(path, { throwIfNoEntry: false })?.uid;
}

/** Returns the command lines of processes of the server's user. */
function runningThere({ user }: SshServer, text: string): readonly string[] {
  const all = execFileSync("ps", ["-u", user, "-o", "args="], { encoding: "utf8" });
  return all.split("\n").filter((line) => line.includes(text));
}

const LOST = "the connection to handrail-test-host was lost";
const OPEN_AGAIN = /^\[?The connection to handrail-test-host was lost, and was reopened \d+ s later\.\]?$/m;

describe.skipIf(problem !== undefined)("over SSH", () => {
  let server: SshServer;
  const there = (name: string) => join(server.home, name);
  const has = (name: string) => existsSync(there(name));
  beforeAll(async () => {
    server = await sshServer(OPTIONS);
  });

  test("a connection killed during a command: its exit status is unknown; the next call works and says so", async () => {
    const { call } = await on(server);
    const running = call("bash", { command: "echo begun; touch killed-begun; sleep 301; touch killed-after" });
    await until("it runs", () => has("killed-begun"));
    await server.killConnections();
    const text = await running;
    expect(text).toContain(`Tool error: the exit status of the command is unknown: ${LOST}`);
    expect(text).toMatch(/it may have run in full or in part, and what remains of it is ended on the remote host/);
    expect(text).toContain("It may have done part of its work. Check that before you run it again.");
    expect(text).toContain("begun");
    const next = await call("bash", { command: "echo here" });
    expect(next).toMatch(/^here\n/);
    expect(next).toMatch(OPEN_AGAIN);
    expect(await call("bash", { command: "echo here" })).not.toMatch(OPEN_AGAIN);
    await until("nothing is left of the command", () => runningThere(server, "sleep 301").length === 0);
    expect(has("killed-after")).toBe(false);
  });

  test("a call that only looks is repeated after a loss, without a notice", async () => {
    const { call } = await on(server);
    await call("write", { path: "looked-at", content: "content\n" });
    await server.killConnections();
    expect(await call("read", { path: "looked-at" })).toContain("content");
    await server.killConnections();
    expect(await call("ls", { path: "." })).toContain("looked-at");
    await server.killConnections();
    expect(await call("grep", { pattern: "content", path: "looked-at" })).toContain("looked-at");
  });

  test("a file that is being written when the connection is lost is the old or the new one, complete", async () => {
    const { call } = await on(server);
    const [old, young] = ["old\n".repeat(10), "new line\n".repeat(2_000_000)];
    await call("write", { path: "torn", content: old });
    const writing = call("write", { path: "torn", content: young });
    await until("it is being written", () =>
      readdirSync(server.home).some((name) => /^\.handrail-.*\.tmp$/.test(name)),
    );
    await server.killConnections();
    const text = await writing;
    const found = readFileSync(there("torn"), "utf8");
    expect([old, young].includes(found)).toBe(true);
    if (text.startsWith("Tool error")) expect(text).toMatch(/torn.* may or may not have been|was lost/);
    else expect(found === young).toBe(true);
    expect(await call("bash", { command: "wc -c <torn" })).toContain(`${found.length}\n`);
  });

  test("when the local ssh that holds the connection is killed, the same holds", async () => {
    const { call } = await on(server);
    const running = call("bash", { command: "touch master-begun; sleep 302" });
    await until("it runs", () => has("master-begun"));
    const masters = processesHere((words) => words.includes(server.configFile) && words.includes("ControlMaster=yes"));
    for (const pid of masters) process.kill(pid, "SIGKILL");
    expect(await running).toMatch(/Tool error: the exit status of the command is unknown: .*handrail-test-host/);
    const next = await call("bash", { command: "echo here" });
    expect(next).toMatch(/^here\n/);
    expect(next).toMatch(OPEN_AGAIN);
    await until("nothing is left of the command", () => runningThere(server, "sleep 302").length === 0);
  });

  test("a host that does not answer is noticed within seconds, and nothing of the old connection remains", async () => {
    const { call } = await on(server, { keepAliveMs: 4_000, backOffMs: [0] });
    const running = call("bash", { command: "touch stopped-begun; sleep 303" });
    await until("it runs", () => has("stopped-begun"));
    await server.suspend();
    try {
      expect(await running).toContain(`the exit status of the command is unknown: ${LOST}: Timeout, server`);
      expect(await call("bash", { command: "echo here" })).toMatch(
        /^Tool error: no connection to .*handrail-test-host could be opened: .*timed out/,
      );
    } finally {
      await server.resume();
    }
    const next = await workingAgain(call);
    expect(next).toMatch(OPEN_AGAIN);
    await until("nothing is left of the command", () => runningThere(server, "sleep 303").length === 0);
  });

  test("while sshd is down, calls say so and what to do; once it is up again, the next one works", async () => {
    const { call } = await on(server);
    expect(await call("bash", { command: "echo here" })).toBe("here\n");
    await server.stop();
    try {
      expect(await call("bash", { command: "uptime" })).toMatch(
        /^Tool error: no connection to .* could be opened: .*port \d+: Connection refused\nRun `ssh .* true`/,
      );
      expect(await call("bash", { command: "touch never-run" })).toMatch(/port \d+: Connection refused/);
      expect(await call("read", { path: "looked-at" })).toMatch(
        /^Tool error: no connection to .* could be opened: .*Connection refused\nRun `ssh/,
      );
    } finally {
      await server.restart();
    }
    const next = await workingAgain(call);
    expect(next).toMatch(OPEN_AGAIN);
    expect(has("never-run")).toBe(false);
  });

  test("a job outlives a lost connection: it can be read, written to and waited for, with its exit code", async () => {
    const { call } = await on(server);
    const started = await call("bash", {
      command:
        "echo begun; touch job-begun; while [ ! -e job-go ]; do sleep 0.05; done; echo while away; touch job-wrote; read -r word; echo got $word; seq 20000; exit 7",
      background: true,
    });
    const [, id = ""] = /^Job (\w+) was started/.exec(started) ?? [];
    await until("it runs", () => has("job-begun"));
    await server.killConnections();
    await server.exec("touch job-go");
    await until("it has gone on meanwhile", () => has("job-wrote"));
    const output = await call("jobs", { action: "output", id, follow: true });
    expect(output).toContain("begun");
    await until("what it wrote is known", async () =>
      (await call("read", { path: `output://job-${id}` })).includes("while away"),
    );
    await server.killConnections();
    await call("jobs", { action: "write", id, text: "word\n" });
    const ended = await call("jobs", { action: "wait", id });
    expect(ended).toContain("Exit code 7");
    const whole = await call("bash", { command: "echo ended" });
    expect(whole).toContain("ended");
    const tail = await call("read", { path: `output://job-${id}`, offset: 20_002 });
    expect(tail).toContain("19999\n20000\n");
    expect(await call("read", { path: `output://job-${id}`, limit: 4 })).toContain("begun\nwhile away\ngot word\n1\n");
  });

  test("a job that is killed after a loss is gone with all its processes", async () => {
    const { call } = await on(server);
    const started = await call("bash", { command: "setsid sleep 304 & touch kill-begun; sleep 304", background: true });
    const [, id = ""] = /^Job (\w+) was started/.exec(started) ?? [];
    await until("it runs", () => has("kill-begun"));
    await server.killConnections();
    expect(await call("jobs", { action: "kill", id })).toMatch(/Killed by SIGTERM/);
    await until("nothing is left of it", () => runningThere(server, "sleep 304").length === 0);
  });

  test("two concurrent toolkits do not affect each other by a lost connection or by closing", async () => {
    const [one, other] = await Promise.all([on(server), on(server)]);
    const running = other.call("bash", {
      command: "touch two-begun; while [ ! -e two-go ]; do sleep 0.05; done; echo done",
    });
    await until("it runs", () => has("two-begun"));
    const job = await one.call("bash", { command: "touch two-job; sleep 305", background: true });
    expect(job).toMatch(/^Job 1 was started/);
    expect(await one.call("bash", { command: "touch two-go-not-yet; echo x" })).toBe("x\n");
    const ofOne = runningThere(server, "sleep 305");
    expect(ofOne.length).toBeGreaterThan(0);
    await one.toolkit.close();
    await until("what the one had is ended", () => runningThere(server, "sleep 305").length === 0);
    await server.exec("touch two-go");
    expect(await running).toBe("done\n");
  });

  test("closing leaves no local ssh and no remote shell, also after a loss", async () => {
    const alone = await sshServer(OPTIONS);
    const before = readdirSync("/tmp"); // an earlier user with the same id may have left files
    const ours = () => processesHere((words) => words.includes(alone.configFile)).length;
    const { call, toolkit } = await on(alone);
    await call("bash", { command: "sleep 306", background: true });
    await alone.killConnections();
    expect(await call("bash", { command: "echo here" })).toMatch(/^here\n/);
    expect(ours()).toBeGreaterThan(0);
    await toolkit.close();
    expect(ours()).toBe(0);
    await until(
      "nothing runs there",
      () => execFileSync("sh", ["-c", `ps -u ${alone.user} -o args= || :`], { encoding: "utf8" }).trim() === "",
    );
    const left = readdirSync("/tmp").filter((name) => name.startsWith("handrail") && !before.includes(name));
    expect(left.filter((name) => ownerOf(join("/tmp", name)) === ownerOf(alone.home))).toEqual([]);
  });

  test("closing a toolkit whose host is silent takes seconds; all but detached processes end on the host", async () => {
    const alone = await sshServer(OPTIONS);
    const ours = () => processesHere((words) => words.includes(alone.configFile)).length;
    const folders = () => readdirSync("/tmp").filter((name) => name.startsWith("handrail-ssh-"));
    const before = folders();
    const { call, toolkit } = await on(alone, { keepAliveMs: 60_000 });
    const opened = folders().filter((name) => !before.includes(name));
    await call("bash", { command: "touch detached; sleep 308", detached: true });
    await call("bash", { command: "read -r line", background: true });
    const running = call("bash", { command: "sleep 307" });
    await until("they run", () => ["sleep 307", "sleep 308"].every((words) => runningThere(alone, words).length > 0));
    await alone.suspend();
    await within("closing", toolkit.close()); // ssh itself would notice after a minute
    expect(await running).toMatch(/stopped|nobody can say/);
    expect(ours()).toBe(0);
    expect(folders().filter((name) => opened.includes(name))).toEqual([]);
    await alone.resume();
    await until("the command is ended there", () => runningThere(alone, "sleep 307").length === 0);
    expect(runningThere(alone, "sleep 308").length).toBeGreaterThan(0);
  });

  test("a command that is stopped while its host is silent ends within seconds, and later on the host", async () => {
    const { toolkit } = await on(server, { keepAliveMs: 60_000 });
    const stopped = new AbortController();
    const { exit } = await toolkit.backend.spawn({ argv: ["sleep", "309"], signal: stopped.signal });
    await server.suspend();
    try {
      stopped.abort();
      expect((await within("its end", exit)).how).toBe("aborted"); // ssh itself would notice after a minute
    } finally {
      await server.resume();
    }
    await until("it is ended there", () => runningThere(server, "sleep 309").length === 0);
  });

  test("an sshd that grants two sessions per connection is enough for eight concurrent commands", async () => {
    const narrow = await sshServer({ ...OPTIONS, config: ["MaxSessions 2"] });
    const { call } = await on(narrow);
    const numbers = Array.from({ length: 8 }, (_, index) => index);
    const texts = await Promise.all(numbers.map((number) => call("bash", { command: `sleep 0.2; echo ${number}` })));
    expect(texts).toEqual(numbers.map((number) => `${number}\n`));
  });

  test("a full remote disk rejects a write as a whole, and affects neither commands nor jobs", async () => {
    const small = await sshServer({ ...OPTIONS, homeFiles: { ".profile": "TMPDIR=$HOME/small; export TMPDIR\n" } });
    const disk = join(small.home, "small");
    mkdirSync(disk);
    const owner = ownerOf(small.home);
    execFileSync("mount", ["-t", "tmpfs", "-o", `size=1m,uid=${owner},mode=700`, "none", disk]);
    try {
      const { call, toolkit } = await on(small, { workDir: "~/small" });
      await call("write", { path: "kept", content: "old\n".repeat(1_000) });
      for (const path of ["kept", "new"]) {
        expect(await call("write", { path, content: "x".repeat(2_000_000) })).toBe(
          `Tool error: The disk is full: ${disk}/${path}`,
        );
      }
      expect(readFileSync(join(disk, "kept"), "utf8")).toBe("old\n".repeat(1_000));
      expect(readdirSync(disk).filter((name) => !name.startsWith("handrail-"))).toEqual(["kept"]);
      const output = await call("bash", {
        command: "head -c 3000000 /dev/zero | tr '\\0' x | fold -w 99; echo; echo end",
      });
      expect(output).toMatch(/^end$/m);
      expect(output).not.toMatch(/Exit code/);
      const job = await call("bash", {
        command: "head -c 3000000 /dev/zero | tr '\\0' y | fold -w 99; exit 5",
        background: true,
      });
      expect(job).toMatch(/^Job 1 was started/);
      expect(await call("jobs", { action: "wait", id: "1" })).toContain("Exit code 5");
      expect(await call("bash", { command: "head -c 5000000 /dev/zero >kept-not" })).toMatch(/No space left/);
      expect(await call("read", { path: "kept", limit: 1 })).toContain("old");
      await toolkit.close();
      expect(readdirSync(disk).sort()).toEqual(["kept", "kept-not"]);
    } finally {
      execFileSync("umount", ["--lazy", disk]);
    }
  });

  test("after KILL nothing is left locally; remotely commands end, jobs wait, detached jobs continue", async () => {
    const alone = await sshServer(OPTIONS);
    const folder = temporaryFolder();
    const child = spawn(
      process.execPath,
      ["--input-type=module", "-e", OWN_PROGRAM, alone.target, alone.configFile, folder],
      {
        stdio: ["ignore", "ignore", "inherit"],
        env: { ...process.env, XDG_STATE_HOME: folder },
      },
    );
    const ours = () => processesHere((words) => words[0] === "ssh" && words.includes(alone.configFile)).length;
    try {
      await until(
        "all of it runs",
        () => ["job", "detached", "command"].every((name) => existsSync(join(alone.home, name))),
        20_000,
      );
      expect(ours()).toBeGreaterThan(0);
    } finally {
      child.kill("SIGKILL");
    }
    await until("its ssh processes are gone", () => ours() === 0);
    await until(
      "its command is ended there, with what it had started",
      () => runningThere(alone, "sleep 312").length === 0,
    );
    expect(runningThere(alone, "sleep 311").length).toBeGreaterThan(0);
    const { toolkit, call } = await on(alone);
    const [kept, ...others] = (await toolkit.backend.detached?.list()) ?? [];
    expect([kept?.label, kept?.ended, others]).toEqual([DETACHED, undefined, []]);
    expect(await call("jobs", { action: "output", id: kept?.id })).toContain("kept on");
    await call("bash", { command: "touch go" });
    expect(await call("jobs", { action: "wait", id: kept?.id })).toContain("Exit code 3");
    expect(runningThere(alone, "sleep 311").length).toBeGreaterThan(0);
  });
});

const DETACHED = "echo kept on; touch detached; while [ ! -e go ]; do sleep 0.1; done; exit 3";

/** Runs a job, a detached job and a command on the host, until it is killed. */
const OWN_PROGRAM = `
import { createToolkit } from ${JSON.stringify(LIBRARY)};
import { ssh } from ${JSON.stringify(new URL("ssh.js", LIBRARY).href)};
const [target, configFile, stateDir] = process.argv.slice(1);
const backend = await ssh({ target, configFile });
const approver = async () => ({ answer: "once" });
const toolkit = await createToolkit({ target: backend, preset: "all", policy: { autonomy: "full" }, approver, stateDir });
const bash = (input) => toolkit.call({ name: "bash", input });
await bash({ command: "setsid sleep 311 & touch job; sleep 311", background: true });
await bash({ command: ${JSON.stringify(DETACHED)}, detached: true });
await bash({ command: "setsid sleep 312 & touch command; sleep 312" });
`;
