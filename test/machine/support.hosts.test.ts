// The engines and the sshd of other tests: they are real, they work, and they leave nothing behind.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { chmodSync, existsSync, readFileSync, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, inject, test } from "vitest";
import { projectRoot } from "../../scripts/lib/project.mjs";
import { container } from "../support/containers.ts";
import { engineOf, engineProblem, pauseProblem } from "../support/engines.ts";
import { mustBeHere } from "../support/here.ts";
import { sshServer, sshdProblem } from "../support/sshd.ts";
import { isAlive, until } from "../support/until.ts";
import { temporaryFolder } from "../support/workspace.ts";

mustBeHere("sshd", sshdProblem());

describe.each(["docker", "podman"] as const)("%s", (name) => {
  const problem = engineProblem(name);
  mustBeHere(name, problem);

  describe.skipIf(problem !== undefined)("runs containers", () => {
    test("a command in a container ends with its own exit code", async () => {
      const one = await container(await engineOf(name));
      expect(await one.exec(["sh", "-c", "echo out; echo err >&2; exit 7"])).toEqual({
        status: 7,
        stdout: Buffer.from("out\n"),
        stderr: "err\n",
      });
    });

    test("bytes are passed in and out unchanged", async () => {
      const one = await container(await engineOf(name), { image: "busybox" });
      const bytes = Buffer.from(Array.from({ length: 1 << 20 }, (_, at) => (at * 7 + (at >> 8)) % 256));
      const { stdout } = await one.exec(["cat"], { input: bytes });
      expect(stdout.equals(bytes)).toBe(true);
    });

    test("the image with bash has bash, and the one with busybox has no more than busybox", async () => {
      const engine = await engineOf(name);
      const [bash, busybox] = await Promise.all([container(engine), container(engine, { image: "busybox" })]);
      const [inBash, inBusybox] = await Promise.all(
        [bash, busybox].map((one) =>
          one.exec(["sh", "-c", "for p in bash tmux setsid perl; do command -v $p; done; pwd; date +%Z"]),
        ),
      );
      expect(inBash?.stdout.toString()).toMatch(/^\/bin\/bash\n(\/bin\/tmux\n)?setsid\n\/work\nUTC\n$/);
      expect(inBusybox?.stdout.toString()).toBe("setsid\n/work\nUTC\n");
      expect((await bash.exec(["bash", "-c", "echo ${BASH_VERSION:0:1}"])).stdout.toString()).toMatch(/^[5-9]\n$/);
    });

    test("the ordinary user has a home and a working directory of their own", async () => {
      const one = await container(await engineOf(name), { user: "dev" });
      const script =
        'cd && pwd && id -un && touch "$HOME/a" /work/b /tmp/c && ls -ld /tmp && ! touch /etc/d 2>/dev/null';
      const { status, stdout } = await one.exec(["sh", "-c", script]);
      expect([status, stdout.toString()]).toEqual([0, expect.stringMatching(/^\/home\/dev\ndev\ndrwxrwxrwt /)]);
      expect((await one.exec(["id", "-un"], { user: "root" })).stdout.toString()).toBe("root\n");
    });

    test("the bare image runs and has no shell", async () => {
      const one = await container(await engineOf(name), { image: "bare" });
      const { status, stdout, stderr } = await one.exec(["sh", "-c", "true"]);
      expect([126, 127]).toContain(status);
      // Docker 20 writes why to stdout.
      expect(`${stdout.toString()}${stderr}`).toMatch(/sh.*(not found|no such file)/i);
    });

    test("a small disk is full when it is full", async () => {
      const one = await container(await engineOf(name), { args: ["--tmpfs", "/small:size=1m"] });
      const { status, stderr } = await one.exec(["dd", "if=/dev/zero", "of=/small/file", "bs=64k", "count=32"]);
      expect([status, stderr]).toEqual([1, expect.stringContaining("No space left on device")]);
    });

    test("a stopped, started or removed container behaves as such", async () => {
      const one = await container(await engineOf(name));
      await one.stop();
      expect((await one.exec(["true"])).status).not.toBe(0);
      await one.start();
      expect((await one.exec(["true"])).status).toBe(0);
      await one.remove();
      await one.remove();
      expect((await one.exec(["true"])).stderr).toMatch(/no such container/i);
    });

    test("a paused container runs nothing until it is resumed", async ({ skip }) => {
      skip(pauseProblem(name) !== undefined, pauseProblem(name));
      const one = await container(await engineOf(name));
      await one.pause();
      expect((await one.exec(["true"])).status).not.toBe(0);
      await one.unpause();
      expect((await one.exec(["true"])).status).toBe(0);
    });

    test("a process whose parent has exited is reaped when it ends", async () => {
      const one = await container(await engineOf(name));
      await one.exec(["sh", "-c", "(sleep 0.1 & echo $! >/tmp/orphan) "]);
      await until("the orphan is gone", async () => {
        const { status } = await one.exec(["sh", "-c", "kill -0 $(cat /tmp/orphan)"]);
        return status !== 0;
      });
      expect((await one.exec(["ps", "-o", "stat"])).stdout.toString()).not.toContain("Z");
    });
  });
});

