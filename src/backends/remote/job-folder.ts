import { randomBytes } from "node:crypto";
import type { Command } from "../../contract/backend.ts";
import { ToolFailure } from "../../contract/failure.ts";
import { quoteWord, quoteWords } from "../../util/shell.ts";
import { commandWords, startFailure, unreadyFailure } from "./command-script.ts";
import { PROCESS_FUNCTIONS } from "./processes-script.ts";
import type { Shells } from "./shells.ts";

/** Bytes that are kept of an output there, and here: 256 MiB. */
const MOST_KEPT = 268_435_456;

/** In blocks of so many bytes an output is read, from any block on. Also the unit of `ulimit -f` in POSIX. */
const BLOCK = 512;

/** At a multiple of this it is read in blocks of this size, which cost less: 64 KiB. */
export const LARGE_BLOCK = 65_536;

export interface FolderJob {
  readonly folder: string;
  readonly mark: string;
  /** A real path there. */
  readonly cwd: string;
  /** Text that is written into `job` of the folder, for whoever finds it. */
  readonly plan?: string;
}

/**
 * Starts a command that needs no connection: something of ours watches over it there, in a session of its own, and tells all in a folder. In it are `out`, what it wrote, up to
 * 256 MiB or what the disk takes, and of split streams `err`; `in`, its stdin; and files that are empty, since their names tell everything and a name takes no space:
 * `pid-PID-START`, `exited-CODE-SECONDS` since 1970, `outfilled-BYTES` once nobody can write any more (so many came after those kept), `holder-PID` who holds its stdin open.
 *
 * @throws ToolFailure when it cannot be started.
 */
export async function startInFolder(
  shells: Pick<Shells, "askAside">,
  command: Command,
  { folder, mark, cwd, plan }: FolderJob,
): Promise<{ readonly pid: string; readonly start: string }> {
  const [program] = command.argv;
  const { environment, ready, words } = commandWords(command, cwd, mark);
  const withInput = command.stdin === "pipe" && command.detached === undefined;
  const files = outputFilesOf(command);
  const at = quoteWord(folder);
  const input = withInput ? `<${quoteWord(`${folder}/in`)}` : "</dev/null";
  const isSplit = files.length > 1;
  const run = `( ${environment}
hr_ready ${ready} && exec $hr_session "$hr_sh" -c ${quoteWord(BEGIN)} sh ${at} "$hr_me" ${words} ${input} 2>&1 ${isSplit ? ">&6 6>&- " : ""})
hr_code=$?
mv -f running "exited-$hr_code-$(date +%s)"
[ -z "$hr_holder" ] || kill "$hr_holder"`;
  const spool = (file: OutputFile) => `hr_spool ${MOST_KEPT / BLOCK} ${file}`;
  const watch = `${PROCESS_FUNCTIONS}
{
cd ${at} || exit
hr_holder=
${withInput ? `sleep 2147483647 >in & hr_holder=$!; : >"holder-$hr_holder"` : ""}
${isSplit ? `{ {\n${run}\n} | ${spool("err")} 6>&-; } 6>&1` : `{\n${run}\n}`} | ${spool("out")}
exit
}`;
  const make = [`mkdir -m 700 ${at}`, `printf '' >${at}/running`];
  for (const file of files) make.push(`printf '' >${at}/${file}filling`, `printf '' >${at}/${file}`);
  if (withInput) make.push(`mkfifo -m 600 ${at}/in`);
  if (plan !== undefined) make.push(`printf %s ${quoteWord(plan)} >${at}/job`);
  // The shell waits for what it starts, unless that ends it: so nothing is started in the background, where SIGINT is ignored.
  const script = `exec 7>&1 >/dev/null 2>&1
( ${environment}
hr_ready ${ready} ) || { echo "unready $?" >&7; exit 0; }
hr_why=$( { ${make.join(" && ")}; } 2>&1 ) || { printf 'unmade %s' "$hr_why" >&7; rm -rf ${at}; exit 0; }
( hr_me=$(exec "$hr_sh" -c 'echo "$PPID"')
printf 'hr_me=%s\\n%s\\n' "$hr_me" ${quoteWord(watch)} | $hr_session "$hr_sh" 7>&-
: )
set -- ${at}/pid-*
if [ -e "$1" ]; then printf 'started %s' "\${1##*/pid-}" >&7
else printf 'failed ' >&7; cat ${files.map((file) => `${at}/${file}`).join(" ")} | head -c 2000 >&7; rm -rf ${at}; fi`;

  const { out } = await shells.askAside(script, { again: false, doing: `starting ${program}` });
  const said = out.toString("utf8");
  const space = said.indexOf(" ");
  const rest = said.slice(space + 1);
  switch (said.slice(0, space)) {
    case "started": {
      const [pid = "", start = ""] = rest.split("-");
      return { pid, start };
    }
    case "unready":
      throw unreadyFailure(Number(rest), program, cwd);
    case "unmade":
      throw new ToolFailure(`cannot start ${program}: its folder there could not be made: ${rest.trim()}`);
    default:
      throw startFailure(rest, program);
  }
}

