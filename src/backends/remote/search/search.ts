import { posix } from "node:path";
import type { Files, HelperOptions, Process } from "../../../contract/backend.ts";
import { ToolFailure } from "../../../contract/failure.ts";
import { quoteWord } from "../../../util/shell.ts";
import type { Shells } from "../shells.ts";
import { type SearchFor, questionOf } from "./arguments.ts";
import { fileLines, lineReader } from "./file-lines.ts";
import { grepFiles, grepOptions } from "./grep-files.ts";
import { listFiles } from "./list-files.ts";
import { type Matcher, matcherOf } from "./matcher.ts";
import type { FindFacts, GrepFacts } from "./probe.ts";
import { type Run, runAsProcess } from "./run.ts";

export interface SearchOptions {
  readonly grep: GrepFacts;
  readonly find: FindFacts;
  readonly shells: Pick<Shells, "ask">;
  readonly files: Pick<Files, "open" | "stat">;
  readonly place: string;
  readonly outputFolder: string;
  /** Starts a program there, with split streams. */
  readonly start: (argv: readonly [string, ...string[]], stdin: "closed" | "pipe") => Promise<Process>;
}

/**
 * Answers what is asked of ripgrep with grep and find, and writes what ripgrep would write, always in the order of paths. Different from it: text in UTF-16 is taken for
 * binary; of a binary file in a folder all is searched that lies before the 64 KiB in which its first NUL is; and a "\r" at the very end of a file ends its line.
 *
 * @throws ToolFailure when the arguments are not those that the tools give, and when grep cannot search for the pattern.
 */
export async function searchThere(
  args: readonly string[],
  { paths, except = [], signal }: HelperOptions,
  options: SearchOptions,
): Promise<Process> {
  const { place, outputFolder, shells, grep } = options;
  const question = questionOf(args, place);
  const { search } = question;
  const matcher = search === undefined ? undefined : await matcherOf(search, place);
  if (matcher !== undefined) await requireTaken(matcher, { shells, grep, place });
  if (signal?.aborted) throw new ToolFailure("the search was stopped before it was started");
  const about = { outputFolder, ...(signal !== undefined && { signal }) };
  if (search !== undefined && matcher !== undefined && paths.length === 0) {
    const input = await options.start(["sh", "-c", stdinScript(search, matcher, grep)], "pipe");
    return runAsProcess((run) => grepStdin(input, { search, matcher, run }), { ...about, input });
  }
  return runAsProcess(async (run) => {
    let found = 0;
    for (const path of paths) {
      const info = await options.files.stat(path);
      if (info === undefined) run.complain(`${path}: No such file or directory`);
      if (info === undefined || run.isStopped() || except.includes(info.path)) continue;
      const isNamed = info.kind !== "folder";
      const folder = isNamed ? posix.dirname(path) : path;
      const start = (argv: readonly [string, ...string[]]) => options.start(argv, "closed");
      const names = isNamed
        ? [Buffer.from(posix.basename(path)).toString("latin1")]
        : await listFiles(path, { question, except, find: options.find, files: options.files, run, start });
      if (run.isStopped()) break;
      if (search === undefined || matcher === undefined) {
        const head = posix.join(Buffer.from(folder).toString("latin1"), "/");
        if (names.length > 0) run.write(Buffer.from(`${names.map((name) => head + name).join("\0")}\0`, "latin1"));
        found += names.length;
        continue;
      }
      const startShell = () => options.start(["sh"], "pipe");
      found += await grepFiles({ folder, files: names, isNamed }, { search, matcher, grep, run, startShell });
    }
    return found > 0 ? 0 : 1;
  }, about);
}

/** Whether the grep there takes the pattern at all. */
async function requireTaken(
  { source }: Matcher,
  { shells, grep, place }: Pick<SearchOptions, "shells" | "grep" | "place">,
): Promise<void> {
  const { status, out } = await shells.ask(`LC_ALL=C; export LC_ALL\ngrep ${grep.asText} -E -e ${quoteWord(source)}`);
  if (status <= 1) return;
  throw new ToolFailure(
    `the pattern cannot be searched for: the grep on ${place} does not take it (${out.toString("utf8").trim().slice(0, 200)})`,
    {
      hint: "Use a simpler pattern, give literal: true for plain text, or install ripgrep there (apt install ripgrep, apk add ripgrep).",
    },
  );
}

function stdinScript(search: SearchFor, matcher: Matcher, { asText }: GrepFacts): string {
  return `LC_ALL=C; export LC_ALL; unset GREP_OPTIONS POSIXLY_CORRECT; exec grep -n ${asText} ${grepOptions(search, matcher)}`;
}

/** What ripgrep calls its stdin. */
const STDIN = "<stdin>";

async function grepStdin(
  input: Process,
  { search, matcher, run }: { readonly search: SearchFor; readonly matcher: Matcher; readonly run: Run },
): Promise<number> {
  const lines = fileLines({ path: STDIN, search, check: matcher.check, write: run.write });
  const reader = lineReader((line) => lines.line(line));
  try {
    for await (const chunk of input.output.follow())
      reader.push(Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength));
    reader.end();
  } finally {
    await input.kill();
  }
  return lines.matches > 0 ? 0 : 1;
}
