import { Unreachable } from "../../src/core/contract/failure.ts";
import { spawnSync } from "node:child_process";
import {
  appendFileSync,
  existsSync,
  mkdtempSync,
  readFileSync,
  readdirSync,
  rmSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { randomInt } from "node:crypto";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, describe, expect, test } from "vitest";
import { type ReadinessLimits, loginScript, plainCommand } from "../../src/machine/shell/login-shell.ts";
import { LineLost } from "../../src/machine/shell/shell.ts";
import { type Shells, openShells } from "../../src/machine/shell/shells.ts";
import { type SshTransportOptions, sshTransport } from "../../src/machine/ssh/transport.ts";
import { output } from "../support/ended.ts";
import { installed, mustBeHere } from "../support/here.ts";
import type { LoginShell } from "../support/ssh-user.ts";
import { type SshServer, sshServer, sshdProblem } from "../support/sshd.ts";
import { isAlive, until } from "../support/until.ts";
import { bundled } from "./bundled.ts";
import { within } from "./elsewhere.ts";
import { holdOpen } from "./held-open.ts";

const LOGIN_SHELLS: readonly LoginShell[] = ["dash", "bash", "busybox", "zsh"];

const problem = sshdProblem({ loginShell: "bash" });
mustBeHere("sshd", problem);
for (const loginShell of LOGIN_SHELLS) mustBeHere(`an sshd for users of ${loginShell}`, sshdProblem({ loginShell }));

const cleanups: (() => Promise<void> | void)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).toReversed()) await cleanup();
});

async function shellsOf(options: SshTransportOptions, limits?: ReadinessLimits): Promise<Shells> {
  const transport = await sshTransport(options, limits);
  cleanups.push(() => transport.close());
  const shells = await openShells({ transport, preamble: () => "", backOffMs: [0, 100] });
  cleanups.push(() => shells.close());
  return shells;
}

async function failureOf(options: SshTransportOptions, limits?: ReadinessLimits): Promise<Unreachable> {
  const error: unknown = await shellsOf(options, limits).then(
    () => undefined,
    (reason: unknown) => reason,
  );
  if (!(error instanceof Unreachable)) throw new Error(`expected Unreachable, and got ${String(error)}`);
  return error;
}

const toServer = ({ target, configFile }: SshServer): SshTransportOptions => ({ target, configFile });

const sourceOf = (name: string) => new URL(`../../src/machine/${name}`, import.meta.url).pathname;

const said = async (shells: Pick<Shells, "ask">, script: string) => (await shells.ask(script)).out.toString("utf8");

/** Returns our ssh processes to that server, masters or others, by their command lines. */
function clientsOf({ configFile }: SshServer, as?: "master" | "further"): readonly number[] {
  const wanted = as === undefined ? /^ControlMaster=/ : as === "master" ? /^ControlMaster=yes$/ : /^ControlMaster=no$/;
  return pidsWith((words) => words.includes(configFile) && words.some((word) => wanted.test(word)));
}

function pidsWith(fits: (words: readonly string[]) => boolean): readonly number[] {
  return readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name))
    .map(Number)
    .filter((pid) => fits(wordsOf(pid)));
}

function wordsOf(pid: number): readonly string[] {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, "utf8").split("\0");
  } catch {
    return []; // it has ended
  }
}

/** Returns the folder of the socket that our ssh processes to that server share. */
function socketFolderOf(server: SshServer): string {
  const [pid = 0] = clientsOf(server, "master");
  const [word = ""] = wordsOf(pid).filter((each) => each.startsWith("ControlPath="));
  return word.replace("ControlPath=", "").replace(/\/c$/, "");
}

function emptyFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), "handrail-test-"));
  cleanups.push(() => rmSync(folder, { recursive: true }));
  return folder;
}

/** Sets PATH for the rest of the test. */
function setPath(path: string): void {
  const before = process.env["PATH"];
  cleanups.push(() => void (process.env["PATH"] = before));
  process.env["PATH"] = path;
}

/** Returns options with the test's own configuration, which is read before the server's. */
function withConfig(server: SshServer, lines: readonly string[]): SshTransportOptions {
  const configFile = join(emptyFolder(), "config");
  writeFileSync(configFile, `${lines.join("\n")}\nInclude ${server.configFile}\n`);
  return { target: server.target, configFile };
}

