import type { JobCommand } from "../../contract/job.ts";
import { ToolFailure } from "../../contract/failure.ts";
import { quoteWord } from "../../util/shell.ts";
import { commandWords, startFailure, unreadyFailure } from "./command-script.ts";
import { PROCESS_FUNCTIONS } from "./processes-script.ts";
import type { Shells } from "./shells.ts";

/** Bytes that are kept of an output: 256 MiB. */
const MOST_KEPT = 268_435_456;

/** The unit of `ulimit -f` in POSIX. */
const BLOCK = 512;

export interface StartOptions {
  /** Made for the job. */
  readonly folder: string;
  /** In the environment of the process and of all that it starts. */
  readonly mark: string;
  /** A real path. */
  readonly cwd: string;
  /** Written into `job` of the folder, for whoever finds it. */
  readonly plan: string;
}

/**
 * Starts a job: a shell on the remote host watches over it, in a session of its own, so it needs no connection. In its folder are `out`, what it
 * wrote, up to 256 MiB or what the disk takes, `in`, its stdin, and the notes on it (`JobNotes`). Resolves to its process id.
 *
 * @throws ToolFailure when it cannot be started.
 */
export async function startInFolder(
  shells: Pick<Shells, "askAside">,
  command: JobCommand,
  { folder, mark, cwd, plan }: StartOptions,
): Promise<number> {
  const [program] = command.argv;
  const { environment, ready, words } = commandWords(command, cwd, mark);
  const withInput = command.stdin === "pipe";
  const at = quoteWord(folder);
  const input = withInput ? `<${quoteWord(`${folder}/in`)}` : "</dev/null";
  const watch = `${PROCESS_FUNCTIONS}
{
cd ${at} || exit
hr_holder=
${withInput ? `sleep 2147483647 >in & hr_holder=$!; : >"holder-$hr_holder"` : ""}
{
( ${environment}
hr_ready ${ready} && exec $hr_session "$hr_sh" -c ${quoteWord(BEGIN)} sh ${at} "$hr_me" ${words} ${input} 2>&1 )
hr_code=$?
mv -f running "exited-$hr_code-$(date +%s)"
[ -z "$hr_holder" ] || kill "$hr_holder"
} | hr_spool ${MOST_KEPT / BLOCK}
exit
}`;
  // What needs room on the disk is made before the start.
  const make = [
    `mkdir -m 700 ${at}`,
    ...["running", "filling", "out"].map((file) => `printf '' >${at}/${file}`),
    ...(withInput ? [`mkfifo -m 600 ${at}/in`] : []),
    `printf %s ${quoteWord(plan)} >${at}/job`,
  ];
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
else printf 'failed ' >&7; head -c 2000 ${at}/out >&7; rm -rf ${at}; fi`;

  const { out } = await shells.askAside(script, { again: false, doing: `starting ${program}` });
  const said = out.toString("utf8");
  const space = said.indexOf(" ");
  const rest = said.slice(space + 1);
  switch (said.slice(0, space)) {
    case "started":
      return Number.parseInt(rest, 10);
    case "unready":
      throw unreadyFailure(Number(rest), program, cwd);
    case "unmade":
      throw new ToolFailure(`cannot start ${program}: its folder could not be made: ${rest.trim()}`);
    default:
      throw startFailure(rest, program);
  }
}

/** What the command's own shell does before it becomes the command: notes its number, and lets go those who wait for the start. */
const BEGIN = `s=
{ IFS= read -r l <"/proc/$$/stat"; } 2>/dev/null && {
b() { [ $# -lt 20 ] || { shift 19; s=$1; }; }
b \${l##*) }
}
: >"$1/pid-$$-$s"
kill -s KILL "$2"
shift 2
exec "$@"`;
