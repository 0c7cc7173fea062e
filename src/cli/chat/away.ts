import { spawn } from "node:child_process";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { quoteWords } from "../../util/quote.ts";

/**
 * Shows a text in `$PAGER`, by default `less -R`. Resolves when it has ended.
 *
 * @param toEnd whether to begin at the end of the text
 */
export async function page(text: string, toEnd = false): Promise<void> {
  const chosen = process.env["PAGER"] ?? "";
  const pager = chosen === "" ? `less -R${toEnd ? " +G" : ""}` : chosen;
  await runs(pager, { input: text });
}

/**
 * Lets the person write in `$VISUAL` or `$EDITOR`, by default `vi`. Resolves to the text without the newline at its
 * end, or to `undefined` if the editor failed.
 */
export async function writtenOutside(text: string): Promise<string | undefined> {
  const editor = process.env["VISUAL"] || process.env["EDITOR"] || "vi";
  const folder = await mkdtemp(join(tmpdir(), "handrail-message-"));
  const file = join(folder, "message.md");
  try {
    await writeFile(file, text, { mode: 0o600 });
    if ((await runs(`${editor} ${quoteWords([file])}`, {})) !== 0) return undefined;
    return (await readFile(file, "utf8")).replace(/\n$/, "");
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/** Stops this process and its process group, as Ctrl-Z does. Resolves when they continue. */
export async function suspended(): Promise<void> {
  const continued = new Promise((resolve) => process.once("SIGCONT", resolve));
  const keepAlive = setInterval(() => {}, 60_000);
  process.kill(0, "SIGTSTP");
  await continued;
  clearInterval(keepAlive);
}

/** Runs a command line of the person's environment at the terminal. Resolves to its exit code. */
function runs(command: string, { input }: { readonly input?: string }): Promise<number | null> {
  return new Promise((resolve) => {
    const child = spawn("/bin/sh", ["-c", command], {
      stdio: [input === undefined ? "inherit" : "pipe", "inherit", "inherit"],
    });
    child.on("error", () => resolve(null));
    child.on("close", resolve);
    child.stdin?.on("error", () => {}); // a pager that was closed early
    child.stdin?.end(input);
  });
}
