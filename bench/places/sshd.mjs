import { execFileSync, spawn, spawnSync } from "node:child_process";
import { mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { userInfo } from "node:os";
import { join } from "node:path";
import { startLink } from "./link.mjs";

/** The name of a user that no system has by itself. */
const OWN_USER = "handrail-bench";

/** Returns why no sshd can be started on this machine; `undefined` if one can. */
export function sshdProblem() {
  if (process.platform !== "linux") return "sshd is only started on Linux";
  const missing = ["/usr/sbin/sshd", "ssh", "ssh-keygen", "scp"].find((program) => !isThere(program));
  return missing === undefined ? undefined : `${missing} is not installed`;
}

/**
 * Starts an sshd on 127.0.0.1, and writes the ssh_config(5) to reach it. Root gets a user with /bin/sh, so that root's
 * start-up files are not measured.
 *
 * @param {string} folder
 * @param {number} [roundTripMs] of the link to it; default: no added delay
 */
export async function startSshd(folder, roundTripMs) {
  const own = join(folder, "sshd");
  mkdirSync(own, { recursive: true, mode: 0o755 });
  const user =
    process.getuid?.() === 0 ? madeUser() : { name: userInfo().username, home: userInfo().homedir, remove: () => {} };
  const serverPort = await freePort();
  const link = roundTripMs === undefined ? undefined : await startLink(serverPort, roundTripMs);
  const port = link?.port ?? serverPort;
  for (const key of ["host_key", "identity"]) {
    rmSync(join(own, key), { force: true });
    execFileSync("ssh-keygen", ["-q", "-t", "ed25519", "-N", "", "-f", join(own, key)]);
  }
  const file = (/** @type {string} */ name, /** @type {readonly string[]} */ lines) => {
    writeFileSync(join(own, name), `${lines.join("\n")}\n`, { mode: 0o644 });
    return join(own, name);
  };
  file("authorized_keys", [readFileSync(join(own, "identity.pub"), "utf8").trim()]);
  file("known_hosts", [`[127.0.0.1]:${port} ${readFileSync(join(own, "host_key.pub"), "utf8").trim()}`]);
  const serverConfig = file("sshd_config", [
    `Port ${serverPort}`,
    "ListenAddress 127.0.0.1",
    `HostKey ${own}/host_key`,
    `PidFile ${own}/pid`,
    `AuthorizedKeysFile ${own}/authorized_keys`,
    "StrictModes no",
    "UsePAM no",
    "PasswordAuthentication no",
    "Subsystem sftp internal-sftp",
  ]);
  const configFile = file("ssh_config", [
    "Host bench",
    "HostName 127.0.0.1",
    `Port ${port}`,
    `User ${user.name}`,
    `IdentityFile ${own}/identity`,
    "IdentitiesOnly yes",
    `UserKnownHostsFile ${own}/known_hosts`,
    "LogLevel ERROR",
  ]);
  mkdirSync("/run/sshd", { recursive: true });
  const sshd = spawn("/usr/sbin/sshd", ["-D", "-f", serverConfig, "-E", join(own, "log")], { stdio: "ignore" });
  const socket = join(own, "master");
  await until(() => run("ssh", ["-F", configFile, "-f", "-N", "-M", "-S", socket, "bench"]));
  return {
    target: "bench",
    configFile,
    home: user.home,
    /** Options that make ssh and scp use the open connection. */
    shared: ["-F", configFile, "-o", `ControlPath=${socket}`, "-o", "ControlMaster=no"],
    stop() {
      // A master that no longer answers ends with the server.
      spawnSync("ssh", ["-F", configFile, "-S", socket, "-O", "exit", "bench"], { stdio: "ignore" });
      sshd.kill();
      link?.close();
      user.remove();
    },
  };
}

function madeUser() {
  const remove = () => {
    try {
      execFileSync("userdel", ["-r", OWN_USER], { stdio: "ignore" });
    } catch {
      // There is none to remove.
    }
  };
  remove();
  execFileSync("useradd", ["-m", "-s", "/bin/sh", OWN_USER]);
  execFileSync("usermod", ["-p", "*", OWN_USER]);
  return { name: OWN_USER, home: `/home/${OWN_USER}`, remove };
}

/** @returns {Promise<number>} */
function freePort() {
  return new Promise((resolve, reject) => {
    const server = createServer().once("error", reject);
    server.listen(0, "127.0.0.1", () => {
      const address = server.address();
      server.close(() => resolve(typeof address === "object" && address !== null ? address.port : 0));
    });
  });
}

/**
 * Runs a program without streams. Not synchronously: the link to the server may be in this process.
 *
 * @param {string} program
 * @param {readonly string[]} args
 * @returns {Promise<void>}
 */
function run(program, args) {
  return new Promise((resolve, reject) => {
    const child = spawn(program, args, { stdio: "ignore" }).once("error", reject);
    child.once("exit", (code) => (code === 0 ? resolve() : reject(new Error(`${program} ended with ${code}`))));
  });
}

/**
 * Retries until it does not throw, for at most 10 s.
 *
 * @template T
 * @param {() => T | Promise<T>} attempt
 * @returns {Promise<T>}
 */
export async function until(attempt) {
  for (let tries = 0; ; tries++) {
    try {
      return await attempt();
    } catch (error) {
      if (tries === 100) throw error;
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
  }
}

/** @param {string} program */
export function isThere(program) {
  try {
    execFileSync("sh", ["-c", `command -v ${program}`], { stdio: "ignore" });
    return true;
  } catch {
    return false;
  }
}
