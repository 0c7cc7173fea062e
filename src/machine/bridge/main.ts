// Joins a socket and a network. Arguments "out SOCKET WORDS…": runs inside the sandbox of a command with network,
// forwards connections to a port of the loopback to the proxy's socket, and runs the command with the variables that
// make programs use it. Arguments "in SOCKET HOST PORT": forwards connections to the socket to a port of the network it
// runs in, until its stdin ends. Imports nothing of Handrail, whose other files may be hidden inside.
import { type ChildProcess, spawn } from "node:child_process";
import { constants } from "node:os";
import { type AddressInfo, type Socket, connect, createServer } from "node:net";
import { commandProgram } from "../../core/util/executable.ts";

/** A signal is passed on to the child after this time, in case the child did not receive it. Milliseconds. */
const PASS_ON_MS = 1_000;

/** Signals that make a process dump core. The bridge does not send them to itself: its core would mislead. */
const WITH_CORE: readonly string[] =
  "SIGQUIT SIGILL SIGTRAP SIGABRT SIGBUS SIGFPE SIGSEGV SIGXCPU SIGXFSZ SIGSYS".split(" ");

const [direction, socketPath = "", ...words] = process.argv.slice(2);
const [program = "", ...args] = words;

/** Forwards connections in both directions. */
const server = createServer({ allowHalfOpen: true }, (near) => {
  const far =
    direction === "in"
      ? connect({ host: program, port: Number(args[0]), allowHalfOpen: true })
      : connect({ path: socketPath, allowHalfOpen: true });
  join(near, far);
  join(far, near);
});
if (direction === "in") {
  server.listen(socketPath, () => process.stdout.write("ready"));
  process.stdin.resume().on("end", () => process.exit());
} else {
  server.once("error", (error) => fail(`cannot listen on its loopback: ${error.message}`, 125));
  server.listen(0, "127.0.0.1", () => run(`http://127.0.0.1:${(server.address() as AddressInfo).port}`));
}

function join(from: Socket, to: Socket): void {
  from.pipe(to);
  from.on("error", () => undefined); // "close" follows
  from.on("close", () => (from.readableEnded ? to.destroySoon() : to.destroy()));
}

function run(proxy: string): void {
  const running: { child?: ChildProcess } = {};
  // Before the command starts: a signal that comes earlier would end only the bridge.
  for (const signal of ["SIGTERM", "SIGINT", "SIGHUP"] as const) {
    process.on(signal, () => void setTimeout(() => running.child?.kill(signal), PASS_ON_MS));
  }
  // Not by execvp(3), which reports the error of a folder in PATH that may not be entered.
  const found = commandProgram(program, { cwd: process.cwd(), path: process.env["PATH"] });
  if ("problem" in found && found.problem === "missing") fail(`${program}: not found`, 127);
  const child = spawn("path" in found ? found.path : program, args, {
    argv0: program,
    stdio: "inherit",
    env: { ...process.env, ...proxyVariables(proxy) },
  });
  running.child = child;
  child.once("error", (error: NodeJS.ErrnoException) => {
    // The messages and exit codes that a shell would give.
    if (error.code === "ENOENT") fail(`${program}: not found`, 127);
    else fail(`${program}: ${error.message}`, 126);
  });
  child.once("exit", (code, signal) => {
    if (signal === null) process.exit(code ?? 0);
    if (!WITH_CORE.includes(signal)) {
      process.removeAllListeners(signal);
      process.kill(process.pid, signal);
    }
    // The first process of a PID namespace ignores such signals.
    setImmediate(() => process.exit(128 + constants.signals[signal]));
  });
}

/**
 * The variables that make programs use the proxy. Most programs read the first four. The other variables are for
 * programs that have their own variables, or whose own settings would win: curl and wget (lower case), Node 22 and
 * later, npm and pnpm, Yarn, pip, git, Cargo, Maven and Gradle. Go, rustup, uv, Ruby and apt read the first four.
 */
function proxyVariables(proxy: string): NodeJS.ProcessEnv {
  const { hostname, port } = new URL(proxy);
  const none = "localhost,127.0.0.1,::1";
  const { GIT_CONFIG_COUNT = "0", MAVEN_OPTS = "", GRADLE_OPTS = "" } = process.env;
  const gitKeys = Number.parseInt(GIT_CONFIG_COUNT, 10) || 0;
  const java = ["http", "https"].map((kind) => `-D${kind}.proxyHost=${hostname} -D${kind}.proxyPort=${port}`).join(" ");
  const maven = ["transport", "connector"].map((part) => `-Daether.${part}.http.useSystemProperties=true`);
  return {
    HTTP_PROXY: proxy,
    HTTPS_PROXY: proxy,
    http_proxy: proxy,
    https_proxy: proxy,
    ALL_PROXY: proxy,
    all_proxy: proxy,
    NO_PROXY: none,
    no_proxy: none,
    NODE_USE_ENV_PROXY: "1",
    npm_config_proxy: proxy,
    npm_config_https_proxy: proxy,
    npm_config_noproxy: none,
    YARN_HTTP_PROXY: proxy,
    YARN_HTTPS_PROXY: proxy,
    PIP_PROXY: proxy,
    GIT_CONFIG_COUNT: String(gitKeys + 1),
    [`GIT_CONFIG_KEY_${gitKeys}`]: "http.proxy",
    [`GIT_CONFIG_VALUE_${gitKeys}`]: proxy,
    CARGO_HTTP_PROXY: proxy,
    // Maven 3.9 and later read the proxy properties only with these settings.
    MAVEN_OPTS: `${MAVEN_OPTS} ${java} ${maven.join(" ")}`.trim(),
    GRADLE_OPTS: `${GRADLE_OPTS} ${java}`.trim(),
  };
}

function fail(message: string, code: number): never {
  process.stderr.write(`handrail: ${message}\n`);
  process.exit(code);
}