describe.skipIf(sshdProblem() !== undefined)("sshd", () => {
  test("a remote command ends with its own exit code, and reads and writes bytes unchanged", async () => {
    const server = await sshServer();
    const bytes = Buffer.from(Array.from({ length: 65_536 }, (_, at) => at % 256));
    const { status, stdout, stderr } = await server.exec("cat; echo err >&2; exit 7", bytes);
    expect({ status, same: stdout.equals(bytes), stderr }).toEqual({ status: 7, same: true, stderr: "err\n" });
  });

  test("the user who runs the tests can log in", async () => {
    const server = await sshServer({ user: "current" });
    const { stdout } = await server.exec('id -un; cd; pwd; echo "end"');
    // Their own profile may print something too.
    expect(stdout.toString()).toContain(`${server.user}\n${server.home}\nend\n`);
  });

  test("a host key that differs from the known one is rejected", async () => {
    const [one, other] = await Promise.all([sshServer(), sshServer()]);
    const theirs = readFileSync(other.knownHostsFile, "utf8").replace(`:${other.port}`, `:${one.port}`);
    writeFileSync(one.knownHostsFile, theirs);
    expect(await one.exec("true")).toMatchObject({
      status: 255,
      stderr: expect.stringContaining("HOST IDENTIFICATION"),
    });
  });

  test("a lost connection ends the client, and the next one finds the server", async () => {
    const server = await sshServer();
    const begun = join(openFolder(), "begun");
    const lost = server.exec(`echo $$ >${begun}; exec sleep 1000`);
    await until("the command runs", () => existsSync(begun) && readFileSync(begun, "utf8") !== "");
    await server.killConnections();
    expect((await lost).status).toBe(255);
    // Running processes continue, as on a host to which the connection is lost.
    expect((await server.exec(`kill "$(cat ${begun})"`)).status).toBe(0);
    expect((await server.exec("exit 7")).status).toBe(7);
  });

  test("a stopped server refuses connections, and the same one can be restarted", async () => {
    const server = await sshServer();
    const before = server.pid;
    await server.stop();
    expect(await isAlive(before)).toBe(false);
    expect(await server.exec("true")).toMatchObject({ status: 255, stderr: expect.stringContaining("refused") });
    await server.restart();
    expect(server.pid).not.toBe(before);
    expect((await server.exec("exit 7")).status).toBe(7);
  });

  test("a suspended server answers when it is resumed", async () => {
    const server = await sshServer();
    const folder = openFolder();
    const begun = server.exec(`cd ${folder}; echo >begun; while [ ! -e go ]; do sleep 0.05; done; exit 7`);
    await until("the command runs", () => existsSync(join(folder, "begun")));
    await server.suspend();
    // a signal is taken when the process is next scheduled
    await until("it stands still", () => stateOf(server.pid) === "T");
    const patient = ["-F", server.configFile, "-o", "ServerAliveInterval=1", "-o", "ServerAliveCountMax=1"];
    const impatient = spawn("ssh", ["-o", "ConnectTimeout=1", ...patient, server.target, "true"], { stdio: "ignore" });
    expect(await once(impatient, "exit")).toEqual([255, null]);
    await server.resume();
    writeFileSync(join(folder, "go"), "");
    expect((await begun).status).toBe(7);
  });
});

describe("a login shell", () => {
  const NOISE = 'echo "noise of $0"; echo "complaint" >&2; read -r answer; echo "read <$answer>"\n';
  const homeFiles = { ".profile": NOISE, ".bash_profile": NOISE, ".bashrc": NOISE, ".zshenv": NOISE };

  describe.each(["bash", "dash", "busybox", "zsh"] as const)("that is %s", (loginShell) => {
    const problem = sshdProblem({ loginShell });
    mustBeHere(loginShell, problem);

    test.skipIf(problem !== undefined)("runs the given command", async () => {
      const server = await sshServer({ loginShell });
      const { status, stdout } = await server.exec('readlink "/proc/$$/exe"; exit 7');
      expect([status, stdout.toString()]).toEqual([7, expect.stringMatching(new RegExp(`/${loginShell}[0-9.]*\\n$`))]);
    });

    test.skipIf(problem !== undefined)("can be made to print", async () => {
      const server = await sshServer({ loginShell, homeFiles });
      const { stdout, stderr } = await server.exec("exec sh -lc 'cat'", "first\nsecond\nthird\n");
      expect(stdout.toString()).toMatch(/noise of .*\nread <first>\n/);
      expect(stderr).toContain("complaint\n");
    });
  });
});

