import type { Backend, Command, Terminal } from "../../contract/backend.ts";
import { ToolFailure } from "../../contract/failure.ts";
import { pause } from "../../util/abort.ts";
import { randomName } from "../../util/identifier.ts";
import { type Base, absolutePath } from "../../util/paths.ts";
import { quoteWord, quoteWords } from "../../util/quote.ts";
import { spawnOwn } from "./own-programs.ts";
import { clearingKeys } from "./clearing-keys.ts";
import { shownCommand } from "./shown.ts";
import { type RunScript, capture, paneAt, sendKeys } from "./pane-io.ts";
import TYPE_LINE from "./type-line.sh";

/** Shells in which half-typed input is cleared. In other programs the keys would mean something else. */
const SHELL = /^(?:bash|zsh|dash|sh|ash|busybox|fish|ksh|ksh93|mksh)$/;
/**
 * How long the cursor must stay for the keys to count as processed; at most `LONGEST_CLEARING_MS` are waited for. If
 * that is too short, only the shown command is misplaced. Milliseconds.
 */
const STAYS_MS = 50;
const LONGEST_CLEARING_MS = 1_000;

export interface PaneOptions {
  /** The socket of the server: the first part of `$TMUX`. Default: the one that tmux would use. */
  readonly socketPath?: string;
}

/** The pane in which this process runs (`$TMUX_PANE`), as a terminal. @throws ToolFailure if there is none. */
export async function paneTerminal(
  inner: Pick<Backend, "spawn" | "workDir" | "home" | "access" | "isFar">,
  pane: string,
  { socketPath }: PaneOptions = {},
): Promise<Terminal> {
  const tmux = ["tmux", ...(socketPath === undefined ? [] : ["-S", socketPath])];
  const run: RunScript = async (script) => {
    const process = await spawnOwn(inner, { argv: ["sh", "-c", script] });
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
      const { status, out } = await run(typing(command, { inner, tmux: [...tmux, "-u"], pane }));
      if (status !== 0) throw new ToolFailure(`it could not be typed into pane ${pane}: ${out.toString().trim()}`);
      return { pane };
    },
  };
}

/** A script that types a line, which runs a file that removes itself, shows the command and executes it. */
function typing(
  command: Command,
  { inner, tmux, pane }: { readonly inner: Base; readonly tmux: readonly string[]; readonly pane: string },
): string {
  const { argv, cwd = ".", env = {} } = command;
  const variables = Object.entries(env).map(([name, value]) => `${name}=${value}`);
  const file = [
    'rm -f -- "$0"',
    `printf '\\033[%sA\\033[%sG\\033[J%s\\n' "$1" "$2" ${quoteWord(shownCommand(command))}`,
    `cd -P ${quoteWord(absolutePath(cwd, inner))} || exit`,
    `exec ${quoteWords([...(variables.length === 0 ? [] : ["env", ...variables]), ...argv])}`,
    "",
  ].join("\n");
  return `hr_text=${quoteWord(file)} hr_pane=${quoteWord(pane)} hr_name=${randomName(8)}
set -- ${quoteWords(tmux)}
${TYPE_LINE}`;
}
