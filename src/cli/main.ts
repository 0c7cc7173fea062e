import { readFileSync } from "node:fs";
import * as module from "node:module";

// The reader has gone (| head): nothing more to say to anyone. Whatever runs is still brought to its end.
process.stdout.on("error", (error: NodeJS.ErrnoException) => {
  if (error.code === "EPIPE") return;
  process.exitCode = 1;
  process.stderr.write(`handrail: cannot write to stdout: ${error.message}\n`);
});
process.stderr.on("error", () => undefined); // there is nowhere left to tell it

/** For so wide a terminal the help is rendered at the build. */
const HELP_COLUMNS = 80;

const answer = process.argv.length === 3 ? quickAnswer(process.argv[2]) : undefined;
if (answer === undefined) {
  // From Node 22 on what was compiled once is kept; it must lie where only this user can write.
  const { enableCompileCache } = module as { enableCompileCache?: (folder: string) => unknown };
  if (enableCompileCache !== undefined) enableCompileCache((await import("../config/state.ts")).compileCacheFolder());
  const { main } = await import("./program.ts");
  await main(process.argv.slice(2));
} else {
  process.stdout.write(answer);
}

/** The fast path: nothing is imported that is not needed to answer. */
function quickAnswer(argument: string | undefined): string | undefined {
  if (argument === "--version" || argument === "-V") return `${__VERSION__}\n`;
  const isHelp = argument === "--help" || argument === "-h";
  return isHelp && (process.stdout.columns ?? HELP_COLUMNS) >= HELP_COLUMNS ? helpText() : undefined;
}

/** As the build has rendered it; `undefined` while it does that. */
function helpText(): string | undefined {
  try {
    return readFileSync(new URL("help.txt", import.meta.url), "utf8");
  } catch {
    return undefined;
  }
}
