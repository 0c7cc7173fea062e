import { openSync, readFileSync } from "node:fs";
import * as module from "node:module";
import { tried } from "../core/util/errors.ts";
import type { Io } from "./io.ts";

// The reader has closed the pipe (| head), so output is dropped. What is running still finishes.
process.stdout.on("error", (error: NodeJS.ErrnoException) => {
  if (error.code === "EPIPE") return;
  process.exitCode = 1;
  process.stderr.write(`handrail: cannot write to stdout: ${error.message}\n`);
});
process.stderr.on("error", () => undefined); // there is nowhere left to report this

/** The build renders the help for this terminal width. */
const HELP_COLUMNS = 80;

const words = process.argv.slice(2);
const answer = words.length === 1 ? quickAnswer(words[0]) : undefined;
if (answer === undefined) {
  // From Node 22 on, compiled code is cached. The cache must be in a folder that only this user can write.
  const { enableCompileCache } = module as { enableCompileCache?: (folder: string) => unknown };
  if (enableCompileCache !== undefined)
    enableCompileCache((await import("../app/config/state.ts")).compileCacheFolder());
  const code = await run();
  if (code !== 0) process.exitCode = code; // a failure of stdout has set it already
} else {
  process.stdout.write(answer);
}

async function run(): Promise<number> {
  const [command, client] = words;
  const cwd = tried(() => process.cwd());
  if (cwd === undefined) {
    process.stderr.write(
      "handrail: the current folder does not exist any more: it was removed. Change to another one: cd\n",
    );
    return 1;
  }
  const io = processIo(cwd);
  if (command === "hook" && words.length === 2 && client !== "wait" && client !== undefined)
    return await (await import("./guard/hook-client.ts")).hook(client, readFileSync(0, "utf8"), { io, words });
  return await (await import("./program.ts")).main(words, io);
}

/** Returns this process. Its streams are opened when they are first used. */
function processIo(cwd: string): Io {
  return {
    get stdin() {
      return process.stdin;
    },
    get stdout() {
      return process.stdout;
    },
    get stderr() {
      return process.stderr;
    },
    env: process.env,
    cwd,
    program: [process.execPath, process.argv[1] ?? "handrail"],
    signals: {
      on: (event, listener) => process.on(event, listener),
      once: (event, listener) => process.once(event, listener),
      off: (event, listener) => process.off(event, listener),
      raise: (name) => process.kill(name === "SIGTSTP" ? 0 : process.pid, name),
    },
    openTerminal: (flags = "r+") => tried(() => openSync("/dev/tty", flags)),
    exit: (code) => process.exit(code),
  };
}

/** Answers without importing anything that is not needed. */
function quickAnswer(argument: string | undefined): string | undefined {
  if (argument === "--version" || argument === "-V") return `${__VERSION__}\n`;
  const isHelp = argument === "--help" || argument === "-h";
  return isHelp && (process.stdout.columns ?? HELP_COLUMNS) >= HELP_COLUMNS
    ? tried(() => readFileSync(new URL("help.txt", import.meta.url), "utf8"))
    : undefined;
}
