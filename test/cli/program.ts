import { type ChildProcess, spawn } from "node:child_process";
import { EventEmitter, once } from "node:events";
import { join } from "node:path";
import { Readable, Writable } from "node:stream";
import { fileURLToPath } from "node:url";
import { stripVTControlCharacters } from "node:util";
import { inject } from "vitest";
import type { Io } from "../../src/cli/io.ts";
import { main } from "../../src/cli/program.ts";
import { quoteWords } from "../../src/core/util/quote.ts";
import { afterFile } from "../support/after-file.ts";
import { requireProgram } from "../support/here.ts";
import { repository, temporaryFolder } from "../support/workspace.ts";
import { until } from "../support/until.ts";

/** The built program. */
export const PROGRAM = fileURLToPath(new URL("../../dist/cli.js", import.meta.url));

/** How a run of the program ended, and its output. */
export interface Run {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** A run in progress. */
export interface Running {
  readonly pid: number;
  readonly ended: Promise<Run>;
  stdout(): string;
  stderr(): string;
  kill(signal: NodeJS.Signals): void;
}

/** A run in progress within this process. */
export type RunningHere = Omit<Running, "pid">;

/** A person's terminal. */
export interface Terminal {
  /** The whole output so far, without colours and cursor movements. */
  screen(): string;
  /** The whole output so far, unchanged. */
  raw(): string;
  type(text: string): void;
  /** Waits until this is shown. */
  shows(text: string): Promise<void>;
  /** Resolves to the exit code of what ran in it. */
  readonly ended: Promise<number | null>;
}

/** What a run within this process reads, and where it is. Default: nothing, in the repository. */
interface Given {
  readonly input?: string | Readable;
  readonly cwd?: string;
}

/** The program in its own repository, with its own state folder. */
export interface CommandLine {
  readonly folder: string;
  readonly stateHome: string;
  /** The folder of the user's own configuration: it contains `handrail/config.yaml`. */
  readonly configHome: string;
  /** Runs it without a terminal, to its end. */
  run(args: readonly string[], input?: string | Buffer): Promise<Run>;
  /**
   * Runs it to its end within this process, which is ten times faster: for tests that do not depend on the process. It
   * has no terminal. Several runs do not affect each other. A variable that is `undefined` is not set.
   */
  here(args: readonly string[], env?: NodeJS.ProcessEnv, given?: Given): Promise<Run>;
  /** Begins a run within this process, like `here`. */
  startHere(args: readonly string[], env?: NodeJS.ProcessEnv, given?: Given): RunningHere;
  /** Starts it without a terminal. */
  start(args: readonly string[]): Running;
  /** Runs a shell script without a terminal, in which `handrail` is the program. */
  shell(script: string): Promise<Run>;
  /** Runs a shell script in a pseudo-terminal of 100 columns, in which `handrail` is the program. */
  terminal(script: string, env?: NodeJS.ProcessEnv): Terminal;
}

/** What no user must ever see: "    at main (file:///…/cli.js:3:112)". */
const STACK_TRACE = /^\s+at .*:\d+:\d+\)?$/m;

const children = new Set<ChildProcess>();

afterFile(() => {
  for (const child of children) child.kill("SIGKILL");
});

