import { readFileSync } from "node:fs";
import * as module from "node:module";
import { tried } from "../util/errors.ts";

// The reader has closed the pipe (| head), so output is dropped. What is running still finishes.
process.stdout.on("error", (error: NodeJS.ErrnoException) => {
  if (error.code === "EPIPE") return;
  process.exitCode = 1;
  process.stderr.write(`handrail: cannot write to stdout: ${error.message}\n`);
});
process.stderr.on("error", () => undefined); // there is nowhere left to report this

/** The build renders the help for this terminal width. */
const HELP_COLUMNS = 80;

const answer = process.argv.length === 3 ? quickAnswer(process.argv[2]) : undefined;
if (answer === undefined) {
  // From Node 22 on, compiled code is cached. The cache must be in a folder that only this user can write.
  const { enableCompileCache } = module as { enableCompileCache?: (folder: string) => unknown };
  if (enableCompileCache !== undefined) enableCompileCache((await import("../config/state.ts")).compileCacheFolder());
  const [, , command, client] = process.argv;
  if (command === "hook" && process.argv.length === 4 && client !== "wait" && client !== undefined)
    await (await import("./guard/hook-client.ts")).hook(client, readFileSync(0, "utf8"));
  else await (await import("./program.ts")).main(process.argv.slice(2));
} else {
  process.stdout.write(answer);
}

/** Answers without importing anything that is not needed. */
function quickAnswer(argument: string | undefined): string | undefined {
  if (argument === "--version" || argument === "-V") return `${__VERSION__}\n`;
  const isHelp = argument === "--help" || argument === "-h";
  return isHelp && (process.stdout.columns ?? HELP_COLUMNS) >= HELP_COLUMNS
    ? tried(() => readFileSync(new URL("help.txt", import.meta.url), "utf8"))
    : undefined;
}
