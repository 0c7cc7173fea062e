import { Unreachable } from "../../src/core/contract/failure.ts";
import { chmodSync, existsSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { readFile, readdir } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeAll, describe, expect, test } from "vitest";
import { probeEngines } from "../../src/machine/container/engine.ts";
import { type ContainerTransportOptions, containerTransport } from "../../src/machine/container/transport.ts";
import type { ReadinessLimits } from "../../src/machine/shell/login-shell.ts";
import { type Shells, openShells } from "../../src/machine/shell/shells.ts";
import { type TestContainer, container } from "../support/containers.ts";
import { type Engine, type EngineName, engineOf, engineProblem } from "../support/engines.ts";
import { mustBeHere } from "../support/here.ts";
import { until } from "../support/until.ts";
import { holdOpen } from "./held-open.ts";

const NAMES: readonly EngineName[] = ["docker", "podman"];
const usable = NAMES.filter((name) => engineProblem(name) === undefined);
for (const name of NAMES) mustBeHere(name, engineProblem(name));

const cleanups: (() => Promise<void> | void)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).toReversed()) await cleanup();
});

/** Opens shells over a transport. Both are closed at the end of the test. */
async function shellsOf(options: ContainerTransportOptions, limits?: ReadinessLimits): Promise<Shells> {
  const transport = await containerTransport(options, limits);
  cleanups.push(() => transport.close());
  const shells = await openShells({ transport, preamble: () => "", backOffMs: [0, 100] });
  cleanups.push(() => shells.close());
  return shells;
}

async function failureOf(options: ContainerTransportOptions, limits?: ReadinessLimits): Promise<Unreachable> {
  const error: unknown = await shellsOf(options, limits).then(
    () => undefined,
    (reason: unknown) => reason,
  );
  if (!(error instanceof Unreachable)) throw new Error(`expected Unreachable, and got ${String(error)}`);
  return error;
}

const said = async (shells: Pick<Shells, "ask">, script: string) => (await shells.ask(script)).out.toString("utf8");

/** Returns local process ids whose command line contains all of these words. */
async function clientsOf(name: string): Promise<readonly number[]> {
  const found: number[] = [];
  for (const pid of await readdir("/proc")) {
    if (!/^\d+$/.test(pid)) continue;
    const words = (await readFile(`/proc/${pid}/cmdline`, "utf8").catch(() => "")).split("\0");
    if (words.includes("exec") && words.includes("-i") && words.includes(name)) found.push(Number(pid));
  }
  return found;
}

function setVariable(name: string, value: string): void {
  const before = process.env[name];
  cleanups.push(() => {
    if (before === undefined) delete process.env[name];
    else process.env[name] = before;
  });
  process.env[name] = value;
}

function emptyFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), "handrail-test-"));
  cleanups.push(() => rmSync(folder, { recursive: true }));
  return folder;
}