export async function commandLine(files: { readonly [path: string]: string | Uint8Array } = {}): Promise<CommandLine> {
  const folder = await repository({ "README.md": "# Read me\n", ...files });
  const stateHome = temporaryFolder();
  const configHome = temporaryFolder();
  const environment = {
    ...process.env,
    XDG_STATE_HOME: stateHome,
    XDG_CONFIG_HOME: configHome,
    XDG_CACHE_HOME: join(inject("runFolder"), "cache"),
  };
  const handrail = `handrail() { ${quoteWords([process.execPath, PROGRAM])} "$@"; }`;

  // A separate session has no terminal, wherever the tests run.
  const begin = (argv: readonly [string, ...string[]], env: NodeJS.ProcessEnv) => {
    const [program, ...args] = argv;
    const child = spawn(program, args, { cwd: folder, env, detached: true, stdio: "pipe" });
    children.add(child);
    child.once("close", () => children.delete(child));
    child.stdin.on("error", () => undefined); // it need not read its input
    return child;
  };

  const start = (argv: readonly [string, ...string[]], input: string | Buffer = "") => {
    const child = begin(argv, environment);
    let stdout = "";
    let stderr = "";
    child.stdout.setEncoding("utf8").on("data", (text: string) => (stdout += text));
    child.stderr.setEncoding("utf8").on("data", (text: string) => (stderr += text));
    child.stdin.end(input);
    return {
      pid: child.pid ?? 0,
      stdout: () => stdout,
      stderr: () => stderr,
      kill: (signal: NodeJS.Signals) => void child.kill(signal),
      ended: once(child, "close").then(([code, signal]) => withoutStackTrace({ code, signal, stdout, stderr })),
    };
  };

  const startHere: CommandLine["startHere"] = (args, env = {}, { input = "", cwd = "." } = {}) => {
    const { io, ...run } = ioHere({ input, cwd: join(folder, cwd), env: { ...environment, ...env } });
    const ended = main(args, io).then((code): Run => {
      return withoutStackTrace({ code, signal: null, stdout: run.stdout(), stderr: run.stderr() });
    });
    return { ...run, ended };
  };

  return {
    folder,
    stateHome,
    configHome,
    run: (args, input) => start([process.execPath, PROGRAM, ...args], input).ended,
    here: (args, env, given) => startHere(args, env, given).ended,
    startHere,
    start: (args) => start([process.execPath, PROGRAM, ...args]),
    shell: (script) => start(["bash", "-c", `${handrail}; ${script}`]).ended,
    terminal(script, env = {}) {
      requireProgram("script");
      const inside = `stty cols 100; ${handrail}; ${script}`;
      const child = begin(
        ["script", "--quiet", "--flush", "--return", "--command", quoteWords(["bash", "-c", inside]), "/dev/null"],
        {
          ...environment,
          TERM: "xterm-256color",
          NO_COLOR: "",
          SHELL: "/bin/bash", // replaces the shell that runs the script, so that a signal ends no other shell
          ...env,
        },
      );
      let shown = "";
      child.stdout.setEncoding("utf8").on("data", (text: string) => (shown += text));
      const screen = () => stripVTControlCharacters(shown).replaceAll("\r", "");
      return {
        screen,
        raw: () => shown,
        type: (text) => void child.stdin.write(text),
        shows: (text) =>
          until(`the terminal shows ${JSON.stringify(text)}`, () => screen().includes(text)).catch((error: Error) => {
            throw new Error(`${error.message}; it shows ${JSON.stringify(screen())}`);
          }),
        ended: new Promise((resolve) => {
          child.once("close", (code) => {
            child.stdin.destroy();
            resolve(code);
          });
        }),
      };
    },
  };
}

/** The process of a run within this one, with what was written to it. */
export interface IoHere extends Omit<RunningHere, "ended"> {
  readonly io: Io;
}

/** Returns a process without a terminal. */
export function ioHere({
  input = "",
  cwd = process.cwd(),
  env = process.env,
}: Given & { env?: NodeJS.ProcessEnv } = {}): IoHere {
  const [stdout, stderr] = [captured(), captured()];
  const signals = new EventEmitter();
  const kill = (name: NodeJS.Signals) => void signals.emit(name, name);
  const io: Io = {
    stdin: typeof input === "string" ? Readable.from(input === "" ? [] : [Buffer.from(input)]) : input,
    ...{ stdout: stdout.stream, stderr: stderr.stream, cwd },
    env: Object.fromEntries(Object.entries(env).filter(([, value]) => value !== undefined)),
    program: [process.execPath, PROGRAM],
    signals: {
      on: (name, listener) => signals.on(name, listener),
      once: (name, listener) => signals.once(name, listener),
      off: (name, listener) => signals.off(name, listener),
      raise: kill,
    },
    openTerminal: () => undefined,
    exit(code) {
      throw new Error(`the process would end at once, with ${code}`);
    },
  };
  return { io, stdout: stdout.text, stderr: stderr.text, kill };
}

/** A stream that collects what is written to it. */
function captured(): { readonly stream: Writable; text(): string } {
  const chunks: Buffer[] = [];
  const stream = new Writable({
    write(chunk: Buffer, _encoding, done) {
      chunks.push(chunk);
      done();
    },
  });
  return { stream, text: () => Buffer.concat(chunks).toString("utf8") };
}

function withoutStackTrace(run: Run): Run {
  if (!STACK_TRACE.test(run.stdout + run.stderr)) return run;
  throw new Error(`people were shown a stack trace:\n${run.stdout}${run.stderr}`);
}