describe("nothing is left behind", () => {
  const problem = engineProblem("docker") ?? engineProblem("podman") ?? sshdProblem();

  test.skipIf(problem !== undefined).each([
    ["ends by itself", undefined],
    ["is interrupted", "SIGINT"],
    ["is killed", "SIGKILL"],
  ] as const)("when a run of tests %s", { timeout: 120_000 }, async (_, signal) => {
    const folder = temporaryFolder();
    const [note, go] = [join(folder, "note.json"), join(folder, "go")];
    const child = spawn(
      process.execPath,
      ["node_modules/vitest/vitest.mjs", "run", "--config", "test/fixtures/hosts/vitest.config.ts"],
      {
        cwd: projectRoot,
        stdio: ["ignore", "pipe", "pipe"],
        env: { ...process.env, HANDRAIL_TEST_NOTE: note, HANDRAIL_TEST_GO: go },
      },
    );
    const said: Buffer[] = [];
    for (const stream of [child.stdout, child.stderr]) stream.on("data", (chunk: Buffer) => said.push(chunk));
    const ended = once(child, "exit");
    await until(
      "all of them run",
      () => {
        if (child.exitCode !== null) throw new Error(Buffer.concat(said).toString());
        return existsSync(note);
      },
      60_000,
    );
    const { runFolder, user, worker } = JSON.parse(readFileSync(note, "utf8")) as Note;
    const started = [...processesOf(runFolder), { pid: worker, command: "worker" }];
    expect(runFolder).not.toBe(inject("runFolder"));
    for (const program of ["conmon", "dockerd", "containerd", "sshd", "sleep"]) {
      expect(started.map(({ command }) => command)).toContain(program);
    }

    if (signal === undefined) writeFileSync(go, "");
    else child.kill(signal);
    await ended;
    await until("the folder of the run is gone", () => !existsSync(runFolder), 60_000);
    await until(`none lives of ${JSON.stringify(started)}`, async () => {
      const alive = await Promise.all(started.map(({ pid }) => isAlive(pid)));
      return !alive.includes(true) && processesOf(runFolder).length === 0;
    });
    expect(readFileSync("/proc/mounts", "utf8")).not.toContain(runFolder);
    expect(readFileSync("/etc/passwd", "utf8")).not.toContain(user);
    expect(existsSync(`/home/${user}`)).toBe(false);
  });
});

/** A temporary folder that every user can write to. */
function openFolder(): string {
  const folder = temporaryFolder();
  chmodSync(folder, 0o777);
  return folder;
}

/** The note that test/fixtures/hosts/everything.ts writes. */
interface Note {
  readonly runFolder: string;
  readonly user: string;
  /** Process id. */
  readonly worker: number;
}

interface Running {
  readonly pid: number;
  readonly command: string;
}

/** Returns the processes with the folder in their arguments, and their descendants. */
function processesOf(folder: string): Running[] {
  const all = readdirSync("/proc").flatMap((pid) => (/^\d+$/.test(pid) ? about(Number(pid)) : []));
  const found = new Set(all.filter(({ line }) => line.includes(folder)).map(({ pid }) => pid));
  for (let size = -1; size !== found.size;) {
    size = found.size;
    for (const { pid, parent } of all) if (found.has(parent)) found.add(pid);
  }
  return all.filter(({ pid }) => found.has(pid)).map(({ pid, command }) => ({ pid, command }));
}

function about(pid: number): (Running & { readonly parent: number; readonly line: string })[] {
  try {
    const line = readFileSync(`/proc/${pid}/cmdline`, "utf8");
    const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
    const [, command = "", state, parent] = /^\d+ \((.*)\) (\S) (\d+)/s.exec(stat) ?? [];
    return state === "Z" ? [] : [{ pid, command, parent: Number(parent), line }];
  } catch {
    return []; // it has ended
  }
}

function stateOf(pid: number): string | undefined {
  return /\) (\S)/.exec(readFileSync(`/proc/${pid}/stat`, "utf8"))?.[1];
}