describe.each(usable)("into a container of %s", (name) => {
  let engine: Engine;
  beforeAll(async () => {
    for (const each of usable) {
      const { env } = await engineOf(each);
      Object.assign(process.env, env);
    }
    engine = await engineOf(name);
  }, 300_000);

  test("a shell begins in the image's folder, as its user, with its variables, whatever the profile does", async () => {
    const one = await container(engine, {
      user: "dev",
      args: ["--workdir=/usr", "--env=OWN=a b", "--env=PATH=/own/bin:/usr/bin:/bin"],
    });
    const profile = "echo noise; echo noise >&2; read answer; cd /; export PATH=/bin:/added/bin; export ADDED=yes\n";
    await one.exec(["sh", "-c", "cat > /etc/profile"], { user: "root", input: profile });
    const shells = await shellsOf({ container: one.name });
    expect(await said(shells, 'pwd; id -un; echo "$OWN,$ADDED,$PATH"; env | grep HR_; echo end >&2')).toBe(
      "/usr\ndev\na b,yes,/own/bin:/usr/bin:/bin:/added/bin\nend\n",
    );
  });

  test("bytes of any kind arrive unchanged in both directions", async () => {
    const one = await container(engine, { image: "busybox" });
    const shells = await shellsOf({ container: one.name });
    const bytes = Buffer.from(
      Array.from({ length: 65_536 * 2 }, (_, index) => (index % 2 === 0 ? index >> 9 : index >> 1) & 255),
    );
    const all = Buffer.concat([bytes, Buffer.from([16, 17, 16, 17, 4, 3, 26, 0, 255])]);
    const { out } = await shells.ask(`head -c ${all.length}`, { input: all });
    expect(out.equals(all)).toBe(true);
  });

  test("an unknown name is answered with the names of running containers, the closest first", async () => {
    const near = await container(engine);
    const failure = await failureOf({ container: `${name}:${near.name}x` });
    expect(failure.message).toBe(`${name} has no container ${near.name}x`);
    expect(failure.hint).toMatch(new RegExp(`^Running: ${near.name}(?:,| \\()`));
    expect(failure.mayPass).toBe(false);
  });

  test.each([
    ["stopped", async (one: TestContainer) => one.stop(), /is not running/, "start"],
    ["paused", async (one: TestContainer) => (cleanups.push(() => one.unpause()), one.pause()), /is paused/, "unpause"],
  ] as const)(
    "a container that is %s is said to be so, with the command that makes it go",
    async (_state, change, message, command) => {
      const one = await container(engine, { image: "busybox" });
      await change(one);
      const failure = await failureOf({ container: one.name });
      expect(failure.message).toMatch(message);
      expect(failure.hint).toContain(`\`${name} ${command} ${one.name}\``);
      expect(failure.mayPass).toBe(false);
    },
  );

  test("a container that was created but never started is reported as such", async () => {
    const one = await container(engine, { image: "busybox" });
    const { stdout } = await engine.run(["container", "inspect", "--format", "{{.Image}}", one.name]);
    const created = `${one.name}-created`;
    expect(
      (await engine.run(["create", `--name=${created}`, "--network=none", stdout.toString().trim(), "true"])).status,
    ).toBe(0);
    cleanups.push(async () => void (await engine.run(["rm", "-f", created])));
    const failure = await failureOf({ container: created });
    expect(failure.message).toMatch(/never started/);
    expect(failure.hint).toContain(`\`${name} start ${created}\``);
  });

  test("a container without a shell is reported as such", async () => {
    const one = await container(engine, { image: "bare" });
    const failure = await failureOf({ container: one.name });
    expect(failure.message).toBe(`container ${one.name} has no /bin/sh, which is needed to work in it`);
    expect(failure.mayPass).toBe(false);
  });

  test("a profile that ends the shell, or does not end, is named as the cause", async () => {
    const one = await container(engine, { image: "busybox" });
    await one.exec(["sh", "-c", "cat > /etc/profile"], { input: "exit 9\n" });
    const ending = await failureOf({ container: one.name });
    expect(ending.message).toMatch(/the login profile in container .* ended the shell \(with status 9\)/);
    await one.exec(["sh", "-c", "cat > /etc/profile"], { input: "sleep 1000\n" });
    const hanging = await failureOf({ container: one.name }, { profileMs: 300 });
    expect(hanging.message).toMatch(/the login profile in container .* does not finish/);
    await until("no client is left", async () => (await clientsOf(one.name)).length === 0);
  });

  test("when a container is stopped during a script, the loss and how to restart it are reported", async () => {
    const one = await container(engine, { image: "busybox" });
    const shells = await shellsOf({ container: one.name });
    const asked = shells
      .askAside("echo > /tmp/asleep; sleep 1000", { again: false, doing: "sleeping" })
      .catch((error: unknown) => error);
    await until("it sleeps", async () => (await one.exec(["test", "-e", "/tmp/asleep"])).status === 0);
    await one.stop();
    expect(String(await asked)).toMatch(/sleeping may or may not have happened: container .* is not running/);
    await expect(shells.ask("true")).rejects.toMatchObject({ hint: `Start it with \`${name} start ${one.name}\`.` });
    await one.start();
    // Requests of the same moment as one that failed get its answer.
    await expect.poll(() => said(shells, "echo again").catch(String)).toBe("again\n");
    await one.remove();
    await expect(shells.ask("true")).rejects.toThrow(/was removed/);
  });

  test("a container that is restarted is found again", async () => {
    const one = await container(engine, { image: "busybox" });
    const shells = await shellsOf({ container: one.name });
    await shells.ask("echo > /tmp/kept");
    expect((await engine.run(["restart", "--time=0", one.name])).status).toBe(0);
    expect(await said(shells, "ls /tmp/kept")).toBe("/tmp/kept\n");
  });

  test("the remote shell ends when our client is killed", async () => {
    const one = await container(engine, { image: "busybox" });
    const shells = await shellsOf({ container: one.name });
    const inside = (await said(shells, "echo $PPID; echo $$")).trim().split("\n").at(-1);
    for (const pid of await clientsOf(one.name)) process.kill(pid, "SIGKILL");
    await until(
      "the shell there has ended",
      async () => (await one.exec(["test", "-d", `/proc/${inside}`])).status !== 0,
    );
    expect(await said(shells, "echo again")).toBe("again\n");
  });

  test("when our process is killed, no local client and no remote shell continues", async () => {
    const one = await container(engine, { image: "busybox" });
    const holder = await holdOpen("container", { container: one.name });
    expect(await clientsOf(one.name)).toHaveLength(2);
    holder.kill();
    await until("no client is left", async () => (await clientsOf(one.name)).length === 0);
    const shown = holder.shells.map((pid) => `/proc/${pid}`);
    await until("no shell is left there", async () => (await one.exec(["ls", "-d", ...shown])).stdout.length === 0);
  });

  test("closing leaves no local client and no remote shell", async () => {
    const one = await container(engine, { image: "busybox" });
    const shells = await shellsOf({ container: one.name });
    const [first, second] = [await shells.take(), await shells.take()];
    shells.giveBack(second);
    const pids = [
      await said(shells, "echo $$"),
      ...(await Promise.all([first, second].map(async (each) => (await each.ask("echo $$")).out.toString()))),
    ];
    await shells.close();
    expect(await clientsOf(one.name)).toEqual([]);
    const shown = pids.map((pid) => `/proc/${pid.trim()}`);
    await until("no shell is left there", async () => (await one.exec(["ls", "-d", ...shown])).stdout.length === 0);
  });

  test("the engine answers, with its version", async () => {
    const finding = (await probeEngines()).find((each) => each.engine === name);
    expect(finding).toEqual({ engine: name, version: expect.stringMatching(/^\d+\.\d+/) });
  });
});

