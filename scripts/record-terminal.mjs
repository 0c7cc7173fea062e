/**
 * Records how a person watches a model's calls in a shared terminal (`npm run docs:terminal`).
 *
 * In:  dist (built when stale), and docker, busybox, bash and tmux on this machine. Starts its own Docker daemon if
 *      none answers.
 * Out: docs/terminal-session.md, the calls with their results and the person's screen at four moments, and
 *      docs/pictures/terminal.svg. The recording is real; only what differs each time is replaced: the container's
 *      name, the clock, and the ports of clients. Repeating it changes nothing unless the shown behaviour has changed.
 *      Exit code 1, with the reason, when it cannot be recorded.
 */
import { execFileSync } from "node:child_process";
import { chmodSync, cpSync, existsSync, mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { dockerProblem, fillWithBusybox, reachDocker } from "../bench/places/docker.mjs";
import { isThere, until } from "../bench/places/sshd.mjs";
import { buildIfStale } from "./build.mjs";
import { projectRoot } from "./lib/project.mjs";
import { terminalPicture } from "./lib/terminal-picture.mjs";

const COLUMNS = 88;
const ROWS = 10;
const IMAGE = "handrail-record:1";
const PROGRAMS = ["bash", "tmux"];
/**
 * The line of port 8080 (1F90) in /proc/net/tcp when a process listens on it (0A). See proc_net_tcp in the kernel's
 * documentation.
 */
const LISTENS = ":1F90 .* 0A ";

const HEAD = [
  "# A session in a terminal that people share",
  "<!-- written by `npm run docs:terminal` -->",
  [
    'A model works in a container: `target: "docker:web", terminal: true, preset: "operator"`. A person watches. Calls and',
    "results are as they were, and so are the four screens, which are those of the person's own terminal. Only the clock, the",
    "container's name and the clients' ports are always the same here.",
  ].join("\n"),
];

/** @typedef {{ readonly title: string, readonly lines: readonly string[] }} Screen */

const problem =
  dockerProblem() ?? PROGRAMS.filter((program) => !isThere(program)).map((program) => `${program} is not installed`)[0];
if (problem === undefined) {
  await buildIfStale();
  await record();
} else {
  process.stderr.write(`the session cannot be recorded: ${problem}\n`);
  process.exitCode = 1;
}

async function record() {
  const folder = mkdtempSync(join(tmpdir(), "handrail-record-"));
  /** Functions that end what was started; the last one runs first. @type {(() => unknown)[]} */
  const ends = [() => rmSync(folder, { recursive: true, force: true })];
  await attempt(async () => {
    const name = await startPlace(folder, ends);
    const session = await play({ name, folder, ends });
    const fixed = (/** @type {string} */ text) =>
      text
        .replaceAll(name, "web")
        .replaceAll(/\d\d:\d\d \d\d-[A-Z][a-z]{2}-\d\d/g, "09:41 01-Jan-26")
        .replaceAll(/(?<=:)[3-6]\d{4}\b/g, "50000");
    const parts = session.map((part) =>
      typeof part === "string" ? fixed(part) : { ...part, lines: part.lines.map(fixed) },
    );
    write("docs/terminal-session.md", page(parts));
    const screens = parts.filter((part) => typeof part !== "string");
    write("docs/pictures/terminal.svg", terminalPicture(screens.slice(-2), COLUMNS));
  });
  for (const end of ends.toReversed()) await attempt(end);
}

/**
 * Runs work, and prints to stderr why it failed.
 *
 * @param {() => unknown} work
 */
async function attempt(work) {
  try {
    await work();
  } catch (error) {
    process.stderr.write(`recording the session: ${error instanceof Error ? error.message : String(error)}\n`);
    process.exitCode = 1;
  }
}

/**
 * Starts the container with busybox, bash and tmux. Returns its name.
 *
 * @param {string} folder
 * @param {(() => unknown)[]} ends
 */
async function startPlace(folder, ends) {
  const own = join(folder, "docker");
  const root = join(own, "root");
  const { env, docker, stop } = await reachDocker(own);
  ends.push(stop);
  Object.assign(process.env, env);
  fillWithBusybox(root);
  for (const path of ["etc", "root"]) mkdirSync(join(root, path));
  chmodSync(join(root, "tmp"), 0o1777);
  const programs = PROGRAMS.map((program) =>
    execFileSync("sh", ["-c", `command -v ${program}`], { encoding: "utf8" }).trim(),
  );
  for (const program of programs) {
    rmSync(join(root, "bin", program.slice(program.lastIndexOf("/") + 1)), { force: true });
    copy(program, root, `/bin/${program.slice(program.lastIndexOf("/") + 1)}`);
  }
  const libraries = execFileSync("ldd", programs, { encoding: "utf8" }).match(/(?<=\s)\/\S+(?= \()/g) ?? [];
  for (const path of [...libraries, "/usr/lib/locale/C.utf8", "/lib/terminfo"]) copy(path, root);
  writeFileSync(join(root, "etc/passwd"), "root:x:0:0:root:/root:/bin/bash\n");
  writeFileSync(join(root, "root/.bash_profile"), "PS1='\\w \\$ '\n");
  execFileSync("tar", ["-C", root, "--owner=0", "--group=0", "-cf", `${own}/image.tar`, "."]);
  docker("import", "--change", "WORKDIR /root", "--change", "ENV TZ=UTC LANG=C.UTF-8", `${own}/image.tar`, IMAGE);
  ends.push(() => docker("rmi", IMAGE));
  const name = `handrail-record-${process.pid}`;
  docker("run", "-d", "--init", "--network=none", "--hostname=web", "--name", name, IMAGE, "sleep", "100000");
  ends.push(() => docker("rm", "-f", name));
  return name;
}

/**
 * @param {string} from
 * @param {string} root
 */
function copy(from, root, to = from) {
  if (!existsSync(from)) return;
  mkdirSync(dirname(join(root, to)), { recursive: true });
  cpSync(realpathSync(from), join(root, to), { recursive: true, dereference: true });
}

/**
 * Plays the session. Returns the text of calls, and screens, in order.
 *
 * @param {{ name: string, folder: string, ends: (() => unknown)[] }} place
 * @returns {Promise<(string | Screen)[]>}
 */
async function play({ name, folder, ends }) {
  const { asText, createToolkit } = await import(join(projectRoot, "dist", "index.js"));
  const toolkit = await createToolkit({
    target: `docker:${name}`,
    terminal: true,
    preset: "operator",
    policy: { autonomy: "full", blockHighRiskCommands: false },
    stateDir: join(folder, "state"),
  });
  ends.push(() => toolkit.close());
  /** @type {(string | Screen)[]} */
  const session = [];
  const quietly = async (/** @type {string} */ tool, /** @type {object} */ input) =>
    /** @type {string} */ (asText(await toolkit.call({ name: tool, input })));
  const call = async (/** @type {string} */ tool, /** @type {object} */ input) => {
    const result = await quietly(tool, input);
    session.push(fenced(`> ${tool} ${JSON.stringify(input)}\n${result}`));
    return result;
  };

  await call("run_shell", { command: "mkdir site; echo '<h1>It works</h1>' >site/index.html" });
  const { attach } = toolkit.backend.terminal;
  const person = attachPerson(attach, folder, ends);
  const sees = async (/** @type {string} */ title, /** @type {RegExp} */ text) => {
    session.push({ title, lines: await person.screen(text) });
  };
  session.push(`The person joins in, and sees what was typed:\n\n${fenced(attach)}`);
  await sees("1. The person has attached", /mkdir site/);

  const serving = await call("run_shell", { command: "busybox httpd -f -v -p 8080 -h site", wait: false });
  const [, pane = ""] = /tmux pane (%\d+)/.exec(serving) ?? [];
  await until(() => execFileSync("docker", ["exec", name, "grep", "-q", LISTENS, "/proc/net/tcp", "/proc/net/tcp6"]));
  await sees("2. The web server has started", /httpd -f/);

  await call("run_shell", { command: "wget -qO- http://127.0.0.1:8080/" });
  await sees("3. The page was asked for", /response:200/);
  await call("capture-pane", { target: pane });

  await call("send-keys", { target: pane, keys: ["C-c"] });
  await sees("4. The server was stopped", /\^C[^]*#/);
  await call("run_shell", { command: "wget -qO- http://127.0.0.1:8080/" });
  return session;
}

/**
 * Runs the command to attach in a terminal of a simulated person: a separate tmux, of which only the screen is used.
 *
 * @param {string} command
 * @param {string} folder
 * @param {(() => unknown)[]} ends
 */
function attachPerson(command, folder, ends) {
  const settings = join(folder, "tmux.conf");
  writeFileSync(settings, "set -g status off\nset -g default-terminal xterm-256color\n");
  const env = { ...process.env, LC_ALL: "C.UTF-8", TMUX: undefined, TMUX_PANE: undefined };
  const tmux = (/** @type {readonly string[]} */ ...args) =>
    execFileSync("tmux", ["-S", join(folder, "tmux"), "-f", settings, ...args], { env, encoding: "utf8" });
  tmux("new-session", "-d", "-x", String(COLUMNS), "-y", String(ROWS), command);
  ends.push(() => tmux("kill-server"));
  return {
    /**
     * Returns the lines of the screen once it shows the text and has stopped changing.
     *
     * @param {RegExp} text
     */
    async screen(text) {
      let before = "";
      return until(() => {
        const seen = tmux("capture-pane", "-p").trimEnd();
        const still = seen === before;
        before = seen;
        if (!still || !text.test(seen)) throw new Error(`the person does not see ${text}, but:\n${seen}`);
        return seen.split("\n");
      });
    },
  };
}

/** @param {readonly (string | Screen)[]} parts */
function page(parts) {
  const shown = parts.map((part) =>
    typeof part === "string" ? part : `**${part.title}**\n\n${fenced(part.lines.join("\n"))}`,
  );
  return `${[...HEAD, ...shown].join("\n\n")}\n`;
}

/** @param {string} text */
function fenced(text) {
  return `\`\`\`\n${text.trimEnd()}\n\`\`\``;
}

/**
 * @param {string} path
 * @param {string} text
 */
function write(path, text) {
  const file = join(projectRoot, path);
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, text);
  process.stdout.write(`${path} written\n`);
}
