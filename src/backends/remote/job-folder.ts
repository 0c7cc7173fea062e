import type { Command } from "../../contract/backend.ts";
import { ToolFailure } from "../../contract/failure.ts";
import { quoteWord } from "../../util/shell.ts";
import { commandWords, startFailure, unreadyFailure } from "./command-script.ts";
import { PROCESS_FUNCTIONS } from "./processes-script.ts";
import type { Shells } from "./shells.ts";

/** Bytes that are kept of an output there, and here: 256 MiB. */
const MOST_KEPT = 268_435_456;

/** The unit of `ulimit -f` in POSIX. */
const BLOCK = 512;

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
 * `pid-PID-START`, `exited-CODE-SECONDS` since 1970 (`lost` for a code that nobody told), `outfilled-BYTES` once nobody can write any more (so many came after those kept), `holder-PID` who holds its stdin open.
 *
 * @throws ToolFailure when it cannot be started.
 */
export async function startInFolder(
  shells: Pick<Shells, "askAside">,
  command: Command,
  { folder, mark, cwd, plan }: FolderJob,
): Promise<{ readonly pid: string }> {
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
      const [pid = ""] = rest.split("-");
      return { pid };
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