describe.skipIf(problem !== undefined)("to a host over SSH", () => {
  test("a shell begins in the home, with what the login's profile sets, whatever the profile does", async () => {
    const server = await sshServer({
      homeFiles: { ".profile": "echo noise; echo noise >&2; read answer; cd /; ADDED=yes; export ADDED\n" },
    });
    const shells = await shellsOf(toServer(server));
    expect(await said(shells, 'pwd; echo "$ADDED"; env | grep HR_; echo end >&2')).toBe(`${server.home}\nyes\nend\n`);
  });

  test.each(LOGIN_SHELLS.filter((loginShell) => sshdProblem({ loginShell }) === undefined))(
    "the profile of a user of %s is read",
    async (loginShell) => {
      const file = loginShell === "zsh" ? ".zprofile" : ".profile";
      const server = await sshServer({ loginShell, homeFiles: { [file]: "echo noise\nexport ADDED=yes\n" } });
      expect(await said(await shellsOf(toServer(server)), 'echo "$ADDED"')).toBe("yes\n");
    },
  );

  test.each(["fish", "tcsh", "csh", "ksh", "zsh", "bash", "dash"].filter(installed))(
    "%s reads the command as it is meant",
    (shell) => {
      const home = emptyFolder();
      const path =
        (process.env["PATH"] ?? "")
          .split(":")
          .map((each) => join(each, shell))
          .find((each) => existsSync(each)) ?? "";
      const command = plainCommand(loginScript({ secret: "x1", profile: "login-shell", tellsEnd: true }));
      const { stdout, stderr } = spawnSync(path, ["-c", command], {
        cwd: home,
        env: { HOME: home, PATH: process.env["PATH"], SHELL: path },
        input: "echo \"$PWD $((6 * 7))\"; echo 'it''s!' >&2; : >&6\n",
        encoding: "utf8",
      });
      expect(stdout).toBe(`\x01x1 begun\n\x01x1 ready\n${home} 42\n`);
      expect(stderr).toMatch(/^its!\n[^\x01]*6[^\x01]*\x01x1 over\n$/);
    },
  );

  test("a file that is read for every command and prints is harmless", async () => {
    const server = await sshServer({ homeFiles: { ".bashrc": 'echo noise; export ANSWER="<>"\n' } });
    const shells = await shellsOf(toServer(server));
    expect(await said(shells, 'echo "$ANSWER"')).toBe("<>\n");
    expect((await shells.askAside('echo "$ANSWER"')).out.toString()).toBe("<>\n");
  });

  test("bytes of any kind arrive unchanged in both directions", async () => {
    const shells = await shellsOf(toServer(await sshServer()));
    const bytes = Buffer.from(
      Array.from({ length: 65_536 * 2 }, (_, index) => (index % 2 === 0 ? index >> 9 : index >> 1) & 255),
    );
    const { out } = await shells.ask(`head -c ${bytes.length}`, { input: bytes });
    expect(out.equals(bytes)).toBe(true);
  });

  test("all shells share one connection, whatever the configuration sets for sharing, terminals, commands", async () => {
    const server = await sshServer();
    const folder = emptyFolder();
    const options = withConfig(server, [
      "Host *",
      "ControlMaster auto",
      `ControlPath ${folder}/own-%C`,
      "ControlPersist 600",
      "RequestTTY force",
      "RemoteCommand echo not this",
      "PermitLocalCommand yes",
      `LocalCommand touch ${folder}/touched`,
      "LogLevel QUIET",
      "ForkAfterAuthentication yes",
      "StdinNull yes",
      `LocalForward ${folder}/forwarded /nowhere`,
    ]);
    const shells = await shellsOf(options);
    const client = 'echo "$SSH_CONNECTION"; test -t 0 || echo none';
    const first = await said(shells, client);
    expect(first).toMatch(/^127\.0\.0\.1 \d+ .*\nnone\n$/);
    expect((await shells.askAside(client)).out.toString()).toBe(first);
    expect(readdirSync(folder)).toEqual(["config"].filter((name) => existsSync(join(folder, name))));
  });

  test("when the host grants few sessions per connection, more shells use their own connections", async () => {
    const server = await sshServer({ config: ["MaxSessions 2"] });
    const shells = await shellsOf(toServer(server));
    const taken = [await shells.take(), await shells.take(), await shells.take()];
    const outs = await Promise.all(
      taken.map(async (shell) => (await shell.ask('echo "$SSH_CONNECTION"')).out.toString()),
    );
    expect(new Set(outs).size).toBe(3);
    await expect(shells.askAside("kill -s KILL $$", { again: false, doing: "dying" })).rejects.toThrow(
      /^dying may or may not have happened: the connection to handrail-test-host was lost$/,
    );
    for (const shell of taken) shells.giveBack(shell);
    await shells.close();
    expect(clientsOf(server)).toEqual([]);
  });

  test("a host with an unknown key is refused, with instructions for checking the key", async () => {
    const server = await sshServer();
    writeFileSync(server.knownHostsFile, "");
    const failure = await failureOf(toServer(server));
    expect(failure.message).toMatch(/^the host key of .* is not known here/);
    expect(failure.hint).toBe(
      `Connect once by hand with \`ssh -F ${server.configFile} ${server.target}\` and check the fingerprint.`,
    );
    expect(failure.mayPass).toBe(false);
  });

  test("a host whose key has changed is refused, with a strong warning", async () => {
    const [server, other] = [await sshServer(), await sshServer()];
    const [, key = ""] = /^\S+ (.*)$/m.exec(readFileSync(other.knownHostsFile, "utf8")) ?? [];
    writeFileSync(server.knownHostsFile, `[127.0.0.1]:${server.port} ${key}\n`);
    const failure = await failureOf(toServer(server));
    expect(failure.message).toMatch(/has changed: somebody may intercept the connection/);
    expect(failure.hint).toMatch(/ssh-keygen -f .* -R/);
    expect(failure.mayPass).toBe(false);
  });

  test("a host that denies access is reported with the methods it accepts", async () => {
    const server = await sshServer();
    await output(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", `${server.identityFile}.other`]);
    const options = withConfig(server, ["Host *", `IdentityFile ${server.identityFile}.other`]);
    rmSync(server.identityFile);
    const failure = await failureOf(options);
    expect(failure.message).toMatch(/denied the login \(.*\): it accepts publickey/);
    expect(failure.hint).toMatch(/ssh-add/);
    expect(failure.mayPass).toBe(false);
  });

  test("a port without a listener, and one with another service, are distinguished", async () => {
    const server = await sshServer();
    await server.stop();
    const refused = await failureOf(toServer(server));
    expect(refused.message).toContain(`port ${server.port}: Connection refused`);
    expect(refused.mayPass).toBe(true);

    const other = createServer((socket) => socket.end("HTTP/1.1 400 Bad Request\r\n\r\n"));
    await new Promise<void>((resolve) => other.listen(0, "127.0.0.1", resolve));
    cleanups.push(() => void other.close());
    const address = other.address();
    const failure = await failureOf(
      withConfig(server, ["Host *", `Port ${typeof address === "object" ? address?.port : ""}`]),
    );
    expect(failure.message).toMatch(/no connection to .* could be opened/);
  });

  test("an unknown host is named", async () => {
    const failure = await failureOf({ target: "nobody@no-such-host.invalid:22", configFile: "none" });
    expect(failure.message).toMatch(/could be opened: .*no-such-host\.invalid:22/);
  });

  test("an account that runs no commands is reported as such", async () => {
    const server = await sshServer();
    await output(["usermod", "--shell", "/usr/sbin/nologin", server.user]);
    expect((await failureOf(toServer(server))).message).toMatch(
      /ran no command: .*This account is currently not available|This account is currently not available/,
    );
    const silent = await sshServer({ config: ["ForceCommand exit 3"] });
    expect((await failureOf(toServer(silent))).message).toMatch(
      /accepted the login but ran no command: it ended with status 3/,
    );
  });

  test("a host without /bin/sh is reported as such", async () => {
    const server = await sshServer({
      homeFiles: {
        ".bashrc": 'exec() { echo "bash: line 1: /bin/sh: No such file or directory" >&2; builtin exit 127; }\n',
      },
    });
    const failure = await failureOf(toServer(server));
    expect(failure.message).toMatch(/ran no command: it ended with status 127. It reported: .*\/bin\/sh: No such file/);
  });

  test("a profile that ends the shell, or does not end, is named as the cause", async () => {
    const ending = await sshServer({ homeFiles: { ".profile": "exit 9\n" } });
    expect((await failureOf(toServer(ending))).message).toMatch(
      /the login profile on .* ended the shell \(with status 9\)/,
    );
    const hanging = await sshServer({ homeFiles: { ".profile": "sleep 1000\n" } });
    expect((await failureOf(toServer(hanging), { profileMs: 500 })).message).toMatch(
      /the login profile on .* does not finish/,
    );
    expect(clientsOf(hanging)).toEqual([]);
  });

  test("a configuration that ssh does not understand is quoted", async () => {
    const configFile = join(emptyFolder(), "config");
    appendFileSync(configFile, "NoSuchOption yes\n");
    const failure = await failureOf({ target: "somewhere", configFile });
    expect(failure.message).toMatch(/could be opened: .*bad configuration options/);
  });

  test("a killed connection is noticed, reported, and opened again with its own folder", async () => {
    const server = await sshServer();
    const shells = await shellsOf(toServer(server));
    const before = socketFolderOf(server);
    expect(existsSync(before)).toBe(true);
    const asked = shells
      .askAside("echo > begun; sleep 1000", { again: false, doing: "sleeping" })
      .catch((error: unknown) => error);
    await until("it sleeps", () => existsSync(join(server.home, "begun")));
    await server.killConnections();
    expect(String(await asked)).toMatch(/sleeping may or may not have happened: the connection to .* was lost/);
    expect(await said(shells, "echo again")).toBe("again\n");
    expect(socketFolderOf(server)).not.toBe(before);
    await until("the old folder is gone", () => !existsSync(before));
  });

  test("a silent host is noticed by missing keep-alive answers", async () => {
    const server = await sshServer();
    const shells = await shellsOf({ ...toServer(server), keepAliveMs: 4_000 });
    await server.suspend();
    cleanups.push(() => server.resume());
    await expect(shells.ask("true", { again: false, doing: "nothing" })).rejects.toThrow(
      /Timeout, server .* not responding/,
    );
    await server.resume();
    expect(await said(shells, "echo again")).toBe("again\n");
  });

  test("a killed master ends its shells, and its stale socket is harmless", async () => {
    const server = await sshServer();
    const shells = await shellsOf(toServer(server));
    const second = await shells.take();
    const pid = (await second.ask("echo $$")).out.toString().trim();
    const [master = 0] = clientsOf(server, "master");
    process.kill(master, "SIGKILL");
    await second.ended;
    shells.giveBack(second);
    expect(await said(shells, "echo again")).toBe("again\n");
    expect((await shells.askAside("echo aside")).out.toString()).toBe("aside\n");
    await until("the shell there has ended", async () => !(await isAlive(Number(pid))));
  });

  test("a killed first shell is noticed, although others live on its connection", async () => {
    const server = await sshServer();
    const shells = await shellsOf(toServer(server));
    const second = await shells.take();
    const first = (await said(shells, "echo $$")).trim();
    await second.ask(`kill -9 ${first}`).catch((error: unknown) => expect(error).toBeInstanceOf(LineLost));
    await second.ended;
    shells.giveBack(second);
    expect(await said(shells, "echo again")).toBe("again\n");
  });

  test("closing leaves no local ssh, no remote shell, and no folder", async () => {
    const server = await sshServer();
    const shells = await shellsOf(toServer(server));
    const second = await shells.take();
    const pids = [await said(shells, "echo $$"), (await second.ask("echo $$")).out.toString()].map(Number);
    const folder = socketFolderOf(server);
    expect(clientsOf(server)).toHaveLength(2);
    await shells.close();
    expect(clientsOf(server)).toEqual([]);
    expect(existsSync(folder)).toBe(false);
    for (const pid of pids) await until("the shell there has ended", async () => !(await isAlive(pid)));
  });

  test("closing ends connections that are being opened, and rejects waiting callers", async () => {
    const server = await sshServer();
    const shells = await shellsOf(toServer(server));
    const asked = Promise.allSettled(["echo one", "echo two", "echo three"].map((script) => shells.askAside(script)));
    await shells.close();
    for (const each of await asked) {
      if (each.status === "rejected") expect(String(each.reason)).toMatch(/the backend is closed/);
    }
    expect(clientsOf(server)).toEqual([]);
    await expect(shells.askAside("echo late")).rejects.toThrow("the backend is closed");
  });

  test("closing does not wait for a silent host while the connection is reopened", async () => {
    const server = await sshServer();
    const shells = await shellsOf(toServer(server));
    await server.suspend();
    cleanups.push(() => server.resume());
    for (const pid of clientsOf(server, "master")) process.kill(pid, "SIGKILL");
    const asked = shells.ask("echo again").catch((error: unknown) => error);
    await until(
      "it is tried again",
      () => clientsOf(server, "master").length === 1 && existsSync(socketFolderOf(server)),
    );
    // ssh itself gives up after ten seconds.
    await within("closing", shells.close(), 8_000);
    expect(String(await asked)).toMatch(/the backend is closed/);
    expect(clientsOf(server)).toEqual([]);
  });

  test("a program that keeps descriptors of its connection does not keep ours open", async () => {
    const server = await sshServer();
    const folder = emptyFolder();
    const configFile = join(folder, "config");
    const [left, seconds] = [join(folder, "left"), 100_000 + randomInt(900_000)];
    writeFileSync(
      configFile,
      `Host ${server.target}\n  ProxyCommand sh -c 'setsid sleep ${seconds} & echo $! >${left}; exec ssh -F ${server.configFile} -W 127.0.0.1:${server.port} ${server.target}'\nMatch all\nInclude ${server.configFile}\n`,
    );
    const program = await bundled(`
import { sshTransport } from ${JSON.stringify(sourceOf("ssh/transport.ts"))};
import { openShells } from ${JSON.stringify(sourceOf("shell/shells.ts"))};
const shells = await openShells({ transport: await sshTransport(${JSON.stringify({ target: server.target, configFile })}), preamble: () => "" });
console.log((await shells.ask("echo there")).out.toString());
await shells.close();
console.log("closed");
`);
    try {
      expect(await within("the program", output([process.execPath, program]))).toBe("there\n\nclosed");
      expect(await isAlive(Number(readFileSync(left, "utf8")))).toBe(true);
    } finally {
      process.kill(Number(readFileSync(left, "utf8")), "SIGKILL");
    }
  });

  test("when our process is killed, no ssh and no remote shell remains; the next opening cleans up", async () => {
    const server = await sshServer();
    const holder = await holdOpen("ssh", toServer(server));
    const folder = socketFolderOf(server);
    expect(existsSync(folder)).toBe(true);
    holder.kill();
    await until("no ssh is left here", () => clientsOf(server).length === 0);
    for (const pid of holder.shells) await until("the shell there has ended", async () => !(await isAlive(pid)));
    const old = new Date(Date.now() - 600_000);
    utimesSync(folder, old, old);
    const shells = await shellsOf(toServer(server));
    await until("the folder is gone", () => !existsSync(folder));
    const own = socketFolderOf(server);
    utimesSync(own, old, old);
    await shellsOf(toServer(server));
    expect((await shells.askAside("echo aside")).out.toString()).toBe("aside\n");
    expect(existsSync(own)).toBe(true);
  });

  test("a host behind another is reached, and nothing is left behind", async () => {
    const server = await sshServer();
    const configFile = join(emptyFolder(), "config");
    writeFileSync(
      configFile,
      `Host behind\n  HostName 127.0.0.1\n  Port ${server.port}\n  ProxyJump ${server.target}\nHost behind\n  User ${server.user}\n  IdentityFile ${server.identityFile}\n  UserKnownHostsFile ${server.knownHostsFile}\nMatch all\nInclude ${server.configFile}\n`,
    );
    const all = () => pidsWith((words) => words.includes(configFile));
    const shells = await shellsOf({ target: "behind", configFile });
    expect(await said(shells, "echo there")).toBe("there\n");
    expect(all()).toHaveLength(2);
    await shells.close();
    await until("no ssh is left", () => all().length === 0);

    const wrong = readFileSync(configFile, "utf8").replace(/Port \d+/, "Port 1");
    writeFileSync(configFile, wrong);
    const unreached = await failureOf({ target: "behind", configFile });
    expect(unreached.message).toMatch(/^no connection to behind .*: open failed: connect failed: Connection refused/);
    rmSync(server.identityFile);
    const refused = await failureOf({ target: "behind", configFile });
    expect(refused.message).toMatch(/^behind denied the login \(\S+@127\.0\.0\.1\): it accepts publickey/);
  });

  test("a host that accepts connections and sends nothing is given up", async () => {
    const server = await sshServer();
    await server.suspend();
    cleanups.push(() => server.resume());
    const failure = await failureOf(toServer(server));
    expect(failure.message).toMatch(/could be opened: .*timed out/);
    expect(failure.mayPass).toBe(true);
  });

  test("a failed opening leaves nothing behind either", async () => {
    const server = await sshServer();
    await server.stop();
    const programs = emptyFolder();
    const [real = ""] = (process.env["PATH"] ?? "")
      .split(":")
      .map((each) => join(each, "ssh"))
      .filter(existsSync);
    writeFileSync(
      join(programs, "ssh"),
      `#!/bin/sh\nprintf '%s\\n' "$@" >>${programs}/arguments\nexec ${real} "$@"\n`,
      { mode: 0o755 },
    );
    setPath(`${programs}:${process.env["PATH"]}`);
    const transport = await sshTransport(toServer(server));
    await expect(transport.open("first")).rejects.toBeInstanceOf(Unreachable);
    await transport.close();
    const [, folder = ""] = /^ControlPath=(.*)\/c$/m.exec(readFileSync(join(programs, "arguments"), "utf8")) ?? [];
    expect(folder).toMatch(/^\/tmp\/handrail-ssh-/);
    expect(existsSync(folder)).toBe(false);
    expect(clientsOf(server)).toEqual([]);
  });
});