describe("an engine that does not answer", () => {
  test.skipIf(!usable.includes("docker"))(
    "a Docker daemon that is not there is told from a container that is not",
    async () => {
      setVariable("DOCKER_HOST", `unix://${join(emptyFolder(), "none.sock")}`);
      const failure = await failureOf({ container: "docker:web" });
      expect(failure.message).toMatch(
        /^cannot look for container web: docker is installed, but its engine does not answer/,
      );
      expect(failure.hint).toMatch(/DOCKER_HOST/);
    },
  );

  test.skipIf(!usable.includes("docker") || process.getuid?.() !== 0)(
    "a user who may not talk to the Docker daemon is told so",
    async () => {
      const { env } = await engineOf("docker");
      Object.assign(process.env, env);
      const folder = emptyFolder();
      const program = (process.env["PATH"] ?? "")
        .split(":")
        .map((each) => join(each, "docker"))
        .find((each) => existsSync(each));
      writeFileSync(join(folder, "docker"), `#!/bin/sh\nexec setpriv --reuid=65534 --clear-groups ${program} "$@"\n`);
      chmodSync(folder, 0o755);
      chmodSync(join(folder, "docker"), 0o755);
      setVariable("PATH", `${folder}:${process.env["PATH"]}`);
      setVariable("HOME", folder);
      const failure = await failureOf({ container: "docker:web" });
      expect(failure.message).toMatch(/this user has no access to the Docker daemon \(permission denied/);
      expect(failure.hint).toMatch(/group docker/);
      expect(failure.mayPass).toBe(false);
    },
  );
});
