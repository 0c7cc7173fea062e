import { execFile, execFileSync, spawn, spawnSync } from "node:child_process";
import { promisify, stripVTControlCharacters } from "node:util";
import { afterAll } from "vitest";
import { local } from "../../src/machine/local/backend.ts";
import { type TmuxOptions, tmux } from "../../src/machine/tmux/tmux.ts";
import type { Backend, Process } from "../../src/core/contract/backend.ts";
import { quoteWords } from "../../src/core/util/quote.ts";
import { until } from "../support/until.ts";
import { randomName } from "../../src/core/util/identifier.ts";
import { temporaryFolder } from "../support/workspace.ts";

/** Returns why tmux cannot be tested on this machine; `undefined` if it can. */
export function tmuxProblem(): string | undefined {
  return spawnSync("tmux", ["-V"]).status === 0 ? undefined : "there is no tmux on the PATH";
}

/** A tmux server for one test file, without any configuration. Ends with the file. */
export interface TestServer {
  /** The name of its socket. */
  readonly socket: string;
  /** A folder for this test file alone. */
  readonly folder: string;
  /** Opens a new backend on it. Closed at the end of the file, if not before. */
  open(options?: Omit<TmuxOptions, "socket">): Promise<Backend>;
  /** Runs a tmux command, as a person would. */
  run(...words: readonly string[]): Promise<string>;
}

/** Starts the server. Call at the top of a test file. */
export function testServer(): TestServer {
  const socket = `handrail-test-${randomName(6)}`;
  const folder = temporaryFolder();
  const opened: Backend[] = [];
  const run = async (...words: readonly string[]) =>
    (await promisify(execFile)("tmux", ["-u", "-L", socket, "-f", "/dev/null", ...words])).stdout.trimEnd();
  if (tmuxProblem() === undefined) {
    // A running server does not read the configuration of the user who runs the tests.
    execFileSync("tmux", ["-L", socket, "-f", "/dev/null", "new-session", "-d", "-s", "keep", "sleep 3600"]);
  }
  afterAll(async () => {
    await Promise.all(opened.map((each) => each.close()));
    await run("kill-server").catch(() => undefined);
  });
  return {
    socket,
    folder,
    async open(options = {}) {
      const inner = await local({
        workDir: folder,
        outputFolder: `${folder}/outputs`,
        jobFolder: `${folder}/detached`,
      });
      const backend = await tmux(inner, { shell: "bash --norc", ...options, socket });
      opened.push(backend);
      return backend;
    },
    run,
  };
}

/** A person who has typed the `attach` command, in a terminal of 100 × 30. */
export interface Person {
  /** Waits until the text is on the screen. */
  sees(text: string): Promise<void>;
  types(text: string): void;
  leaves(): void;
}

/** Attaches a person in a real terminal. */
export function joinIn({ terminal }: { readonly terminal?: { readonly attach: string } }): Person {
  const attach = `stty cols 100 rows 30; exec ${terminal?.attach}`;
  const person = spawn("script", ["-qfc", quoteWords(["sh", "-c", attach]), "/dev/null"], {
    env: { ...process.env, TERM: "xterm-256color" },
    stdio: ["pipe", "pipe", "ignore"],
  });
  let watched = "";
  person.stdout.setEncoding("utf8").on("data", (text: string) => (watched += stripVTControlCharacters(text)));
  return {
    sees: (text) => until(`the person sees ${text}`, () => watched.includes(text)),
    types: (text) => void person.stdin.write(text),
    leaves: () => void person.kill("SIGKILL"),
  };
}

/** Returns the output so far. */
export async function textOf(process: Process): Promise<string> {
  return Buffer.from(await process.output.read(0, process.output.kept)).toString();
}

/** Runs a script of sh to its end: "OUTPUT (CODE)". */
export async function sh(backend: Backend, script: string): Promise<string> {
  const process = await backend.spawn({ argv: ["sh", "-c", script] });
  const exit = await process.exit;
  return `${await textOf(process)} (${exit.how === "exited" ? exit.code : JSON.stringify(exit)})`;
}
