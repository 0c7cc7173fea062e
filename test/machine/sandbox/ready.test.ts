// Sandboxes that wait for the next command: they are used once, and only as long as nothing has changed since.
import { spawnSync } from "node:child_process";
import {
  existsSync,
  linkSync,
  mkdirSync,
  readFileSync,
  readdirSync,
  readlinkSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { createServer } from "node:net";
import { basename, join } from "node:path";
import { afterAll, beforeEach, describe, expect, test } from "vitest";
import type { Command } from "../../../src/core/contract/backend.ts";
import type { SandboxAccess } from "../../../src/core/contract/containment.ts";
import { pause } from "../../../src/core/util/abort.ts";
import { mustBeHere, requireProgram } from "../../support/here.ts";
import { isAlive, until } from "../../support/until.ts";
import { type Ran, type World, noSandbox, world } from "./world.ts";

mustBeHere("the sandbox", noSandbox);
mustBeHere("a mount", spawnSync("unshare", ["-m", "true"]).status === 0 ? undefined : "this user may not mount");
const mayMount = process.getuid?.() === 0 && spawnSync("unshare", ["-m", "true"]).status === 0;

const undo: (() => unknown)[] = [];
const worlds: World[] = [];
afterAll(async () => {
  for (const each of undo) await each();
  await Promise.all(worlds.map(({ backend }) => backend.close()));
});
const newWorld = async (...options: Parameters<typeof world>) => {
  const made = await world({
    isProtected: (path) => [".envrc", "settings.json"].includes(basename(path)),
    ...options[0],
  });
  worlds.push(made);
  return made;
};

/** The first processes of the sandboxes that wait. */
function waitingIn({ folder }: World): readonly number[] {
  const sessions = join(folder, "sessions");
  if (!existsSync(sessions)) return [];
  const reports = readdirSync(sessions)
    .flatMap((session) => readdirSync(join(sessions, session)).map((name) => join(sessions, session, name)))
    .filter((file) => file.endsWith(".status"))
    .flatMap((file) => {
      try {
        return [readFileSync(file, "latin1")];
      } catch {
        return []; // removed meanwhile
      }
    });
  return reports
    .filter((report) => /^ready$/m.test(report) && !/^begun$/m.test(report))
    .map((report) => Number(/"child-pid": (\d+)/.exec(report)?.[1]));
}

const namespaceOf = (pid: number | undefined) => readlinkSync(`/proc/${pid}/ns/mnt`);

/** Runs one command, and waits until a sandbox is ready for the next. */
async function aReadyOne(one: World, count = 1): Promise<void> {
  await until("a sandbox waits", async () => {
    await one.bash("true");
    const deadline = Date.now() + 2_000;
    while (waitingIn(one).length < count && Date.now() < deadline) await pause(10);
    return waitingIn(one).length >= count;
  });
}

const WHERE = "readlink /proc/self/ns/mnt";

/**
 * Runs a script in the sandbox that waits. Repeats it if that is not used: any program of this machine can change what
 * is checked, such as by listening on a socket.
 */
async function ranInReady(one: World, script: string, command: Omit<Command, "argv"> = {}): Promise<Ran> {
  let ran: Ran | undefined;
  await until("the sandbox that waits is used", async () => {
    await until("a sandbox waits", () => waitingIn(one).length > 0);
    const ready = waitingIn(one).map(namespaceOf);
    const { output, ...rest } = await one.bash(`${WHERE}; ${script}`, command);
    const [where = "", ...lines] = output.split("\n");
    ran = { ...rest, output: lines.join("\n") };
    return ready.includes(where);
  });
  if (ran === undefined) throw new Error("nothing has run");
  return ran;
}

describe.skipIf(noSandbox !== undefined)("a sandbox that waits", () => {
  test("gets one command, and the next command gets another, with nothing of the one before", async () => {
    const one = await newWorld();
    await one.bash("true");
    const leave = "export LEFT=1; cd /; ulimit -n 99; umask 0; touch /run/left; (setsid sleep 1000 &); exit 3";
    expect((await ranInReady(one, leave)).exit).toEqual({ how: "exited", code: 3 });
    const look = 'echo "[$LEFT]"; pwd; ulimit -n; umask; ls /run; ps -e -o comm= | grep -c sleep';
    const [soft, mask] = spawnSync("sh", ["-c", "ulimit -n; umask"], { encoding: "utf8" }).stdout.split("\n");
    const { output } = await ranInReady(one, look);
    expect(output).toBe(["[]", one.workDir, soft, mask, "handrail-watch", "0", ""].join("\n"));
  });

  test("gives a command what a new sandbox gives: variables, folder, limits, privileges, descriptors", async () => {
    const one = await newWorld({ passEnv: ["HANDRAIL_TEST_PASSED"] });
    mkdirSync(join(one.workDir, "b c"));
    process.env["HANDRAIL_TEST_PASSED"] = "before";
    const look =
      "env | grep -v ^HANDRAIL_PROCESS= | sort; pwd; ulimit -a | grep -v processes; umask; ls /proc/self/fd; ps -e -o pid=,comm=; " +
      "grep -E '^(Cap|Seccomp|NoNewPrivs|Groups|Uid|Sig)' /proc/self/status; cat; cat /proc/self/oom_score_adj; tty";
    const command = {
      cwd: "b c",
      env: { A: "1 \n2", "B-B": "odd", "": "no" },
      streams: "split",
    } as const;
    const cold = await one.bash(`${WHERE} >/dev/null; ${look}`, command);
    await until("a sandbox waits", () => waitingIn(one).length > 0);
    const inside = readFileSync(`/proc/${waitingIn(one)[0]}/environ`, "latin1");
    expect(inside).not.toMatch("HANDRAIL_TEST_PASSED");
    const warm = await ranInReady(one, look, command);
    expect(warm.output).toBe(cold.output);
    expect(warm.output).toMatch("HANDRAIL_TEST_PASSED=before");
    expect(warm.errors).toBe(cold.errors);
    await until("a sandbox waits", () => waitingIn(one).length > 0);
    process.env["HANDRAIL_TEST_PASSED"] = "after";
    expect((await ranInReady(one, look, command)).output).toMatch("HANDRAIL_TEST_PASSED=after");
    delete process.env["HANDRAIL_TEST_PASSED"];
  });

  test("counts a command's time from its start, passes its input, stops it, and reports how it ended", async () => {
    const one = await newWorld();
    await aReadyOne(one);
    expect((await one.bash("sleep 1000", { timeoutMs: 300 })).exit).toMatchObject({ how: "timed-out" });
    await aReadyOne(one);
    const stop = new AbortController();
    const child = await one.backend.spawn({ argv: ["bash", "-c", "echo; sleep 1000"], signal: stop.signal });
    await until("it runs", () => child.output.size > 0);
    stop.abort();
    expect(await child.exit).toEqual({ how: "aborted" });
    await aReadyOne(one);
    expect((await one.bash("kill -9 $$")).exit).toEqual({ how: "signaled", signal: "SIGKILL" });
    const typed = async () => {
      const cat = await one.backend.spawn({ argv: ["cat"], stdin: "pipe" });
      await cat.write("typed\n");
      await cat.endInput();
      expect(await cat.exit).toEqual({ how: "exited", code: 0 });
      return Buffer.from(await cat.output.tail(100)).toString();
    };
    expect(await typed()).toBe("typed\n");
    await until("one for input waits too", () => waitingIn(one).length > 1);
    expect(await typed()).toBe("typed\n");
  });

  test("cannot be reached by a command of the same workspace", async () => {
    const one = await newWorld();
    await aReadyOne(one);
    const [pid] = waitingIn(one);
    const job = await one.backend.spawn({
      argv: [
        "bash",
        "-c",
        `for each in /proc/[0-9]*; do
          # Its own sandbox ends with its first two processes.
          case \${each#/proc/} in 1 | 2 | $$) ;; *) kill -9 \${each#/proc/} ;; esac
          for fd in $each/fd/*; do [ -p $fd ] && [ \${fd##*/} -gt 2 ] && echo no >$fd; done
          cat $each/environ
        done; ls ${one.folder} /tmp/handrail-pipes*; echo tried`,
      ],
      lifetime: "toolkit",
    });
    await until("it has tried", async () => (await text(job)).includes("tried"));
    expect(await text(job)).not.toMatch(/sessions|handrail-pipes-\w/);
    expect(waitingIn(one)).toEqual([pid]);
    await job.kill();
  });

  test("ends with the backend, and does not keep a program running", async () => {
    const one = await newWorld();
    await aReadyOne(one);
    const [pid = 0] = waitingIn(one);
    await one.backend.close();
    expect(await isAlive(pid)).toBe(false);
  });

  test("is there for each of eight commands at once, when eight ran at once before", async () => {
    const one = await newWorld();
    const eight = async () => {
      const ran = await Promise.all(Array.from({ length: 8 }, () => one.bash(`sleep 0.1; ${WHERE}`)));
      expect(ran.map(({ exit }) => exit)).toEqual(Array.from({ length: 8 }, () => ({ how: "exited", code: 0 })));
      return new Set(ran.map(({ output }) => output.trim()));
    };
    expect((await eight()).size).toBe(8);
    await until("all that wait are used", async () => {
      await until("eight wait", () => waitingIn(one).length === 8);
      const ready = waitingIn(one).map(namespaceOf);
      const used = await eight();
      return ready.every((each) => used.has(each));
    });
  });
});

describe.skipIf(noSandbox !== undefined)("a sandbox that waits is not used after", () => {
  let one: World;
  beforeEach(async () => {
    one = await newWorld();
    one.file("ws/.envrc", "kept\n");
    one.file("ws/.git/HEAD", "ref: refs/heads/main\n");
    one.file("ws/.git/config", "");
    mkdirSync(join(one.workDir, ".git/objects"));
    mkdirSync(join(one.workDir, ".git/refs"));
    await aReadyOne(one);
  });
  const runAfter = async (script: string, within: SandboxAccess = {}) => {
    const { output } = await one.bash(`exec 2>/dev/null; ${script}`, { within });
    return output;
  };
  const read = (path: string) => readFileSync(join(one.workDir, path), "utf8");

  test("a protected file was created, replaced, or removed and linked again", async () => {
    one.file("ws/settings.json", "kept\n");
    await runAfter("echo x >settings.json");
    expect(read("settings.json")).toBe("kept\n");
    await aReadyOne(one);
    one.file("ws/new", "kept\n");
    renameSync(join(one.workDir, "new"), join(one.workDir, ".envrc"));
    await runAfter("echo x >.envrc");
    expect(read(".envrc")).toBe("kept\n");
    await aReadyOne(one);
    linkSync(join(one.workDir, ".envrc"), join(one.root, "second"));
    rmSync(join(one.workDir, ".envrc"));
    linkSync(join(one.root, "second"), join(one.workDir, ".envrc"));
    await runAfter("echo x >.envrc");
    expect(read(".envrc")).toBe("kept\n");
  });

  test("hooks, or a configuration of git, were created or replaced", async () => {
    rmSync(join(one.workDir, ".git/hooks"), { recursive: true });
    one.file("ws/.git/hooks/pre-commit", "kept\n");
    one.file("ws/.git/config.lock", "[user]\n");
    renameSync(join(one.workDir, ".git/config.lock"), join(one.workDir, ".git/config"));
    await runAfter("echo x >.git/hooks/pre-commit; echo x >>.git/config");
    expect([read(".git/hooks/pre-commit"), read(".git/config")]).toEqual(["kept\n", "[user]\n"]);
  });

  test("another folder has the name of the workspace", async () => {
    const gone = join(one.root, "gone");
    renameSync(one.workDir, gone);
    one.file("ws/here", "here\n");
    expect(await runAfter("cat here; echo x >new")).toBe("here\n");
    expect([existsSync(join(gone, "new")), existsSync(join(one.workDir, "new"))]).toEqual([false, true]);
  });

  test("a folder that may be written became a link", async () => {
    const shared = join(one.root, "shared");
    mkdirSync(shared);
    one = await newWorld({ root: one.root, writable: [shared] });
    await aReadyOne(one, 2);
    mkdirSync(join(one.root, "private"));
    rmSync(shared, { recursive: true });
    symlinkSync(join(one.root, "private"), shared);
    await runAfter(`echo x >${shared}/new`);
    expect(readdirSync(join(one.root, "private"))).toEqual([]);
  });

  test("a program outside listens on a socket", async () => {
    requireProgram("perl");
    const path = join(one.workDir, "late.sock");
    const server = createServer((socket) => socket.end("secret\n")).listen(path);
    undo.push(() => server.close());
    await until("it listens", () => existsSync(path));
    const connect = `perl -e 'use IO::Socket::UNIX; $c = IO::Socket::UNIX->new(Peer => "${path}") or exit; print <$c>'`;
    expect(await runAfter(connect)).toBe("");
  });

  test.skipIf(!mayMount)("something was mounted in the workspace", async () => {
    const at = join(one.workDir, "disk");
    mkdirSync(at);
    await aReadyOne(one);
    expect(spawnSync("mount", ["-t", "tmpfs", "none", at]).status).toBe(0);
    undo.push(() => spawnSync("umount", [at]));
    writeFileSync(join(at, ".envrc"), "kept\n");
    writeFileSync(join(at, "file"), "there\n");
    expect(await runAfter(`cat disk/file; echo x >disk/.envrc`)).toBe("there\n");
    expect(read("disk/.envrc")).toBe("kept\n");
  });

  test("the command may do less, or another process may do more", async () => {
    await runAfter("echo x >new", { readOnly: true });
    expect(existsSync(join(one.workDir, "new"))).toBe(false);
    const key = one.file("other/key", "secret\n");
    const stricter = await newWorld({ root: one.root, hidden: [key] });
    await stricter.bash("true");
    expect((await stricter.bash(`cat ${key}; exit 0`)).output).not.toMatch("secret");
    expect((await one.bash(`cat ${key}`)).output).toBe("secret\n");
  });
});

async function text({ output }: Awaited<ReturnType<World["backend"]["spawn"]>>): Promise<string> {
  return Buffer.from(await output.read(0, output.kept)).toString();
}
