import type { Backend, Command, Terminal } from "../../contract/backend.ts";
import { ToolFailure } from "../../contract/failure.ts";
import { pause } from "../../util/abort.ts";
import { randomName } from "../../util/identifier.ts";
import { type Base, absolutePath } from "../../util/paths.ts";
import { quoteWord, quoteWords } from "../../util/shell.ts";
import { clearingKeys } from "./clearing-keys.ts";
import { shownCommand } from "./shown.ts";
import { type RunScript, capture, paneAt, sendKeys } from "./terminal.ts";

/** What is half typed at the prompt of one of these is put away. In anything else the keys would mean something else. */
const SHELL = /^(?:bash|zsh|dash|sh|ash|busybox|fish|ksh|ksh93|mksh)$/;
/** A shell has done that when the cursor stays for so long; where it has not, only the place is wrong where the command is drawn. Milliseconds. */
const STAYS_MS = 50;
const LONGEST_CLEARING_MS = 1_000;

export interface PaneOptions {
  /** The socket of the server, as the first part of `$TMUX` says. Default: the one that tmux would use. */
  readonly socketPath?: string;
}

/**
 * The very pane in which we run, as a terminal: `pane` is `$TMUX_PANE`. Nothing else is made or marked.
 *
 * @throws ToolFailure when there is no such pane.
 */
export async function paneTerminal(
  inner: Pick<Backend, "spawn" | "workDir" | "home">,
  pane: string,
  { socketPath }: PaneOptions = {},
): Promise<Terminal> {
  const tmux = ["tmux", ...(socketPath === undefined ? [] : ["-S", socketPath])];
  const run: RunScript = async (script) => {
    const process = await inner.spawn({ argv: ["sh", "-c", script] });
    const exit = await process.exit;
    const out = Buffer.from(await process.output.read(0, process.output.kept));
    await process.output.dispose();
    return { status: exit.how === "exited" ? exit.code : 1, out };
  };
  const at = (target = pane) => ({ tmux, target });
  const shows = async (format: string) =>
    (await run(quoteWords([...tmux, "display-message", "-p", "-t", pane, format]))).out.toString().trim();
  const cursorStays = async () => {
    const lateMs = performance.now() + LONGEST_CLEARING_MS;
    let before: string | undefined;
    for (let same = 0; same < 2 && performance.now() < lateMs; await pause(STAYS_MS)) {
      const now = await shows("#{cursor_x} #{cursor_y}");
      same = now === before ? same + 1 : 0;
      before = now;
    }
  };
  await paneAt(run, at());
  return {
    attach: quoteWords([...tmux, "attach", "-t", pane]),
    isPersons: true,
    capture: async (options = {}) => capture(run, at(options.target), options),
    sendKeys: async (keys) => sendKeys(run, at(keys.target), keys),
    async dispatch(command) {
      const runs = await shows("#{pane_current_command}");
      if (SHELL.test(runs)) {
        await sendKeys(run, at(), { keys: clearingKeys(runs) });
        await cursorStays();
      }
      const { status, out } = await run(
        typing(command, { inner, tmux: quoteWords([...tmux, "-u"]), pane: quoteWord(pane) }),
      );
      if (status !== 0) throw new ToolFailure(`it could not be typed into pane ${pane}: ${out.toString().trim()}`);
      return { pane };
    },
  };
}

/**
 * Types a short line that runs a file. The file removes itself, puts what the person is to see in the place of that line, and becomes the command, in
 * the environment of that shell.
 */
function typing(
  { argv, cwd = ".", env = {} }: Command,
  { inner, tmux, pane }: { readonly inner: Base; readonly tmux: string; readonly pane: string },
): string {
  const variables = Object.entries(env).map(([name, value]) => `${name}=${value}`);
  const file = [
    'rm -f -- "$0"',
    `printf '\\033[%sA\\033[%sG\\033[J%s\\n' "$1" "$2" ${quoteWord(shownCommand(argv))}`,
    `cd -P ${quoteWord(absolutePath(cwd, inner))} || exit`,
    `exec ${quoteWords([...(variables.length === 0 ? [] : ["env", ...variables]), ...argv])}`,
    "",
  ].join("\n");
  return `umask 077
f=\${TMPDIR:-/tmp}/handrail.${randomName(8)}
set -C
printf %s ${quoteWord(file)} >"$f" || exit
set -- $(${tmux} display-message -p -t ${pane} '#{cursor_x} #{pane_width} #{pane_in_mode}')
[ -n "$3" ] || { rm -f "$f"; echo "there is no such pane"; exit 1; }
[ "$3" = 0 ] || ${tmux} send-keys -t ${pane} -X cancel
line=" sh $f 99 999"
up=$((($1 + \${#line}) / $2 + 1))
line=$(printf "%-\${#line}s." " sh $f $up $(($1 + 1))")
${tmux} send-keys -t ${pane} -l "\${line%.}" && ${tmux} send-keys -t ${pane} Enter`;
}