/** A file in which what a command wrote is kept: all of it, or with split streams stdout and stderr. */
export type OutputFile = "out" | "err";

/** The files that there are of a command's output. */
export function outputFilesOf({ streams, detached }: Pick<Command, "streams" | "detached">): readonly OutputFile[] {
  return streams === "split" && detached === undefined ? ["out", "err"] : ["out"];
}

/** What the command's own shell does before it becomes the command: writes down who it is, and lets go those who wait for the start. */
const BEGIN = `s=
{ IFS= read -r l <"/proc/$$/stat"; } 2>/dev/null && {
b() { [ $# -lt 20 ] || { shift 19; s=$1; }; }
b \${l##*) }
}
: >"$1/pid-$$-$s"
kill -s KILL "$2"
shift 2
exec "$@"`;

/** How a job is doing, as the names in its folder tell. */
export interface JobState {
  readonly exit?: { readonly code: number; readonly atMs: number };
  /** Into these files nobody can write any more; so many bytes came after those that are kept. */
  readonly filled: { readonly [file in OutputFile]?: number };
  readonly pid?: { readonly number: string; readonly start: string };
  /** It has ended, and nothing was told of it. */
  readonly isGone: boolean;
  /** Its folder is no longer there. */
  readonly isRemoved: boolean;
}

export function parseState(line: string): JobState {
  const names = line.split(" ");
  const fields = (kind: string) => names.find((name) => name.startsWith(`${kind}-`))?.split("-");
  const [, code, seconds] = fields("exited") ?? [];
  const [, out] = fields("outfilled") ?? [];
  const [, err] = fields("errfilled") ?? [];
  const [, number, start = ""] = fields("pid") ?? [];
  return {
    ...(code !== undefined && { exit: { code: Number(code), atMs: Number(seconds) * 1_000 } }),
    filled: { ...(out !== undefined && { out: Number(out) }), ...(err !== undefined && { err: Number(err) }) },
    ...(number !== undefined && { pid: { number, start } }),
    isGone: names.includes("gone"),
    isRemoved: names.includes("removed"),
  };
}

/** What is asked of a job: up to about so many bytes of its output, from a byte on. */
export interface Question {
  readonly folder: string;
  /** Default "out". */
  readonly file?: OutputFile;
  readonly from: number;
  readonly bytes: number;
}

/** How jobs are doing, and what their outputs hold from the bytes on that were asked for, all in one round trip. */
export async function lookAt(
  ask: Shells["ask"],
  questions: readonly Question[],
): Promise<readonly { readonly state: JobState; readonly bytes: Buffer }[]> {
  const separator = randomBytes(16).toString("hex");
  const looks = questions.map(({ folder, file = "out", from, bytes }) => {
    const size = from % LARGE_BLOCK === 0 && bytes % LARGE_BLOCK === 0 ? LARGE_BLOCK : BLOCK;
    const count = bytes === 0 ? 0 : Math.ceil(((from % size) + bytes) / size);
    return quoteWords([
      "hr_look",
      folder,
      file,
      String(size),
      String(Math.floor(from / size)),
      String(count),
      separator,
    ]);
  });
  const { out } = await ask(looks.join("\n"));
  const end = Buffer.from(`\n${separator}\n`);
  let position = 0;
  return questions.map(({ from }) => {
    const line = out.indexOf(10, position);
    const to = out.indexOf(end, line + 1);
    if (line === -1 || to === -1) throw new ToolFailure("the shell there did not say how its jobs are doing");
    const state = parseState(out.toString("utf8", position, line));
    position = to + end.length;
    return { state, bytes: out.subarray(Math.min(line + 1 + (from % BLOCK), to), to) };
  });
}
