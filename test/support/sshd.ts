// A real sshd for tests, on 127.0.0.1, with keys and (as root) its own user.
import { readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterFile } from "./after-file.ts";
import { type Ended, output, runToEnd } from "./ended.ts";
import { installed } from "./here.ts";
import { keptFolder } from "./watcher.ts";
import { listen } from "./ssh-listener.ts";
import { type LoginShell, type User, currentUser, ownUser } from "./ssh-user.ts";

export interface SshServerOptions {
  /** The shell of the server's own user. Default "bash". */
  readonly loginShell?: LoginShell;
  /** Files in the home of the server's own user: `{ ".profile": "echo noise\n" }`. */
  readonly homeFiles?: Readonly<Record<string, string>>;
  /** Lines of sshd_config, which override ours. */
  readonly config?: readonly string[];
  /**
   * "own" (the default as root): an ordinary user created for this server and removed with it. "current" (otherwise):
   * the user who runs the tests.
   */
  readonly user?: "own" | "current";
}

export interface SshServer {
  /** A `Host` of `configFile`: `ssh -F configFile target`. */
  readonly target: string;
  /** For ssh's `-F`: the server's address, the user and the key. Accepts only the server's key. */
  readonly configFile: string;
  /** Known host keys, as `configFile` names them; a test may change the file. */
  readonly knownHostsFile: string;
  /** The user's private key, as `configFile` names it; a test may change the file. */
  readonly identityFile: string;
  /** The folder of all these files. */
  readonly folder: string;
  readonly port: number;
  readonly user: string;
  readonly home: string;
  /** The process id of the current listener. */
  readonly pid: number;
  /** Runs a script on the server in its own connection. */
  exec(script: string, input?: string | Uint8Array): Promise<Ended>;
  /**
   * Kills the server's processes of each connection. The listener continues, and so do processes that users left
   * running.
   */
  killConnections(): Promise<void>;
  /** Kills listener and connections: the port refuses connections. */
  stop(): Promise<void>;
  /** Starts it again on its port, with its keys. Stops it first if it is running. */
  restart(): Promise<void>;
  /** Suspends listener and connections: they neither answer nor end, as if the network dropped everything. */
  suspend(): Promise<void>;
  resume(): Promise<void>;
}

const TARGET = "handrail-test-host";
const cleanups: (() => Promise<void>)[] = [];

afterFile(async () => {
  await Promise.all(cleanups.splice(0).map((cleanup) => cleanup()));
});

/** Returns why a server with these options cannot be tested on this machine; `undefined` if it can. */
export function sshdProblem(options: SshServerOptions = {}): string | undefined {
  const { user = defaultUser(), loginShell, homeFiles } = options;
  if (process.platform !== "linux") return "sshd is only tried on Linux";
  const missing = ["sshd", "ssh", "ssh-keygen"].find((program) => !installed(program));
  if (missing !== undefined) return `${missing} is not installed`;
  if (user === "own" && process.getuid?.() !== 0) return "only root can make a user for an sshd";
  if (user === "current" && (loginShell ?? homeFiles) !== undefined)
    return "only root can make a user with a shell and files of their own";
  if (loginShell !== undefined && !installed(loginShell)) return `${loginShell} is not installed`;
  return undefined;
}

/** Starts a server. It ends at the end of the test file. */
export async function sshServer(options: SshServerOptions = {}): Promise<SshServer> {
  const problem = sshdProblem(options);
  if (problem !== undefined) throw new Error(`sshd cannot be tried here: ${problem}`);
  const { user = defaultUser(), loginShell = "bash", homeFiles = {}, config = [] } = options;
  const login = user === "own" ? await ownUser(loginShell) : currentUser();
  const folder = keptFolder("sshd");
  const hostKey = join(folder, "host_key");
  const identityFile = join(folder, "identity");
  await Promise.all([hostKey, identityFile].map(makeKey));
  login.authorize(readFileSync(`${identityFile}.pub`, "utf8"));
  for (const [path, content] of Object.entries(homeFiles)) login.write(path, content);
  const listener = await listen(folder, (port) => serverConfig({ folder, port, hostKey, login, config }));
  cleanups.push(async () => {
    await listener.stop();
    await login.remove();
    rmSync(folder, { recursive: true });
  });

  const { port } = listener;
  const knownHostsFile = join(folder, "known_hosts");
  const configFile = join(folder, "ssh_config");
  writeFileSync(knownHostsFile, `[127.0.0.1]:${port} ${readFileSync(`${hostKey}.pub`, "utf8")}`);
  writeFileSync(configFile, clientConfig({ port, login, identityFile, knownHostsFile }));
  return {
    target: TARGET,
    configFile,
    knownHostsFile,
    identityFile,
    folder,
    port,
    user: login.name,
    home: login.home,
    get pid() {
      return listener.pid();
    },
    exec: (script, input) => runToEnd(["ssh", "-F", configFile, TARGET, script], { input }),
    killConnections: () => listener.signal("KILL", "connections"),
    stop: () => listener.stop(),
    restart: () => listener.restart(),
    suspend: () => listener.signal("STOP", "all"),
    resume: () => listener.signal("CONT", "all"),
  };
}

function defaultUser(): "own" | "current" {
  return process.getuid?.() === 0 ? "own" : "current";
}

async function makeKey(file: string): Promise<void> {
  await output(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", "handrail tests", "-f", file]);
}

interface ServerConfig {
  readonly folder: string;
  readonly port: number;
  readonly hostKey: string;
  readonly login: User;
  readonly config: readonly string[];
}

/** sshd uses the first of several lines with the same keyword. */
function serverConfig({ folder, port, hostKey, login, config }: ServerConfig): string {
  const lines = [
    ...config,
    "ListenAddress 127.0.0.1",
    `Port ${port}`,
    `HostKey ${hostKey}`,
    `PidFile ${join(folder, "pid")}`,
    `AllowUsers ${login.name}`,
    `AuthorizedKeysFile ${login.authorizedKeysFile}`,
    // Any user can write to the temporary folder.
    "StrictModes no",
    "UsePAM no",
    "PasswordAuthentication no",
    "KbdInteractiveAuthentication no",
    "PermitRootLogin prohibit-password",
    "Subsystem sftp internal-sftp",
    "LogLevel VERBOSE",
  ];
  return `${lines.join("\n")}\n`;
}

interface ClientConfig {
  readonly port: number;
  readonly login: User;
  readonly identityFile: string;
  readonly knownHostsFile: string;
}

function clientConfig({ port, login, identityFile, knownHostsFile }: ClientConfig): string {
  const lines = [
    `Host ${TARGET}`,
    "HostName 127.0.0.1",
    `Port ${port}`,
    `User ${login.name}`,
    `IdentityFile ${identityFile}`,
    "IdentitiesOnly yes",
    "IdentityAgent none",
    `UserKnownHostsFile ${knownHostsFile}`,
    "GlobalKnownHostsFile /dev/null",
    "StrictHostKeyChecking yes",
  ];
  return `${lines.join("\n  ")}\n`;
}
