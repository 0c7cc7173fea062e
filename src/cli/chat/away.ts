import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, resolve as resolvePath } from "node:path";
import { homeOf } from "../../app/config/state.ts";
import { findProgram } from "../../machine/programs/programs.ts";
import { startProgram } from "../../machine/programs/start.ts";
import { quoteWords } from "../../core/util/quote.ts";
import type { Io } from "../io.ts";

/**
 * Shows a text in `$PAGER`, by default `less -R`. Resolves when it has ended.
 *
 * @param toEnd whether to begin at the end of the text
 * @throws ProgramMissing
 */
export async function page(io: Io, text: string, toEnd = false): Promise<void> {
  const chosen = io.env["PAGER"] ?? "";
  const pager = chosen === "" ? `less -R${toEnd ? " +G" : ""}` : chosen;
  await runs(io, pager, { cwd: homeOf(io.env), input: text });
}

/**
 * Lets the person write in `$VISUAL` or `$EDITOR`, by default `vi`. Resolves to the text without the newline at its
 * end, or to `undefined` if the editor failed.
 *
 * @throws ProgramMissing
 */
export async function writtenOutside(io: Io, text: string): Promise<string | undefined> {
  const editor = io.env["VISUAL"] || io.env["EDITOR"] || "vi";
  const folder = await mkdtemp(join(tmpdir(), "handrail-message-"));
  const file = join(folder, "message.md");
  try {
    await writeFile(file, text, { mode: 0o600 });
    if ((await runs(io, `${editor} ${quoteWords([file])}`, { cwd: folder })) !== 0) return undefined;
    return (await readFile(file, "utf8")).replace(/\n$/, "");
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/** Stops the process and its process group, as Ctrl-Z does. Resolves when they continue. */
export async function suspended(io: Io): Promise<void> {
  const continued = new Promise((resolve) => io.signals.once("SIGCONT", resolve));
  const keepAlive = setInterval(() => {}, 60_000);
  io.signals.raise("SIGTSTP");
  await continued;
  clearInterval(keepAlive);
}

/**
 * Runs a command line of the person's environment at the terminal, not in the folder in which tools write. Resolves to
 * its exit code.
 *
 * @throws ProgramMissing for a program that a tool could write: npm sets these variables too.
 */
async function runs(io: Io, command: string, { cwd, input }: { readonly cwd: string; readonly input?: string }) {
  const [first = ""] = /'[^']*'|"[^"]*"|[^\s'"]+/.exec(command) ?? [];
  const program = first.replace(/^(['"])(.*)\1$/s, "$2");
  findProgram(program.includes("/") ? resolvePath(io.cwd, program) : program, { path: io.env["PATH"] });
  const child = startProgram(["/bin/sh", "-c", command], {
    cwd,
    inherits: io.env,
    stdio: [input === undefined ? "inherit" : "pipe", "inherit", "inherit"],
  });
  child.stdin?.on("error", () => {}); // a pager that was closed early
  child.stdin?.end(input);
  return new Promise<number | null>((done) => {
    child.on("error", () => done(null));
    child.on("close", done);
  });
}
